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
    for id in 1..draft.nodes.len() as u32 {
        if !collections.contains(&id) && !gradients.contains(&id) {
            draft.nodes[id as usize].stack = stack_of(draft, draft.node(NodeId(id)).name());
        }
    }
}

fn stack_of(draft: &Draft<'_>, name: &str) -> StackRef {
    let stacks = &draft.files.stack;
    let own = stacks.find(name);
    if own.is_none_or(|id| stacks.is_empty(id)) {
        if let Some(forward) = forward_with_the_stack(name) {
            return match draft.find(&forward) {
                Some(_) => stacks.find(&forward).map_or(StackRef::Empty, StackRef::File),
                None => StackRef::NoForward,
            };
        }
    }
    own.map_or(StackRef::Empty, StackRef::File)
}

/// The forward name whose stack a backward name borrows.
fn forward_with_the_stack(name: &str) -> Option<String> {
    if let Some(call) = name::module_call(name) {
        return (call.direction == Direction::Backward).then(|| format!("{}.forward.0", call.base));
    }
    name::forward_twin(name)
}
