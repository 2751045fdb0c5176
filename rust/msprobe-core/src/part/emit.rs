//! Rendering the nodes of a part in parallel and appending them in order.

use std::sync::Mutex;

use crossbeam_channel::bounded;
use rayon::prelude::*;

use super::render::{Beside, Outcome, Scene, Scratch};
use super::stacks::StackNumbers;
use super::told;
use super::{Error, Follower, Part, Report};
use crate::facts::NodeFacts;
use crate::graph::NodeId;
use crate::matching::LinkWriter;
use crate::verdict::Verdict;
use crate::visdb::{schema, Cell, EncodedNodes, Side, Writer};

/// Nodes rendered by one worker at a time: enough to make handing over cheap, few enough to stay in the cache.
const CHUNK: usize = 64;
/// The same where each node may hold gigabytes of tensors.
const TENSOR_CHUNK: usize = 4;
/// Chunks per worker between two hand-overs to the writer.
const CHUNKS_PER_WORKER: usize = 8;

/// Told how far the writing is, and asked whether to go on.
pub trait Watch: Sync {
    /// `done` of `total` nodes of the part are written. Returns whether to go on.
    fn nodes_written(&self, done: usize, total: usize) -> bool;

    /// Whether to go on; asked before each node whose tensors are read.
    fn goes_on(&self) -> bool;
}

/// A stretch of consecutive nodes.
enum Piece {
    /// Rendered rows.
    Nodes(EncodedNodes),
    /// A collection, whose verdict depends on nodes before it.
    Collection(NodeId),
}

/// What a worker made of one chunk.
struct Chunk {
    pieces: Vec<Piece>,
    /// One per node, collections included.
    outcomes: Vec<(NodeId, Outcome)>,
    /// Those of the same nodes, if somebody follows.
    facts: Vec<NodeFacts>,
    beside: Beside,
}

/// Writes all rows of `part`: target nodes and stacks, then those of the golden side. The caller begins and finishes the
/// part; on an error it rolls it back.
pub(crate) fn emit(
    part: &Part<'_>,
    writer: &mut Writer,
    pool: &rayon::ThreadPool,
    watch: &dyn Watch,
    follower: Option<Follower<'_>>,
) -> Result<Report, Error> {
    let mut report = Report::default();
    let golden_nodes = part.golden.as_ref().map_or(0, |golden| golden.side.graph.len());
    let total = part.target.graph.len() + golden_nodes;
    let progress = |done: usize| watch.nodes_written(done, total);
    let goes_on = || watch.goes_on();
    emit_side(part, Side::Target, writer, pool, &mut report, &progress, &goes_on, follower)?;
    if part.golden.is_some() {
        emit_side(part, Side::Golden, writer, pool, &mut report, &|done| progress(part.target.graph.len() + done), &goes_on, None)?;
    }
    Ok(report)
}

#[allow(clippy::too_many_arguments)]
fn emit_side(
    part: &Part<'_>,
    side: Side,
    writer: &mut Writer,
    pool: &rayon::ThreadPool,
    report: &mut Report,
    progress: &(dyn Fn(usize) -> bool + Sync),
    goes_on: &(dyn Fn() -> bool + Sync),
    mut follower: Option<Follower<'_>>,
) -> Result<(), Error> {
    let own = match (&part.golden, side) {
        (Some(golden), Side::Golden) => &golden.side,
        _ => &part.target,
    };
    let stacks = StackNumbers::new(own);
    let scene = Scene::new(part, side, &stacks, follower.as_ref().map(|follower| follower.task));
    let spare: Mutex<Vec<EncodedNodes>> = Mutex::new(Vec::new());
    let (send, receive) = bounded::<Result<Vec<Chunk>, Error>>(1);
    std::thread::scope(|scope| {
        let (scene, spare) = (&scene, &spare);
        scope.spawn(move || {
            let chunk = if scene.reads_tensors() { TENSOR_CHUNK } else { CHUNK };
            let window = chunk * CHUNKS_PER_WORKER * pool.current_num_threads();
            for nodes in scene.graph().order().chunks(window) {
                let chunks = pool.install(|| {
                    nodes
                        .par_chunks(chunk)
                        .map_init(Scratch::default, |scratch, nodes| render_chunk(scene, nodes, scratch, spare, goes_on))
                        .collect()
                });
                // The receiver hangs up when it fails or is told to stop.
                if send.send(chunks).is_err() {
                    break;
                }
            }
        });
        let mut order = Sequence { scene, writer, report, verdicts: vec![None; scene.graph().len()], links: LinkWriter::default() };
        let mut done = 0;
        for chunks in receive {
            for chunk in chunks? {
                done += chunk.outcomes.len();
                let facts = order.append(chunk, spare)?;
                if let Some(follower) = &mut follower {
                    facts.iter().for_each(&mut *follower.node);
                }
            }
            if !progress(done) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    })?;
    for text in &stacks.texts {
        writer.append_stack(side, text.as_deref())?;
    }
    Ok(())
}

fn render_chunk(
    scene: &Scene<'_>,
    nodes: &[NodeId],
    scratch: &mut Scratch,
    spare: &Mutex<Vec<EncodedNodes>>,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Result<Chunk, Error> {
    let outcomes = Vec::with_capacity(nodes.len());
    let mut chunk = Chunk { pieces: Vec::new(), outcomes, facts: Vec::new(), beside: Beside::default() };
    let fresh = || spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_else(|| EncodedNodes::new(&scene.key()));
    let mut batch = fresh();
    for &id in nodes {
        if scene.reads_tensors() && !goes_on() {
            return Err(Error::Cancelled);
        }
        if scene.is_collection(id) {
            if !batch.is_empty() {
                chunk.pieces.push(Piece::Nodes(std::mem::replace(&mut batch, fresh())));
            }
            chunk.pieces.push(Piece::Collection(id));
            chunk.outcomes.push((id, Outcome::default()));
            chunk.facts.extend(scene.is_followed().then(|| scene.facts(id)));
        } else {
            let outcome = scene.push_node(id, scratch, &mut batch, &mut chunk.beside, &mut chunk.facts)?;
            chunk.outcomes.push((id, outcome));
        }
    }
    chunk.pieces.push(Piece::Nodes(batch));
    Ok(chunk)
}

/// Puts chunks into the file, in order.
struct Sequence<'s, 'a> {
    scene: &'s Scene<'a>,
    writer: &'s mut Writer,
    report: &'s mut Report,
    /// Verdicts of the nodes so far; children come before their parent.
    verdicts: Vec<Option<Verdict>>,
    links: LinkWriter,
}

impl Sequence<'_, '_> {
    /// Appends a chunk and returns the facts of its nodes.
    fn append(&mut self, mut chunk: Chunk, spare: &Mutex<Vec<EncodedNodes>>) -> Result<Vec<NodeFacts>, Error> {
        for &(id, outcome) in &chunk.outcomes {
            self.verdicts[id.index()] = outcome.verdict;
            if let Some(level) = outcome.level {
                self.report.count_level(level);
            }
        }
        for piece in chunk.pieces {
            match piece {
                Piece::Nodes(mut batch) => {
                    self.writer.append(&batch)?;
                    batch.clear();
                    if let Ok(mut spare) = spare.lock() {
                        spare.push(batch);
                    }
                }
                Piece::Collection(id) => self.append_collection(id)?,
            }
        }
        for (facts, (id, _)) in chunk.facts.iter_mut().zip(&chunk.outcomes).filter(|(facts, _)| facts.is_collection) {
            facts.verdict = told::verdict(self.verdicts[id.index()]);
        }
        self.note(&chunk.beside)?;
        Ok(chunk.facts)
    }

    /// Counts what was said beside the rows, and writes it into our own tables.
    fn note(&mut self, beside: &Beside) -> Result<(), Error> {
        let (step, rank) = self.scene.place();
        let place = [Cell::Integer(step as i64), Cell::Integer(rank as i64)];
        self.report.surplus_golden_parameters += beside.surplus.len() as u64;
        for surplus in &beside.surplus {
            let node = self.scene.graph()[surplus.node].name();
            self.writer.add_row(&schema::SURPLUS, &[place[0], place[1], Cell::Text(node), Cell::Text(&surplus.row)])?;
        }
        if let Some(log) = self.scene.hooks().tensor_log {
            beside.log.iter().for_each(|line| log.line(line));
        }
        self.report.tensors_compared += beside.tensors.len() as u64;
        self.report.tensors_not_compared += beside.tensors_not_compared;
        for row in &beside.tensors {
            row.write(place, self.scene.graph()[row.node].name(), self.writer)?;
        }
        Ok(())
    }

    fn append_collection(&mut self, id: NodeId) -> Result<(), Error> {
        let verdict = self.scene.graph().children(id).iter().filter_map(|child| self.verdicts[child.index()]).max();
        self.verdicts[id.index()] = verdict;
        let mut batch = EncodedNodes::new(&self.scene.key());
        self.scene.push_collection(id, &mut self.links, Outcome { verdict, level: None }, &mut batch);
        self.writer.append(&batch)?;
        Ok(())
    }
}
