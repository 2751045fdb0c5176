//! The tolerance of a row: from the dtypes met so far, or from a second golden run.

use super::answer::TwinNodes;
use super::noise::EPSILON_OF_STATISTICS;
use super::twin::Twin;
use crate::facts::{Difference, NodeFacts, Role, RowFacts};

/// How much noise there is at the end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Level {
    ambient: f32,
    grown: f32,
    /// Nodes whose noise a second golden run has shown so far, and those whose golden partner it does not have.
    pub of_twin: TwinNodes,
}

/// The noise of one rank, as far as the walk has come.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    multiple: f32,
    twin: Option<Twin>,
    /// Coarsest epsilon of any data so far: what is computed from bfloat16 data has its noise, whatever type it is kept in.
    ambient: f32,
    /// The same of data whose dtypes differ between the sides.
    mixed: f32,
    /// Relative error to which noise has grown on its way.
    grown: f32,
    of_twin: TwinNodes,
    /// Whether parameters are as they were loaded; after the first optimizer step they carry the noise of all that came before.
    pristine: bool,
}

impl Noise {
    /// The noise at the beginning of a step; `before` is that of the step before.
    pub fn new(multiple: f64, twin: Option<Twin>, before: Option<Level>) -> Self {
        let Level { ambient, grown, of_twin } = before.unwrap_or_default();
        Noise { multiple: multiple as f32, twin, ambient, mixed: 0.0, grown, of_twin, pristine: before.is_none() }
    }

    /// What the next step of the rank starts with.
    pub fn level(&self) -> Level {
        Level { ambient: self.ambient, grown: self.grown, of_twin: self.of_twin }
    }

    /// Takes note of a node: its dtypes, and whether the second golden run has it.
    pub fn meet(&mut self, node: &NodeFacts) {
        if let Some(twin) = self.twin.as_ref().filter(|_| node.rows.iter().any(RowFacts::is_compared)) {
            let known = twin.tolerance(node.golden).is_some();
            self.of_twin.found += u64::from(known);
            self.of_twin.not_found += u64::from(!known);
        }
        for row in node.rows.iter().filter(|row| row.role != Role::Parameter && !row.measured.is_scalar && row.is_compared()) {
            if row.measured.dtypes_differ {
                self.mixed = self.mixed.max(row.measured.epsilon);
            }
            // A second golden run shows the noise of golden's own types; the other type's noise it cannot show.
            if self.twin.is_none() || row.measured.dtypes_differ {
                self.ambient = self.ambient.max(row.measured.epsilon);
            }
        }
    }

    /// Whether the sides compute in different types, so that every node adds noise of its own.
    pub fn is_mixed(&self) -> bool {
        self.mixed > 0.0
    }

    /// Noise has grown to a relative error of `error`.
    pub fn raise(&mut self, error: f32) {
        self.grown = self.grown.max(error);
    }

    /// Tolerances of the three relative errors of a row.
    pub fn tolerance(&self, node: &NodeFacts, row: &RowFacts) -> [f32; 3] {
        let floor = if row.role == Role::Parameter && self.pristine {
            // Copied, not computed: at most rounded once, where one side computes in a coarser type.
            (self.multiple * (row.measured.epsilon + EPSILON_OF_STATISTICS)).max(self.mixed / 2.0)
        } else {
            (self.multiple * (row.measured.epsilon.max(self.ambient) + EPSILON_OF_STATISTICS)).max(self.grown)
        };
        // Where the sides compute in different types, single elements differ by far more than the norm does.
        let floors = [floor, floor * row.measured.reach, floor];
        match self.twin.as_ref().and_then(|twin| twin.tolerance(node.golden)) {
            Some(seen) => [0, 1, 2].map(|i| seen[i].max(floors[i])),
            None => floors,
        }
    }
}

/// The three relative errors of a row, 0 where there is none.
pub(super) fn errors(row: &RowFacts) -> [f32; 3] {
    match row.measured.difference {
        Difference::Relative(errors) => errors.map(|error| if error.is_nan() { 0.0 } else { error }),
        _ => [0.0; 3],
    }
}
