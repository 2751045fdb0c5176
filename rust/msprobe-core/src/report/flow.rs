//! Follows a difference downstream: from the values that differ first to the nodes that take them in, and on.

use super::answer::FlowNode;
use super::candidate::{Candidate, What};
use super::error::Result;
use super::evidence::{name_flow, Flow};
use super::file::{Place, VisFile};
use super::scan::for_each_node_from;
use crate::facts::{Difference, NodeFacts, Role, RowFacts};
use std::collections::HashSet;

/// Nodes that are told.
const TOLD: usize = 12;
/// Nodes that are looked at: what a difference does next shows soon, and the rest of a large file need not be read for it.
const LOOKED_AT: u32 = 4_096;
/// Nodes behind the last one found after which no more are looked for.
const WITHOUT_TRACE: u32 = 512;

/// The nodes that `candidate` flows into, in execution order.
pub(super) fn flow(file: &VisFile, place: Place, candidate: &Candidate) -> Result<Vec<FlowNode>> {
    let mut marks: HashSet<u64> = candidate.marks.iter().copied().collect();
    let mut found = Vec::new();
    let to = candidate.time.saturating_add(LOOKED_AT);
    let mut last = candidate.order;
    // What was given to the node differs, so its results are what flows on.
    let is_given = matches!(candidate.what, What::Argument | What::Parameter);
    for_each_node_from(file, place, candidate.time, to, |node| {
        if node.order == candidate.order && is_given {
            marks.extend(node.rows.iter().filter(|row| row.role == Role::Output && differs(row)).map(|row| row.measured.mark));
        }
        if node.order != candidate.order && takes_in(node, &marks) {
            marks.extend(node.rows.iter().filter(|row| row.role == Role::Output && row.measured.mark != 0).map(|row| row.measured.mark));
            last = node.order;
            found.push(Flow {
                order: node.order,
                input_error: largest(node, Role::Input).unwrap_or(0.0),
                output_error: largest(node, Role::Output),
            });
        }
        found.len() < TOLD && node.order < last.saturating_add(WITHOUT_TRACE)
    })?;
    name_flow(file, place, &found)
}

/// Whether a row has a value, another one than golden's.
fn differs(row: &RowFacts) -> bool {
    let equal = |errors: [f32; 3]| errors.iter().all(|&error| error == 0.0 || error.is_nan());
    let differs = match row.measured.difference {
        Difference::NotCompared => false,
        Difference::Broken(_) => true,
        Difference::Relative(errors) => !equal(errors),
    };
    differs && row.measured.mark != 0
}

fn takes_in(node: &NodeFacts, marks: &HashSet<u64>) -> bool {
    node.rows.iter().any(|row| row.role == Role::Input && marks.contains(&row.measured.mark))
}

/// Largest relative error of the rows of a role; `None` if none was compared.
fn largest(node: &NodeFacts, role: Role) -> Option<f32> {
    let errors = node.rows.iter().filter(|row| row.role == role).filter_map(|row| match row.measured.difference {
        Difference::NotCompared => None,
        Difference::Broken(_) => Some(f32::INFINITY),
        Difference::Relative(errors) => errors.into_iter().filter(|error| !error.is_nan()).reduce(f32::max),
    });
    errors.reduce(f32::max)
}
