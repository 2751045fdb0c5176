//! The stack of each node.
//!
//! A node has the value of its own name in stack.json, else nothing (`[]`). A backward node with nothing of its own has
//! the stack of its forward node, which for a module is always call 0; without such a node, a fixed text. Forward nodes are
//! looked for when all nodes exist, so their place in the file does not matter. Collections and parameter gradients have
//! no stack.

use std::ops::Range;

use super::draft::Draft;
use super::node::{NodeId, StackRef};
use crate::name::{self, Direction};

/// Resolves the stacks of all nodes.
pub(super) fn resolve(draft: &mut Draft<'_>, collections: &Range<u32>, gradients: &Range<u32>) {
    let stacks = &draft.files.stack;
    let mut borrowers = Vec::new();
    for id in 1..draft.nodes.len() as u32 {
        if collections.contains(&id) || gradients.contains(&id) {
            continue;
        }
        let node = &mut draft.nodes[id as usize];
        let own = stacks.find(node.name());
        node.stack = own.map_or(StackRef::Empty, StackRef::File);
        if own.is_none_or(|own| stacks.is_empty(own)) {
            borrowers.push(NodeId(id));
        }
    }
    for node in borrowers {
        if let Some(forward) = forward_with_the_stack(draft.node(node).name()) {
            // A forward node borrows from nobody, so its stack is final.
            let stack = draft.find(&forward).map_or(StackRef::NoForward, |forward| draft.node(forward).stack());
            draft.nodes[node.index()].stack = stack;
        }
    }
}

/// The forward name whose stack a backward name borrows.
fn forward_with_the_stack(name: &str) -> Option<String> {
    if let Some(call) = name::module_call(name) {
        return (call.direction == Direction::Backward).then(|| format!("{}.forward.0", call.base));
    }
    name::forward_twin(name)
}
