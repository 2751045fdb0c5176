//! Children of nodes, the way to a node, and the aligned outline of the diff view.

use super::args::bad;
use super::error::ViewError;
use super::file::VisFile;
use super::outline::{verdict_of, Outline, NONE, SOURCES};
use super::{drift, rows, Question, MAX_ROWS};
use serde::Serialize;

/// Nodes as columns. Absent numbers are 0; row numbers of `SQLite` begin at 1.
#[derive(Debug, Default, Serialize)]
pub(crate) struct NodeTable {
    /// Row number in the file: the number by which a node is asked for.
    id: Vec<i64>,
    name: Vec<String>,
    /// 0 module, 1 API, 9 collection (8 fused).
    kind: Vec<u8>,
    /// Number of children.
    kids: Vec<u32>,
    /// 0 not compared, 1 pass, 2 warning, 3 error, 4 unmatched.
    status: Vec<u8>,
    /// 0 none, 1 medium, 2 high, 3 critical.
    overflow: Vec<u8>,
    micro: Vec<u32>,
    /// Row number of the counterpart.
    pair: Vec<i64>,
    /// Matched by hand.
    edited: Vec<u8>,
    /// Worst status strictly below, empty while the outline is not there.
    worst: Vec<u8>,
    /// Worst overflow level strictly below.
    flood: Vec<u8>,
    /// Counts strictly below: warning, error, unmatched, one after another.
    below: Vec<u32>,
}

impl NodeTable {
    fn bytes(&self) -> usize {
        self.id.len() * 60 + self.name.iter().map(String::len).sum::<usize>()
    }

    pub(crate) fn push(&mut self, outline: &Outline, side: usize, node: u32) {
        let tree = &outline.sides[side];
        let at = node as usize;
        self.id.push(tree.rowid[at]);
        self.name.push(tree.name(node).to_owned());
        self.kind.push(tree.kind[at]);
        self.kids.push(tree.children(node).len() as u32);
        self.status.push(tree.status[at]);
        self.overflow.push(tree.overflow[at]);
        self.micro.push(tree.micro[at]);
        self.pair.push(match tree.counterpart[at] {
            NONE => 0,
            other => outline.sides[1 - side].rowid[other as usize],
        });
        self.edited.push(u8::from(tree.modified[at]));
        let rollup = tree.rollup[at];
        self.worst.push(rollup.worst());
        self.flood.push(rollup.overflow);
        self.below.extend([rollup.counts[2], rollup.counts[3], rollup.counts[4]]);
    }

    fn push_direct(&mut self, file: &VisFile, place: &rows::Place, row: rows::Direct, compared: bool) -> Result<(), ViewError> {
        let link = rows::last_of_list(&row.link);
        let pair = match &link {
            Some(name) => rows::find_row(file, place.step, place.rank, 1 - place.side, name)?,
            None => None,
        };
        self.status.push(match (&link, compared) {
            (_, false) => 0,
            (None, true) => 4,
            (Some(_), true) => verdict_of(row.precision),
        });
        self.id.push(row.rowid);
        self.name.push(row.name);
        self.kind.push(row.kind);
        self.kids.push(row.children);
        self.overflow.push(row.overflow);
        self.micro.push(row.micro);
        self.pair.push(pair.unwrap_or(0));
        self.edited.push(u8::from(row.modified));
        Ok(())
    }
}

#[derive(Serialize)]
struct Children {
    parent: i64,
    from: usize,
    total: usize,
    /// Whether the columns about what lies below are filled.
    rolled: bool,
    nodes: NodeTable,
}

/// The root of each side: `roots?path&step&rank`.
pub(crate) fn roots(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Serialize)]
    struct Roots {
        target: Option<NodeTable>,
        golden: Option<NodeTable>,
        rolled: bool,
        orphans: u32,
    }
    let file = question.file()?;
    let (step, rank) = question.graph(&file)?;
    let mut answer = Roots { target: None, golden: None, rolled: false, orphans: 0 };
    if let Some(outline) = question.outline_or_direct(&file, step, rank)? {
        let mut tables = outline.sides.iter().enumerate().map(|(side, tree)| {
            tree.root().map(|root| {
                let mut table = NodeTable::default();
                table.push(&outline, side, root);
                table
            })
        });
        answer.target = tables.next().flatten();
        answer.golden = tables.next().flatten();
        answer.rolled = true;
        answer.orphans = outline.sides[0].orphans + outline.sides[1].orphans;
    } else {
        let mut found = Vec::new();
        for side in 0..2 {
            found.push(rows::children(&file, step, rank, side, "", None, 0, 1)?.pop());
        }
        let compared = found[1].is_some();
        for (side, row) in found.into_iter().enumerate() {
            let Some(row) = row else { continue };
            let mut table = NodeTable::default();
            let place = rows::Place { rowid: row.rowid, step, rank, side, name: String::new(), parent: String::new() };
            table.push_direct(&file, &place, row, compared)?;
            *(if side == 0 { &mut answer.target } else { &mut answer.golden }) = Some(table);
        }
    }
    if answer.target.is_none() && answer.golden.is_none() {
        return Err(ViewError::NoNode(format!("{}: step {step}, rank {rank} has no nodes", file.shown)));
    }
    super::json(&answer)
}

/// Children of up to 64 nodes: `children?path&ids&from&limit&micro`.
pub(crate) fn children(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Serialize)]
    struct Answer {
        tables: Vec<Children>,
        /// How many of the asked nodes are answered; ask again for the rest.
        answered: usize,
    }
    let file = question.file()?;
    let ids = question.args.integers("ids", 1_000)?;
    let from = question.args.count("from", 0, usize::MAX)?;
    let limit = question.args.count("limit", MAX_ROWS, MAX_ROWS)?.max(1);
    let micro = question.args.micro()?;
    let mut answer = Answer { tables: Vec::new(), answered: 0 };
    let mut bytes = 0;
    let first = rows::place(&file, *ids.first().ok_or_else(|| bad("ids", "is empty"))?)?;
    let outline = question.outline_or_direct(&file, first.step, first.rank)?;
    for id in ids {
        let table = match &outline {
            Some(outline) => from_outline(&file, outline, id, from, limit, micro)?,
            None => direct(&file, id, from, limit, micro)?,
        };
        bytes += table.nodes.bytes();
        answer.tables.push(table);
        answer.answered += 1;
        if bytes > super::MAX_BYTES / 2 {
            break;
        }
    }
    super::json(&answer)
}

fn from_outline(file: &VisFile, outline: &Outline, id: i64, from: usize, limit: usize, micro: Option<u32>) -> Result<Children, ViewError> {
    let (side, node) = outline
        .at_rowid(id)
        .ok_or_else(|| ViewError::NoNode(format!("{}: there is no node number {id} in this step and rank", file.shown)))?;
    let tree = &outline.sides[side];
    let all = tree.children(node);
    let mut nodes = NodeTable::default();
    // The micro step chooses among the children of the root, as their subtrees belong to one micro step each.
    let micro = micro.filter(|_| tree.parent[node as usize] == NONE);
    let total = micro.map_or(all.len(), |micro| all.iter().filter(|child| tree.micro[**child as usize] == micro).count());
    let chosen = all.iter().filter(|child| micro.is_none_or(|micro| tree.micro[**child as usize] == micro));
    for child in chosen.skip(from).take(limit) {
        nodes.push(outline, side, *child);
        if nodes.bytes() > super::MAX_BYTES / 2 {
            break;
        }
    }
    Ok(Children { parent: id, from, total, rolled: true, nodes })
}

fn direct(file: &VisFile, id: i64, from: usize, limit: usize, micro: Option<u32>) -> Result<Children, ViewError> {
    let place = rows::place(file, id)?;
    let micro = micro.filter(|_| place.parent.is_empty());
    let total = rows::count_children(file, &place, micro)?;
    let compared = rows::config(file)?.is_some_and(|config| config.graph_type == "compare");
    let mut nodes = NodeTable::default();
    for row in rows::children(file, place.step, place.rank, place.side, &place.name, micro, from, limit)? {
        nodes.push_direct(file, &place, row, compared)?;
        if nodes.bytes() > super::MAX_BYTES / 2 {
            break;
        }
    }
    Ok(Children { parent: id, from, total, rolled: false, nodes })
}

/// The way from the root to a node, on both sides: `way?path&id` or `way?path&step&rank&side&name`.
pub(crate) fn way(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Default, Serialize)]
    struct Way {
        /// Row numbers from the root down to the node.
        ids: Vec<i64>,
        names: Vec<String>,
        /// Place of each among its siblings (the root: 0), by execution order, within the micro step asked for.
        places: Vec<usize>,
    }
    #[derive(Serialize)]
    struct Answer {
        step: i64,
        rank: i64,
        side: &'static str,
        own: Way,
        /// The way to the counterpart, or to that of the nearest ancestor that has one.
        other: Way,
        /// Whether `other` leads to the node's own counterpart.
        exact: bool,
    }
    let file = question.file()?;
    let micro = question.args.micro()?;
    let place = question.place(&file)?;
    let outline = question.outline(&file, place.step, place.rank)?;
    let (side, node) = outline.at_rowid(place.rowid).ok_or_else(|| ViewError::NoNode(format!("{}: no such node", file.shown)))?;
    let lead = |side: usize, node: u32| {
        let tree = &outline.sides[side];
        let mut way = Way::default();
        for node in tree.chain(node) {
            way.ids.push(tree.rowid[node as usize]);
            way.names.push(tree.name(node).to_owned());
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
    };
    let tree = &outline.sides[side];
    let matched = tree.chain(node).into_iter().rev().find(|node| tree.counterpart[*node as usize] != NONE);
    let answer = Answer {
        step: place.step,
        rank: place.rank,
        side: ["target", "golden"][side],
        own: lead(side, node),
        other: matched.map_or_else(Way::default, |node| lead(1 - side, tree.counterpart[node as usize])),
        exact: matched == Some(node),
    };
    super::json(&answer)
}

/// Children of a pair of nodes as aligned rows: `pairs?path&target&golden&from&limit&micro&hide&sort`.
///
/// Rows come in the target's order; a golden child without counterpart stands after the golden sibling before it.
pub(crate) fn pairs(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Default, Serialize)]
    struct Answer {
        from: usize,
        total: usize,
        /// Rows left out because everything in them agrees.
        hidden: usize,
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
    let file = question.file()?;
    let from = question.args.count("from", 0, usize::MAX)?;
    let limit = question.args.count("limit", 1_000, 2_000)?.max(1);
    let micro = question.args.micro()?;
    let ids = [question.args.integer("target")?.unwrap_or(0), question.args.integer("golden")?.unwrap_or(0)];
    let known = ids.iter().copied().find(|id| *id != 0).ok_or_else(|| bad("target", "is missing, and golden too"))?;
    let place = rows::place(&file, known)?;
    let outline = question.outline(&file, place.step, place.rank)?;
    let mut parents = [None, None];
    for side in 0..2 {
        if ids[side] != 0 {
            let node = outline.sides[side].at_rowid(ids[side]);
            parents[side] =
                Some(node.ok_or_else(|| ViewError::NoNode(format!("{}: no {} node {}", file.shown, SOURCES[side], ids[side])))?);
        }
    }
    let mut aligned = align(&outline, parents, micro);
    let all = aligned.len();
    if question.args.flag("hide") {
        aligned.retain(|(target, golden)| badness(&outline, *target, *golden) >= 2);
    }
    let hidden = all - aligned.len();
    if question.args.text("sort") == Some("worst") {
        aligned.sort_by_key(|(target, golden)| std::cmp::Reverse(badness(&outline, *target, *golden)));
    }
    let mut answer = Answer { from, total: aligned.len(), hidden, ..Answer::default() };
    for (target, golden) in aligned.into_iter().skip(from).take(limit) {
        push_or_gap(&mut answer.target, &outline, 0, target);
        push_or_gap(&mut answer.golden, &outline, 1, golden);
        let moved = target != NONE && golden != NONE && parents[1] != Some(outline.sides[1].parent[golden as usize]);
        answer.moved.push(u8::from(moved));
        let (side, node) = if target == NONE { (1, golden) } else { (0, target) };
        let glance = drift::glance(&rows::outputs(&file, outline.sides[side].rowid[node as usize])?);
        answer.dtype.push(glance.dtype);
        answer.shape.push(glance.shape);
        answer.error.push(glance.error);
        if answer.target.bytes() + answer.golden.bytes() > super::MAX_BYTES / 2 {
            break;
        }
    }
    super::json(&answer)
}

fn push_or_gap(table: &mut NodeTable, outline: &Outline, side: usize, node: u32) {
    if node != NONE {
        table.push(outline, side, node);
        return;
    }
    table.id.push(0);
    table.name.push(String::new());
    for column in [&mut table.kind, &mut table.status, &mut table.overflow, &mut table.edited, &mut table.worst, &mut table.flood] {
        column.push(0);
    }
    table.kids.push(0);
    table.micro.push(0);
    table.pair.push(0);
    table.below.extend([0; 3]);
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
