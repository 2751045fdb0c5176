//! From the options of a run to the matcher of its ranks.

use super::request::Request;
use super::Error;
use crate::graph::Graph;
use crate::matching::mapping::{Rules, Skipped, Usage};
use crate::matching::{match_by_alignment, match_by_mapping, match_by_place, match_fuzzy, Calls, NodeMatch, Side};

/// How the nodes of this run are matched.
pub(super) enum Matcher {
    Place,
    Fuzzy,
    Alignment,
    Mapping { rules: Rules, count_calls: bool },
}

/// What was found for one pair of ranks.
pub(super) struct Found {
    pub matched: NodeMatch,
    /// What the rules of a mapping came to.
    pub usage: Option<Usage>,
    pub warnings: Vec<String>,
}

impl Matcher {
    /// Reads the layer mapping, if there is one.
    pub(super) fn of(request: &Request) -> Result<Matcher, Error> {
        Ok(match &request.layer_mapping {
            _ if request.golden.is_none() => Matcher::Place,
            _ if request.align => Matcher::Alignment,
            Some(path) => {
                let rules = if path.as_os_str().is_empty() { Rules::default() } else { Rules::open(path)? };
                Matcher::Mapping { rules, count_calls: request.fuzzy_match }
            }
            None if request.fuzzy_match => Matcher::Fuzzy,
            None => Matcher::Place,
        })
    }

    /// Whether dumps of two frameworks can be brought together in this way.
    pub(super) fn crosses_frameworks(&self) -> bool {
        matches!(self, Matcher::Mapping { .. } | Matcher::Alignment)
    }

    pub(super) fn find(&self, target: Side<'_>, golden: Side<'_>, cross_framework: bool) -> Found {
        let plain = |matched| Found { matched, usage: None, warnings: Vec::new() };
        match self {
            Matcher::Place => plain(match_by_place(target.graph, golden.graph)),
            Matcher::Alignment => plain(match_by_alignment(target, golden)),
            Matcher::Fuzzy => plain(match_fuzzy(target.graph, golden.graph)),
            Matcher::Mapping { rules, count_calls } => {
                let calls = if *count_calls { Calls::Counted { cross_framework } } else { Calls::Mapped };
                let mapped = match_by_mapping(target, golden, rules, calls);
                let warnings = skipped(&mapped.skipped).into_iter().chain(shared(&mapped.matched, target.graph, golden.graph)).collect();
                Found { matched: mapped.matched, usage: Some(mapped.usage), warnings }
            }
        }
    }

    /// One sentence per rule that did nothing in any pair of ranks.
    pub(super) fn idle_rules(&self, usage: &Usage) -> Vec<String> {
        match self {
            Matcher::Mapping { rules, .. } => usage.warnings(rules),
            _ => Vec::new(),
        }
    }
}

fn skipped(skipped: &Skipped) -> Option<String> {
    let what = match skipped.count {
        0 => return None,
        1 => format!("'{}' has fewer than 4 parts", skipped.first),
        count => format!("{count} names have fewer than 4 parts, first '{}'", skipped.first),
    };
    Some(format!("{what}: matched by name, not by the layer mapping"))
}

fn shared(matched: &NodeMatch, target: &Graph<'_>, golden: &Graph<'_>) -> Option<String> {
    let shared = matched.shared();
    let second = shared.first?;
    let partner = matched.golden_of(second)?;
    let first = target[matched.target_of(partner)?].name();
    let (second, partner) = (target[second].name(), golden[partner].name());
    let more = if shared.count > 1 { format!(" (and {} more such nodes)", shared.count - 1) } else { String::new() };
    Some(format!("'{first}' and '{second}' both face '{partner}', which shows the first{more}"))
}
