//! One target node: what its name, its place and its rows say.

use super::cells::{for_each_row, Cells};
use super::dtype::{dtype, Dtype};
use super::marks;
use super::measure::{measure, Difference, Extremes, Measured, Role};
use super::quick;
use crate::name::{self, Direction};
use crate::visdb::{OverflowLevel, Task};

/// Which half of training a node belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Forward,
    Backward,
    Gradient,
    Other,
}

/// The verdict of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    NotCompared,
    Pass,
    Warning,
    Error,
}

/// One row of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowFacts {
    pub role: Role,
    pub measured: Measured,
}

/// One target node.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts of the file, not states
pub(crate) struct NodeFacts {
    pub order: u32,
    /// Marks of the node's and its parent's name.
    pub mark: u64,
    pub parent: u64,
    /// Mark of the forward call that a backward node belongs to, or of the module that a gradient belongs to; 0 if none.
    pub forward: u64,
    pub phase: Phase,
    /// `0`, `1` or `9`, see [`name::NodeKind`].
    pub is_api: bool,
    pub is_collection: bool,
    pub is_root: bool,
    pub micro_step: u32,
    pub matched: bool,
    /// Mark of the golden partner's name; 0 without one.
    pub golden: u64,
    pub verdict: Verdict,
    pub overflow: Option<OverflowLevel>,
    pub is_distributed: bool,
    /// Whether the results may be much smaller than what they are made from, so that rounding shows.
    pub cancels: bool,
    /// Whether the contents of its outputs are undefined.
    pub is_uninitialised: bool,
    pub modified: bool,
    /// Whether this is a gradient that stands below the forward call, because nobody recorded the backward one.
    pub is_early: bool,
    pub rows: Vec<RowFacts>,
}

/// Elementwise sums and differences: rounding is relative to the larger operand, not to the result (Higham, section 1.7).
const CANCELLING: [&str; 10] = ["add", "sub", "__add__", "__sub__", "__radd__", "__rsub__", "add_", "sub_", "__iadd__", "__isub__"];

impl NodeFacts {
    /// What the name and the parent's name alone tell; the parent of a root is empty.
    pub fn new(name: &str, parent: &str) -> Self {
        let call = name::module_call(name);
        let direction = call.map(|call| call.direction).or_else(|| name::api_direction(name).map(|api| api.1));
        let (phase, forward) = if name::is_parameters_grad(name) {
            (Phase::Gradient, name::parameters_grad_owner(name).map_or(0, |(owner, _)| marks::mark(owner)))
        } else {
            match direction {
                Some(Direction::Forward) => (Phase::Forward, call.map_or(0, |call| marks::mark(call.base))),
                Some(Direction::Backward) => (Phase::Backward, name::forward_twin(name).map_or(0, |twin| marks::mark(&twin))),
                None => (Phase::Other, 0),
            }
        };
        let is_early = phase == Phase::Gradient && name::module_call(parent).is_some_and(|call| call.direction == Direction::Forward);
        let api = name::api_name(name).unwrap_or("");
        NodeFacts {
            order: 0,
            mark: marks::mark(name),
            parent: marks::mark(parent),
            forward,
            phase,
            is_api: false,
            is_collection: false,
            is_root: parent.is_empty(),
            micro_step: 0,
            matched: false,
            golden: 0,
            verdict: Verdict::NotCompared,
            overflow: None,
            is_distributed: false,
            cancels: CANCELLING.contains(&api),
            is_uninitialised: name::returns_uninitialised_memory(api),
            modified: false,
            is_early,
            rows: Vec::new(),
        }
    }

    /// Becomes another node, without rows so far.
    pub fn begin(&mut self, name: &str, parent: &str) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        *self = NodeFacts { rows, ..NodeFacts::new(name, parent) };
    }

    /// Takes in the rows of `input_data` or, after it, of `output_data` of the node of that name.
    pub fn read_rows(&mut self, node: &str, text: &str, is_output: bool, task: Task) -> Result<(), serde_json::Error> {
        let before = self.rows.len();
        let mut take = |row: &str, cells: &Cells<'_>| self.push_row(node, row, is_output, measure(cells, task));
        if quick::for_each_row(text, &mut take).is_ok() {
            #[cfg(debug_assertions)]
            assert!(quick::agrees(text), "{text}");
            return Ok(());
        }
        self.rows.truncate(before);
        for_each_row(text, |row, cells: &Cells<'_>| self.push_row(node, row, is_output, measure(cells, task)))
    }

    /// Takes note of the golden partner's name; `name` is the node's own.
    pub fn face(&mut self, name: &str, golden: &str) {
        self.matched = true;
        self.golden = if name == golden { self.mark } else { marks::mark(golden) };
    }

    /// Takes in the next row, inputs before outputs.
    pub fn push_row(&mut self, node: &str, row: &str, is_output: bool, measured: Measured) {
        let role = if self.phase == Phase::Gradient { Role::Gradient } else { role_by_place(node, row, is_output, &measured) };
        self.rows.push(RowFacts { role, measured });
    }

    /// Whether the golden node's dtypes may be coarser than those of the rows.
    pub fn may_widen(&self) -> bool {
        // Nothing is coarser than what has 8 bits, and a bfloat16 faces something finer.
        self.matched && self.rows.iter().any(|row| row.measured.dtypes_differ && row.measured.epsilon < f32::EPSILON * 65536.0)
    }

    /// The worst that the node's tensors hold, without what is in memory before anything is received.
    pub fn overflown(&self) -> Extremes {
        let passed_in =
            |row: &RowFacts| self.rows.iter().any(|other| other.role == Role::Input && other.measured.mark == row.measured.mark);
        let counts = |row: &&RowFacts| match row.role {
            Role::Output => !(self.is_distributed && passed_in(row)),
            _ => !self.is_distributed,
        };
        let tensors = self.rows.iter().filter(|_| !self.is_root && !self.is_collection);
        tensors.filter(counts).map(|row| row.measured.extremes).max().unwrap_or(Extremes::Finite)
    }

    /// Takes the coarsest epsilon of the golden node's tensors into account where the dtypes differ.
    pub fn widen(&mut self, coarsest: f32) {
        for row in self.rows.iter_mut().map(|row| &mut row.measured).filter(|row| row.dtypes_differ && row.epsilon > 0.0) {
            row.epsilon = row.epsilon.max(coarsest);
        }
    }
}

/// Epsilon of a row's dtype if it is a tensor, else 0.
pub(crate) fn tensor_epsilon(cells: &Cells<'_>) -> f32 {
    if cells.kind.text().contains("Tensor") {
        dtype(cells.dtype.text()).epsilon()
    } else {
        0.0
    }
}

/// Whether a row is a tensor of integers or flags.
pub(crate) fn is_integer_tensor(cells: &Cells<'_>) -> bool {
    cells.kind.text().contains("Tensor") && dtype(cells.dtype.text()) == Dtype::Exact
}

/// The coarsest epsilon of the tensors in `input_data` or `output_data`; of those before its fault in a text that cannot be read.
pub(crate) fn coarsest_epsilon(text: &str) -> f32 {
    let mut coarsest = 0f32;
    let mut take = |_: &str, cells: &Cells<'_>| coarsest = coarsest.max(tensor_epsilon(cells));
    if quick::for_each_row(text, &mut take).is_err() {
        let _ = for_each_row(text, take);
    }
    coarsest
}

/// What a row is to its node.
pub(crate) fn role(node: &str, row: &str, is_output: bool, measured: &Measured) -> Role {
    if name::is_parameters_grad(node) {
        return Role::Gradient;
    }
    role_by_place(node, row, is_output, measured)
}

/// The same for nodes that hold no gradients of parameters.
fn role_by_place(node: &str, row: &str, is_output: bool, measured: &Measured) -> Role {
    if is_output {
        return Role::Output;
    }
    let place = row.strip_prefix(node).unwrap_or("");
    if place.starts_with(".parameters.") || place == ".parameters" {
        Role::Parameter
    } else if measured.is_scalar {
        Role::Argument
    } else {
        Role::Input
    }
}

impl RowFacts {
    pub fn is_compared(&self) -> bool {
        self.measured.difference != Difference::NotCompared
    }
}
