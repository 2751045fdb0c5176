//! Nodes that have a partner although no key of theirs is equal: renamed ones, and what a wrapper hides.

use hashbrown::{HashMap, HashSet};

use super::evidence::{Evidence, Likeness};
use crate::graph::NodeId;
use crate::matching::block::best_pairs;

/// Nodes of a gap that are compared with each other at once.
const BLOCK: usize = 64;
/// Children of a node that are looked at.
const MOST_CHILDREN: usize = 64;
/// Part of a wrapper, by nodes, that must be found on the other side.
const UNPACKED_PART: f64 = 0.34;
/// What two nodes must score to be called similar. Points are given in [`Likenesses::score`].
const ENOUGH: f64 = 2.5;
/// The same for the only two nodes of a gap.
const ENOUGH_ALONE: f64 = 1.5;

/// Positions of nodes whose children stand among `others`, and who themselves are not like any of them.
pub(super) fn wrapped(side: &Evidence<'_>, other_side: &Evidence<'_>, nodes: &[NodeId], others: &[NodeId]) -> Vec<usize> {
    if nodes.iter().all(|&node| side.graph().children(node).is_empty()) {
        return Vec::new();
    }
    let there: HashSet<u64> = others.iter().map(|&node| other_side.key(node, Likeness::Loose)).collect();
    let mut likenesses = Likenesses::new(side, other_side);
    let mut found = Vec::new();
    for (at, &node) in nodes.iter().enumerate() {
        let children = side.graph().children(node);
        let mut weight = 0.0;
        for &child in children {
            if there.contains(&side.key(child, Likeness::Loose)) {
                weight += f64::from(side.size(child));
            }
        }
        let part = weight / f64::from(side.size(node).saturating_sub(1).max(1));
        if part < UNPACKED_PART {
            continue;
        }
        let nearest = (at * others.len() / nodes.len()).saturating_sub(BLOCK / 2);
        let best = others.iter().skip(nearest).take(BLOCK).map(|&other| likenesses.of_children(node, other)).fold(0.0, f64::max);
        if part > best {
            found.push(at);
        }
    }
    found
}

/// Positions of similar nodes, rising on both sides, with the highest score on the whole.
pub(super) fn align(target: &Evidence<'_>, golden: &Evidence<'_>, nodes: &[NodeId], others: &[NodeId]) -> Vec<(usize, usize)> {
    let mut likenesses = Likenesses::new(target, golden);
    let mut pairs = Vec::new();
    // Block by block, so that a gap of any length costs no more than its length.
    for (block, (nodes, others)) in nodes.chunks(BLOCK).zip(others.chunks(BLOCK)).enumerate() {
        let enough = if nodes.len() == 1 && others.len() == 1 { ENOUGH_ALONE } else { ENOUGH };
        let (found, _) = best_pairs(nodes.len(), others.len(), enough, |i, j| likenesses.score(nodes[i], others[j]));
        pairs.extend(found.into_iter().map(|(i, j)| (block * BLOCK + i, block * BLOCK + j)));
    }
    pairs
}

/// How much nodes of two sides are like each other.
struct Likenesses<'e, 'a> {
    side: &'e Evidence<'a>,
    other_side: &'e Evidence<'a>,
    /// Sorted keys of the children of nodes of both sides.
    children: [HashMap<NodeId, Vec<u64>>; 2],
}

impl<'e, 'a> Likenesses<'e, 'a> {
    fn new(side: &'e Evidence<'a>, other_side: &'e Evidence<'a>) -> Self {
        Likenesses { side, other_side, children: [HashMap::new(), HashMap::new()] }
    }

    /// Points for what two nodes have in common; 0 for nodes of different kind or direction, and for calls of two APIs.
    fn score(&mut self, node: NodeId, other: NodeId) -> f64 {
        let (side, other_side) = (self.side, self.other_side);
        if side.is_api(node) || other_side.is_api(other) || side.direction(node) != other_side.direction(other) {
            return 0.0;
        }
        let (shapes, other_shapes) = (side.shapes(node), other_side.shapes(other));
        let same = |a: u64, b: u64| a == b && a != 0;
        let points = [
            (side.class(node) == other_side.class(other), 2.0),
            (side.own_name(node) == other_side.own_name(other), 1.5),
            (same(shapes.parameters, other_shapes.parameters), 2.0),
            (same(shapes.outputs, other_shapes.outputs), 1.0),
            (same(shapes.inputs, other_shapes.inputs), 0.5),
        ];
        let own: f64 = points.iter().filter(|(given, _)| *given).map(|(_, points)| points).sum();
        own + 3.0 * self.of_children(node, other)
    }

    /// Common children by all children, 0 to 1.
    fn of_children(&mut self, node: NodeId, other: NodeId) -> f64 {
        let [here, there] = &mut self.children;
        let ours = here.entry(node).or_insert_with(|| child_keys(self.side, node));
        let theirs = there.entry(other).or_insert_with(|| child_keys(self.other_side, other));
        let (mut i, mut j, mut common) = (0, 0, 0);
        while i < ours.len() && j < theirs.len() {
            match ours[i].cmp(&theirs[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => (i, j, common) = (i + 1, j + 1, common + 1),
            }
        }
        f64::from(common) / (ours.len().max(theirs.len()).max(1) as f64)
    }
}

fn child_keys(side: &Evidence<'_>, node: NodeId) -> Vec<u64> {
    let children = side.graph().children(node);
    let mut keys: Vec<u64> = children.iter().take(MOST_CHILDREN).map(|&child| side.key(child, Likeness::Core)).collect();
    keys.sort_unstable();
    keys
}
