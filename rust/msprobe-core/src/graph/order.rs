//! The finished graph: child lists as runs of one vector, depths, and the order of the result.
//!
//! The order is depth-first post-order from the root: all children, in their order, before the node itself.

use super::draft::Draft;
use super::node::NodeId;
use super::Graph;

/// Lays out the children, numbers the nodes and measures their depth.
pub(super) fn finish(mut draft: Draft<'_>) -> Graph<'_> {
    let count = draft.nodes.len();
    let mut children = Vec::with_capacity(count - 1);
    for id in 0..count {
        let start = children.len();
        children.extend(draft.children(NodeId(id as u32)));
        draft.nodes[id].children_start = start as u32;
        draft.nodes[id].children_len = (children.len() - start) as u32;
    }
    let mut graph = Graph { nodes: draft.nodes, children, order: Vec::new(), names: draft.names, micro_steps: 1 };
    graph.order = post_order(&graph);
    for (position, id) in graph.order.iter().enumerate() {
        graph.nodes[id.index()].position = position as u32;
    }
    for at in (0..graph.order.len()).rev() {
        let id = graph.order[at];
        if let Some(parent) = graph[id].parent() {
            graph.nodes[id.index()].depth = graph[parent].depth + 1;
        }
    }
    graph
}

/// Walks parents first and last children first; that order read backwards is the post-order.
fn post_order(graph: &Graph<'_>) -> Vec<NodeId> {
    let mut order = Vec::with_capacity(graph.len());
    let mut waiting = vec![graph.root()];
    while let Some(node) = waiting.pop() {
        order.push(node);
        waiting.extend_from_slice(graph.children(node));
    }
    order.reverse();
    order
}
