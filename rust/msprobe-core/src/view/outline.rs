//! The shape of one step and rank held compactly: names, parents, verdicts, counterparts and roll-ups of both trees,
//! without any parameter rows. About 60 bytes a node and its name.
//!
//! Nodes are numbered by their place in the file's execution order (`node_order`), separately on each side.

use super::error::ViewError;
use super::file::VisFile;
use super::rows;
use crate::visdb::partner_of;
use hashbrown::HashTable;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// Worst-case order of what a node can be: the number is used in answers, so it never changes.
pub(crate) mod status {
    /// Matched, but nothing was compared.
    pub(crate) const NONE: u8 = 0;
    pub(crate) const PASS: u8 = 1;
    pub(crate) const WARNING: u8 = 2;
    pub(crate) const ERROR: u8 = 3;
    /// Without counterpart.
    pub(crate) const UNMATCHED: u8 = 4;
    /// How many different ones there are.
    pub(crate) const COUNT: usize = 5;
}

/// The class of a `precision_index`, by the palette every file carries: [0, 0.3), [0.3, 0.6), [0.6, 1].
pub(crate) fn verdict_of(index: Option<f64>) -> u8 {
    match index {
        Some(value) if (0.0..0.3).contains(&value) => status::PASS,
        Some(value) if (0.3..0.6).contains(&value) => status::WARNING,
        Some(value) if (0.6..=1.1).contains(&value) => status::ERROR,
        _ => status::NONE,
    }
}

/// What lies strictly below a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rollup {
    pub(crate) warnings: u32,
    pub(crate) errors: u32,
    pub(crate) unmatched: u32,
    passes: bool,
    /// Worst overflow level.
    pub(crate) overflow: u8,
}

impl Rollup {
    fn add_node(&mut self, status: u8, overflow: u8) {
        match status {
            status::PASS => self.passes = true,
            status::WARNING => self.warnings += 1,
            status::ERROR => self.errors += 1,
            status::UNMATCHED => self.unmatched += 1,
            _ => {}
        }
        self.overflow = self.overflow.max(overflow);
    }

    fn add(&mut self, below: &Self) {
        self.warnings += below.warnings;
        self.errors += below.errors;
        self.unmatched += below.unmatched;
        self.passes |= below.passes;
        self.overflow = self.overflow.max(below.overflow);
    }

    /// The worst thing: error, warning, unmatched, pass, nothing, in this order.
    pub(crate) fn worst(&self) -> u8 {
        match self {
            Self { errors: 1.., .. } => status::ERROR,
            Self { warnings: 1.., .. } => status::WARNING,
            Self { unmatched: 1.., .. } => status::UNMATCHED,
            Self { passes: true, .. } => status::PASS,
            _ => status::NONE,
        }
    }
}

/// One tree.
#[derive(Default)]
pub(crate) struct Side {
    names: Vec<u8>,
    starts: Vec<usize>,
    pub(crate) rowid: Vec<i64>,
    pub(crate) parent: Vec<u32>,
    child_starts: Vec<u32>,
    children: Vec<u32>,
    pub(crate) kind: Vec<u8>,
    pub(crate) status: Vec<u8>,
    pub(crate) overflow: Vec<u8>,
    pub(crate) micro: Vec<u32>,
    pub(crate) modified: Vec<bool>,
    pub(crate) counterpart: Vec<u32>,
    pub(crate) rollup: Vec<Rollup>,
    /// Nodes by row number; empty where they stand so already.
    by_rowid: Vec<u32>,
    by_name: HashTable<u32>,
    /// Nodes whose ancestors do not lead to the root in the file; shown below the root.
    pub(crate) orphans: u32,
}

impl Side {
    pub(crate) fn len(&self) -> usize {
        self.rowid.len()
    }

    pub(crate) fn name(&self, node: u32) -> &str {
        let node = node as usize;
        std::str::from_utf8(&self.names[self.starts[node]..self.starts[node + 1]]).unwrap_or_default()
    }

    /// All names in one piece and where each begins.
    pub(crate) fn name_table(&self) -> (&[u8], &[usize]) {
        (&self.names, &self.starts)
    }

    pub(crate) fn children(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.children[self.child_starts[node] as usize..self.child_starts[node + 1] as usize]
    }

    pub(crate) fn root(&self) -> Option<u32> {
        (0..self.len() as u32).rev().find(|node| self.parent[*node as usize] == NONE)
    }

    /// The status by which a node is counted and found; `None` for a root that holds nothing to compare, which is nobody's node.
    pub(crate) fn counted_status(&self, node: u32) -> Option<u8> {
        let at = node as usize;
        Some(self.status[at]).filter(|&status| self.parent[at] != NONE || status != status::NONE)
    }

    pub(crate) fn at_rowid(&self, rowid: i64) -> Option<u32> {
        if self.by_rowid.is_empty() {
            return self.rowid.binary_search(&rowid).ok().map(|at| at as u32);
        }
        self.by_rowid.binary_search_by_key(&rowid, |node| self.rowid[*node as usize]).ok().map(|at| self.by_rowid[at])
    }

    /// From the root down to and including `node`.
    pub(crate) fn chain(&self, node: u32) -> Vec<u32> {
        let mut chain = vec![node];
        let mut at = node;
        while self.parent[at as usize] != NONE {
            at = self.parent[at as usize];
            chain.push(at);
        }
        chain.reverse();
        chain
    }

    pub(crate) fn bytes(&self) -> usize {
        self.names.len() + self.len() * (8 + 8 + 4 * 5 + 4 + 16 + 5) + self.by_rowid.len() * 4
    }
}

/// Both trees of one step and rank.
pub(crate) struct Outline {
    pub(crate) sides: [Side; 2],
    /// Counterparts named by the file that do not exist on the other side.
    pub(crate) broken_links: u32,
}

#[derive(Default)]
struct Pending {
    side: Side,
    /// Hash of the parent's name; 0 with `is_root` for the root.
    parent_hash: Vec<u64>,
    is_root: Vec<bool>,
    link_hash: Vec<u64>,
    order: Vec<i64>,
}

impl Outline {
    /// Reads one step and rank; `progress` counts the nodes read.
    pub(crate) fn read(file: &VisFile, step: i64, rank: i64, progress: &AtomicU64) -> Result<Self, ViewError> {
        let hash_state = RandomState::new();
        let mut pending = [Pending::default(), Pending::default()];
        let mut last_parent = (String::new(), 0_u64);
        rows::scan_shape(file, step, rank, |shape| {
            progress.fetch_add(1, Ordering::Relaxed);
            let side = &mut pending[shape.side];
            side.side.starts.push(side.side.names.len());
            side.side.names.extend_from_slice(shape.name.as_bytes());
            side.side.rowid.push(shape.rowid);
            side.side.kind.push(shape.kind);
            side.side.overflow.push(shape.overflow);
            side.side.micro.push(shape.micro);
            side.side.modified.push(shape.modified);
            side.order.push(shape.order);
            if last_parent.0 != shape.parent {
                last_parent = (shape.parent.to_owned(), hash_state.hash_one(shape.parent.as_bytes()));
            }
            side.parent_hash.push(last_parent.1);
            side.is_root.push(shape.parent.is_empty());
            let link = partner_of(shape.link);
            side.side.status.push(if link.is_some() { verdict_of(shape.precision) } else { status::UNMATCHED });
            side.link_hash.push(link.map_or(0, |name| hash_state.hash_one(name.as_bytes())));
        })?;
        let mut links: Vec<Vec<u64>> = pending.iter_mut().map(|side| std::mem::take(&mut side.link_hash)).collect();
        let [mut target, mut golden] = pending;
        let compared = !golden.order.is_empty();
        target.sort(&mut links[0]);
        golden.sort(&mut links[1]);
        let hashes: Vec<Vec<u64>> =
            [&target, &golden].iter().map(|side| (0..side.order.len()).map(|at| hash_state.hash_one(side.name_at(at))).collect()).collect();
        let mut sides = [target.finish(&hashes[0]), golden.finish(&hashes[1])];
        let mut broken_links = 0;
        for own in 0..2 {
            let other = &sides[1 - own];
            let counterparts: Vec<u32> = links[own]
                .iter()
                .map(|link| match *link {
                    0 => NONE,
                    hash => other.by_name.find(hash, |node| hashes[1 - own][*node as usize] == hash).copied().unwrap_or_else(|| {
                        broken_links += 1;
                        NONE
                    }),
                })
                .collect();
            sides[own].counterpart = counterparts;
        }
        if compared {
            // A golden node wears the verdict of its counterpart, so that both panes tell the same story.
            let verdicts: Vec<u8> = (0..sides[1].len())
                .map(|node| match sides[1].counterpart[node] {
                    NONE => sides[1].status[node],
                    target => sides[0].status[target as usize],
                })
                .collect();
            sides[1].status = verdicts;
        } else {
            sides[0].status.iter_mut().for_each(|status| *status = status::NONE);
        }
        sides.iter_mut().for_each(Side::roll_up);
        Ok(Self { sides, broken_links })
    }

    /// The side and node of a row number.
    pub(crate) fn at_rowid(&self, rowid: i64) -> Option<(usize, u32)> {
        (0..2).find_map(|side| self.sides[side].at_rowid(rowid).map(|node| (side, node)))
    }

    pub(crate) fn bytes(&self) -> usize {
        self.sides.iter().map(Side::bytes).sum()
    }
}

impl Pending {
    fn name_at(&self, at: usize) -> &[u8] {
        let end = self.side.starts.get(at + 1).copied().unwrap_or(self.side.names.len());
        &self.side.names[self.side.starts[at]..end]
    }

    /// Puts the nodes, and `links` beside them, into execution order. Files mostly have them so, and nothing is copied then.
    fn sort(&mut self, links: &mut Vec<u64>) {
        if self.order.is_sorted() {
            return;
        }
        let mut order: Vec<u32> = (0..self.order.len() as u32).collect();
        order.sort_by_key(|at| (self.order[*at as usize], *at));
        let mut names = Vec::with_capacity(self.side.names.len());
        let mut starts = Vec::with_capacity(order.len() + 1);
        for at in &order {
            starts.push(names.len());
            names.extend_from_slice(self.name_at(*at as usize));
        }
        (self.side.names, self.side.starts) = (names, starts);
        permute(&mut self.order, &order);
        permute(links, &order);
        permute(&mut self.parent_hash, &order);
        permute(&mut self.is_root, &order);
        permute(&mut self.side.rowid, &order);
        permute(&mut self.side.kind, &order);
        permute(&mut self.side.status, &order);
        permute(&mut self.side.overflow, &order);
        permute(&mut self.side.micro, &order);
        permute(&mut self.side.modified, &order);
    }

    fn finish(self, hashes: &[u64]) -> Side {
        let mut side = self.side;
        let count = self.order.len();
        side.starts.push(side.names.len());
        side.names.shrink_to_fit();
        side.by_name = HashTable::with_capacity(count);
        for node in 0..count as u32 {
            let hash = hashes[node as usize];
            if side.by_name.find(hash, |seen| hashes[*seen as usize] == hash).is_none() {
                side.by_name.insert_unique(hash, node, |seen| hashes[*seen as usize]);
            }
        }
        if !side.rowid.is_sorted() {
            side.by_rowid = (0..count as u32).collect();
            side.by_rowid.sort_unstable_by_key(|node| side.rowid[*node as usize]);
        }
        side.parent = self
            .parent_hash
            .iter()
            .zip(&self.is_root)
            .map(|(hash, is_root)| match is_root {
                true => NONE,
                false => side.by_name.find(*hash, |node| hashes[*node as usize] == *hash).copied().unwrap_or(NONE),
            })
            .collect();
        let root = (0..count).rev().find(|node| self.is_root[*node]).or(count.checked_sub(1));
        if let Some(root) = root {
            side.adopt_orphans(root as u32);
        }
        side.link_children();
        side
    }
}

fn permute<T: Copy>(values: &mut Vec<T>, order: &[u32]) {
    *values = order.iter().map(|at| values[*at as usize]).collect();
}

impl Side {
    /// Gives every node a way to `root`: parents that do not exist and circles end there.
    fn adopt_orphans(&mut self, root: u32) {
        const NEW: u8 = 0;
        const WALKING: u8 = 1;
        const DONE: u8 = 2;
        self.parent[root as usize] = NONE;
        let mut state = vec![NEW; self.len()];
        state[root as usize] = DONE;
        let mut walked = Vec::new();
        for start in 0..self.len() as u32 {
            let mut at = start;
            while state[at as usize] == NEW {
                state[at as usize] = WALKING;
                walked.push(at);
                let up = self.parent[at as usize];
                if up == NONE || state[up as usize] == WALKING {
                    self.parent[at as usize] = root;
                    self.orphans += 1;
                    break;
                }
                at = up;
            }
            for node in walked.drain(..) {
                state[node as usize] = DONE;
            }
        }
    }

    fn link_children(&mut self) {
        let mut starts = vec![0_u32; self.len() + 1];
        for parent in self.parent.iter().filter(|parent| **parent != NONE) {
            starts[*parent as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut children = vec![0_u32; self.len().saturating_sub(1)];
        for node in 0..self.len() {
            if self.parent[node] != NONE {
                let slot = &mut next[self.parent[node] as usize];
                children[*slot as usize] = node as u32;
                *slot += 1;
            }
        }
        self.child_starts = starts;
        self.children = children;
    }

    fn roll_up(&mut self) {
        self.rollup = vec![Rollup::default(); self.len()];
        let Some(root) = self.root() else { return };
        let mut order = Vec::with_capacity(self.len());
        order.push(root);
        let mut at = 0;
        while at < order.len() {
            order.extend_from_slice(self.children(order[at]));
            at += 1;
        }
        for node in order.into_iter().rev() {
            let node = node as usize;
            let mut sum = self.rollup[node];
            sum.add_node(self.status[node], self.overflow[node]);
            if self.parent[node] != NONE {
                self.rollup[self.parent[node] as usize].add(&sum);
            }
        }
    }
}
