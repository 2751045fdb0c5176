//! Which place of the target faces which of the golden side, found without any rule.
//!
//! From the roots down, the modules in two places that face each other are aligned in the order of their first calls, with the
//! most points on the whole. One side may have a level more: where it makes more pairs and points, a module is unpacked and what
//! it holds is aligned in its place.

use crate::matching::block::best_pairs;
use std::ops::Range;

use super::super::trie::Place;
use super::places::Places;

/// Points that two places need.
const ENOUGH: f64 = 2.5;
/// The same for the only two that are left.
const ENOUGH_ALONE: f64 = 1.0;
/// Modules of one place that are compared with each other at once.
const BLOCK: usize = 256;
/// Lists of so many modules are tried with each of them unpacked.
const FEW: usize = 16;
/// Points that unpacking must bring.
const MARGIN: f64 = 0.5;
/// Levels that are unpacked.
const MOST_LEVELS: u32 = 8;

/// The golden place that each place of the target faces.
pub(super) fn facing(target: &Places<'_>, golden: &Places<'_>) -> Vec<Option<Place>> {
    let mut found = Facing { target, golden, golden_of: vec![None; target.trie.len()] };
    found.golden_of[0] = Some(Place::ROOT);
    let mut waiting = vec![(Place::ROOT, Place::ROOT)];
    while let Some((place, other)) = waiting.pop() {
        found.align(target.children(place).to_vec(), golden.children(other).to_vec(), &mut waiting);
    }
    found.golden_of
}

struct Facing<'p, 'a> {
    target: &'p Places<'a>,
    golden: &'p Places<'a>,
    golden_of: Vec<Option<Place>>,
}

/// Positions that face each other, and their points.
type Pairs = (Vec<(usize, usize)>, f64);

impl Facing<'_, '_> {
    fn align(&mut self, places: Vec<Place>, others: Vec<Place>, found: &mut Vec<(Place, Place)>) {
        let mut gaps = vec![(places, others, 0)];
        while let Some((places, others, level)) = gaps.pop() {
            if places.is_empty() || others.is_empty() || level > MOST_LEVELS {
                continue;
            }
            let mut best = (self.best(&places, &others), places.clone(), others.clone());
            for (places, others) in self.unpacked(&places, &others, best.0 .0.is_empty()) {
                let found = self.best(&places, &others);
                if found.0.len() > best.0 .0.len() && found.1 > best.0 .1 + MARGIN {
                    best = (found, places, others);
                }
            }
            if best.0 .0.is_empty() {
                continue;
            }
            let ((pairs, _), places, others) = best;
            let (mut from, mut golden_from) = (0, 0);
            for &(at, golden_at) in pairs.iter().chain([&(places.len(), others.len())]) {
                gaps.push((places[from..at].to_vec(), others[golden_from..golden_at].to_vec(), level + 1));
                (from, golden_from) = (at + 1, golden_at + 1);
            }
            for (at, golden_at) in pairs {
                self.golden_of[places[at].index()] = Some(others[golden_at]);
                found.push((places[at], others[golden_at]));
            }
        }
    }

    /// The lists with a module unpacked, each in turn; of long lists, if `nothing` is alike as it stands, with all of them.
    fn unpacked(&self, places: &[Place], others: &[Place], nothing: bool) -> Vec<(Vec<Place>, Vec<Place>)> {
        let mut lists = Vec::new();
        if places.len() <= FEW && others.len() <= FEW {
            let holding = |side: &Places<'_>, list: &[Place]| {
                (0..list.len()).filter(|&at| !side.children(list[at]).is_empty()).map(|at| at..at + 1).collect::<Vec<_>>()
            };
            lists.extend(holding(self.target, places).into_iter().map(|at| (unpack(self.target, places, &at), others.to_vec())));
            lists.extend(holding(self.golden, others).into_iter().map(|at| (places.to_vec(), unpack(self.golden, others, &at))));
        }
        if nothing {
            lists.push((unpack(self.target, places, &(0..places.len())), others.to_vec()));
            lists.push((places.to_vec(), unpack(self.golden, others, &(0..others.len()))));
        }
        lists
    }

    /// The alignment with the most points; block by block, so that it costs no more than the length of the lists.
    fn best(&self, places: &[Place], others: &[Place]) -> Pairs {
        let enough = if places.len() == 1 && others.len() == 1 { ENOUGH_ALONE } else { ENOUGH };
        let (mut pairs, mut points) = (Vec::new(), 0.0);
        for (block, (places, others)) in places.chunks(BLOCK).zip(others.chunks(BLOCK)).enumerate() {
            let likeness = |i: usize, j: usize| self.target.likeness(places[i], self.golden, others[j]);
            let (found, sum) = best_pairs(places.len(), others.len(), enough, likeness);
            points += sum;
            pairs.extend(found.into_iter().map(|(i, j)| (block * BLOCK + i, block * BLOCK + j)));
        }
        (pairs, points)
    }
}

/// The places, those in a range that hold modules replaced by these.
fn unpack(side: &Places<'_>, places: &[Place], range: &Range<usize>) -> Vec<Place> {
    let mut out = Vec::with_capacity(places.len());
    for (at, &place) in places.iter().enumerate() {
        match side.children(place) {
            children if range.contains(&at) && !children.is_empty() => out.extend_from_slice(children),
            _ => out.push(place),
        }
    }
    out
}
