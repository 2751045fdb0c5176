//! Text as Python would write it, because the stored texts are compared with the reference's to the digit.
//!
//! Lives here: reading and formatting numbers, formatting strings, JSON escaping, the decimal rule, CRC texts. May not: know dumps or nodes.
//! Everything appends to a `Vec<u8>` that the caller keeps, and allocates nothing for usual input. What is appended is always
//! valid UTF-8.

pub(crate) mod block;
pub mod checksum;
pub mod decimal;
pub(crate) mod float;
pub mod json;
pub mod message;
pub mod python;
pub mod stored;
mod words;
