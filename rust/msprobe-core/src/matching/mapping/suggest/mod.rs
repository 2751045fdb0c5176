//! A proposal for a layer mapping: rules that bring together what is alike by structure.
//!
//! Which module faces which is found in the tree of places ([`facing`]), by classes, names, order, what lies below, and shapes.
//! Where a path differs from its counterpart, a rule says so, for the class of the next module above that has a partner.
//! Modules of one class must agree: the counterpart that most of them have becomes the rule.

mod facing;
mod places;
mod yaml;

use hashbrown::HashMap;

use super::trie::{Place, Trie};
use crate::dump::RankFiles;
use places::Places;

/// How sure a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    /// Some modules of the class disagree, or shapes do.
    Guess,
    /// All modules of the class agree.
    Likely,
    /// All modules of the class agree, and the shapes of all their parameters do.
    Sure,
}

/// A proposed rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Class of the target module, or `TopLayer`.
    pub class: String,
    /// Child path on the target side.
    pub key: String,
    /// Child path on the golden side.
    pub value: String,
    /// Modules of the class for which the rule was found.
    pub found: usize,
    /// Modules of the class that have the child.
    pub all: usize,
    /// Modules of the class where the shapes of the parameters agree.
    pub shapes_agree: usize,
    /// How sure it is.
    pub sureness: Sureness,
}

/// A proposed mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// The rules, grouped by class, in the order in which the target's modules were called.
    pub rules: Vec<Proposal>,
}

/// Counterparts of one child of one class.
#[derive(Default)]
struct Votes {
    /// Per golden path the modules that have it, and how many of them have parameters of the same shapes.
    values: Vec<(String, usize, usize)>,
}

/// Proposes a layer mapping from the dumps of two ranks.
#[must_use]
pub fn suggest(target: &RankFiles, golden: &RankFiles) -> Suggestion {
    let (target, golden) = (Places::of(target), Places::of(golden));
    let golden_of = facing::facing(&target, &golden);
    let mut order: Vec<(&str, String)> = Vec::new();
    let mut votes: HashMap<(&str, String), Votes> = HashMap::new();
    let mut waiting: Vec<Place> = target.children(Place::ROOT).iter().rev().copied().collect();
    while let Some(place) = waiting.pop() {
        waiting.extend(target.children(place).iter().rev());
        let Some(other) = golden_of[place.index()] else { continue };
        let Some((above, golden_above)) = above(&target.trie, &golden_of, place) else { continue };
        let Some(value) = path_below(&golden.trie, golden_above, other) else { continue };
        let Some(key) = path_below(&target.trie, above, place) else { continue };
        let (key, value) = without_common_end(&key, &value);
        let agrees = target.same_parameters(place, &golden, other) == Some(true);
        let at = (target.trie.class(above), key.join("."));
        if !votes.contains_key(&at) {
            order.push(at.clone());
        }
        votes.entry(at).or_default().add(value.join("."), agrees);
    }
    let rules = order.iter().filter_map(|at| proposal(at, &votes[at])).collect::<Vec<_>>();
    Suggestion { rules: by_class(rules) }
}

impl Votes {
    fn add(&mut self, value: String, agrees: bool) {
        let at = self.values.iter().position(|(known, ..)| *known == value).unwrap_or_else(|| {
            self.values.push((value, 0, 0));
            self.values.len() - 1
        });
        self.values[at].1 += 1;
        self.values[at].2 += usize::from(agrees);
    }
}

/// The next place above that has a partner, with it.
fn above(trie: &Trie<'_>, golden_of: &[Option<Place>], place: Place) -> Option<(Place, Place)> {
    std::iter::successors(trie.parent(place), |&below| trie.parent(below)).find_map(|above| Some((above, golden_of[above.index()]?)))
}

/// The parts that lead from one place down to another; `None` if they do not.
fn path_below<'t>(trie: &'t Trie<'_>, from: Place, to: Place) -> Option<Vec<&'t str>> {
    let mut parts = Vec::new();
    let mut at = to;
    while at != from {
        parts.push(trie.part(at));
        at = trie.parent(at)?;
    }
    parts.reverse();
    Some(parts)
}

/// Both paths without the parts at their ends that are the same, as a part without a rule stays what it is.
fn without_common_end<'p>(key: &[&'p str], value: &[&'p str]) -> (Vec<&'p str>, Vec<&'p str>) {
    let most = key.len().min(value.len()).saturating_sub(1);
    let common = (1..=most).take_while(|&back| key[key.len() - back] == value[value.len() - back]).count();
    (key[..key.len() - common].to_vec(), value[..value.len() - common].to_vec())
}

fn proposal((class, key): &(&str, String), votes: &Votes) -> Option<Proposal> {
    // Of the most frequent ones the first.
    let (value, found, shapes_agree) = votes.values.iter().rev().max_by_key(|(_, found, _)| *found)?;
    let all = votes.values.iter().map(|(_, found, _)| found).sum();
    let fits = value != key && yaml::can_be_written(class, key, value);
    let sureness = match () {
        () if *found < all => Sureness::Guess,
        () if *shapes_agree == all => Sureness::Sure,
        () => Sureness::Likely,
    };
    fits.then(|| Proposal {
        class: (*class).to_owned(),
        key: key.clone(),
        value: value.clone(),
        found: *found,
        all,
        shapes_agree: *shapes_agree,
        sureness,
    })
}

/// The rules of one class together, classes in the order of their first rule.
fn by_class(rules: Vec<Proposal>) -> Vec<Proposal> {
    let mut first: HashMap<String, usize> = HashMap::new();
    for (at, rule) in rules.iter().enumerate() {
        first.entry(rule.class.clone()).or_insert(at);
    }
    let mut rules = rules;
    rules.sort_by_key(|rule| first[&rule.class]);
    rules
}
