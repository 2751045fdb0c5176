//! The calls of groups: which of them are the same call on different ranks.

use std::collections::{HashMap, HashSet};

use super::call::{Group, GroupId, Kind};
use super::join::Rank;
use crate::name;

/// One call of a group, on all ranks that made it.
#[derive(Debug, Default)]
pub(super) struct Occurrence {
    /// Position of the rank, ascending, and of the call in its rank.
    members: Vec<(u32, u32)>,
    /// Position of the root in `members`.
    root: Option<usize>,
}

impl Occurrence {
    /// The call of the rank at position `rank`.
    pub(super) fn call_of(&self, rank: u32) -> Option<u32> {
        let at = self.members.binary_search_by_key(&rank, |member| member.0).ok()?;
        Some(self.members[at].1)
    }

    /// Rank and call of the root.
    pub(super) fn root(&self) -> Option<(u32, u32)> {
        self.root.map(|at| self.members[at])
    }
}

/// The ranks of a group that are here, as positions: in the order of the group, and ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Present {
    pub in_order: Vec<u32>,
    ascending: Vec<u32>,
}

impl Present {
    fn of(group: &Group, positions: &HashMap<u64, u32>) -> Present {
        let mut in_order: Vec<u32> = group.ranks.iter().filter_map(|rank| positions.get(rank).copied()).collect();
        let mut ascending = in_order.clone();
        ascending.sort_unstable();
        if ascending.windows(2).any(|pair| pair[0] == pair[1]) {
            // A rank named twice is one partner, where it was named first.
            let mut seen = HashSet::new();
            in_order.retain(|&rank| seen.insert(rank));
            ascending.dedup();
        }
        Present { in_order, ascending }
    }

    pub(super) fn contains(&self, rank: u32) -> bool {
        self.ascending.binary_search(&rank).is_ok()
    }
}

/// The groups of all ranks: equal ids are one group, and the default group is that of all ranks.
#[derive(Debug)]
pub(super) struct Groups {
    default: u32,
    default_present: Present,
    default_size: usize,
    /// Per rank and group of that rank.
    ids: Vec<Vec<u32>>,
    present: Vec<Vec<Present>>,
}

impl Groups {
    pub(super) fn of(ranks: &[Rank], positions: &HashMap<u64, u32>) -> Groups {
        let all = Group::of(ranks.iter().map(|rank| rank.number).collect());
        let mut numbers: HashMap<&str, u32> = HashMap::from([(&*all.id, 0)]);
        let mut ids = Vec::with_capacity(ranks.len());
        for rank in ranks {
            let mut own = Vec::with_capacity(rank.calls.groups.len());
            for group in &rank.calls.groups {
                let next = numbers.len() as u32;
                own.push(*numbers.entry(&group.id).or_insert(next));
            }
            ids.push(own);
        }
        let present = ranks.iter().map(|rank| rank.calls.groups.iter().map(|group| Present::of(group, positions)).collect()).collect();
        Groups { default: 0, default_present: Present::of(&all, positions), default_size: all.ranks.len(), ids, present }
    }

    /// The number of a group of the rank at position `rank`.
    pub(super) fn number(&self, rank: usize, group: GroupId) -> u32 {
        group.map_or(self.default, |group| self.ids[rank][group as usize])
    }

    /// Its ranks that are here.
    pub(super) fn present(&self, rank: usize, group: GroupId) -> &Present {
        group.map_or(&self.default_present, |group| &self.present[rank][group as usize])
    }

    /// The number of ranks it was recorded with.
    pub(super) fn size(&self, ranks: &[Rank], rank: usize, group: GroupId) -> usize {
        group.map_or(self.default_size, |group| ranks[rank].calls.groups[group as usize].ranks.len())
    }
}

/// All calls of groups, and which of them each call is.
#[derive(Debug)]
pub(super) struct Occurrences {
    all: Vec<Occurrence>,
    /// Per rank and call; `u32::MAX` for calls of no group.
    of_call: Vec<Vec<u32>>,
}

impl Occurrences {
    /// `order` gives each rank's calls in the order of its dump.
    pub(super) fn of(ranks: &[Rank], groups: &Groups, order: &[Vec<u32>]) -> Occurrences {
        let mut numbers: HashMap<(u32, &str, u32), u32> = HashMap::new();
        let mut all: Vec<Occurrence> = Vec::new();
        let mut of_call = Vec::with_capacity(ranks.len());
        for (at, rank) in ranks.iter().enumerate() {
            let mut counters: HashMap<(u32, &str), u32> = HashMap::new();
            let mut own = vec![u32::MAX; rank.calls.len()];
            for &index in &order[at] {
                let (group, root) = match rank.calls.calls[index as usize].kind {
                    Kind::Rooted { group, root, .. } => (group, root),
                    Kind::Collective { group, .. } => (group, None),
                    _ => continue,
                };
                let base = (groups.number(at, group), name::api_name(&rank.nodes[index as usize].name).unwrap_or_default());
                let counter = counters.entry(base).or_insert(0);
                *counter += 1;
                let number = *numbers.entry((base.0, base.1, *counter)).or_insert_with(|| {
                    all.push(Occurrence::default());
                    all.len() as u32 - 1
                });
                own[index as usize] = number;
                let occurrence = &mut all[number as usize];
                if root == Some(rank.number) && occurrence.root.is_none() {
                    occurrence.root = Some(occurrence.members.len());
                }
                occurrence.members.push((at as u32, index));
            }
            of_call.push(own);
        }
        Occurrences { all, of_call }
    }

    /// The one that a call of a group is.
    pub(super) fn of_call(&self, rank: usize, call: usize) -> &Occurrence {
        &self.all[self.of_call[rank][call] as usize]
    }
}
