//! Where to begin: nodes that are alike by name and stand in one order in both runs.
//!
//! Both trees are read as runs, in the order of execution. The k-th call of a module or, below a module, of an API may face the
//! k-th such call of the other run or one of its neighbours; of all these possibilities the longest chain that rises on both
//! sides is taken. So the calls of a second micro step never end up at those of the first because some of these are missing.
//! A backward call faces that of its forward call, whose number it has.

use hashbrown::HashMap;

use super::evidence::Evidence;
use super::sequence;
use crate::graph::NodeId;
use crate::name::NodeKind;

/// By how many calls a call may be displaced against its own number, on top of the difference in the number of calls.
const DISPLACED: usize = 4;
/// Calls of the other side that are considered for one call.
const MOST_CANDIDATES: usize = 24;

/// Pairs of nodes, rising in the order of both runs: first of nodes with equal shapes, between these of nodes with equal names.
pub(super) fn anchors(target: &Evidence<'_>, golden: &Evidence<'_>) -> Vec<(NodeId, NodeId)> {
    let (nodes, others) = (run(target), run(golden));
    let same = |(&node, &other): (&NodeId, &NodeId)| target.path(node) == golden.path(other);
    if nodes.len() == others.len() && nodes.iter().zip(&others).all(same) {
        return nodes.into_iter().zip(others).collect();
    }
    let forward = |side: &Evidence<'_>, nodes: &[NodeId]| (0..nodes.len()).filter(|&at| !side.is_backward(nodes[at])).collect::<Vec<_>>();
    let (calls, golden_calls) = (forward(target, &nodes), forward(golden, &others));
    let calls_chain = chain(&keys(target, &nodes, &calls, true), &keys(golden, &others, &golden_calls, true));
    let mut pairs: Vec<(usize, usize)> = calls_chain.into_iter().map(|(at, golden_at)| (calls[at], golden_calls[golden_at])).collect();
    pairs.extend(twins(target, golden, &nodes, &others, &pairs));
    pairs.sort_unstable();
    pairs = sequence::longest_rising(&pairs);
    let (all, golden_all): (Vec<usize>, Vec<usize>) = ((0..nodes.len()).collect(), (0..others.len()).collect());
    for shapes in [true, false] {
        let (keys, golden_keys) = (keys(target, &nodes, &all, shapes), keys(golden, &others, &golden_all, shapes));
        let known = pairs.clone();
        let (mut from, mut golden_from) = (0, 0);
        for (at, golden_at) in known.into_iter().chain([(nodes.len(), others.len())]) {
            let between = chain(&keys[from..at], &golden_keys[golden_from..golden_at]);
            pairs.extend(between.into_iter().map(|(at, golden_at)| (at + from, golden_at + golden_from)));
            (from, golden_from) = (at + 1, golden_at + 1);
        }
        pairs.sort_unstable();
    }
    pairs.into_iter().map(|(at, golden_at)| (nodes[at], others[golden_at])).collect()
}

fn keys(side: &Evidence<'_>, nodes: &[NodeId], which: &[usize], shapes: bool) -> Vec<u64> {
    which.iter().map(|&at| side.anchor_key(nodes[at], shapes)).collect()
}

/// Positions of the backward calls of forward calls that face each other.
fn twins(
    target: &Evidence<'_>,
    golden: &Evidence<'_>,
    nodes: &[NodeId],
    others: &[NodeId],
    pairs: &[(usize, usize)],
) -> Vec<(usize, usize)> {
    let places = |nodes: &[NodeId]| nodes.iter().enumerate().map(|(at, &node)| (node, at)).collect::<HashMap<_, _>>();
    let (place, golden_place) = (places(nodes), places(others));
    let twin = |&(at, golden_at): &(usize, usize)| {
        let (twin, golden_twin) = (target.twin(nodes[at])?, golden.twin(others[golden_at])?);
        Some((*place.get(&twin)?, *golden_place.get(&golden_twin)?))
    };
    let mut found: Vec<(usize, usize)> = pairs.iter().filter_map(twin).collect();
    found.sort_unstable();
    found.dedup_by_key(|pair| pair.0);
    found
}

/// Positions of equal keys, rising on both sides.
fn chain(keys: &[u64], golden_keys: &[u64]) -> Vec<(usize, usize)> {
    if keys.is_empty() || golden_keys.is_empty() {
        return Vec::new();
    }
    // Per key where it is on the golden side, and how many there are on the target's and have been seen.
    let mut calls: HashMap<u64, Calls> = HashMap::new();
    for (at, &key) in golden_keys.iter().enumerate() {
        calls.entry(key).or_default().golden.push(at as u32);
    }
    for key in keys {
        if let Some(calls) = calls.get_mut(key) {
            calls.target += 1;
        }
    }
    let mut chain = Chain::default();
    for (at, key) in keys.iter().enumerate() {
        let Some(calls) = calls.get_mut(key) else { continue };
        // From the last to the first, so that no two of them stand in one chain.
        for (rank, &candidate) in calls.next_candidates().iter().enumerate().rev() {
            chain.add(at as u32, candidate, rank);
        }
    }
    chain.longest()
}

/// The nodes of a side in the order of execution.
fn run(side: &Evidence<'_>) -> Vec<NodeId> {
    let graph = side.graph();
    graph.order().iter().copied().filter(|&node| graph[node].kind() != NodeKind::Collection && node != graph.root()).collect()
}

#[derive(Default)]
struct Calls {
    golden: Vec<u32>,
    target: usize,
    seen: usize,
}

impl Calls {
    /// What the next target node may face.
    fn next_candidates(&mut self) -> &[u32] {
        // Counted from the start and, if the last ones are those in common, from the end.
        let from_start = self.seen;
        let from_end = (self.seen + self.golden.len()).saturating_sub(self.target);
        self.seen += 1;
        let first = from_start.min(from_end).saturating_sub(DISPLACED).min(self.golden.len());
        let last = (from_start.max(from_end) + DISPLACED + 1).min(self.golden.len());
        &self.golden[first..last.min(first + MOST_CANDIDATES)]
    }
}

/// Pairs under construction of the longest chain. Positions are those of nodes, of which there are less than 2^32.
#[derive(Default)]
struct Chain {
    links: Vec<Link>,
    /// Per length the end of the chain of that length that ends earliest.
    ends: Vec<End>,
    /// Per rank among the candidates the length that was last found. The next one of that rank is near it, so that long runs are
    /// not searched as a whole, from one place that is not in the cache to the next.
    found: [usize; MOST_CANDIDATES],
}

struct Link {
    pair: (u32, u32),
    /// The link before, `u32::MAX` for the first.
    before: u32,
}

struct End {
    golden_at: u32,
    link: u32,
}

impl Chain {
    fn add(&mut self, at: u32, candidate: u32, rank: usize) {
        let length = self.longest_before(candidate, self.found[rank]);
        self.found[rank] = length;
        if self.ends.get(length).is_some_and(|end| end.golden_at == candidate) {
            return;
        }
        let before = length.checked_sub(1).map_or(u32::MAX, |at| self.ends[at].link);
        let end = End { golden_at: candidate, link: self.links.len() as u32 };
        self.links.push(Link { pair: (at, candidate), before });
        match self.ends.get_mut(length) {
            Some(earlier) => *earlier = end,
            None => self.ends.push(end),
        }
    }

    /// Length of the longest chain that ends before `candidate`, searched in growing stretches around `near`.
    fn longest_before(&self, candidate: u32, near: usize) -> usize {
        let is_before = |end: &End| end.golden_at < candidate;
        let mut reach = 2;
        loop {
            let first = near.saturating_sub(reach).min(self.ends.len());
            let last = near.saturating_add(reach).min(self.ends.len());
            if (first == 0 || is_before(&self.ends[first - 1])) && !self.ends.get(last).is_some_and(is_before) {
                return first + self.ends[first..last].partition_point(is_before);
            }
            reach *= 4;
        }
    }

    fn longest(self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::with_capacity(self.ends.len());
        let mut at = self.ends.last().map_or(u32::MAX, |end| end.link);
        while let Some(link) = self.links.get(at as usize) {
            pairs.push((link.pair.0 as usize, link.pair.1 as usize));
            at = link.before;
        }
        pairs.reverse();
        pairs
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Wherever the search begins, it finds what a search of the whole finds.
        #[test]
        fn a_search_from_anywhere(mut ends in prop::collection::vec(0u32..1000, 0..200), candidate in 0u32..1000, near in 0usize..300) {
            ends.sort_unstable();
            ends.dedup();
            let expected = ends.iter().filter(|&&end| end < candidate).count();
            let ends = ends.into_iter().map(|golden_at| End { golden_at, link: 0 }).collect();
            prop_assert_eq!(Chain { ends, ..Chain::default() }.longest_before(candidate, near), expected);
        }
    }
}
