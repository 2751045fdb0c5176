//! The order in which the matchers look at the target.

use crate::graph::{Graph, NodeId};

/// All nodes, level by level from the root, children in order.
pub(super) fn breadth_first(graph: &Graph<'_>) -> Vec<NodeId> {
    let mut order = Vec::with_capacity(graph.len());
    order.push(graph.root());
    let mut next = 0;
    while next < order.len() {
        order.extend_from_slice(graph.children(order[next]));
        next += 1;
    }
    order
}
