//! What a target node and its rows tell of how far two runs are apart.
//!
//! Lives here: measuring a parameter row and naming what a node is to the search for the first difference. May not: read
//! nodes from anywhere, or judge them. The rows come from a finished file or are at hand while the file is written; both give
//! the same facts.

mod cells;
mod dtype;
mod marks;
mod measure;
mod node;
mod quick;

pub(crate) use cells::{for_each_row, Cell, Cells, Members, STATISTICS};
pub(crate) use measure::{measure, Difference, Extremes};
pub use measure::{Break, Role};
pub(crate) use node::{coarsest_epsilon, is_integer_tensor, role, tensor_epsilon, NodeFacts, Phase, RowFacts, Verdict};
