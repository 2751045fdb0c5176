//! Why a match could not be changed.

use std::path::PathBuf;

/// An error of this room; each says what was tried on what, and nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] crate::visdb::Error),
    /// The file is no comparison.
    #[error("{}: this file holds a single graph; only comparisons have matches", .0.display())]
    SingleGraph(PathBuf),
    /// A node that was named is not there.
    #[error("the {side} of step {step}, rank {rank} has no node {name}")]
    NoNode {
        /// `target` or `golden`.
        side: &'static str,
        /// Step.
        step: u64,
        /// Rank.
        rank: u64,
        /// The name.
        name: String,
    },
    /// Two nodes do not go together.
    #[error("{target} and {golden} cannot be matched: {reason}")]
    Unlike {
        /// Target node.
        target: String,
        /// Golden node.
        golden: String,
        /// Why.
        reason: String,
    },
    /// Two nodes do not face each other.
    #[error("{target} and {golden} do not face each other")]
    NotMatched {
        /// Target node.
        target: String,
        /// Golden node.
        golden: String,
    },
    /// A node's parameters cannot be read.
    #[error("{node}: its parameters cannot be read ({reason})")]
    Rows {
        /// The node.
        node: String,
        /// Why.
        reason: String,
    },
    /// There is no change to take back.
    #[error("{}: there is no change to take back", .0.display())]
    NothingToUndo(PathBuf),
    /// A `*.vis.config` file cannot be read or written.
    #[error("{}: {reason}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl Error {
    /// Stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        use crate::visdb::Error as File;
        match self {
            Error::File(File::ReadOnly { .. }) => "read_only",
            Error::File(File::Locked { .. }) => "locked",
            Error::File(_) => "damaged",
            Error::SingleGraph(_) => "single_graph",
            Error::NoNode { .. } => "no_node",
            Error::Unlike { .. } => "unlike",
            Error::NotMatched { .. } => "not_matched",
            Error::Rows { .. } => "rows",
            Error::NothingToUndo(_) => "nothing_to_undo",
            Error::Config { .. } => "config",
        }
    }

    /// Status of HTTP.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self.code() {
            "read_only" => 403,
            "locked" => 503,
            "no_node" => 404,
            "damaged" | "rows" | "config" => 422,
            _ => 409,
        }
    }
}
