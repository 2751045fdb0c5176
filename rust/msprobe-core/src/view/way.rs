//! The way from the root to a node, on both sides and through the aligned outline.

use super::error::ViewError;
use super::outline::{Outline, NONE};
use super::Question;
use serde::Serialize;

/// Nodes from the root down to one node, as columns. Their names are those of the children that are asked for next.
#[derive(Default, Serialize)]
struct Way {
    /// Row numbers.
    ids: Vec<i64>,
    /// Place of each among its siblings (the root: 0), by execution order, within the micro step asked for.
    places: Vec<usize>,
}

impl Way {
    fn to(outline: &Outline, side: usize, node: u32, micro: Option<u32>) -> Self {
        let tree = &outline.sides[side];
        let mut way = Way::default();
        for node in tree.chain(node) {
            way.ids.push(tree.rowid[node as usize]);
            let up = tree.parent[node as usize];
            way.places.push(if up == NONE {
                0
            } else {
                let siblings = tree.children(up);
                let at = siblings.partition_point(|sibling| *sibling < node);
                match micro.filter(|_| tree.parent[up as usize] == NONE) {
                    Some(micro) => siblings[..at].iter().filter(|one| tree.micro[**one as usize] == micro).count(),
                    None => at,
                }
            });
        }
        way
    }
}

/// `way?path&id&rows` or `way?path&step&rank&side&name&rows`.
pub(crate) fn way(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Serialize)]
    struct Answer {
        step: i64,
        rank: i64,
        side: &'static str,
        name: String,
        own: Way,
        /// The way to the counterpart, or to that of the nearest ancestor that has one.
        other: Way,
        /// Whether `other` leads to the node's own counterpart.
        exact: bool,
        /// With `rows`: the way through the aligned outline, target and golden row number of each row, one after another.
        #[serde(skip_serializing_if = "Option::is_none")]
        rows: Option<Vec<i64>>,
    }
    let file = question.file()?;
    let micro = question.args.micro()?;
    let place = question.place(&file)?;
    let outline = question.outline(&file, place.step, place.rank)?;
    let (side, node) = outline.at_rowid(place.rowid).ok_or_else(|| ViewError::NoNode(format!("{}: no such node", file.shown)))?;
    let tree = &outline.sides[side];
    let chain = tree.chain(node);
    let matched = chain.iter().rev().copied().find(|node| tree.counterpart[*node as usize] != NONE);
    let other = matched.map_or_else(Way::default, |node| Way::to(&outline, 1 - side, tree.counterpart[node as usize], micro));
    let answer = Answer {
        step: place.step,
        rank: place.rank,
        side: ["target", "golden"][side],
        name: place.name,
        own: Way::to(&outline, side, node, micro),
        other,
        exact: matched == Some(node),
        rows: question.args.flag("rows").then(|| aligned_way(&outline, side, &chain)),
    };
    super::json(&answer)
}

/// The rows of the aligned outline from its top down to the last node of `chain`: a row stands where its target stands, one without
/// a target below its golden parent's row.
fn aligned_way(outline: &Outline, side: usize, chain: &[u32]) -> Vec<i64> {
    let mut rows = Vec::with_capacity(chain.len() * 2);
    let rowid = |side: usize, node: u32| if node == NONE { 0 } else { outline.sides[side].rowid[node as usize] };
    let mut from_targets = |chain: &[u32]| {
        for node in chain {
            rows.extend([rowid(0, *node), rowid(1, outline.sides[0].counterpart[*node as usize])]);
        }
    };
    if side == 0 {
        from_targets(chain);
        return rows;
    }
    let counterparts = &outline.sides[1].counterpart;
    let lonely = chain.iter().rposition(|node| counterparts[*node as usize] != NONE).map_or(0, |last| {
        from_targets(&outline.sides[0].chain(counterparts[chain[last] as usize]));
        last + 1
    });
    rows.extend(chain[lonely..].iter().flat_map(|node| [0, rowid(1, *node)]));
    rows
}
