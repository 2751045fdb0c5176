//! From a name to its node, without a second copy of construct.json's own index.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::node::{Node, NodeId};
use crate::dump::ConstructFile;

/// Finds nodes by name: keys of construct.json through that file's index, all others through a small table.
#[derive(Debug)]
pub(super) struct NameIndex<'a> {
    construct: &'a ConstructFile,
    /// Per key of construct.json its node.
    nodes_of_keys: Vec<NodeId>,
    /// Nodes whose name is no key of construct.json.
    others: HashTable<NodeId>,
    hasher: DefaultHashBuilder,
}

impl<'a> NameIndex<'a> {
    pub(super) fn new(construct: &'a ConstructFile) -> Self {
        NameIndex {
            construct,
            nodes_of_keys: vec![NodeId::NONE; construct.len()],
            others: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The node of the construct key `key`, if it exists already.
    pub(super) fn node_of_key(&self, key: usize) -> Option<NodeId> {
        self.nodes_of_keys[key].or_none()
    }

    pub(super) fn set_node_of_key(&mut self, key: usize, node: NodeId) {
        self.nodes_of_keys[key] = node;
    }

    /// Adds a node whose name is no construct key.
    pub(super) fn insert_other(&mut self, nodes: &[Node<'_>], node: NodeId) {
        let hash = self.hasher.hash_one(nodes[node.index()].name());
        self.others.insert_unique(hash, node, |other| self.hasher.hash_one(nodes[other.index()].name()));
    }

    /// The node of a name that is no construct key.
    pub(super) fn find_other(&self, nodes: &[Node<'_>], name: &str) -> Option<NodeId> {
        self.others.find(self.hasher.hash_one(name), |other| nodes[other.index()].name() == name).copied()
    }

    /// The node of `name`.
    pub(super) fn find(&self, nodes: &[Node<'_>], name: &str) -> Option<NodeId> {
        match self.construct.find(name) {
            Some(key) => self.node_of_key(key),
            None => self.find_other(nodes, name),
        }
    }
}
