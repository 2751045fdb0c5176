//! Overflow levels: where NaN, infinities and sudden growth first show up in one entry of a dump.
//!
//! Lives here: the judgement of one entry. May not: know matches, metrics or the result file.

mod findings;
mod level;
mod places;

pub use level::{level, Level};
