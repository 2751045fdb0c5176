//! Which rules of a mapping did nothing or contradict each other, and what their writer may have meant.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use super::rules::Rules;
use super::translate::Use;
use super::trie::{Place, Trie};
use crate::text::message::plain;

/// Rules named in full; of the rest only the number is told.
const NAMED: usize = 20;
/// Names that a suggestion is looked for among, at most.
const CANDIDATES: usize = 5_000;
/// How alike (0 to 1) a suggestion must be.
const ALIKE: f64 = 0.6;

/// What became of each rule of a mapping, in one pair of ranks or in several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    faults: Vec<Option<Fault>>,
    overruled: Vec<Option<Overruled>>,
}

/// Places that a rule claims and another one gets.
#[derive(Clone, Debug, PartialEq)]
struct Overruled {
    by: u32,
    first: String,
    places: usize,
}

/// Why a rule did nothing.
#[derive(Clone, Debug, PartialEq)]
enum Fault {
    /// The target has no module of its class.
    NoClass { nearest: Option<String> },
    /// No module of its class has the child.
    NoChild { nearest: Option<String> },
    /// The golden side has nothing where it leads.
    Nowhere { nearest: Option<String> },
}

impl Usage {
    pub(super) fn of(rules: &Rules, uses: &[Use], target: &Trie<'_>, golden: &Trie<'_>) -> Usage {
        let overruled =
            |used: &Use| used.overruled.map(|found| Overruled { by: found.by, first: target.path(found.first), places: found.places });
        let overruled: Vec<Option<Overruled>> = uses.iter().map(overruled).collect();
        let failed = |used: &Use| (used.taken == 0 && used.overruled.is_none()) || (used.taken > 0 && used.nowhere == used.taken);
        let idle: BTreeSet<usize> = (0..uses.len()).filter(|&rule| failed(&uses[rule])).collect();
        let mut faults = vec![None; uses.len()];
        if idle.is_empty() {
            return Usage { faults, overruled };
        }
        let names = Names::of(target);
        for (nth, &rule) in idle.iter().enumerate() {
            let searched = nth < NAMED;
            let (class, key) = (&rules.all()[rule].class, &rules.all()[rule].key);
            let nearest = |name: &str, among: &BTreeSet<&str>| if searched { nearest(name, among) } else { None };
            faults[rule] = Some(if let Some(above) = uses[rule].missing_below {
                let value = &rules.all()[rule].value;
                Fault::Nowhere { nearest: if searched { nearest_path(golden, above, value) } else { None } }
            } else if uses[rule].taken > 0 {
                // Its own place has no counterpart; that is told by the rule that should have led there.
                Fault::Nowhere { nearest: None }
            } else if let Some(children) = names.children_of_class.get(class.as_str()) {
                Fault::NoChild { nearest: nearest(key, children) }
            } else {
                Fault::NoClass { nearest: nearest(class, &names.classes) }
            });
        }
        Usage { faults, overruled }
    }

    /// Adds what another pair of ranks came to: a rule is used if any of them used it.
    pub fn merge(&mut self, other: &Usage) {
        if self.faults.is_empty() {
            self.clone_from(other);
            return;
        }
        for (fault, other) in self.faults.iter_mut().zip(&other.faults) {
            if let (Some(_), None) = (&*fault, other) {
                *fault = None;
            } else if let (Some(Fault::NoClass { .. } | Fault::NoChild { .. }), Some(Fault::Nowhere { .. })) = (&*fault, other) {
                fault.clone_from(other);
            }
        }
        for (overruled, other) in self.overruled.iter_mut().zip(&other.overruled) {
            match (&mut *overruled, other) {
                (Some(overruled), Some(other)) => overruled.places += other.places,
                (None, Some(_)) => overruled.clone_from(other),
                (_, None) => {}
            }
        }
    }

    /// One sentence per rule that did nothing, and per rule that claims what another one gets.
    #[must_use]
    pub fn warnings(&self, rules: &Rules) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        let mut more = 0;
        for (rule, fault) in rules.all().iter().zip(&self.faults) {
            let Some(fault) = fault else { continue };
            if warnings.len() == NAMED {
                more += 1;
                continue;
            }
            let (what, nearest) = match fault {
                Fault::NoClass { nearest } => (format!("the target has no module of class {:?}", rule.class), nearest),
                Fault::NoChild { nearest } => (format!("no {:?} of the target has a child {:?}", rule.class, rule.key), nearest),
                Fault::Nowhere { nearest } => (format!("the golden side has no {:?} where the rule leads", rule.value), nearest),
            };
            let hint = nearest.as_ref().map_or_else(String::new, |nearest| format!(" (did you mean {nearest:?}?)"));
            let (path, line, key, value) = (rules.path().display(), rule.line, plain(&rule.key), plain(&rule.value));
            warnings.push(format!("{path}:{line}: rule `{key}: {value}` matches nothing: {what}{hint}"));
        }
        if more > 0 {
            warnings.push(format!("{}: {more} more rules match nothing", rules.path().display()));
        }
        let claims = self.overruled.iter().zip(rules.all()).filter_map(|(overruled, rule)| Some((overruled.as_ref()?, rule)));
        warnings.extend(claims.take(NAMED).map(|(overruled, rule)| {
            let (by, path) = (&rules.all()[overruled.by as usize], rules.path().display());
            let what = match overruled.places {
                1 => format!("{:?} is claimed", overruled.first),
                places => format!("{places} places of the target, first {:?}, are claimed", overruled.first),
            };
            let (line, key, value) = (rule.line, plain(&rule.key), plain(&rule.value));
            let (by_key, by_value) = (plain(&by.key), plain(&by.value));
            format!(
                "{path}:{line}: rule `{key}: {value}` gives way: {what} by `{by_key}: {by_value}` of line {} too, which starts higher up",
                by.line
            )
        }));
        warnings
    }
}

/// The names of the target that rules speak of.
struct Names<'t> {
    classes: BTreeSet<&'t str>,
    children_of_class: HashMap<&'t str, BTreeSet<&'t str>>,
}

impl<'t> Names<'t> {
    fn of(trie: &'t Trie<'_>) -> Names<'t> {
        let mut names = Names { classes: BTreeSet::new(), children_of_class: HashMap::new() };
        for place in trie.places() {
            names.classes.insert(trie.class(place));
            names.children_of_class.entry(trie.class(place)).or_default();
            if let Some(parent) = trie.parent(place) {
                names.children_of_class.entry(trie.class(parent)).or_default().insert(trie.part(place));
            }
        }
        names
    }
}

/// The name most like `name`; for a path, of its first part.
fn nearest(name: &str, among: &BTreeSet<&str>) -> Option<String> {
    let (first, rest) = name.split_once('.').map_or((name, None), |(first, rest)| (first, Some(rest)));
    if among.contains(first) {
        return None;
    }
    let alike = |candidate: &&str| strsim::normalized_damerau_levenshtein(first, candidate);
    let scored =
        among.iter().copied().filter(|candidate| candidate.len() <= 200).take(CANDIDATES).map(|candidate| (alike(&candidate), candidate));
    let (score, best) = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let whole = rest.map_or_else(|| best.to_owned(), |rest| format!("{best}.{rest}"));
    (score >= ALIKE).then_some(whole)
}

/// `path` with its first part that does not exist below `from` replaced by the one most like it.
fn nearest_path(trie: &Trie<'_>, from: Place, path: &str) -> Option<String> {
    let mut above = from;
    let mut known = String::new();
    for (at, part) in path.split('.').enumerate() {
        if let Some(place) = trie.find(above, part) {
            above = place;
            known.push_str(part);
            known.push('.');
            continue;
        }
        let children: BTreeSet<&str> =
            trie.places().filter(|&place| trie.parent(place) == Some(above)).map(|place| trie.part(place)).collect();
        let rest: Vec<&str> = path.split('.').skip(at + 1).collect();
        let found = nearest(part, &children)?;
        return Some([&[known.trim_end_matches('.'), &found][usize::from(known.is_empty())..], &rest].concat().join("."));
    }
    None
}
