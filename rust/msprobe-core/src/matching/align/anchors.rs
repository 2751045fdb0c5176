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
        calls.entry(key).or_default().golden.push(at);
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
        for &candidate in calls.next_candidates().iter().rev() {
            chain.add(at, candidate);
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
    golden: Vec<usize>,
    target: usize,
    seen: usize,
}

impl Calls {
    /// What the next target node may face.
    fn next_candidates(&mut self) -> &[usize] {
        // Counted from the start and, if the last ones are those in common, from the end.
        let from_start = self.seen;
        let from_end = (self.seen + self.golden.len()).saturating_sub(self.target);
        self.seen += 1;
        let first = from_start.min(from_end).saturating_sub(DISPLACED).min(self.golden.len());
        let last = (from_start.max(from_end) + DISPLACED + 1).min(self.golden.len());
        &self.golden[first..last.min(first + MOST_CANDIDATES)]
    }
}

/// Pairs under construction of the longest chain.
#[derive(Default)]
struct Chain {
    links: Vec<Link>,
    /// Per length the link at the end of the chain of that length that ends earliest.
    ends: Vec<u32>,
}

struct Link {
    pair: (usize, usize),
    /// The link before, `u32::MAX` for the first.
    before: u32,
}

impl Chain {
    fn add(&mut self, at: usize, candidate: usize) {
        let length = self.ends.partition_point(|&end| self.links[end as usize].pair.1 < candidate);
        if self.ends.get(length).is_some_and(|&end| self.links[end as usize].pair.1 == candidate) {
            return;
        }
        let before = length.checked_sub(1).map_or(u32::MAX, |at| self.ends[at]);
        let link = self.links.len() as u32;
        self.links.push(Link { pair: (at, candidate), before });
        match self.ends.get_mut(length) {
            Some(end) => *end = link,
            None => self.ends.push(link),
        }
    }

    fn longest(self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::with_capacity(self.ends.len());
        let mut at = self.ends.last().copied().unwrap_or(u32::MAX);
        while let Some(link) = self.links.get(at as usize) {
            pairs.push(link.pair);
            at = link.before;
        }
        pairs.reverse();
        pairs
    }
}
