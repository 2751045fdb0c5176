//! The alignment: an ordered match of two trees that differ.
//!
//! 1. Nodes that are alike by name and stand in one order in both runs face each other ([`anchors`]).
//! 2. Below two nodes that face each other, what lies between children that do is aligned as a sequence, first by all that
//!    makes nodes alike, then by less and less ([`evidence::Likeness`]). What still has no partner then is either *wrapped* (its
//!    children stand where its partner should: it is unpacked and they are aligned in its place) or *renamed* ([`similar`]).
//! 3. Modules face each other if most of their children do; backward calls, if their forward calls do.
//! 4. Modules whose whole name occurs equally often among the unmatched nodes of both sides face each other wherever they
//!    are, and nodes that stand between the same matched nodes in the order of execution are aligned whatever they lie in.
//!
//! Collections of top-level APIs are unpacked as well and face the collection that holds most partners of their members.

mod anchors;
mod evidence;
mod sequence;
mod similar;

use hashbrown::{DefaultHashBuilder, HashMap};

use super::mapping::Side;
use super::nodes::{How, NodeMatch};
use crate::graph::{Graph, NodeId};
use crate::name::{self, NodeKind};
use evidence::{Evidence, Likeness, Search};

/// How often the nodes of one gap are unpacked.
const MOST_UNPACKINGS: u8 = 32;
/// How often the unmatched nodes are searched, as each pair may bring its children together.
const MOST_SEARCHES: usize = 4;

/// What is tried on a gap, in order.
#[derive(Clone, Copy)]
enum Step {
    Alike(Likeness),
    Unpack,
    Similar,
}

const STEPS: [Step; 9] = [
    Step::Alike(Likeness::Exact),
    Step::Alike(Likeness::Path),
    Step::Alike(Likeness::NearAndShapes),
    Step::Alike(Likeness::Near),
    Step::Unpack,
    Step::Alike(Likeness::LooseAndShapes),
    Step::Alike(Likeness::Loose),
    Step::Alike(Likeness::Core),
    Step::Similar,
];

/// What nodes that lie in different nodes are aligned by: each of them holds more than a class.
const LEFTOVER_STEPS: [Likeness; 5] = [Likeness::Exact, Likeness::Path, Likeness::NearAndShapes, Likeness::Near, Likeness::LooseAndShapes];

/// Nodes of both sides between two pairs (or between a pair and the end), in order.
struct Gap {
    target: Vec<NodeId>,
    golden: Vec<NodeId>,
    step: usize,
    unpacked: u8,
}

/// Matches two trees in order, tolerating inserted, deleted, renamed, re-counted and wrapped nodes.
#[must_use]
pub fn match_by_alignment(target: Side<'_>, golden: Side<'_>) -> NodeMatch {
    let hasher = DefaultHashBuilder::default();
    let evidence = [Evidence::new(target, hasher), Evidence::new(golden, hasher)];
    let mut aligner = Aligner {
        golden_of: vec![None; target.graph.len()],
        target_of: vec![None; golden.graph.len()],
        gaps: Vec::new(),
        target: &evidence[0],
        golden: &evidence[1],
    };
    aligner.set(target.graph.root(), golden.graph.root());
    for (node, partner) in anchors::anchors(aligner.target, aligner.golden) {
        aligner.set(node, partner);
    }
    aligner.open();
    aligner.work();
    aligner.vote();
    aligner.work();
    aligner.pair_twins();
    aligner.work();
    for search in [Search::Path, Search::End] {
        for _ in 0..MOST_SEARCHES {
            if !aligner.search(search) {
                break;
            }
        }
    }
    aligner.pair_leftovers();
    aligner.keep_order();
    aligner.pair_collections();
    let mut matched = NodeMatch::new(target.graph, golden.graph);
    for &node in target.graph.order().iter().rev() {
        if let Some(partner) = aligner.golden_of[node.index()] {
            matched.pair_seen(target.graph, golden.graph, node, partner, How::Alignment);
        }
    }
    matched
}

struct Aligner<'e, 'a> {
    golden_of: Vec<Option<NodeId>>,
    target_of: Vec<Option<NodeId>>,
    gaps: Vec<Gap>,
    target: &'e Evidence<'a>,
    golden: &'e Evidence<'a>,
}

impl Aligner<'_, '_> {
    /// Matches two nodes and nothing else.
    fn set(&mut self, node: NodeId, partner: NodeId) {
        self.golden_of[node.index()] = Some(partner);
        self.target_of[partner.index()] = Some(node);
    }

    /// Matches two nodes, and has their children looked at.
    fn pair(&mut self, node: NodeId, partner: NodeId) {
        self.set(node, partner);
        self.open_children(node, partner);
    }

    /// Has the children of all matched nodes looked at.
    fn open(&mut self) {
        for &node in self.target.graph().order() {
            if let Some(partner) = self.golden_of[node.index()] {
                self.open_children(node, partner);
            }
        }
    }

    /// Has the unmatched children of two nodes looked at, between those that face each other.
    fn open_children(&mut self, node: NodeId, partner: NodeId) {
        let (target, golden) = (unpacked_children(self.target.graph(), node), unpacked_children(self.golden.graph(), partner));
        let mut place = HashMap::new();
        for (at, &child) in golden.iter().enumerate() {
            if self.target_of[child.index()].is_some() {
                place.insert(child, at);
            }
        }
        let faced = target.iter().enumerate().filter_map(|(at, child)| Some((at, *place.get(&self.golden_of[child.index()]?)?)));
        let cuts = sequence::longest_rising(&faced.collect::<Vec<_>>());
        let (mut from, mut golden_from) = (0, 0);
        for (at, golden_at) in cuts.into_iter().chain([(target.len(), golden.len())]) {
            let free = target[from..at].iter().copied().filter(|child| self.golden_of[child.index()].is_none()).collect();
            let golden_free =
                golden[golden_from..golden_at].iter().copied().filter(|child| self.target_of[child.index()].is_none()).collect();
            self.gap(free, golden_free, 0, 0);
            (from, golden_from) = (at + 1, golden_at + 1);
        }
    }

    /// Matches modules most of whose children face each other.
    fn vote(&mut self) {
        let (target, golden) = (self.target, self.golden);
        // How many children of each golden node have a partner.
        let mut faced = vec![0u32; golden.graph().len()];
        let holders = self.golden_of.iter().flatten().filter_map(|&partner| golden.graph()[partner].parent());
        holders.for_each(|holder| faced[holder.index()] += 1);
        for &node in target.graph().order() {
            if self.golden_of[node.index()].is_some() || target.graph()[node].kind() != NodeKind::Module {
                continue;
            }
            let mut votes: HashMap<NodeId, u32> = HashMap::new();
            let mut all = 0;
            for child in target.graph().children(node) {
                let Some(partner) = self.golden_of[child.index()] else { continue };
                all += 1;
                if let Some(above) = golden.graph()[partner].parent() {
                    *votes.entry(above).or_default() += 1;
                }
            }
            let best = votes.into_iter().max_by_key(|&(above, count)| (count, std::cmp::Reverse(above)));
            let Some((above, count)) = best.filter(|&(_, count)| count * 2 > all) else { continue };
            let fits = self.target_of[above.index()].is_none()
                && golden.graph()[above].kind() == NodeKind::Module
                && target.direction(node) == golden.direction(above)
                && target.has_data(node) == golden.has_data(above);
            if fits && count * 2 > faced[above.index()] {
                self.pair(node, above);
                if let Some(higher) = golden.graph()[above].parent() {
                    faced[higher.index()] += 1;
                }
            }
        }
    }

    /// Matches the backward call of two forward calls that face each other, and the other way round.
    fn pair_twins(&mut self) {
        for &node in self.target.graph().order() {
            let Some(partner) = self.golden_of[node.index()] else { continue };
            let (Some(twin), Some(partner_twin)) = (self.target.twin(node), self.golden.twin(partner)) else { continue };
            if self.golden_of[twin.index()].is_none() && self.target_of[partner_twin.index()].is_none() {
                self.pair(twin, partner_twin);
            }
        }
    }

    fn gap(&mut self, target: Vec<NodeId>, golden: Vec<NodeId>, step: usize, unpacked: u8) {
        if !target.is_empty() && !golden.is_empty() && step < STEPS.len() {
            self.gaps.push(Gap { target, golden, step, unpacked });
        }
    }

    fn work(&mut self) {
        while let Some(mut gap) = self.gaps.pop() {
            gap.target.retain(|node| self.golden_of[node.index()].is_none());
            gap.golden.retain(|node| self.target_of[node.index()].is_none());
            if gap.target.is_empty() || gap.golden.is_empty() {
                continue;
            }
            match STEPS[gap.step] {
                Step::Alike(likeness) => self.align(&gap, likeness),
                Step::Unpack => self.unpack(gap),
                Step::Similar => {
                    let pairs = similar::align(self.target, self.golden, &gap.target, &gap.golden);
                    for (at, golden_at) in pairs {
                        self.pair(gap.target[at], gap.golden[golden_at]);
                    }
                }
            }
        }
    }

    fn align(&mut self, gap: &Gap, likeness: Likeness) {
        let same_name = |(&node, &partner): (&NodeId, &NodeId)| self.target.path(node) == self.golden.path(partner);
        let all_same =
            likeness == Likeness::Exact && gap.target.len() == gap.golden.len() && gap.target.iter().zip(&gap.golden).all(same_name);
        let pairs = if all_same {
            (0..gap.target.len()).map(|at| (at, at)).collect()
        } else {
            let keys = |side: &Evidence<'_>, nodes: &[NodeId]| nodes.iter().map(|&node| side.key(node, likeness)).collect::<Vec<_>>();
            sequence::align(&keys(self.target, &gap.target), &keys(self.golden, &gap.golden))
        };
        let (mut from, mut golden_from) = (0, 0);
        let ends = pairs.iter().copied().chain([(gap.target.len(), gap.golden.len())]);
        for (at, golden_at) in ends {
            self.gap(gap.target[from..at].to_vec(), gap.golden[golden_from..golden_at].to_vec(), gap.step + 1, gap.unpacked);
            (from, golden_from) = (at + 1, golden_at + 1);
        }
        for (at, golden_at) in pairs {
            self.pair(gap.target[at], gap.golden[golden_at]);
        }
    }

    /// Replaces the nodes whose children stand in the gap on the other side by these children.
    fn unpack(&mut self, gap: Gap) {
        if gap.unpacked == MOST_UNPACKINGS {
            return self.gap(gap.target, gap.golden, gap.step + 1, gap.unpacked);
        }
        let wrapped = similar::wrapped(self.target, self.golden, &gap.target, &gap.golden);
        let golden_wrapped = similar::wrapped(self.golden, self.target, &gap.golden, &gap.target);
        if wrapped.is_empty() && golden_wrapped.is_empty() {
            return self.gap(gap.target, gap.golden, gap.step + 1, gap.unpacked);
        }
        let unpacked = |graph: &Graph<'_>, nodes: &[NodeId], wrapped: &[usize]| {
            let mut out = Vec::with_capacity(nodes.len());
            let mut next = wrapped.iter().copied().peekable();
            for (at, &node) in nodes.iter().enumerate() {
                if next.next_if_eq(&at).is_some() {
                    out.extend(unpacked_children(graph, node));
                } else {
                    out.push(node);
                }
            }
            out
        };
        let mut target = unpacked(self.target.graph(), &gap.target, &wrapped);
        let mut golden = unpacked(self.golden.graph(), &gap.golden, &golden_wrapped);
        // A search by name may have found some of the children.
        target.retain(|node| self.golden_of[node.index()].is_none());
        golden.retain(|node| self.target_of[node.index()].is_none());
        self.gap(target, golden, 0, gap.unpacked + 1);
    }

    /// Matches modules whose key occurs equally often among the unmatched nodes of both sides.
    fn search(&mut self, search: Search) -> bool {
        let mut places: HashMap<u64, (Vec<NodeId>, Vec<NodeId>)> = HashMap::new();
        for &node in self.golden.graph().order().iter().filter(|node| self.target_of[node.index()].is_none()) {
            if let Some(key) = self.golden.search_key(node, search) {
                places.entry(key).or_default().1.push(node);
            }
        }
        for &node in self.target.graph().order().iter().filter(|node| self.golden_of[node.index()].is_none()) {
            let key = self.target.search_key(node, search);
            if let Some((nodes, _)) = key.and_then(|key| places.get_mut(&key)) {
                nodes.push(node);
            }
        }
        let mut found: Vec<(NodeId, NodeId)> = Vec::new();
        for (nodes, partners) in places.values_mut() {
            if nodes.len() == partners.len() {
                // Deleted parents may have moved them past each other; their numbers tell which came first.
                nodes.sort_by_key(|&node| call_number(self.target.graph()[node].name()));
                partners.sort_by_key(|&node| call_number(self.golden.graph()[node].name()));
                found.extend(nodes.iter().copied().zip(partners.iter().copied()));
            }
        }
        found.sort_unstable();
        for &(node, partner) in &found {
            self.pair_if_free(node, partner);
        }
        !found.is_empty()
    }

    /// Matches two nodes if neither has a partner.
    fn pair_if_free(&mut self, node: NodeId, partner: NodeId) {
        if self.golden_of[node.index()].is_none() && self.target_of[partner.index()].is_none() {
            self.pair(node, partner);
            // The next pair may be one of these children.
            self.work();
        }
    }

    /// Aligns the unmatched nodes that stand between two matched ones in the order of both trees.
    fn pair_leftovers(&mut self) {
        let (target, golden) = (self.target.graph(), self.golden.graph());
        let positions = target.order().iter().enumerate().filter_map(|(at, node)| {
            let partner = self.golden_of[node.index()]?;
            Some((at, golden[partner].position() as usize))
        });
        let anchors = sequence::longest_rising(&positions.collect::<Vec<_>>());
        let free = |graph: &Graph<'_>, partners: &[Option<NodeId>], range: std::ops::Range<usize>| -> Vec<NodeId> {
            let nodes = graph.order()[range].iter().copied();
            nodes.filter(|node| partners[node.index()].is_none() && graph[*node].kind() != NodeKind::Collection).collect()
        };
        let (mut from, mut golden_from) = (0, 0);
        let mut waiting = Vec::new();
        for (at, golden_at) in anchors {
            let nodes = free(target, &self.golden_of, from..at);
            let partners = free(golden, &self.target_of, golden_from..golden_at);
            (from, golden_from) = (at + 1, golden_at + 1);
            waiting.push((nodes, partners, 0));
        }
        while let Some((nodes, partners, step)) = waiting.pop() {
            let Some(&likeness) = LEFTOVER_STEPS.get(step).filter(|_| !nodes.is_empty() && !partners.is_empty()) else { continue };
            let keys = |side: &Evidence<'_>, nodes: &[NodeId]| nodes.iter().map(|&node| side.key(node, likeness)).collect::<Vec<_>>();
            let pairs = sequence::align(&keys(self.target, &nodes), &keys(self.golden, &partners));
            let (mut from, mut golden_from) = (0, 0);
            for (at, golden_at) in pairs.iter().copied().chain([(nodes.len(), partners.len())]) {
                waiting.push((nodes[from..at].to_vec(), partners[golden_from..golden_at].to_vec(), step + 1));
                (from, golden_from) = (at + 1, golden_at + 1);
            }
            for (at, golden_at) in pairs {
                self.golden_of[nodes[at].index()] = Some(partners[golden_at]);
                self.target_of[partners[golden_at].index()] = Some(nodes[at]);
            }
        }
    }

    /// Parts pairs that stand the wrong way round: siblings of one name that face siblings.
    fn keep_order(&mut self) {
        let (target, golden) = (self.target.graph(), self.golden.graph());
        for &parent in target.order() {
            // Per parent and class of the partners the places of both.
            let mut alike: HashMap<_, Vec<(usize, usize)>> = HashMap::new();
            let children = unpacked_children(target, parent);
            for (at, &child) in children.iter().enumerate() {
                let Some(partner) = self.golden_of[child.index()] else { continue };
                let key = (golden[partner].parent(), self.golden.class(partner));
                alike.entry(key).or_default().push((at, golden[partner].position() as usize));
            }
            for pairs in alike.values().filter(|pairs| pairs.windows(2).any(|two| two[0].1 > two[1].1)) {
                let kept = sequence::longest_rising(pairs);
                for &(at, _) in pairs.iter().filter(|pair| kept.binary_search(pair).is_err()) {
                    if let Some(partner) = self.golden_of[children[at].index()].take() {
                        self.target_of[partner.index()] = None;
                    }
                }
            }
        }
    }

    fn pair_collections(&mut self) {
        let (target, golden) = (self.target.graph(), self.golden.graph());
        for &node in target.children(target.root()) {
            if target[node].kind() != NodeKind::Collection {
                continue;
            }
            let mut votes: HashMap<NodeId, usize> = HashMap::new();
            for &member in target.children(node) {
                let above = self.golden_of[member.index()].and_then(|partner| golden[partner].parent());
                if let Some(above) = above.filter(|&above| golden[above].kind() == NodeKind::Collection) {
                    *votes.entry(above).or_default() += 1;
                }
            }
            votes.retain(|partner, _| self.target_of[partner.index()].is_none());
            let best = votes.into_iter().max_by_key(|&(partner, votes)| (votes, std::cmp::Reverse(partner)));
            if let Some((partner, _)) = best {
                self.golden_of[node.index()] = Some(partner);
                self.target_of[partner.index()] = Some(node);
            }
        }
    }
}

/// The children of a node, those of a collection in its place.
fn unpacked_children(graph: &Graph<'_>, node: NodeId) -> Vec<NodeId> {
    let mut children = Vec::with_capacity(graph.children(node).len());
    for &child in graph.children(node) {
        match graph[child].kind() {
            NodeKind::Collection => children.extend_from_slice(graph.children(child)),
            _ => children.push(child),
        }
    }
    children
}

/// The number of a module's call, 0 for other names.
fn call_number(full: &str) -> u64 {
    name::module_call(full).and_then(|call| call.number.parse().ok()).unwrap_or(0)
}
