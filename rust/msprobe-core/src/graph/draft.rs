//! The graph while it is being built: nodes that are still given parents, child lists that still grow.

use std::borrow::Cow;

use super::index::NameIndex;
use super::node::{Node, NodeId};
use crate::dump::RankFiles;
use crate::name::{NodeKind, ROOT};

/// The list of a node's children, and its own place in its parent's list. Linked, so that appending is free and a moved
/// node needs no copying.
#[derive(Clone, Copy)]
struct Siblings {
    first_child: NodeId,
    last_child: NodeId,
    next: NodeId,
}

const ALONE: Siblings = Siblings { first_child: NodeId::NONE, last_child: NodeId::NONE, next: NodeId::NONE };

/// A graph under construction. The root exists from the start.
pub(super) struct Draft<'a> {
    pub(super) files: &'a RankFiles,
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) names: NameIndex<'a>,
    siblings: Vec<Siblings>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(files: &'a RankFiles) -> Self {
        let capacity = files.construct.len() + files.construct.len() / 16 + 1;
        let mut draft = Draft {
            files,
            nodes: Vec::with_capacity(capacity),
            names: NameIndex::new(&files.construct),
            siblings: Vec::with_capacity(capacity),
        };
        let root = draft.push(Cow::Borrowed(ROOT), NodeKind::Module);
        match files.construct.find(ROOT) {
            Some(key) => draft.names.set_node_of_key(key, root),
            None => draft.names.insert_other(&draft.nodes, root),
        }
        draft
    }

    fn push(&mut self, name: Cow<'a, str>, kind: NodeKind) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node::new(name, kind));
        self.siblings.push(ALONE);
        id
    }

    /// The node of the construct key `key`, created without a parent if it does not exist.
    pub(super) fn node_of_key(&mut self, key: usize, name: &'a str) -> NodeId {
        if let Some(node) = self.names.node_of_key(key) {
            return node;
        }
        let node = self.push(Cow::Borrowed(name), NodeKind::of(name));
        self.names.set_node_of_key(key, node);
        node
    }

    /// The node of any name, created without a parent if it does not exist.
    pub(super) fn node_of_name(&mut self, name: &'a str) -> NodeId {
        if let Some(key) = self.files.construct.find(name) {
            return self.node_of_key(key, name);
        }
        self.names.find_other(&self.nodes, name).unwrap_or_else(|| self.add(Cow::Borrowed(name), NodeKind::of(name)))
    }

    /// Adds a node without a parent. Its name must be new and no construct key.
    pub(super) fn add(&mut self, name: Cow<'a, str>, kind: NodeKind) -> NodeId {
        let node = self.push(name, kind);
        self.names.insert_other(&self.nodes, node);
        node
    }

    pub(super) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.index()]
    }

    pub(super) fn find(&self, name: &str) -> Option<NodeId> {
        self.names.find(&self.nodes, name)
    }

    /// Puts a node that is in no list at the end of the parent's children.
    pub(super) fn append(&mut self, parent: NodeId, child: NodeId) {
        self.nodes[child.index()].parent = parent;
        self.siblings[child.index()].next = NodeId::NONE;
        let list = &mut self.siblings[parent.index()];
        let before = std::mem::replace(&mut list.last_child, child);
        if before == NodeId::NONE {
            list.first_child = child;
        } else {
            self.siblings[before.index()].next = child;
        }
    }

    /// The children of a node, in order.
    pub(super) fn children(&self, parent: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.siblings[parent.index()].first_child.or_none(), |child| self.siblings[child.index()].next.or_none())
    }

    /// Empties the list of a node's children, to be filled again by [`Draft::append`].
    pub(super) fn take_children(&mut self, parent: NodeId) -> Vec<NodeId> {
        let children = self.children(parent).collect();
        let list = &mut self.siblings[parent.index()];
        (list.first_child, list.last_child) = (NodeId::NONE, NodeId::NONE);
        children
    }
}
