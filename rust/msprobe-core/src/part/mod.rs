//! One rank, rendered: its nodes compared, judged and written as rows of the result.
//!
//! Lives here: walking the nodes of both graphs in their order, measuring each pair of nodes and turning rows into text.
//! May not: find files, decide which ranks are compared, or know the layout of the result file.
//!
//! Nothing is kept per parameter. A node's entry is parsed when its turn comes, compared, rendered into the batch of its
//! chunk and forgotten; chunks are rendered in parallel and appended in order, so the rows do not depend on the number of
//! workers and memory does not depend on the number of nodes beyond the trees themselves.

mod columns;
mod compare;
mod emit;
mod line;
mod render;
mod stacks;
mod stored;
mod tensors;
mod told;

use crate::dump::RankFiles;
use crate::graph::Graph;
use crate::matching::NodeMatch;
use crate::metrics::tensor::Algorithms;
use crate::metrics::Mode;
use crate::visdb::OverflowLevel;

pub use columns::{DIFFERENCES, JUDGED, RELATIVE_ERRORS};
pub use emit::Watch;
pub(crate) use emit::{render, Rows, Stacks};
pub use stored::{compare_stored, Compared, TensorFact};
pub use tensors::TensorFolders;

/// One side of a part.
#[derive(Clone, Copy, Debug)]
pub struct PartSide<'a> {
    /// The rank's files.
    pub files: &'a RankFiles,
    /// Its tree.
    pub graph: &'a Graph<'a>,
    /// Folder of the tensor files, as stored with every node.
    pub dump_data_dir: Option<&'a str>,
}

/// The golden side and what links it to the target.
#[derive(Clone, Copy, Debug)]
pub struct Golden<'a> {
    /// The golden side itself.
    pub side: PartSide<'a>,
    /// Which node faces which.
    pub matched: &'a NodeMatch,
    /// What is compared.
    pub mode: Mode,
    /// The sides come from different frameworks.
    pub cross_framework: bool,
}

/// Everything that is known of one rank before its nodes are written.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Number in the `step` column.
    pub step: u64,
    /// Number in the `rank` column.
    pub rank: u64,
    /// The side under test.
    pub target: PartSide<'a>,
    /// The side it is held against, in a comparison.
    pub golden: Option<Golden<'a>>,
    /// Give overflow levels.
    pub overflow_check: bool,
    /// What the caller hangs into a comparison of tensors.
    pub hooks: Hooks<'a>,
}

/// Takes the log of a comparison of tensors.
pub trait TensorLog: std::fmt::Debug + Sync {
    /// One line; those of a node come together, nodes in their order.
    fn line(&self, line: &str);
}

/// What a caller hangs into a comparison of tensors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks<'h> {
    /// Gets two lines for every pair of parameters.
    pub tensor_log: Option<&'h dyn TensorLog>,
    /// Further columns.
    pub algorithms: Option<&'h dyn Algorithms>,
}

impl<'h> Hooks<'h> {
    /// Names of the further columns.
    #[must_use]
    pub fn columns(&self) -> &'h [String] {
        self.algorithms.map_or(&[], Algorithms::columns)
    }
}

/// What was written.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Nodes by overflow level: critical, high, medium.
    pub overflow: [u64; 3],
    /// Golden parameters that no target parameter faces.
    pub surplus_golden_parameters: u64,
    /// Pairs of tensor files that were compared.
    pub tensors_compared: u64,
    /// Pairs of parameters with a tensor file that could not be compared.
    pub tensors_not_compared: u64,
}

impl Report {
    fn count_level(&mut self, level: OverflowLevel) {
        let index = match level {
            OverflowLevel::Critical => 0,
            OverflowLevel::High => 1,
            OverflowLevel::Medium => 2,
        };
        self.overflow[index] += 1;
    }
}

/// Why a part could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An entry that was read before cannot be read again: the file changed meanwhile.
    #[error(transparent)]
    Dump(#[from] crate::dump::Error),
    /// The result file cannot be written.
    #[error(transparent)]
    Write(#[from] crate::visdb::Error),
    /// Somebody asked to stop.
    #[error("interrupted")]
    Cancelled,
}
