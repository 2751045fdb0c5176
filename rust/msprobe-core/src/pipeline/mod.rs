//! A whole run: find steps and ranks, pair them, read, match and write one after the other.
//!
//! Lives here: the layout of input folders, the plan, the pool of workers, progress and cancellation, and what becomes of a
//! rank that fails. May not: know what is in a dump or in a row.
//!
//! Ranks are prepared (read, built, matched) in parallel and written in the order step, rank; a rank that cannot be
//! read is left out, named with its reason, and the others finish.

mod error;
mod layout;
mod matcher;
mod output;
mod pairing;
mod prepare;
mod progress;
mod request;
mod run;
mod suggest;
mod turn;
mod twin;
mod workers;

pub use crate::part::{Hooks, TensorLog};
pub use error::Error;
pub use progress::{Phase, Progress};
pub use request::{LeftOut, OverflowCounts, PartSummary, Request, Summary, VerdictCounts, WayCounts};
pub use run::run;
pub use suggest::{suggest_mapping, SuggestedMapping};
