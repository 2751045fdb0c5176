//! The aligned outline of the diff view: children of a pair of nodes, face to face.

use super::args::bad;
use super::error::ViewError;
use super::file::VisFile;
use super::outline::{Outline, NONE};
use super::tree::NodeTable;
use super::{drift, rows, Question};
use serde::Serialize;

/// Most pairs of one question; an address has no room for more.
const MAX_PAIRS: usize = 3_000;

/// Aligned rows as columns.
#[derive(Default, Serialize)]
struct Rows {
    /// Entries with id 0 are gaps.
    target: NodeTable,
    golden: NodeTable,
    /// Whether the counterpart stands under another parent than this pair's.
    moved: Vec<u8>,
    /// Of the first output tensor of the target (of the golden node where there is no target).
    dtype: Vec<String>,
    shape: Vec<String>,
    /// Largest relative error of the outputs, as in the drift series.
    error: Vec<Option<f32>>,
}

impl Rows {
    fn push(&mut self, file: &VisFile, outline: &Outline, row: (u32, u32), parents: [Option<u32>; 2]) -> Result<(), ViewError> {
        let (target, golden) = row;
        self.target.push_or_gap(outline, 0, target);
        self.golden.push_or_gap(outline, 1, golden);
        let moved = target != NONE && golden != NONE && parents[1] != Some(outline.sides[1].parent[golden as usize]);
        self.moved.push(u8::from(moved));
        let (side, node) = if target == NONE { (1, golden) } else { (0, target) };
        let glance = drift::glance(&rows::outputs(file, outline.sides[side].rowid[node as usize])?);
        self.dtype.push(glance.dtype);
        self.shape.push(glance.shape);
        self.error.push(glance.error);
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.target.bytes() + self.golden.bytes()
    }
}

/// Children of pairs of nodes as aligned rows: `pairs?path&pairs=T:G,T:G&from&limit&micro&hide&sort&lead`.
///
/// Rows come in the target's order; a golden child without counterpart stands after the golden sibling before it. With `lead`
/// each pair is a row below the pair before it: the page of the earlier one is the one that holds the later, and the last pair
/// is only led to.
pub(crate) fn pairs(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Default, Serialize)]
    struct Answer {
        /// How many of the asked pairs are answered; ask again for the rest.
        answered: usize,
        /// Per answered pair: first row of the page, rows of the page, rows in all, rows left out because everything in them agrees.
        from: Vec<usize>,
        count: Vec<usize>,
        total: Vec<usize>,
        hidden: Vec<usize>,
        /// The pages one after another.
        rows: Rows,
    }
    let file = question.file()?;
    let from = question.args.count("from", 0, usize::MAX)?;
    let limit = question.args.count("limit", 1_000, 2_000)?.max(1);
    let micro = question.args.micro()?;
    let asked = asked_pairs(question.args.needed("pairs")?)?;
    let known = asked.iter().flatten().copied().find(|id| *id != 0).ok_or_else(|| bad("pairs", "names no node"))?;
    let place = rows::place(&file, known)?;
    let outline = question.outline(&file, place.step, place.rank)?;
    let find = |ids: [i64; 2]| -> Result<[Option<u32>; 2], ViewError> {
        let mut found = [None, None];
        for side in (0..2).filter(|side| ids[*side] != 0) {
            let node = outline.sides[side].at_rowid(ids[side]);
            found[side] = Some(
                node.ok_or_else(|| ViewError::NoNode(format!("{}: no {} node {}", file.shown, ["target", "golden"][side], ids[side])))?,
            );
        }
        Ok(found)
    };
    let lead = question.args.flag("lead");
    let (hide, worst_first) = (question.args.flag("hide"), question.args.text("sort") == Some("worst"));
    let mut answer = Answer::default();
    for at in 0..asked.len() - usize::from(lead) {
        let parents = find(asked[at])?;
        let mut aligned = align(&outline, parents, micro);
        let all = aligned.len();
        if hide {
            aligned.retain(|(target, golden)| badness(&outline, *target, *golden) >= 2);
        }
        answer.hidden.push(all - aligned.len());
        if worst_first {
            aligned.sort_by_key(|(target, golden)| std::cmp::Reverse(badness(&outline, *target, *golden)));
        }
        answer.total.push(aligned.len());
        let from = if lead {
            let next = find(asked[at + 1])?.map(|node| node.unwrap_or(NONE));
            let place = aligned.iter().position(|row| [row.0, row.1] == next).unwrap_or(0);
            if place < limit {
                0
            } else {
                place - limit / 2
            }
        } else {
            from
        };
        let before = answer.rows.moved.len();
        for row in aligned.into_iter().skip(from).take(limit) {
            answer.rows.push(&file, &outline, row, parents)?;
            // A page on a way is whole: the row that it leads to must be in it.
            if !lead && answer.rows.bytes() > super::MAX_BYTES / 2 {
                break;
            }
        }
        answer.from.push(from);
        answer.count.push(answer.rows.moved.len() - before);
        answer.answered += 1;
        if answer.rows.bytes() > super::MAX_BYTES / 3 {
            break;
        }
    }
    super::json(&answer)
}

/// Pairs of row numbers, `12:34,13:0`; 0 stands for nothing.
fn asked_pairs(text: &str) -> Result<Vec<[i64; 2]>, ViewError> {
    let pairs: Option<Vec<[i64; 2]>> = text
        .split(',')
        .map(|pair| {
            let (target, golden) = pair.split_once(':')?;
            Some([target.parse().ok()?, golden.parse().ok()?])
        })
        .collect();
    let pairs = pairs.ok_or_else(|| bad("pairs", "is no list of pairs of row numbers"))?;
    if pairs.len() > MAX_PAIRS {
        return Err(bad("pairs", "has too many entries"));
    }
    Ok(pairs)
}

/// 0 nothing, 1 pass, 2 unmatched, 3 warning, 4 error: the worst of a row itself and of what lies below it.
fn badness(outline: &Outline, target: u32, golden: u32) -> u8 {
    let rank = |status: u8| match status {
        1 => 1,
        4 => 2,
        2 => 3,
        3 => 4,
        _ => 0,
    };
    [target, golden]
        .into_iter()
        .enumerate()
        .filter(|(_, node)| *node != NONE)
        .map(|(side, node)| {
            let tree = &outline.sides[side];
            rank(tree.status[node as usize]).max(rank(tree.rollup[node as usize].worst()))
        })
        .max()
        .unwrap_or(0)
}

/// Lays the children of two nodes side by side, in one pass over both.
pub(crate) fn align(outline: &Outline, parents: [Option<u32>; 2], micro: Option<u32>) -> Vec<(u32, u32)> {
    let chosen = |side: usize| -> Vec<u32> {
        let tree = &outline.sides[side];
        let Some(parent) = parents[side] else { return Vec::new() };
        let micro = micro.filter(|_| tree.parent[parent as usize] == NONE);
        tree.children(parent).iter().copied().filter(|child| micro.is_none_or(|micro| tree.micro[*child as usize] == micro)).collect()
    };
    let (targets, goldens) = (chosen(0), chosen(1));
    let mut aligned = Vec::with_capacity(targets.len() + goldens.len() / 8);
    let mut next_golden = 0;
    let lonely = |node: u32| outline.sides[1].counterpart[node as usize] == NONE;
    for target in targets {
        let golden = outline.sides[0].counterpart[target as usize];
        let here = golden != NONE && Some(outline.sides[1].parent[golden as usize]) == parents[1];
        if here {
            // Lonely golden siblings before this one come first.
            while next_golden < goldens.len() && goldens[next_golden] < golden {
                if lonely(goldens[next_golden]) {
                    aligned.push((NONE, goldens[next_golden]));
                }
                next_golden += 1;
            }
        }
        aligned.push((target, golden));
    }
    aligned.extend(goldens[next_golden..].iter().filter(|golden| lonely(**golden)).map(|golden| (NONE, *golden)));
    aligned
}
