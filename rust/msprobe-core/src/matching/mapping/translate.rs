//! From the places of the target to those of the golden side.
//!
//! The walk to a place starts at the root of the target. At a place of class C the longest rule of C whose whole key equals
//! the next parts of the path is taken and its parts are passed at once; without one, one part is copied. Walks to a place
//! and to its parent are the same up to a rule that ends just at the place, so each place is reached from its parent with
//! the rules that are still open, instead of from the root.

use super::rules::Rules;
use super::trie::{Place, Trie};

/// A rule being followed: where it started and how far it has come.
#[derive(Clone, Copy)]
struct Open {
    start: Place,
    step: u32,
}

/// How often a rule was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    /// Places of the target at whose end the rule was taken.
    pub(super) taken: usize,
    /// Those of them whose counterpart does not exist on the golden side.
    pub(super) nowhere: usize,
    /// A place on the golden side below which the rule's value does not exist.
    pub(super) missing_below: Option<Place>,
    /// What the rule claims, but another rule gets.
    pub(super) overruled: Option<Overruled>,
}

/// Places of the target that two rules claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overruled {
    /// The rule that gets the first of them.
    pub(super) by: u32,
    pub(super) first: Place,
    pub(super) places: usize,
}

/// The golden place of each place of the target, and the use of each rule.
pub(super) fn translate(target: &Trie<'_>, golden: &Trie<'_>, rules: &Rules) -> (Vec<Option<Place>>, Vec<Use>) {
    let mut uses = vec![Use::default(); rules.all().len()];
    let mut places: Vec<Option<Place>> = Vec::with_capacity(target.len());
    let mut open_at: Vec<Vec<Open>> = Vec::with_capacity(target.len());
    let started = |place: Place| rules.start(target.class(place)).map(|step| Open { start: place, step });
    for place in target.places() {
        let Some(parent) = target.parent(place) else {
            places.push(Some(Place::ROOT));
            open_at.push(started(place).into_iter().collect());
            continue;
        };
        let part = target.part(place);
        let mut open: Vec<Open> = Vec::new();
        let mut ended = None;
        // The rule that starts nearest to the root goes first.
        for before in &open_at[parent.index()] {
            let Some(step) = rules.step(before.step, part) else { continue };
            // The walk does not stop between the start and the end of a rule, so no rule that starts there counts.
            if let Some((_, by)) = ended {
                if let Some(rule) = rules.rule_at(step) {
                    uses[rule as usize].overruled.get_or_insert(Overruled { by, first: place, places: 0 }).places += 1;
                }
                continue;
            }
            open.push(Open { start: before.start, step });
            ended = rules.rule_at(step).map(|rule| (before.start, rule));
        }
        let found = match ended {
            None => places[parent.index()].and_then(|above| golden.find(above, part)),
            Some((start, rule)) => {
                let above = places[start.index()];
                let found = above.and_then(|above| golden.follow(above, &rules.all()[rule as usize].value));
                let rule_use = &mut uses[rule as usize];
                rule_use.taken += 1;
                if let (Some(above), None) = (above, found) {
                    rule_use.nowhere += 1;
                    rule_use.missing_below.get_or_insert(above);
                }
                found
            }
        };
        open.extend(started(place));
        places.push(found);
        open_at.push(open);
    }
    (places, uses)
}
