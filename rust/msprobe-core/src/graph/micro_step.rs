//! Micro steps: which of the forward and backward passes of one step a node belongs to.
//!
//! *Recorded* (construct.json has `megatron_micro_step_number` = N): every node has its own number, 0 without one; a
//! collection that of its first child; N + 1 micro steps. *By names* (no such key): walking the top level, a forward
//! module after a module of another kind (backward, `optimizer`, ...) starts the next micro step; every child has the
//! number of the node it is walked past with, everything below inherits. A key of value null records the numbers, but
//! the top level is walked. Parameter gradients always have their parent's number; nodes attached to the root because
//! they had no place are not walked.
//!
//! Both graphs of a comparison are numbered by themselves. No number is negative or beyond the count of micro steps: a
//! recorded number beyond N raises the count.

use std::ops::Range;

use super::draft::Draft;
use super::node::NodeId;
use super::Graph;
use crate::dump::MicroStepRecord;
use crate::name::{self, NodeKind};

/// Number of micro steps of a comparison: that of the side which has more.
#[must_use]
pub fn micro_steps_of_both(target: &Graph<'_>, golden: &Graph<'_>) -> i64 {
    target.micro_steps.max(golden.micro_steps)
}

/// Gives every node its recorded number, if construct.json has them, and every collection that of its first child.
pub(super) fn recorded(draft: &mut Draft<'_>, collections: &Range<u32>) {
    let construct = &draft.files.construct;
    if matches!(construct.record(), MicroStepRecord::Absent) {
        return;
    }
    for key in 0..construct.len() {
        if let (Some(number), Some(node)) = (construct.link(key).micro_step, draft.names.node_of_key(key)) {
            draft.nodes[node.index()].micro_step = number.clamp(0, i64::MAX - 1);
        }
    }
    draft.nodes[NodeId::ROOT.index()].micro_step = 0;
    for id in collections.clone().map(NodeId) {
        let first = draft.children(id).next();
        draft.nodes[id.index()].micro_step = first.map_or(0, |child| draft.node(child).micro_step);
    }
}

/// Numbers what the record leaves open, and counts the micro steps. The first `top_level` children of the root are those
/// that stood there by themselves.
pub(super) fn number(graph: &mut Graph<'_>, record: MicroStepRecord, top_level: usize, gradients: &Range<u32>) {
    let mut micro_steps = match record {
        MicroStepRecord::Recorded(last) => last.clamp(0, i64::MAX - 1) + 1,
        MicroStepRecord::Absent | MicroStepRecord::Null => walk_top_level(graph, top_level),
    };
    let by_names = matches!(record, MicroStepRecord::Absent);
    for at in (0..graph.order.len()).rev() {
        let id = graph.order[at];
        if let Some(parent) = graph[id].parent() {
            if gradients.contains(&id.0) || (by_names && parent != NodeId::ROOT) {
                graph.nodes[id.index()].micro_step = graph[parent].micro_step;
            }
        }
        micro_steps = micro_steps.max(graph[id].micro_step + 1);
    }
    graph.micro_steps = micro_steps;
}

fn walk_top_level(graph: &mut Graph<'_>, top_level: usize) -> i64 {
    let mut micro_step = 0;
    let mut seen_backward = false;
    for at in 0..top_level {
        let id = graph.children(NodeId::ROOT)[at];
        if graph[id].kind() == NodeKind::Module {
            if name::passes_forward(graph[id].name()) {
                micro_step += i64::from(std::mem::take(&mut seen_backward));
            } else {
                seen_backward = true;
            }
        }
        graph.nodes[id.index()].micro_step = micro_step;
    }
    micro_step + 1
}
