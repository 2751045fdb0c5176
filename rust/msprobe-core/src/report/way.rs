//! The way through the tree to the first difference.

use super::answer::Difference;
use super::file::{Place, VisFile};
use super::{measured, ranks, stored, Options};
use crate::visdb::{Detail, GraphId, Reader, Side};
use std::collections::HashSet;
use std::path::Path;

/// Bytes (per step and rank, of the one that is shown) up to which every row is read for an answer that the file does not hold: about a second.
const READ_FOR_THE_ANSWER: u64 = 1_000_000_000;

/// The nodes from the root down to where the step and rank of `graph` first part, on the side of `graph`; empty if it does not
/// part, has no node there, or cannot tell in bearable time. A tree can be shown without the answer, so no error leaves here.
pub(super) fn to_first_difference(reader: &Reader, graph: GraphId) -> Vec<String> {
    let Some(found) = first_difference(reader, graph) else { return Vec::new() };
    let name = match graph.side {
        Side::Target => Some(found.node),
        Side::Golden => found.golden_node,
    };
    name.and_then(|name| way(reader, graph, name)).unwrap_or_default()
}

/// Where the runs first part, among the steps and ranks asked for; `None` if they do not, or if it cannot be told in bearable time.
pub(super) fn first_place(path: &Path, step: Option<u64>, rank: Option<u64>) -> Option<(u64, u64)> {
    let file = VisFile::open(path).ok().filter(VisFile::is_comparison)?;
    let number = |number: Option<u64>| number.map(|number| number as i64);
    let places = file.places_of(number(step), number(rank)).ok()?;
    let options = Options { step: number(step), top: 0, ..Options::default() };
    let ranks = match stored(&file, &places, &options) {
        Ok(Some((_, ranks))) => ranks,
        _ if std::fs::metadata(path).ok()?.len() > READ_FOR_THE_ANSWER => return None,
        _ => measured(&file, places, &options).ok()?.1,
    };
    ranks::first_difference(&ranks).map(|found| (found.step as u64, found.rank as u64))
}

fn first_difference(reader: &Reader, graph: GraphId) -> Option<Difference> {
    let file = VisFile::open(reader.path()).ok().filter(VisFile::is_comparison)?;
    let place = Place { step: graph.step as i64, rank: graph.rank as i64 };
    let options = Options { top: 0, ..Options::default() };
    let ranks = if let Ok(Some((_, ranks))) = stored(&file, &[place], &options) {
        ranks
    } else {
        let size = std::fs::metadata(&file.path).ok()?.len();
        if size / file.places_of(None, None).ok()?.len() as u64 > READ_FOR_THE_ANSWER {
            return None;
        }
        measured(&file, vec![place], &options).ok()?.1
    };
    ranks.into_iter().next()?.first_difference
}

/// The names from the root down to `name`; `None` if the tree does not hold it, or goes in a circle, as foreign files may.
fn way(reader: &Reader, graph: GraphId, name: String) -> Option<Vec<String>> {
    let mut seen = HashSet::new();
    let mut way = Vec::new();
    let mut at = name;
    while !at.is_empty() {
        if !seen.insert(at.clone()) {
            return None;
        }
        let up = reader.node(graph, &at, Detail::Tree).ok()??.up_node;
        way.push(std::mem::replace(&mut at, up));
    }
    way.reverse();
    Some(way)
}
