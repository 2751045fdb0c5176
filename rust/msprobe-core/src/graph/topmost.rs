//! Under which child of the root a node lies, and which nodes run in a circle.

use super::node::{Node, NodeId};

/// What lies above each node.
pub(super) struct Topmost {
    /// Per node the highest node above it (or itself) that is not the root: a child of the root, a node that hangs in the
    /// air, or, above which there is no end, one member of the cycle.
    pub(super) of: Vec<NodeId>,
    /// The members of each cycle of parents.
    pub(super) cycles: Vec<Vec<NodeId>>,
}

impl Topmost {
    /// Looks at every node once.
    pub(super) fn find(nodes: &[Node<'_>]) -> Topmost {
        // NONE: not looked at yet.
        let mut of = vec![NodeId::NONE; nodes.len()];
        of[NodeId::ROOT.index()] = NodeId::ROOT;
        let mut cycles = Vec::new();
        let mut path = Vec::new();
        let mut on_path = vec![false; nodes.len()];
        for id in 1..nodes.len() as u32 {
            let mut here = NodeId(id);
            let top = loop {
                if of[here.index()] != NodeId::NONE {
                    break of[here.index()];
                }
                if on_path[here.index()] {
                    let start = path.iter().position(|&node| node == here).unwrap_or(0);
                    cycles.push(path[start..].to_vec());
                    break here;
                }
                path.push(here);
                on_path[here.index()] = true;
                match nodes[here.index()].parent() {
                    None | Some(NodeId::ROOT) => break here,
                    Some(parent) => here = parent,
                }
            };
            for node in path.drain(..) {
                of[node.index()] = top;
            }
        }
        Topmost { of, cycles }
    }

    /// The topmost node of `node` after the moves made so far.
    pub(super) fn current(&mut self, node: NodeId) -> NodeId {
        let mut top = self.of[node.index()];
        while self.of[top.index()] != top {
            top = self.of[top.index()];
        }
        // Shorten the way for the next question.
        let mut here = node;
        while self.of[here.index()] != top {
            here = std::mem::replace(&mut self.of[here.index()], top);
        }
        top
    }

    /// Notes that the topmost node `node` now lies below `parent`.
    pub(super) fn moved_below(&mut self, node: NodeId, parent: NodeId) {
        self.of[node.index()] = self.current(parent);
    }
}
