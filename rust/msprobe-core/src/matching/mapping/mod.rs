//! The layer mapping: nodes that stand in the same place of the model, where rules say which place is which.
//!
//! Both sides' entries of dump.json become items in a tree of module paths ([`items`], [`trie`]). The rules translate each
//! place of the target to one of the golden side ([`translate`]); the k-th item of a direction there faces the k-th item
//! here. So call numbers do not matter, only how often a place was called before. A node without an entry (the root, a
//! collection, a module that was not dumped) faces the node of its name.

mod file;
mod items;
mod plain;
mod rules;
pub mod suggest;
mod translate;
mod trie;
mod usage;

use hashbrown::HashMap;

use super::fuzzy::{match_counting, Prefix};
use super::nodes::{How, NodeMatch};
use super::walk::breadth_first;
use crate::dump::RankFiles;
use crate::graph::{Graph, NodeId};
use items::Items;
use trie::Place;

pub use file::{Error, LARGEST_MAPPING, MOST_PARTS, TOP_LAYER};
pub use rules::{Rule, Rules};
pub use suggest::suggest;
pub use usage::Usage;

/// One side of a match: the tree and the files it was made of.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The tree.
    pub graph: &'a Graph<'a>,
    /// The files.
    pub files: &'a RankFiles,
}

/// How calls of APIs are matched next to a layer mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// By the mapping, like everything else.
    Mapped,
    /// By counting below matched modules, as the fuzzy match does.
    Counted {
        /// The sides come from different frameworks, whose API prefixes differ.
        cross_framework: bool,
    },
}

/// What the mapping of one pair of ranks came to.
#[derive(Debug)]
pub struct Mapped {
    /// Who faces whom.
    pub matched: NodeMatch,
    /// What became of the rules.
    pub usage: Usage,
    /// Names that the mapping cannot place, as they have fewer than 4 parts; they face the node of their name.
    pub skipped: Skipped,
}

/// Names that the mapping cannot place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: String,
}

impl Skipped {
    fn add(&mut self, name: &str) {
        if self.count == 0 {
            name.clone_into(&mut self.first);
        }
        self.count += 1;
    }
}

/// What the mapping says of a target node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Partner {
    /// Nothing: its name decides.
    ByName,
    /// It has none.
    Nobody,
    Node(NodeId),
}

/// Matches by place, with the places translated by `rules`.
#[must_use]
pub fn match_by_mapping(target: Side<'_>, golden: Side<'_>, rules: &Rules, calls: Calls) -> Mapped {
    let mut skipped = Skipped::default();
    let (target_items, golden_items) = (Items::collect(target.files, &mut skipped), Items::collect(golden.files, &mut Skipped::default()));
    let (places, uses) = translate::translate(&target_items.trie, &golden_items.trie, rules);
    let partners = partners(target, golden, &target_items, &golden_items, &places);
    let partner_of = |node: NodeId| match partners[node.index()] {
        Partner::Nobody => None,
        Partner::Node(partner) => Some((partner, How::Mapping)),
        Partner::ByName => Some((golden.graph.find(target.graph[node].name())?, How::SameName)),
    };
    let matched = match calls {
        Calls::Counted { cross_framework } => {
            let prefix = if cross_framework { Prefix::Ignored } else { Prefix::Counts };
            match_counting(target.graph, golden.graph, prefix, partner_of)
        }
        Calls::Mapped => {
            let mut matched = NodeMatch::new(target.graph, golden.graph);
            for node in breadth_first(target.graph) {
                if let Some((partner, how)) = partner_of(node) {
                    matched.pair_seen(target.graph, golden.graph, node, partner, how);
                }
            }
            matched
        }
    };
    let usage = Usage::of(rules, &uses, &target_items.trie, &golden_items.trie);
    Mapped { matched, usage, skipped }
}

/// The partner of every target node: the item at the translated place with the same state and number.
fn partners(target: Side<'_>, golden: Side<'_>, items: &Items<'_>, golden_items: &Items<'_>, places: &[Option<Place>]) -> Vec<Partner> {
    let mut states: HashMap<&str, u32> = HashMap::new();
    let mut number_of = |state| {
        let free = states.len() as u32;
        *states.entry(state).or_insert(free)
    };
    // Per place and state the first item; from each item on the next one of its place and state.
    let mut first: HashMap<(Place, u32), u32> = HashMap::new();
    let mut last: HashMap<(Place, u32), u32> = HashMap::new();
    let mut next = vec![u32::MAX; golden_items.items.len()];
    for (at, item) in golden_items.items.iter().enumerate() {
        let key = (item.place, number_of(item.state));
        match last.insert(key, at as u32) {
            Some(before) => next[before as usize] = at as u32,
            None => drop(first.insert(key, at as u32)),
        }
    }
    let (target_nodes, golden_nodes) = (nodes_of_entries(target), nodes_of_entries(golden));
    let mut partners = vec![Partner::ByName; target.graph.len()];
    let mut waiting: HashMap<(Place, u32), u32> = HashMap::new();
    for item in &items.items {
        let Some(node) = target_nodes[item.entry.0 as usize] else { continue };
        let state = number_of(item.state);
        let golden_place = places[item.place.index()];
        let waits = waiting.entry((item.place, state)).or_insert_with(|| {
            let key = golden_place.map(|place| (place, state));
            key.and_then(|key| first.get(&key)).copied().unwrap_or(u32::MAX)
        });
        let found = golden_items.items.get(*waits as usize);
        partners[node.index()] = found.and_then(|item| golden_nodes[item.entry.0 as usize]).map_or(Partner::Nobody, Partner::Node);
        if found.is_some() {
            *waits = next[*waits as usize];
        }
    }
    partners
}

fn nodes_of_entries(side: Side<'_>) -> Vec<Option<NodeId>> {
    let mut nodes = vec![None; side.files.dump.len()];
    for (id, node) in side.graph.nodes().iter().enumerate() {
        if let Some(entry) = node.entry() {
            nodes[entry.0 as usize] = Some(NodeId(id as u32));
        }
    }
    nodes
}
