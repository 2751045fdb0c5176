//! The report of one rank of one step.

use super::answer::{Counts, Difference, Drift, Miss, NodeLine, Overflow, RankReport, Verdicts};
use super::candidate::{Candidate, What};
use super::drift::Thinned;
use super::error::{Error, Result};
use super::evidence::{describe, line_with_frame, stored};
use super::file::{Place, VisFile};
use super::flow::flow;
use super::golden::GoldenCount;

use super::outcome::{self, Outcome};
use super::scan::for_each_few;
use super::tolerance::{Level, Noise};
use super::twin::{self, Twin};
use super::walk::Walk;
use super::{list, missing, shift, Only, Options};
use crate::facts::{NodeFacts, Phase};
use crate::visdb::{Side, Task};
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// Nodes that the walk expects at once: what it looks up for them waits in the processor's nearest cache.
const EXPECTED: usize = 16;

/// One rank as far as its nodes have come.
#[derive(Debug)]
pub(super) struct RankWalk {
    walk: Walk,
    forward: Thinned,
    backward: Thinned,
}

/// One rank whose last node has come.
#[derive(Debug)]
pub(super) struct RankWalked {
    outcome: Outcome,
    drift: Drift,
    golden: GoldenNodes,
}

/// Nodes of the golden side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GoldenNodes {
    /// All of them, the root too.
    pub all: u64,
    /// Those that no target node faces; the root does not count.
    pub unmatched: u64,
}

/// Nodes to list: how many there are, and the places of the first.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub total: u64,
    pub orders: Vec<u32>,
}

impl RankWalk {
    /// The rank of `task` before its first node; `before` is the noise at the end of the rank's step before.
    pub fn new(task: Task, place: Place, options: &Options, before: Option<Level>) -> Result<Self> {
        if let (Some(path), Some(kind)) = (&options.noise_twin, twin::unsized_kind(task)) {
            return Err(Error::unreadable(path, format!("of no use here: the run itself {kind}, where noise has no size; leave it out")));
        }
        let twin = options.noise_twin.as_ref().map(|path| Twin::read(path, place, options.threads)).transpose()?;
        if let (Some(twin), Some(path)) = (&twin, &options.noise_twin) {
            if twin.is_empty() {
                let Place { step, rank } = place;
                return Err(Error::unreadable(path, format!("the two golden runs have nothing to compare for step {step}, rank {rank}")));
            }
        }
        let noise = Noise::new(options.noise_multiple, twin, before);
        Ok(RankWalk { walk: Walk::new(noise, task), forward: Thinned::default(), backward: Thinned::default() })
    }

    /// Takes the next node.
    pub fn node(&mut self, node: &NodeFacts) {
        self.walk.node(node);
        if let Some((error, tolerance)) = self.walk.drift(node) {
            let half = if matches!(node.phase, Phase::Backward | Phase::Gradient) { &mut self.backward } else { &mut self.forward };
            half.push(node.order, error, tolerance);
        }
    }

    /// What the nodes came to.
    pub fn end(self, golden: GoldenNodes) -> RankWalked {
        let drift = Drift { forward: self.forward.finish(), backward: self.backward.finish() };
        RankWalked { outcome: self.walk.end(), drift, golden }
    }
}

/// Walks along the nodes of `place` in `file`.
pub(super) fn read(file: &VisFile, place: Place, options: &Options, before: Option<Level>) -> Result<(RankWalked, Listed)> {
    let mut walk = RankWalk::new(file.task, place, options, before)?;
    if let Some(twin) = &options.noise_twin {
        twin::same_golden(file, twin, place)?;
    }
    let mut listed = Listed::default();
    let golden = GoldenCount::new(file, place)?;
    let mut walk_along = || {
        for_each_few(file, place, options.threads, |nodes| {
            for few in nodes.chunks(EXPECTED) {
                walk.walk.expect(few);
                for node in few {
                    walk.node(node);
                    if options.only.is_some_and(|only| only.takes(node)) {
                        listed.total += 1;
                        if listed.orders.len() < options.top {
                            listed.orders.push(node.order);
                        }
                    }
                }
            }
        })
    };
    let uncounted = Mutex::new(Some(golden));
    let count = || uncounted.lock().unwrap_or_else(PoisonError::into_inner).take().map(GoldenCount::count);
    let golden = std::thread::scope(|scope| {
        // Where the system gives no more threads, it is counted afterwards.
        let counting = Builder::new().spawn_scoped(scope, count);
        walk_along()?;
        let counted = counting.map_or_else(|_| count(), |counting| counting.join().unwrap_or_else(|panic| resume_unwind(panic)));
        counted.expect("it is counted once")
    })?;
    Ok((walk.end(golden), listed))
}

impl RankWalked {
    /// The noise at the end.
    pub fn level(&self) -> Level {
        self.outcome.level
    }

    /// The report, its nodes described as they stand in `file`.
    pub fn describe(self, file: &VisFile, place: Place, options: &Options, listed: &Listed) -> Result<RankReport> {
        let RankWalked { outcome, drift, golden } = self;
        let compared = file.is_comparison();
        let counts = counts(compared, golden, &outcome.counts);
        let mut found = outcome.candidates.iter().filter(|_| compared);
        let first = found.next();
        let first_verdict = outcome.first_verdict.map(|(order, _)| line_with_frame(file, place, Side::Target, order)).transpose()?;
        let first_difference = match first {
            Some(first) => Some(described(file, place, &counts, first, first_verdict.as_ref())?),
            None if file.task == Task::Structure => only_in_golden(file, place, counts.target_nodes)?,
            None => None,
        };
        let mut others = found.filter(|other| is_origin(other));
        let shown = others.by_ref().take(options.top);
        let runner_ups = shown.map(|other| describe(file, place, counts.target_nodes, other)).collect::<Result<Vec<_>>>()?;
        let further: Vec<Candidate> = others.cloned().collect();
        let nearest_miss = if first_difference.is_none() && compared { miss(file, place, &outcome)? } else { None };
        let mut report = RankReport {
            step: place.step,
            rank: place.rank,
            counts,
            first_verdict,
            first_overflow: outcome.first_overflow.map(|(order, _)| line_with_frame(file, place, Side::Target, order)).transpose()?,
            golden_overflow: outcome.golden_overflow.map(|order| line_with_frame(file, place, Side::Target, order)).transpose()?,
            flows_into: first.map(|first| flow(file, place, first)).transpose()?.unwrap_or_default(),
            first_difference,
            runner_ups_total: Some((runner_ups.len() + further.len()) as u64),
            runner_ups,
            further,
            nearest_miss,
            listed: Vec::new(),
            listed_total: None,
            listed_golden: Vec::new(),
            listed_golden_total: None,
            drift,
        };
        if let Some(only) = options.only {
            report.list(file, place, listed)?;
            report.list_golden(file, place, only, options.top)?;
        }
        Ok(report)
    }
}

impl RankReport {
    /// Takes in the nodes to list.
    pub(super) fn list(&mut self, file: &VisFile, place: Place, listed: &Listed) -> Result<()> {
        let line = |order: &u32| -> Result<NodeLine> { Ok(stored(file, place, Side::Target, *order)?.line) };
        self.listed = listed.orders.iter().map(line).collect::<Result<_>>()?;
        self.listed_total = Some(listed.total);
        Ok(())
    }

    /// Takes in the nodes to list that only golden has.
    pub(super) fn list_golden(&mut self, file: &VisFile, place: Place, only: Only, top: usize) -> Result<()> {
        if only != Only::Unmatched || !file.is_comparison() {
            return Ok(());
        }
        let listed = list::only_golden(file, place, top, &self.counts)?;
        let line = |order: &u32| -> Result<NodeLine> { Ok(stored(file, place, Side::Golden, *order)?.line) };
        self.listed_golden = listed.orders.iter().map(line).collect::<Result<_>>()?;
        self.listed_golden_total = Some(listed.total);
        Ok(())
    }
}

/// The first difference, with what is told of it alone.
fn described(file: &VisFile, place: Place, counts: &Counts, first: &Candidate, verdict: Option<&NodeLine>) -> Result<Difference> {
    let mut found = describe(file, place, counts.target_nodes, first)?;
    if counts.only_golden > 0 {
        found.only_golden = missing::only_golden(file, place, first)?;
    }
    if counts.only_golden > 0 || counts.only_target > 0 {
        found.unlike_calls = shift::unlike_calls(file, place, &found, verdict)?;
    }
    Ok(found)
}

/// Whether a later candidate is a difference of its own. Inputs that nobody recorded making, and what turns up inside a
/// module, are after the first difference nearly always its consequence.
fn is_origin(candidate: &Candidate) -> bool {
    match candidate.what {
        What::Parameter | What::Argument => true,
        What::Computation => candidate.row.order == candidate.order || candidate.inputs.is_none(),
        What::Structure | What::Input => false,
    }
}

fn counts(compared: bool, golden: GoldenNodes, seen: &outcome::Counts) -> Counts {
    let [not_compared, pass, warning, error] = seen.verdicts;
    let [medium, high, critical] = seen.overflow;
    Counts {
        target_nodes: seen.nodes,
        golden_nodes: golden.all,
        matched: seen.matched,
        only_target: if compared { seen.unmatched } else { 0 },
        only_golden: if compared { golden.unmatched } else { 0 },
        verdicts: Verdicts { error, warning, pass, not_compared },
        overflow: Overflow { critical, high, medium },
        compared_nodes: seen.compared_nodes,
        compared_rows: seen.compared_rows,
        beyond_noise: seen.beyond_nodes,
    }
}

impl Counts {
    /// The sum of two.
    pub(super) fn plus(self, other: &Counts) -> Counts {
        let (v, w) = (self.verdicts, other.verdicts);
        let (o, p) = (self.overflow, other.overflow);
        Counts {
            target_nodes: self.target_nodes + other.target_nodes,
            golden_nodes: self.golden_nodes + other.golden_nodes,
            matched: self.matched + other.matched,
            only_target: self.only_target + other.only_target,
            only_golden: self.only_golden + other.only_golden,
            verdicts: Verdicts {
                error: v.error + w.error,
                warning: v.warning + w.warning,
                pass: v.pass + w.pass,
                not_compared: v.not_compared + w.not_compared,
            },
            overflow: Overflow { critical: o.critical + p.critical, high: o.high + p.high, medium: o.medium + p.medium },
            compared_nodes: self.compared_nodes + other.compared_nodes,
            compared_rows: self.compared_rows + other.compared_rows,
            beyond_noise: self.beyond_noise + other.beyond_noise,
        }
    }
}

/// Why nothing qualifies.
fn miss(file: &VisFile, place: Place, walk: &Outcome) -> Result<Option<Miss>> {
    let node = |order: u32| -> Result<Option<NodeLine>> { Ok(Some(stored(file, place, Side::Target, order)?.line)) };
    Ok(Some(if let Some(grown) = walk.grown {
        let error = grown.output.is_finite().then_some(grown.output);
        Miss { why: "grew_slowly".into(), node: node(grown.order)?, error, noise: Some(grown.tolerance) }
    } else if let Some((order, error, tolerance)) = walk.nearest {
        Miss { why: "within_noise".into(), node: node(order)?, error: Some(error), noise: Some(tolerance) }
    } else if walk.counts.compared_rows > 0 {
        Miss { why: "identical".into(), node: None, error: Some(0.0), noise: None }
    } else {
        Miss { why: "nothing_compared".into(), node: None, error: None, noise: None }
    }))
}

/// In a comparison of structure, a golden node that the target lacks, the outermost of the first.
fn only_in_golden(file: &VisFile, place: Place, nodes: u64) -> Result<Option<Difference>> {
    use rusqlite::OptionalExtension;
    let sql = "SELECT node_name, up_node, node_order, micro_step_id FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' \
               AND (matched_node_link IS NULL OR matched_node_link IN ('', '[]')) ORDER BY node_order LIMIT 1";
    let row: Option<(String, Option<String>, i64, Option<i64>)> = file
        .conn
        .query_row(sql, (place.step, place.rank), |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))
        .optional()
        .map_err(file.fail())?;
    Ok(row.map(|(node, parent, order, micro_step)| Difference {
        step: place.step,
        rank: place.rank,
        golden_node: Some(node.clone()),
        node,
        parent: parent.unwrap_or_default(),
        order: u32::try_from(order).unwrap_or(u32::MAX),
        nodes,
        micro_step: micro_step.and_then(|m| u32::try_from(m).ok()).unwrap_or(0),
        what: What::Structure,
        evidence: None,
        inputs: None,
        frame: None,
        communications_before: 0,
        is_communication: false,
        is_random: false,
        verdict: None,
        unmatched_inside: None,
        only_golden: None,
        unlike_calls: None,
    }))
}
