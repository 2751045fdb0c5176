//! Nodes without a way to the root: a parent that is never a key, a node that is its own parent, a cycle of parents.
//!
//! They go to the end of the root's children, after the API collections are formed: first the tops that hang in the air,
//! in order of creation, then one node of each cycle, the one that construct.json names first.

use super::draft::Draft;
use super::node::NodeId;
use super::notes::Notes;
use super::topmost::Topmost;

/// Attaches every subtree that the root does not reach.
pub(super) fn attach(draft: &mut Draft<'_>, notes: &mut Notes) {
    for id in 1..draft.nodes.len() as u32 {
        let node = NodeId(id);
        if draft.node(node).parent().is_none() {
            notes.hanging.add(draft.node(node).name());
            draft.append(NodeId::ROOT, node);
        }
    }
    let construct = &draft.files.construct;
    let place = |node: &NodeId| construct.find(draft.node(*node).name());
    let mut first_of_cycles: Vec<NodeId> =
        Topmost::find(&draft.nodes).cycles.iter().filter_map(|cycle| cycle.iter().copied().min_by_key(place)).collect();
    first_of_cycles.sort_by_key(place);
    for node in first_of_cycles {
        notes.cycles.add(draft.node(node).name());
        if let Some(parent) = draft.node(node).parent() {
            // No two cycles share a parent, so all these lists together are no longer than the graph.
            for child in draft.take_children(parent) {
                draft.append(if child == node { NodeId::ROOT } else { parent }, child);
            }
        }
    }
}
