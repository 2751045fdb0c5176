//! Names that contain a text, with filters; the next and the previous one.

use super::args::{bad, Args};
use super::error::ViewError;
use super::outline::{Outline, Side, NONE};
use super::{drift, Question};
use serde::Serialize;

/// What a node must be like. All parts must hold; an empty list holds always.
struct Filter {
    words: Vec<String>,
    status: Vec<u8>,
    overflow: Vec<u8>,
    kinds: Vec<u8>,
    micro: Option<u32>,
    leaves: bool,
    edited: bool,
    distributed: bool,
}

impl Filter {
    fn of(args: &Args<'_>) -> Result<Self, ViewError> {
        let text = args.text("q").unwrap_or("");
        if text.len() > 400 {
            return Err(bad("q", "is longer than 400 bytes"));
        }
        let codes = |name: &str, words: &[(&str, u8)]| -> Result<Vec<u8>, ViewError> {
            let Some(list) = args.text(name) else { return Ok(Vec::new()) };
            list.split(',')
                .map(|word| {
                    words.iter().find(|(known, _)| *known == word).map(|(_, code)| *code).ok_or_else(|| bad(name, "has an unknown word"))
                })
                .collect()
        };
        Ok(Self {
            words: text.split_whitespace().map(str::to_ascii_lowercase).collect(),
            status: codes("status", &[("none", 0), ("pass", 1), ("warning", 2), ("error", 3), ("unmatched", 4)])?,
            overflow: codes("overflow", &[("medium", 1), ("high", 2), ("critical", 3)])?,
            kinds: codes("kind", &[("module", 0), ("api", 1), ("fused", 8), ("collection", 9)])?,
            micro: args.micro()?,
            leaves: args.flag("leaves"),
            edited: args.flag("edited"),
            distributed: args.flag("distributed"),
        })
    }

    /// Everything but the words.
    fn holds(&self, tree: &Side, node: u32) -> bool {
        let at = node as usize;
        (self.status.is_empty() || tree.counted_status(node).is_some_and(|status| self.status.contains(&status)))
            && (self.overflow.is_empty() || self.overflow.contains(&tree.overflow[at]))
            && (self.kinds.is_empty() || self.kinds.contains(&tree.kind[at]))
            && self.micro.is_none_or(|micro| tree.micro[at] == micro)
            && (!self.leaves || tree.children(node).is_empty())
            && (!self.edited || tree.modified[at])
            && (!self.distributed || tree.name(node).starts_with("Distributed"))
    }

    /// All nodes of a side that pass, in execution order.
    fn run(&self, tree: &Side) -> Vec<u32> {
        let Some(longest) = self.words.iter().max_by_key(|word| word.len()) else {
            return (0..tree.len() as u32).filter(|node| self.holds(tree, *node)).collect();
        };
        let mut hits = containing(tree, longest);
        hits.retain(|node| self.holds(tree, *node) && self.words.iter().all(|word| contains(tree.name(*node), word)));
        hits
    }
}

/// Whether `name` contains `word` (lower case) without regard to the case of ASCII letters.
fn contains(name: &str, word: &str) -> bool {
    name.len() >= word.len() && name.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// Nodes whose name contains `word`, found in one sweep over all names: look for the word's rarest byte, compare around it.
fn containing(tree: &Side, word: &str) -> Vec<u32> {
    let (names, starts) = tree.name_table();
    let word = word.as_bytes();
    let sample = &names[..names.len().min(1 << 16)];
    let mut frequency = [0_u32; 256];
    for byte in sample {
        frequency[usize::from(byte.to_ascii_lowercase())] += 1;
    }
    let Some(rare) = (0..word.len()).min_by_key(|at| frequency[usize::from(word[*at])]) else { return Vec::new() };
    let (lower, upper) = (word[rare], word[rare].to_ascii_uppercase());
    let mut hits: Vec<u32> = Vec::new();
    let mut node = 0;
    let mut not_before = 0;
    for found in memchr::memchr2_iter(lower, upper, names) {
        if found < not_before.max(rare) {
            continue;
        }
        let begin = found - rare;
        let Some(part) = names.get(begin..begin + word.len()) else { break };
        if !part.eq_ignore_ascii_case(word) {
            continue;
        }
        while starts[node + 1] <= begin {
            node += 1;
        }
        if begin + word.len() <= starts[node + 1] {
            hits.push(node as u32);
            not_before = starts[node + 1];
        }
    }
    hits
}

#[derive(Default, Serialize)]
struct Hits {
    total: usize,
    from: usize,
    id: Vec<i64>,
    name: Vec<String>,
    kind: Vec<u8>,
    status: Vec<u8>,
    overflow: Vec<u8>,
    micro: Vec<u32>,
    /// Place in execution order.
    order: Vec<u32>,
    /// Row number of the counterpart, 0 without.
    pair: Vec<i64>,
}

impl Hits {
    fn push(&mut self, outline: &Outline, side: usize, node: u32) {
        let tree = &outline.sides[side];
        let at = node as usize;
        self.id.push(tree.rowid[at]);
        self.name.push(tree.name(node).to_owned());
        self.kind.push(tree.kind[at]);
        self.status.push(tree.status[at]);
        self.overflow.push(tree.overflow[at]);
        self.micro.push(tree.micro[at]);
        self.order.push(node);
        self.pair.push(match tree.counterpart[at] {
            NONE => 0,
            other => outline.sides[1 - side].rowid[other as usize],
        });
    }
}

/// `search?path&step&rank&side&q&status&overflow&kind&micro&leaves&edited&sort&from&limit`.
pub(crate) fn search(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    let file = question.file()?;
    let (step, rank) = question.graph(&file)?;
    let side = question.args.side()?;
    let filter = Filter::of(&question.args)?;
    let from = question.args.count("from", 0, usize::MAX)?;
    let limit = question.args.count("limit", 200, 2_000)?;
    let outline = question.outline(&file, step, rank)?;
    let mut found = filter.run(&outline.sides[side]);
    match question.args.text("sort") {
        None | Some("order") => {}
        Some("worst") if side == 0 => {
            let drift = drift::find(question, &file, step, rank, &outline, super::PATIENCE)?
                .ok_or_else(|| ViewError::Indexing { path: file.shown.clone(), done: 0 })?;
            let badness = |node: &u32| Some(drift.of(*node)).filter(|error| !error.is_nan()).unwrap_or(-1.0);
            found.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
        }
        Some("name") => found.sort_by(|a, b| outline.sides[side].name(*a).cmp(outline.sides[side].name(*b))),
        Some(_) => return Err(bad("sort", "is none of order, worst, name")),
    }
    let mut hits = Hits { total: found.len(), from, ..Hits::default() };
    let mut bytes = 0;
    for node in found.into_iter().skip(from).take(limit) {
        bytes += 60 + outline.sides[side].name(node).len();
        if bytes > super::MAX_BYTES / 2 {
            break;
        }
        hits.push(&outline, side, node);
    }
    super::json(&hits)
}

/// `step?…&after=ID` or `&before=ID`: the next or previous hit in execution order, with its place among the hits.
pub(crate) fn neighbour(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Serialize)]
    struct Step {
        total: usize,
        /// Place among the hits, from 0.
        place: Option<usize>,
        hit: Option<Hits>,
    }
    let file = question.file()?;
    let (step, rank) = question.graph(&file)?;
    let side = question.args.side()?;
    let filter = Filter::of(&question.args)?;
    let outline = question.outline(&file, step, rank)?;
    let found = filter.run(&outline.sides[side]);
    let order = |name: &str| -> Result<Option<u32>, ViewError> {
        // A node of the other side counts as its counterpart.
        Ok(question.args.integer(name)?.and_then(|id| outline.at_rowid(id)).and_then(|(own, node)| {
            if own == side {
                return Some(node);
            }
            Some(outline.sides[own].counterpart[node as usize]).filter(|node| *node != NONE)
        }))
    };
    let place = match (order("after")?, order("before")?) {
        (Some(after), _) => found.partition_point(|node| *node <= after),
        (None, Some(before)) => found.partition_point(|node| *node < before).wrapping_sub(1),
        (None, None) if question.args.text("before").is_some() => found.len().wrapping_sub(1),
        (None, None) => 0,
    };
    let hit = found.get(place).map(|node| {
        let mut hits = Hits { total: 1, ..Hits::default() };
        hits.push(&outline, side, *node);
        hits
    });
    super::json(&Step { total: found.len(), place: hit.as_ref().map(|_| place), hit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_without_regard_to_case() {
        assert!(contains("Module.layers.0.MLP.forward.0", "mlp.f"));
        assert!(!contains("ab", "abc"));
        assert!(contains("层.Layer", "层"));
    }
}
