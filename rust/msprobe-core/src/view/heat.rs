//! The whole file at a glance: counts of every step and rank, and the worst verdict of each layer in each of them.

use super::args::bad;
use super::cache::{Cache, Found, Key};
use super::error::ViewError;
use super::file::VisFile;
use super::outline::{status, Outline, NONE};
use super::{rows, Question};
use crate::name;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;
use std::time::Duration;

/// Layers kept; what comes after shares the last row.
const MAX_LAYERS: usize = 4_000;
/// Cells of one answer.
const MAX_CELLS: usize = 12_000;

/// One layer within one micro step of one graph.
#[derive(Clone, Copy)]
struct Cell {
    layer: u32,
    micro: u32,
    counts: [u32; status::COUNT],
    overflow: u8,
    /// The first node of the worst status.
    first: i64,
}

struct GraphSurvey {
    step: i64,
    rank: i64,
    nodes: [usize; 2],
    counts: [u32; status::COUNT],
    golden_only: u32,
    overflow: [u32; 4],
    first: i64,
    cells: Vec<Cell>,
}

/// All graphs of a file.
pub(crate) struct Survey {
    layers: Vec<String>,
    graphs: Vec<GraphSurvey>,
}

impl Survey {
    fn read(file: &VisFile, outlines: &Cache<Outline>, progress: &AtomicU64) -> Result<Self, ViewError> {
        let mut survey = Self { layers: Vec::new(), graphs: Vec::new() };
        let mut known: HashMap<String, u32> = HashMap::new();
        for (step, rank) in rows::graphs(file)? {
            let outline = match outlines.peek(&Key { file: file.key.clone(), step, rank }) {
                Some(outline) => outline,
                None => Arc::new(Outline::read(file, step, rank, progress)?),
            };
            let graph = survey.survey(&outline, step, rank, &mut known);
            survey.graphs.push(graph);
        }
        Ok(survey)
    }

    fn survey(&mut self, outline: &Outline, step: i64, rank: i64, known: &mut HashMap<String, u32>) -> GraphSurvey {
        let tree = &outline.sides[0];
        let layers = self.layers_of(outline, known);
        let mut graph = GraphSurvey {
            step,
            rank,
            nodes: [tree.len(), outline.sides[1].len()],
            counts: [0; status::COUNT],
            golden_only: outline.sides[1].status.iter().map(|one| u32::from(*one == status::UNMATCHED)).sum(),
            overflow: [0; 4],
            first: 0,
            cells: Vec::new(),
        };
        let mut cells: HashMap<(u32, u32), (Cell, u8)> = HashMap::new();
        let mut worst = 0;
        for (node, layer) in layers.iter().enumerate() {
            let (kind, overflow) = (tree.status[node], tree.overflow[node].min(3));
            graph.counts[usize::from(kind)] += 1;
            graph.overflow[usize::from(overflow)] += 1;
            let badness = badness(kind) * 4 + overflow;
            if badness > worst {
                worst = badness;
                graph.first = tree.rowid[node];
            }
            if *layer == NONE {
                continue;
            }
            let fresh = Cell { layer: *layer, micro: tree.micro[node], counts: [0; status::COUNT], overflow: 0, first: tree.rowid[node] };
            let (cell, worst) = cells.entry((*layer, tree.micro[node])).or_insert((fresh, 0));
            cell.counts[usize::from(kind)] += 1;
            cell.overflow = cell.overflow.max(overflow);
            if badness > *worst {
                *worst = badness;
                cell.first = tree.rowid[node];
            }
        }
        graph.cells = cells.into_values().map(|(cell, _)| cell).collect();
        graph.cells.sort_by_key(|cell| (cell.layer, cell.micro));
        graph
    }

    /// The layer of every target node: the module path up to its first number, inherited by what lies below it.
    fn layers_of(&mut self, outline: &Outline, known: &mut HashMap<String, u32>) -> Vec<u32> {
        let tree = &outline.sides[0];
        let mut layers = vec![NONE; tree.len()];
        let Some(root) = tree.root() else { return layers };
        let mut intern = |label: &str, all: &mut Vec<String>| -> u32 {
            if let Some(known) = known.get(label) {
                return *known;
            }
            if all.len() >= MAX_LAYERS {
                return MAX_LAYERS as u32 - 1;
            }
            let number = all.len() as u32;
            all.push(label.to_owned());
            known.insert(label.to_owned(), number);
            number
        };
        let mut pending: Vec<u32> = tree.children(root).iter().rev().copied().collect();
        while let Some(node) = pending.pop() {
            let at = node as usize;
            let above = layers[tree.parent[at] as usize];
            let own = if tree.kind[at] == 0 { name::layer(tree.name(node)) } else { None };
            layers[at] = match own {
                Some((label, true)) => intern(label, &mut self.layers),
                Some((label, false)) if above == NONE => intern(label, &mut self.layers),
                None if above == NONE => intern("", &mut self.layers),
                _ => above,
            };
            pending.extend(tree.children(node).iter().rev());
        }
        layers
    }
}

fn badness(kind: u8) -> u8 {
    match kind {
        status::PASS => 1,
        status::UNMATCHED => 2,
        status::WARNING => 3,
        status::ERROR => 4,
        _ => 0,
    }
}

fn worst(counts: [u32; status::COUNT]) -> u8 {
    (0..status::COUNT as u8).filter(|kind| counts[usize::from(*kind)] > 0).max_by_key(|kind| badness(*kind)).unwrap_or(0)
}

fn find(question: &Question<'_>, file: &VisFile) -> Result<Arc<Survey>, ViewError> {
    let key = Key { file: file.key.clone(), step: -1, rank: -1 };
    let (root, shown) = (question.viewer.root.clone(), file.shown.clone());
    let outlines = Arc::clone(&question.viewer.outlines);
    let work = move |progress: &AtomicU64| {
        let file = VisFile::open(&root, &shown)?;
        let survey = Survey::read(&file, &outlines, progress)?;
        let bytes = survey.graphs.iter().map(|graph| 120 + graph.cells.len() * 48).sum::<usize>() + survey.layers.len() * 60;
        Ok((survey, bytes))
    };
    match question.viewer.surveys.get(&key, Duration::from_millis(400), work).map_err(|error| super::copied(&error))? {
        Found::Ready(survey) => Ok(survey),
        Found::Working(done) => Err(ViewError::Indexing { path: file.shown.clone(), done }),
    }
}

/// `graphs?path`: one line per step and rank.
pub(crate) fn graphs(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Default, Serialize)]
    struct Graphs {
        step: Vec<i64>,
        rank: Vec<i64>,
        target: Vec<usize>,
        golden: Vec<usize>,
        /// Per graph: not compared, pass, warning, error, unmatched.
        status: Vec<[u32; status::COUNT]>,
        golden_only: Vec<u32>,
        overflow: Vec<[u32; 4]>,
        /// The first node of the worst kind.
        first: Vec<i64>,
        total: usize,
    }
    let file = question.file()?;
    let survey = find(question, &file)?;
    let from = question.args.count("from", 0, usize::MAX)?;
    let mut answer = Graphs { total: survey.graphs.len(), ..Graphs::default() };
    for graph in survey.graphs.iter().skip(from).take(6_000) {
        answer.step.push(graph.step);
        answer.rank.push(graph.rank);
        answer.target.push(graph.nodes[0]);
        answer.golden.push(graph.nodes[1]);
        answer.status.push(graph.counts);
        answer.golden_only.push(graph.golden_only);
        answer.overflow.push(graph.overflow);
        answer.first.push(graph.first);
    }
    super::json(&answer)
}

/// `heat?path&axis=rank|step|micro&step&rank&from`: layers down, ranks, steps or micro steps across.
pub(crate) fn heat(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Serialize)]
    struct Heat {
        axis: String,
        /// Names of the rows of this page; empty text: outside of modules.
        layers: Vec<String>,
        from: usize,
        total: usize,
        columns: Vec<i64>,
        /// Row after row: worst status (255: no such cell), worst overflow, bad nodes, first node of the worst.
        worst: Vec<u8>,
        overflow: Vec<u8>,
        bad: Vec<u32>,
        first: Vec<i64>,
    }
    let file = question.file()?;
    let (step, rank) = question.graph(&file)?;
    let axis = question.args.text("axis").unwrap_or("rank").to_owned();
    let micro = question.args.micro()?;
    let survey = find(question, &file)?;
    let chosen: Vec<&GraphSurvey> = survey
        .graphs
        .iter()
        .filter(|graph| match axis.as_str() {
            "rank" => graph.step == step,
            "step" => graph.rank == rank,
            _ => graph.step == step && graph.rank == rank,
        })
        .collect();
    // (column value, its cells by layer)
    let mut columns: Vec<(i64, HashMap<u32, Cell>)> = Vec::new();
    match axis.as_str() {
        "rank" | "step" => {
            for graph in chosen {
                let mut merged: HashMap<u32, Cell> = HashMap::new();
                for cell in graph.cells.iter().filter(|cell| micro.is_none_or(|micro| cell.micro == micro)) {
                    merged.entry(cell.layer).and_modify(|sum| add(sum, cell)).or_insert(*cell);
                }
                columns.push((if axis == "rank" { graph.rank } else { graph.step }, merged));
            }
        }
        "micro" => {
            for cell in chosen.iter().flat_map(|graph| &graph.cells) {
                let value = i64::from(cell.micro);
                let at = columns.iter().position(|(column, _)| *column == value).unwrap_or_else(|| {
                    columns.push((value, HashMap::new()));
                    columns.len() - 1
                });
                columns[at].1.entry(cell.layer).and_modify(|sum| add(sum, cell)).or_insert(*cell);
            }
            columns.sort_by_key(|(value, _)| *value);
        }
        _ => return Err(bad("axis", "is none of rank, step, micro")),
    }
    let used: Vec<u32> =
        (0..survey.layers.len() as u32).filter(|layer| columns.iter().any(|(_, cells)| cells.contains_key(layer))).collect();
    let from = question.args.count("from", 0, usize::MAX)?;
    columns.truncate(MAX_CELLS);
    let page = (MAX_CELLS / columns.len().max(1)).max(1);
    let mut heat = Heat {
        axis,
        layers: Vec::new(),
        from,
        total: used.len(),
        columns: columns.iter().map(|(value, _)| *value).collect(),
        worst: Vec::new(),
        overflow: Vec::new(),
        bad: Vec::new(),
        first: Vec::new(),
    };
    for layer in used.into_iter().skip(from).take(page) {
        heat.layers.push(survey.layers[layer as usize].clone());
        for (_, cells) in &columns {
            let cell = cells.get(&layer);
            heat.worst.push(cell.map_or(255, |cell| worst(cell.counts)));
            heat.overflow.push(cell.map_or(0, |cell| cell.overflow));
            heat.bad.push(cell.map_or(0, |cell| cell.counts[2] + cell.counts[3] + cell.counts[4]));
            heat.first.push(cell.map_or(0, |cell| cell.first));
        }
    }
    super::json(&heat)
}

fn add(sum: &mut Cell, cell: &Cell) {
    let key = |cell: &Cell| badness(worst(cell.counts)) * 4 + cell.overflow;
    if key(cell) > key(sum) {
        sum.first = cell.first;
    }
    for (total, part) in sum.counts.iter_mut().zip(cell.counts) {
        *total += part;
    }
    sum.overflow = sum.overflow.max(cell.overflow);
}
