//! Rendering the nodes of a part in parallel and appending them in order.
//!
//! Rendering begins before the writer is free and runs ahead of it by a few chunks for each thread, so that they have something to
//! do while the part before is finished. Who writes renders too where nobody has begun the chunk that comes next.

use std::any::Any;
use std::ops::Range;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use super::line::Line;
use super::render::{Beside, Outcome, Scene, Scratch};
use super::stacks::StackNumbers;
use super::told;
use super::{Error, Part, Report};
use crate::facts::NodeFacts;
use crate::graph::NodeId;
use crate::matching::LinkWriter;
use crate::verdict::Verdict;
use crate::visdb::{schema, Cell, EncodedNodes, Side, Task, Writer};

/// Nodes rendered by one thread at a time: enough to make handing over cheap, few enough to stay in the cache.
const CHUNK: usize = 128;
/// The same where each node may hold gigabytes of tensors.
const TENSOR_CHUNK: usize = 4;
/// Chunks per thread that are rendered or wait for the writer.
const CHUNKS_PER_THREAD: usize = 3;

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

/// What was made of one chunk.
struct Chunk {
    pieces: Vec<Piece>,
    /// One per node, collections included.
    outcomes: Vec<(NodeId, Outcome)>,
    /// Those of the same nodes, if somebody follows.
    facts: Vec<NodeFacts>,
    beside: Beside,
}

/// What is handed over; a panic goes on in the thread that takes it.
type Rendered = Result<Result<Chunk, Error>, Box<dyn Any + Send>>;

/// One side of a part under way.
struct Stage<'a> {
    side: Side,
    scene: Scene<'a>,
    stacks: &'a StackNumbers<'a>,
    /// Its chunks, among those of all sides.
    chunks: Range<usize>,
    /// Whose memory is used again.
    batches: Spare<EncodedNodes>,
}

/// Things that are used again.
struct Spare<T>(Mutex<Vec<T>>);

impl<T> Spare<T> {
    fn new() -> Self {
        Spare(Mutex::new(Vec::new()))
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give(&self, thing: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(thing);
    }
}

/// The rows of a part, on their way into the file.
pub(crate) struct Rows<'r, 'a> {
    stages: &'r [Stage<'a>],
    line: &'r Line<Rendered>,
    renderer: Renderer<'r, 'a>,
    watch: &'r dyn Watch,
}

impl Drop for Rows<'_, '_> {
    fn drop(&mut self) {
        self.line.close();
    }
}

/// The stacks of both sides of a part.
pub(crate) struct Stacks<'a>(Vec<(Side, StackNumbers<'a>)>);

impl<'a> Stacks<'a> {
    pub(crate) fn new(part: &Part<'a>) -> Self {
        let golden = part.golden.as_ref().map(|golden| (Side::Golden, &golden.side));
        let sides = std::iter::once((Side::Target, &part.target)).chain(golden);
        Stacks(sides.map(|(side, own)| (side, StackNumbers::new(own))).collect())
    }
}

/// Begins to render all rows of `part`, whose stacks are `stacks`, and calls `take` with them. As many threads render as `pool` has,
/// the caller's among them; its own read tensors. `followed` tells what is compared, if somebody wants to follow the target's nodes.
/// Rendering ends early when the rows are dropped.
pub(crate) fn render<T>(
    part: &Part<'_>,
    stacks: &Stacks<'_>,
    pool: &rayon::ThreadPool,
    watch: &dyn Watch,
    followed: Option<Task>,
    take: impl FnOnce(Rows<'_, '_>) -> T,
) -> T {
    let mut chunks = 0;
    let stage = |&(side, ref stacks)| {
        let followed = followed.filter(|_| side == Side::Target);
        let scene = Scene::new(part, side, stacks, followed);
        let first = chunks;
        chunks += scene.graph().len().div_ceil(chunk_size(&scene));
        Stage { side, scene, stacks, chunks: first..chunks, batches: Spare::new() }
    };
    let stages: Vec<_> = stacks.0.iter().map(stage).collect();
    let threads = pool.current_num_threads();
    let line = Line::new(chunks, CHUNKS_PER_THREAD * threads);
    std::thread::scope(|scope| {
        let (stages, line) = (stages.as_slice(), &line);
        let renderer = || Renderer { stages, pool, watch, scratches: stages.iter().map(|_| Scratch::default()).collect() };
        let rows = Rows { stages, line, renderer: renderer(), watch };
        for _ in 1..threads {
            let mut helper = renderer();
            // Where the system gives no more threads, fewer do.
            if Builder::new().spawn_scoped(scope, move || line.help(|number| helper.render(number))).is_err() {
                break;
            }
        }
        take(rows)
    })
}

/// Nodes of a chunk.
fn chunk_size(scene: &Scene<'_>) -> usize {
    if scene.reads_tensors() {
        TENSOR_CHUNK
    } else {
        CHUNK
    }
}

/// A thread that renders.
struct Renderer<'r, 'a> {
    stages: &'r [Stage<'a>],
    pool: &'r rayon::ThreadPool,
    watch: &'r dyn Watch,
    /// For each stage.
    scratches: Vec<Scratch>,
}

impl Renderer<'_, '_> {
    /// Renders the chunk of that number.
    fn render(&mut self, number: usize) -> Rendered {
        let Renderer { stages, pool, watch, scratches } = self;
        let mut both = stages.iter().zip(scratches);
        let (stage, scratch) = both.find(|(stage, _)| stage.chunks.contains(&number)).expect("every chunk has a stage");
        let size = chunk_size(&stage.scene);
        let order = stage.scene.graph().order();
        let first = (number - stage.chunks.start) * size;
        let nodes = &order[first..order.len().min(first + size)];
        let mut render = || stage.render(nodes, scratch, *watch);
        catch_unwind(AssertUnwindSafe(|| if stage.scene.reads_tensors() { pool.install(render) } else { render() }))
    }
}

impl Stage<'_> {
    fn render(&self, nodes: &[NodeId], scratch: &mut Scratch, watch: &dyn Watch) -> Result<Chunk, Error> {
        let scene = &self.scene;
        let outcomes = Vec::with_capacity(nodes.len());
        let mut chunk = Chunk { pieces: Vec::new(), outcomes, facts: Vec::new(), beside: Beside::default() };
        let fresh = || self.batches.take().unwrap_or_else(|| EncodedNodes::new(&scene.key()));
        let mut batch = fresh();
        for &id in nodes {
            if scene.reads_tensors() && !watch.goes_on() {
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
}

impl Rows<'_, '_> {
    /// Writes them: target nodes and stacks, then those of the golden side. `follow` takes the target's nodes in their order, if
    /// they are followed. The caller begins and finishes the part; on an error it rolls it back.
    pub(crate) fn write(mut self, writer: &mut Writer, mut follow: impl FnMut(&NodeFacts)) -> Result<Report, Error> {
        let mut report = Report::default();
        let total = self.stages.iter().map(|stage| stage.scene.graph().len()).sum();
        let mut done = 0;
        for stage in self.stages {
            let Stage { side, scene, stacks, chunks, batches } = stage;
            let verdicts = vec![None; scene.graph().len()];
            let mut order = Sequence { scene, writer, report: &mut report, verdicts, links: LinkWriter::default() };
            for _ in chunks.clone() {
                let chunk = self.line.take(|number| self.renderer.render(number)).expect("every chunk comes once");
                let chunk = chunk.unwrap_or_else(|panic| resume_unwind(panic))?;
                done += chunk.outcomes.len();
                order.append(chunk, batches)?.iter().for_each(&mut follow);
                if !self.watch.nodes_written(done, total) {
                    return Err(Error::Cancelled);
                }
            }
            for text in &stacks.texts {
                writer.append_stack(*side, text.as_deref())?;
            }
        }
        Ok(report)
    }
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
    fn append(&mut self, mut chunk: Chunk, batches: &Spare<EncodedNodes>) -> Result<Vec<NodeFacts>, Error> {
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
                    batches.give(batch);
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
