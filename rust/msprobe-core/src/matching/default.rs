//! The default match: same name, same place.
//!
//! A target node faces the golden node of the same name if the names above both, from the root down, are equal. As a name
//! occurs once in a graph, this is so exactly if their parents face each other; so each node is looked at once, parents
//! first. Parameters are not looked at.

use super::nodes::{How, NodeMatch};
use crate::graph::{Graph, NodeId};

/// Matches nodes of the same name below matched parents.
#[must_use]
pub fn match_by_place(target: &Graph<'_>, golden: &Graph<'_>) -> NodeMatch {
    let mut matched = NodeMatch::new(target, golden);
    matched.pair(target.root(), golden.root(), How::SamePlace);
    for &parent in target.order().iter().rev() {
        if let Some(golden_parent) = matched.golden_of(parent) {
            match_children(target, golden, parent, golden_parent, &mut matched);
        }
    }
    matched
}

fn match_children(target: &Graph<'_>, golden: &Graph<'_>, parent: NodeId, golden_parent: NodeId, matched: &mut NodeMatch) {
    // Both runs call the same things in the same order, so the child after the last match is the best guess.
    let expected = golden.children(golden_parent);
    let mut next = 0;
    for &child in target.children(parent) {
        let name = target[child].name();
        if let Some(&guess) = expected.get(next).filter(|&&guess| golden[guess].name() == name) {
            matched.pair(child, guess, How::SamePlace);
            next += 1;
        } else if let Some(found) = golden.find(name).filter(|&found| golden[found].parent() == Some(golden_parent)) {
            matched.pair(child, found, How::SamePlace);
            // Siblings stand in the order of their positions, so the place needs no walk.
            next = expected.partition_point(|&other| golden[other].position() <= golden[found].position());
        }
    }
}
