//! The modules of one side as a tree of places, and what tells them apart.

use bumpalo::Bump;

use super::super::super::shapes::{mix, Shapes};
use super::super::items::Items;
use super::super::trie::{Place, Trie};
use super::super::Skipped;
use crate::dump::RankFiles;
use crate::name::NodeKind;

/// Things that lie below a place that are kept, of each kind.
const LARGEST_BAG: usize = 256;

/// The places of one side.
pub(super) struct Places<'a> {
    pub(super) trie: Trie<'a>,
    facts: Vec<Facts>,
}

/// What is known of a place.
#[derive(Clone, Default)]
struct Facts {
    /// Modules directly below, in the order in which they were first called.
    children: Vec<Place>,
    /// Shapes of the first call.
    shapes: Shapes,
    /// The module was called itself; else it only holds others.
    called: bool,
    /// It is a module, or holds modules.
    module: bool,
    /// Number of the first call in or below it.
    first_call: u32,
    /// Shapes of the parameters in and below it, sorted.
    parameters: Vec<u64>,
    /// Names of the APIs that it and what lies below it call, sorted.
    apis: Vec<u64>,
}

impl<'a> Places<'a> {
    pub(super) fn of(files: &'a RankFiles) -> Places<'a> {
        let Items { items, trie } = Items::collect(files, &mut Skipped::default());
        let fresh = Facts { first_call: u32::MAX, ..Facts::default() };
        let mut facts = vec![fresh; trie.len()];
        let mut bump = Bump::new();
        for item in &items {
            let known = &mut facts[item.place.index()];
            let name = files.dump.name(item.entry);
            if NodeKind::of(name) == NodeKind::Api {
                known.first_call = known.first_call.min(item.entry.0);
                continue;
            }
            known.module = true;
            if item.state == "forward" && !known.called {
                known.called = true;
                known.first_call = known.first_call.min(item.entry.0);
                known.shapes = Shapes::read(files, item.entry, &mut bump);
            }
        }
        let mut places = Places { trie, facts };
        places.gather();
        places
    }

    /// Hands what lies below each place up to it. Parents have smaller numbers than their children.
    fn gather(&mut self) {
        for place in self.trie.places().collect::<Vec<_>>().into_iter().rev() {
            let mut own = std::mem::take(&mut self.facts[place.index()]);
            if own.shapes.parameters != 0 {
                own.parameters.push(own.shapes.parameters);
            } else if !own.module {
                own.apis.push(self.trie.part(place).bytes().fold(3, |hash, byte| mix(hash, u64::from(byte))));
            }
            for bag in [&mut own.parameters, &mut own.apis] {
                bag.sort_unstable();
                bag.truncate(LARGEST_BAG);
            }
            let firsts = |child: &Place| self.facts[child.index()].first_call;
            own.children.sort_by_key(firsts);
            if let Some(parent) = self.trie.parent(place) {
                let above = &mut self.facts[parent.index()];
                if own.module {
                    above.module = true;
                    above.children.push(place);
                }
                above.first_call = above.first_call.min(own.first_call);
                above.parameters.extend_from_slice(&own.parameters);
                above.apis.extend_from_slice(&own.apis);
            }
            self.facts[place.index()] = own;
        }
    }

    pub(super) fn children(&self, place: Place) -> &[Place] {
        &self.facts[place.index()].children
    }

    pub(super) fn parameters(&self, place: Place) -> u64 {
        self.facts[place.index()].shapes.parameters
    }

    /// Whether the parameters in and below two places have the same shapes; `None` if there are none on either side.
    pub(super) fn same_parameters(&self, place: Place, golden: &Places<'_>, other: Place) -> Option<bool> {
        let (ours, theirs) = (self.parameters(place), golden.parameters(other));
        if ours != 0 || theirs != 0 {
            return Some(ours == theirs);
        }
        let (below, other_below) = (&self.facts[place.index()].parameters, &golden.facts[other.index()].parameters);
        (!below.is_empty() || !other_below.is_empty()).then(|| below == other_below)
    }

    /// Points for what two places have in common.
    pub(super) fn likeness(&self, place: Place, golden: &Places<'_>, other: Place) -> f64 {
        let (a, b) = (&self.facts[place.index()], &golden.facts[other.index()]);
        let (part, other_part) = (self.trie.part(place), golden.trie.part(other));
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let mut points = 0.0;
        if a.called && b.called {
            points += match (a.shapes.parameters, b.shapes.parameters) {
                (0, 0) => 0.0,
                (ours, theirs) if ours == theirs => 3.0,
                (0, _) | (_, 0) => -2.0,
                _ => -3.0,
            };
            points += if self.trie.class(place) == golden.trie.class(other) { 2.0 } else { 0.0 };
            points += if a.shapes.outputs == b.shapes.outputs && a.shapes.outputs != 0 { 1.0 } else { 0.0 };
        } else if a.called != b.called {
            points -= 1.0;
        }
        points += match (is_number(part), is_number(other_part)) {
            (false, false) if part == other_part => 2.0,
            (true, true) if part == other_part => 1.0,
            (true, false) | (false, true) => -1.0,
            _ => 0.0,
        };
        points -= if a.children.is_empty() == b.children.is_empty() { 0.0 } else { 1.0 };
        let no_parameters = a.parameters.is_empty() && b.parameters.is_empty();
        points += match (no_parameters, a.apis.is_empty() && b.apis.is_empty()) {
            (true, true) => 0.5,
            (true, false) => 3.0 * common(&a.apis, &b.apis),
            // Frameworks call APIs of other names, so these count for less.
            (false, _) => 4.0 * common(&a.parameters, &b.parameters) + common(&a.apis, &b.apis),
        };
        points
    }
}

/// Common part of two sorted lists, 0 to 1.
fn common(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, both) = (i + 1, j + 1, both + 1),
        }
    }
    f64::from(both) * 2.0 / ((a.len() + b.len()).max(1) as f64)
}
