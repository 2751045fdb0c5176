//! Links: where the partner of a node lies in the other graph.
//!
//! Each side of a match stores the other side's path, the names from the root down to the partner. Below depth 512 the path
//! would make the result grow with the square of the depth; there it is the parent and the partner alone.

use crate::graph::{Graph, NodeId};
use crate::text::json;

/// Nodes deeper than this have a short link.
pub const MAX_LINK_DEPTH: u32 = 512;

/// Replaces the content of `path` by the nodes from the root down to `node`, or, below [`MAX_LINK_DEPTH`], by the parent
/// and `node`.
pub fn link_path(graph: &Graph<'_>, node: NodeId, path: &mut Vec<NodeId>) {
    let length = if graph[node].depth() > MAX_LINK_DEPTH { 2 } else { graph[node].depth() as usize + 1 };
    path.clear();
    path.extend(std::iter::successors(Some(node), |&below| graph[below].parent()).take(length));
    path.reverse();
}

/// Writes links as JSON. Nodes of one parent share all but the last name, so the text up to there is kept.
#[derive(Debug, Default)]
pub struct LinkWriter {
    parent: Option<NodeId>,
    /// `["DefaultModel", ...` up to the parent of the last node, with the comma behind it.
    start: Vec<u8>,
    path: Vec<NodeId>,
}

impl LinkWriter {
    /// Appends the link to `node` of `graph` to `out`. One writer serves one graph.
    pub fn push(&mut self, graph: &Graph<'_>, node: NodeId, out: &mut Vec<u8>) {
        let parent = graph[node].parent();
        if self.start.is_empty() || self.parent != parent {
            link_path(graph, node, &mut self.path);
            self.path.pop();
            self.start.clear();
            self.start.push(b'[');
            for &above in &self.path {
                json::push_string(&mut self.start, graph[above].name());
                self.start.extend_from_slice(b", ");
            }
            self.parent = parent;
        }
        out.extend_from_slice(&self.start);
        json::push_string(out, graph[node].name());
        out.push(b']');
    }
}
