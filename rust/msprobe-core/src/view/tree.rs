//! The trees: roots, children of nodes, and what a page asks first.

use super::args::bad;
use super::error::ViewError;
use super::file::VisFile;
use super::outline::{verdict_of, Outline, NONE};
use super::summary::FileFacts;
use super::{logdir, rows, Question, MAX_ROWS};
use crate::visdb::partner_of;
use serde::Serialize;

/// Most nodes whose children are asked for at once; an address has no room for more.
const MAX_PARENTS: usize = 5_000;
/// Children of a node that a page begins with while the outline is not there yet.
const FIRST_ROWS: usize = 300;

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
    /// Bytes of the names; asked after every node.
    #[serde(skip)]
    name_bytes: usize,
}

impl NodeTable {
    /// About how long this is as JSON.
    pub(crate) fn bytes(&self) -> usize {
        self.id.len() * 60 + self.name_bytes
    }

    fn push_name(&mut self, name: String) {
        self.name_bytes += name.len();
        self.name.push(name);
    }

    pub(crate) fn push(&mut self, outline: &Outline, side: usize, node: u32) {
        let tree = &outline.sides[side];
        let at = node as usize;
        self.id.push(tree.rowid[at]);
        self.push_name(tree.name(node).to_owned());
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
        self.below.extend([rollup.warnings, rollup.errors, rollup.unmatched]);
    }

    /// A node of the aligned outline, or a gap where the other side has none.
    pub(crate) fn push_or_gap(&mut self, outline: &Outline, side: usize, node: u32) {
        if node != NONE {
            self.push(outline, side, node);
            return;
        }
        self.id.push(0);
        self.name.push(String::new());
        for column in [&mut self.kind, &mut self.status, &mut self.overflow, &mut self.edited, &mut self.worst, &mut self.flood] {
            column.push(0);
        }
        self.kids.push(0);
        self.micro.push(0);
        self.pair.push(0);
        self.below.extend([0; 3]);
    }

    fn push_direct(&mut self, file: &VisFile, place: &rows::Place, row: rows::Direct, compared: bool) -> Result<(), ViewError> {
        let link = partner_of(&row.link);
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
        self.push_name(row.name);
        self.kind.push(row.kind);
        self.kids.push(row.children);
        self.overflow.push(row.overflow);
        self.micro.push(row.micro);
        self.pair.push(pair.unwrap_or(0));
        self.edited.push(u8::from(row.modified));
        Ok(())
    }
}

/// Children of several nodes: one table, cut into a page per parent.
#[derive(Default, Serialize)]
pub(crate) struct Children {
    /// How many of the asked nodes are answered; ask again for the rest.
    answered: usize,
    /// Per answered node: its row number, place of the page's first child, children on the page, children in all.
    parent: Vec<i64>,
    from: Vec<usize>,
    count: Vec<usize>,
    total: Vec<usize>,
    /// The pages one after another.
    nodes: NodeTable,
}

/// Which children are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) from: usize,
    pub(crate) limit: usize,
    /// Chooses among the children of a root, as their subtrees belong to one micro step each.
    pub(crate) micro: Option<u32>,
}

impl Children {
    fn is_full(&self) -> bool {
        self.nodes.bytes() > super::MAX_BYTES / 2
    }

    /// Adds the page of one node, from the outline or else from the file itself.
    pub(crate) fn add(&mut self, file: &VisFile, outline: Option<&Outline>, id: i64, wanted: Wanted) -> Result<(), ViewError> {
        let before = self.nodes.id.len();
        let total = match outline {
            Some(outline) => self.add_outlined(file, outline, id, wanted)?,
            None => self.add_stored(file, id, wanted)?,
        };
        self.parent.push(id);
        self.from.push(wanted.from);
        self.count.push(self.nodes.id.len() - before);
        self.total.push(total);
        self.answered += 1;
        Ok(())
    }

    fn add_outlined(&mut self, file: &VisFile, outline: &Outline, id: i64, wanted: Wanted) -> Result<usize, ViewError> {
        let (side, node) = outline
            .at_rowid(id)
            .ok_or_else(|| ViewError::NoNode(format!("{}: there is no node number {id} in this step and rank", file.shown)))?;
        let tree = &outline.sides[side];
        let all = tree.children(node);
        let micro = wanted.micro.filter(|_| tree.parent[node as usize] == NONE);
        let total = micro.map_or(all.len(), |micro| all.iter().filter(|child| tree.micro[**child as usize] == micro).count());
        let chosen = all.iter().filter(|child| micro.is_none_or(|micro| tree.micro[**child as usize] == micro));
        for child in chosen.skip(wanted.from).take(wanted.limit) {
            self.nodes.push(outline, side, *child);
            if self.is_full() {
                break;
            }
        }
        Ok(total)
    }

    fn add_stored(&mut self, file: &VisFile, id: i64, wanted: Wanted) -> Result<usize, ViewError> {
        let place = rows::place(file, id)?;
        let micro = wanted.micro.filter(|_| place.parent.is_empty());
        let compared = rows::config(file)?.is_some_and(|config| config.graph_type == "compare");
        for row in rows::children(file, &place, micro, wanted.from, wanted.limit)? {
            self.nodes.push_direct(file, &place, row, compared)?;
            if self.is_full() {
                break;
            }
        }
        rows::count_children(file, &place, micro)
    }
}

/// The roots of both sides.
#[derive(Serialize)]
pub(crate) struct Roots {
    pub(crate) target: Option<NodeTable>,
    pub(crate) golden: Option<NodeTable>,
    /// Whether the columns about what lies below are filled.
    pub(crate) rolled: bool,
}

impl Roots {
    pub(crate) fn read(file: &VisFile, outline: Option<&Outline>, step: i64, rank: i64) -> Result<Self, ViewError> {
        let mut found = [None, None];
        if let Some(outline) = outline {
            for (side, tree) in outline.sides.iter().enumerate() {
                found[side] = tree.root().map(|root| {
                    let mut table = NodeTable::default();
                    table.push(outline, side, root);
                    table
                });
            }
        } else {
            let places = [0, 1].map(|side| rows::Place { rowid: 0, step, rank, side, name: String::new(), parent: String::new() });
            let mut rows = Vec::new();
            for place in &places {
                rows.push(rows::children(file, place, None, 0, 1)?.pop());
            }
            let compared = rows[1].is_some();
            for (row, place) in rows.into_iter().zip(&places) {
                let Some(row) = row else { continue };
                let mut table = NodeTable::default();
                table.push_direct(file, place, row, compared)?;
                found[place.side] = Some(table);
            }
        }
        let [target, golden] = found;
        if target.is_none() && golden.is_none() {
            return Err(ViewError::NoNode(format!("{}: step {step}, rank {rank} has no nodes", file.shown)));
        }
        Ok(Self { target, golden, rolled: outline.is_some() })
    }

    /// Row numbers of the roots that are there.
    pub(crate) fn ids(&self) -> impl Iterator<Item = i64> + '_ {
        [&self.target, &self.golden].into_iter().flatten().flat_map(|table| table.id.iter().copied())
    }
}

/// The root of each side: `roots?path&step&rank`.
pub(crate) fn roots(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    let file = question.file()?;
    let (step, rank) = question.graph(&file)?;
    let outline = question.outline_or_direct(&file, step, rank)?;
    super::json(&Roots::read(&file, outline.as_deref(), step, rank)?)
}

/// Children of nodes of one step and rank: `children?path&ids&from&limit&micro`.
pub(crate) fn children(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    let file = question.file()?;
    let ids = question.args.integers("ids", MAX_PARENTS)?;
    let wanted = Wanted {
        from: question.args.count("from", 0, usize::MAX)?,
        limit: question.args.count("limit", MAX_ROWS, MAX_ROWS)?.max(1),
        micro: question.args.micro()?,
    };
    let first = rows::place(&file, *ids.first().ok_or_else(|| bad("ids", "is empty"))?)?;
    let outline = question.outline_or_direct(&file, first.step, first.rank)?;
    let mut answer = Children::default();
    for id in ids {
        answer.add(&file, outline.as_deref(), id, wanted)?;
        if answer.is_full() {
            break;
        }
    }
    super::json(&answer)
}

/// What a page that has just been opened asks first, in one answer: `start?path&step&rank&micro&open`.
///
/// Without a path it is the first readable file; a step and rank that the file does not have, or none at all, stand for those
/// where the two runs first part, or else its first ones.
pub(crate) fn start(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Serialize)]
    struct Start {
        file: FileFacts,
        step: i64,
        rank: i64,
        /// -1 for all.
        micro: i64,
        roots: Roots,
        /// Of the roots and of the nodes that are open in the link, as far as they fit and are there.
        children: Children,
    }
    let root = &question.viewer.root;
    let file = match question.args.text("path") {
        Some(path) => VisFile::open(root, path)?,
        None => VisFile::open(root, &logdir::first(root).ok_or(ViewError::NoFiles)?)?,
    };
    let facts = FileFacts::read(&file)?;
    let asked = question.args.integer("step")?.zip(question.args.integer("rank")?);
    let (step, rank) = facts
        .graph(&file, asked)
        .ok_or_else(|| ViewError::NoNode(format!("{}: the file has no nodes; the run that wrote it found none", file.shown)))?;
    let micro = question.args.micro()?.filter(|micro| i64::from(*micro) < facts.micro_steps);
    let outline = question.outline_or_direct(&file, step, rank)?;
    let roots = Roots::read(&file, outline.as_deref(), step, rank)?;
    let mut children = Children::default();
    // Without the outline every row is sought one by one: the first screens come now, the rest with what lies below.
    let wanted = Wanted { from: 0, limit: if outline.is_some() { MAX_ROWS } else { FIRST_ROWS }, micro };
    for root in roots.ids() {
        children.add(&file, outline.as_deref(), root, wanted)?;
    }
    let open = if question.args.text("open").is_some() { question.args.integers("open", MAX_PARENTS)? } else { Vec::new() };
    for id in open {
        if children.is_full() {
            break;
        }
        // A link may be older than the file: what is not there any more stays closed.
        match children.add(&file, outline.as_deref(), id, wanted) {
            Ok(()) | Err(ViewError::NoNode(_)) => {}
            Err(error) => return Err(error),
        }
    }
    super::json(&Start { file: facts, step, rank, micro: micro.map_or(-1, i64::from), roots, children })
}
