//! The tree of one rank: modules, APIs and collections of APIs, in one arena.
//!
//! Lives here: building the tree from a rank's files, one file per rule, and reading it. May not: know rows, metrics or
//! the result file. Nothing walks the tree recursively; a chain of 20,000 nested modules is ordinary input.
//!
//! ```no_run
//! use msprobe_core::{dump::RankFiles, graph::Graph};
//!
//! let files = RankFiles::open("dump/step0/rank0".as_ref())?;
//! let (graph, notes) = Graph::build(&files)?;
//! for warning in notes.warnings() {
//!     eprintln!("{warning}");
//! }
//! for &id in graph.order() {
//!     let up = graph[id].parent().map_or("", |parent| graph[parent].name());
//!     println!("{} below {up}: {} children", graph[id].name(), graph.children(id).len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backward_parent;
mod build;
mod collections;
mod draft;
mod entries;
mod index;
mod micro_step;
mod node;
mod notes;
mod order;
mod parameters_grad;
mod recompute;
mod stacks;
mod topmost;
mod unreachable;

use std::ops::Index;

use crate::dump::RankFiles;
use index::NameIndex;

pub use micro_step::micro_steps_of_both;
pub use node::{Node, NodeId, StackRef, NO_FORWARD_STACK};
pub use notes::{FirstNames, Notes};

/// Why a tree cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Node ids are 32 bits wide.
    #[error("{count} nodes in one rank are more than a graph can hold ({} at most)", Graph::MAX_NODES)]
    TooManyNodes {
        /// Keys of construct.json, their parents, and entries of dump.json.
        count: usize,
    },
}

/// The tree of one rank. Names are borrowed from the rank's files.
#[derive(Debug)]
pub struct Graph<'a> {
    nodes: Vec<Node<'a>>,
    /// The children of all nodes, one run per node.
    children: Vec<NodeId>,
    order: Vec<NodeId>,
    names: NameIndex<'a>,
    micro_steps: i64,
}

impl<'a> Graph<'a> {
    /// More nodes than this are refused.
    pub const MAX_NODES: usize = u32::MAX as usize - 1;

    /// Builds the tree of one rank. Nodes without a way to the root are kept and named in the notes.
    pub fn build(files: &'a RankFiles) -> Result<(Graph<'a>, Notes), Error> {
        build::build(files)
    }

    /// The root, `DefaultModel`.
    #[must_use]
    pub fn root(&self) -> NodeId {
        NodeId::ROOT
    }

    /// Number of nodes, the root included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never true: a graph has at least its root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The nodes in order of creation; the position of a node is its id.
    #[must_use]
    pub fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    /// The children of a node, in order.
    #[must_use]
    pub fn children(&self, id: NodeId) -> &[NodeId] {
        let node = &self[id];
        &self.children[node.children_start as usize..][..node.children_len as usize]
    }

    /// All nodes in depth-first post-order: children before their parent, the root last. Reversed, parents come first.
    #[must_use]
    pub fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// The node of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.find(&self.nodes, name)
    }

    /// Number of micro steps; every node's [`Node::micro_step`] is below it.
    #[must_use]
    pub fn micro_steps(&self) -> i64 {
        self.micro_steps
    }
}

impl<'a> Index<NodeId> for Graph<'a> {
    type Output = Node<'a>;

    fn index(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.index()]
    }
}
