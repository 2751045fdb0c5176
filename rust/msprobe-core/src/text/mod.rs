//! Text as Python would write it, because the stored texts are compared with the reference's to the digit.
//!
//! Lives here: number and value formatting, JSON escaping, the decimal rule, CRC texts. May not: know dumps or nodes.

pub mod json;
pub mod python;
