//! One node of a graph, and what it refers to.

use std::borrow::Cow;

use crate::dump::{EntryId, StackFile, StackId};
use crate::name::NodeKind;

/// A node of one graph: its position in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    pub(super) const ROOT: NodeId = NodeId(0);
    /// "No node", where an `Option` would double the size.
    pub(super) const NONE: NodeId = NodeId(u32::MAX);

    /// The id as an index into vectors with one item per node.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) fn or_none(self) -> Option<NodeId> {
        (self != NodeId::NONE).then_some(self)
    }
}

/// Text of the stack of a backward node whose forward node does not exist, as the reference writes it.
pub const NO_FORWARD_STACK: &str = "This backward node cannot find the forward node and cannot retrieve stack information.";

/// The stack of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackRef {
    /// A value of stack.json, of this node or of the forward node it belongs to.
    File(StackId),
    /// No stack: `[]`.
    Empty,
    /// A backward node whose forward node does not exist: a list with [`NO_FORWARD_STACK`].
    NoForward,
}

impl StackRef {
    /// The stack as the result stores it: JSON, or the text itself for a stack that is a text; `None` (SQL NULL) for null.
    #[must_use]
    pub fn stored(self, stacks: &StackFile) -> Option<Cow<'_, str>> {
        match self {
            StackRef::File(id) => stacks.stored(id),
            StackRef::Empty => Some(Cow::Borrowed("[]")),
            StackRef::NoForward => Some(Cow::Owned(format!("[\"{NO_FORWARD_STACK}\"]"))),
        }
    }
}

/// One module, API or collection.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    name: Cow<'a, str>,
    pub(super) micro_step: i64,
    pub(super) stack: StackRef,
    pub(super) parent: NodeId,
    pub(super) entry: u32,
    pub(super) children_start: u32,
    pub(super) children_len: u32,
    pub(super) depth: u32,
    pub(super) position: u32,
    kind: NodeKind,
}

impl<'a> Node<'a> {
    pub(super) const NO_ENTRY: u32 = u32::MAX;

    pub(super) fn new(name: Cow<'a, str>, kind: NodeKind) -> Node<'a> {
        Node {
            name,
            kind,
            micro_step: 0,
            stack: StackRef::Empty,
            parent: NodeId::NONE,
            entry: Self::NO_ENTRY,
            children_start: 0,
            children_len: 0,
            depth: 0,
            position: 0,
        }
    }

    /// The full name, unique in the graph.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Module, API or collection.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        self.kind
    }

    /// The node above; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<NodeId> {
        self.parent.or_none()
    }

    /// The entry of dump.json with this node's data, if it has any.
    #[must_use]
    pub fn entry(&self) -> Option<EntryId> {
        (self.entry != Self::NO_ENTRY).then_some(EntryId(self.entry))
    }

    /// The stack.
    #[must_use]
    pub fn stack(&self) -> StackRef {
        self.stack
    }

    /// Micro step, counted from 0.
    #[must_use]
    pub fn micro_step(&self) -> i64 {
        self.micro_step
    }

    /// Number of nodes above; 0 for the root.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Position in the graph's post-order (`node_order` of the result).
    #[must_use]
    pub fn position(&self) -> u32 {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_stays_small() {
        assert!(std::mem::size_of::<Node<'_>>() <= 72, "{}", std::mem::size_of::<Node<'_>>());
    }
}
