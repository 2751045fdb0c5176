//! A node that may be where two ranks first part.

use crate::facts::Break;
use serde::{Deserialize, Serialize};

/// What differs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A parameter of a module.
    Parameter,
    /// A number or flag given to a call.
    Argument,
    /// The trees: a node that one side does not have.
    Structure,
    /// The data fed in.
    Input,
    /// The result of a module or API whose inputs agree.
    Computation,
}

/// A row of a node: both as numbers, so that nothing is copied on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowAt {
    pub order: u32,
    /// Position among the node's rows, inputs first.
    pub row: u32,
}

/// A node that may be the first difference.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub what: What,
    /// When the difference is there.
    pub time: u32,
    pub order: u32,
    /// The row that differs; of another node if the difference turned up there.
    pub row: RowAt,
    /// Relative error and tolerance of the row.
    pub error: f32,
    pub tolerance: f32,
    pub broken: Option<Break>,
    /// Largest relative error of the data inputs, with its tolerance; `None` if none was compared.
    pub inputs: Option<(f32, f32)>,
    pub is_distributed: bool,
    /// Communication nodes of this rank before the candidate.
    pub communications: u32,
    pub micro_step: u32,
    /// Values that differ, to follow where they flow.
    pub marks: Vec<u64>,
}

impl Candidate {
    /// Earlier first; at one time a parameter before what it causes, the outermost of inputs, the deepest of computations.
    pub fn key(&self) -> (u32, What, i64) {
        let outermost = matches!(self.what, What::Input | What::Structure);
        (self.time, self.what, if outermost { -i64::from(self.order) } else { i64::from(self.order) })
    }
}
