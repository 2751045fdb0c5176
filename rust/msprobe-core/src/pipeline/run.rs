//! Doing the plan.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Instant;

use super::layout::{self, Layout};
use super::matcher::Matcher;
use super::pairing::{self, Pair, Plan};
use super::prepare::{self, Prepared};
use super::request::{LeftOut, OverflowCounts, PartSummary, Request, Summary, TensorCounts, VerdictCounts, WayCounts};
use super::turn::{Ticket, Turn};
use super::twin::Twin;
use super::{output, workers, Error, Progress};
use crate::facts::NodeFacts;
use crate::links::{Links, RankCalls};
use crate::matching::mapping::Usage;
use crate::matching::{How, Ways};
use crate::metrics::Mode;
use crate::part::{self, Hooks, Watch};
use crate::report::{self, Following, GoldenNodes, RankFollowing};
use crate::text::message::without_number;
use crate::visdb::{schema, write, Cell, Complete, Config, PartTotals, Side, Task, Writer};

/// Runs `request` to its end. `progress` may be polled and cancelled from another thread.
///
/// Without a golden side the target's trees are stored alone. Ranks that cannot be read are left out and listed in the
/// summary; an error means that no file was written. `hooks` are called from any thread.
pub fn run(request: &Request, progress: &Progress, hooks: Hooks<'_>) -> Result<Summary, Error> {
    let started = Instant::now();
    let matcher = Matcher::of(request)?;
    let target = layout::read(&request.target)?;
    let golden = request.golden.as_deref().map(layout::read).transpose()?;
    let plan = match &golden {
        Some(golden) => pairing::compare(&target, golden)?,
        None => pairing::build(&target),
    };
    // Only now: a run without input makes no folder.
    output::prepare(&request.output)?;
    let twin = request.noise_twin.as_deref().map(|path| Twin::of(request, path, progress)).transpose()?;
    progress.start(plan.pairs.len());
    let mut state = State::new(request, &target, golden.as_ref(), &plan);
    let jobs = request.jobs.filter(|&jobs| jobs > 0).unwrap_or_else(|| workers::worth(&plan.pairs));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().map_err(|reason| {
        Error::Part(format!("cannot start {jobs} workers: {}; give a smaller --jobs", without_number(&reason.to_string())))
    })?;
    state.columns = hooks.columns().to_vec();
    state.writer = Some(Writer::create(&request.output, &file_name(request))?);
    state.following = follow(request, twin.as_ref()).map(Ok);
    let (turn, state) = (Turn::default(), Mutex::new(state));
    let crew = Crew { request, matcher: &matcher, pool: &pool, progress, hooks, turn, state };
    crew.work(&plan.pairs);
    crew.state.into_inner().unwrap_or_else(PoisonError::into_inner).finish(request, &matcher, progress, started)
}

/// Who looks for the first difference while the file is written.
fn follow(request: &Request, twin: Option<&Twin>) -> Option<Following> {
    let threads = threads(request);
    let noise_twin = twin.map(|twin| twin.file().to_owned());
    is_followed(request).then(|| Following::new(report::Options { noise_twin, threads, ..report::Options::default() }))
}

/// Threads for what is done when all rows are written.
fn threads(request: &Request) -> usize {
    request.jobs.unwrap_or_else(workers::cores)
}

/// Whether anybody does: one run without levels parts from nothing.
fn is_followed(request: &Request) -> bool {
    request.golden.is_some() || request.overflow_check
}

/// Name of the result.
fn file_name(request: &Request) -> String {
    format!("{}_{}{}", if request.golden.is_some() { "compare" } else { "build" }, request.stamp, write::EXTENSION)
}

/// What the threads share that do the plan.
struct Crew<'r> {
    request: &'r Request,
    matcher: &'r Matcher,
    pool: &'r rayon::ThreadPool,
    progress: &'r Progress,
    hooks: Hooks<'r>,
    turn: Turn,
    state: Mutex<State>,
}

impl Crew<'_> {
    /// Prepares all pairs on as many threads as the pool has and writes them in order.
    fn work(&self, pairs: &[Pair]) {
        let next = AtomicUsize::new(0);
        // A rank that is alone has nobody to be linked with.
        let linked = pairs.len() > 1;
        let parts = || loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(pair) = pairs.get(number) else { break };
            let ticket = self.turn.ticket(number);
            if self.progress.is_cancelled() {
                continue;
            }
            if let Err(reason) = self.part(pair, &ticket, linked) {
                self.in_turn(&ticket).leave_out(pair, reason.to_string());
            }
            self.progress.part_done();
        };
        std::thread::scope(|scope| {
            for _ in 1..self.pool.current_num_threads().min(pairs.len()) {
                // Where the system gives no more threads, fewer do.
                if Builder::new().spawn_scoped(scope, parts).is_err() {
                    break;
                }
            }
            parts();
        });
    }

    /// Prepares and writes one part. An error means that nothing was written.
    fn part(&self, pair: &Pair, ticket: &Ticket<'_>, linked: bool) -> Result<(), prepare::Error> {
        let &Crew { request, pool, progress, hooks, .. } = self;
        let files = prepare::read(pair, pool)?;
        let prepared = files.if_unchanged(|| prepare::match_up(&files, self.matcher, pool))??;
        let calls = if linked { prepared.communication() } else { Vec::new() };
        let part = prepared.part(pair.step, pair.rank, request.overflow_check, hooks);
        let stacks = files.if_unchanged(|| part::Stacks::new(&part))?;
        let watch = PartWatch { progress, last: AtomicUsize::new(0) };
        let followed = is_followed(request).then(|| task(prepared.mode()));
        // Rows that wait for their turn take memory, so only those do whose turn is next.
        ticket.wait_to_be_next();
        part::render(&part, &stacks, pool, &watch, followed, |rows| self.in_turn(ticket).write(pair, &prepared, rows, calls));
        Ok(())
    }

    fn in_turn(&self, ticket: &Ticket<'_>) -> MutexGuard<'_, State> {
        ticket.wait();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The communication calls of each side of a rank.
type Calls = Vec<(Side, RankCalls)>;

/// What is known of the run so far.
struct State {
    writer: Option<Writer>,
    /// Why the run ends without a file.
    fatal: Option<Error>,
    summary: Summary,
    /// Columns of the user's algorithms.
    columns: Vec<String>,
    /// The search for the first difference, which goes along; `None` if nobody asked.
    following: Option<report::Result<Following>>,
    micro_steps: i64,
    /// What the rules of a layer mapping came to in all ranks.
    usage: Usage,
    links: Links,
}

impl State {
    fn new(request: &Request, target: &Layout, golden: Option<&Layout>, plan: &Plan) -> State {
        let mut warnings = Vec::new();
        for layout in std::iter::once(target).chain(golden) {
            warnings.extend(layout.ignored.iter().map(|path| format!("{path}: not a rank or step folder, ignored")));
        }
        warnings.extend(plan.one_sided.iter().cloned());
        let left_out = plan.left_out.iter().map(|(step, reason)| LeftOut { step: *step, rank: None, reason: reason.clone() }).collect();
        let summary = Summary { compare: request.golden.is_some(), warnings, left_out, ..Summary::default() };
        State {
            columns: Vec::new(),
            writer: None,
            fatal: None,
            summary,
            following: None,
            micro_steps: 1,
            usage: Usage::default(),
            links: Links::default(),
        }
    }

    fn leave_out(&mut self, pair: &Pair, reason: String) {
        self.summary.left_out.push(LeftOut { step: pair.step, rank: Some(pair.rank), reason });
    }

    /// Writes one part, or takes it back when it fails.
    fn write(&mut self, pair: &Pair, prepared: &Prepared<'_>, rows: part::Rows<'_, '_>, calls: Calls) {
        if self.writer.is_none() {
            return;
        }
        if let (Some(mode), Some(first)) = (prepared.mode(), self.summary.mode) {
            if mode != first {
                let reason = format!("{}: holds other data than the ranks before it ({mode:?}, not {first:?})", pair.target.path.display());
                return self.leave_out(pair, reason);
            }
        }
        let mut walk = self.follow_rank(task(prepared.mode()), pair);
        let follow = |node: &NodeFacts| walk.iter_mut().for_each(|walk| walk.node(node));
        let Some(writer) = &mut self.writer else { return };
        let written = writer
            .begin_part(pair.step, pair.rank)
            .map_err(part::Error::from)
            .and_then(|()| prepared.files().if_unchanged(|| rows.write(writer, follow))?)
            .and_then(|report| Ok((report, writer.finish_part()?)));
        match written {
            Ok((report, totals)) => {
                self.note(pair, prepared, &report, &totals);
                if let (Some(Ok(following)), Some(rank)) = (&mut self.following, walk) {
                    let nodes = prepared.node_counts();
                    following.keep(rank, GoldenNodes { all: nodes.golden, unmatched: nodes.only_golden });
                }
                for (side, calls) in calls {
                    self.links.add(pair.step, pair.rank, side, calls);
                }
            }
            Err(part::Error::Cancelled) => self.fail(Error::Interrupted),
            Err(part::Error::Write(reason)) => self.fail(Error::Write(reason)),
            Err(reason) => match writer.rollback_part() {
                Ok(()) => self.leave_out(pair, reason.to_string()),
                Err(reason) => self.fail(Error::Write(reason)),
            },
        }
    }

    /// Begins to follow a rank; the first one that cannot be followed ends it for all.
    fn follow_rank(&mut self, task: Task, pair: &Pair) -> Option<RankFollowing> {
        let begun = self.following.as_ref()?.as_ref().ok()?.begin(task, pair.step, pair.rank);
        begun.map_err(|reason| self.following = Some(Err(reason))).ok()
    }

    /// Ends the run; the unfinished file goes with its writer.
    fn fail(&mut self, reason: Error) {
        self.writer = None;
        self.fatal = Some(reason);
    }

    fn note(&mut self, pair: &Pair, prepared: &Prepared<'_>, report: &part::Report, totals: &PartTotals) {
        let summary = &mut self.summary;
        if summary.parts.is_empty() {
            summary.mode = prepared.mode();
            summary.task = prepared.task().map(str::to_owned);
            let (target, golden) = prepared.frameworks();
            summary.target_framework = target.map(|framework| framework.as_str().to_owned());
            summary.golden_framework = golden.map(|framework| framework.as_str().to_owned());
        }
        summary.warnings.extend(prepared.warnings().map(|warning| format!("step {} rank {}: {warning}", pair.step, pair.rank)));
        self.micro_steps = self.micro_steps.max(prepared.micro_steps());
        if let Some(usage) = prepared.usage() {
            self.usage.merge(usage);
        }
        let [critical, high, medium] = report.overflow;
        let counts = prepared.node_counts();
        summary.parts.push(PartSummary {
            step: pair.step,
            rank: pair.rank,
            target_nodes: counts.target,
            golden_nodes: counts.golden,
            matched: counts.matched.total() as u64,
            matched_by: way_counts(&counts.matched),
            only_target: counts.only_target,
            only_golden: counts.only_golden,
            verdicts: verdict_counts(totals),
            overflow: OverflowCounts { critical, high, medium },
            surplus_golden_parameters: report.surplus_golden_parameters,
            tensors: TensorCounts { compared: report.tensors_compared, not_compared: report.tensors_not_compared },
        });
    }

    /// Closes the file and answers.
    fn finish(mut self, request: &Request, matcher: &Matcher, progress: &Progress, started: Instant) -> Result<Summary, Error> {
        if progress.is_cancelled() {
            return Err(Error::Interrupted);
        }
        if let Some(reason) = self.fatal {
            return Err(reason);
        }
        let Some(mut writer) = self.writer.take().filter(|_| !self.summary.parts.is_empty()) else {
            return Err(Error::Part(self.why_nothing(&request.target)));
        };
        progress.finish();
        self.summary.warnings.extend(matcher.idle_rules(&self.usage));
        if !self.columns.is_empty() && self.summary.mode != Some(Mode::Tensor) {
            self.summary.warnings.push("--algorithms has no effect: the dumps hold no tensors that are compared".to_owned());
        }
        self.describe(request, &mut writer)?;
        let file = writer.complete(&self.config(request))?;
        let stop = || progress.is_cancelled();
        let links = std::mem::take(&mut self.links).write(&file, request.overflow_check, stop)?.ok_or(Error::Interrupted)?;
        if links.unlinked() > 0 {
            self.summary.warnings.push(links.to_string());
        }
        self.answer(request, &file)?;
        file.sync()?;
        // Behind this nothing takes long.
        if progress.is_cancelled() {
            return Err(Error::Interrupted);
        }
        self.summary.output = file.publish()?;
        if let Some(report) = &mut self.summary.report {
            report.file = self.summary.output.display().to_string();
        }
        self.summary.bytes = std::fs::metadata(&self.summary.output).map_or(0, |metadata| metadata.len());
        self.summary.seconds = started.elapsed().as_secs_f64();
        Ok(self.summary)
    }

    /// Tells where the runs first part, and keeps it in the file. A file without it is still a result, one in which it was half
    /// written is none.
    fn answer(&mut self, request: &Request, complete: &Complete) -> Result<(), Error> {
        let Some(following) = self.following.take() else { return Ok(()) };
        match following.and_then(|following| following.report(complete.path())) {
            Ok(mut report) => {
                report.noise.twin = request.noise_twin.as_deref().map(absolute);
                report::store(&report, complete, threads(request))?;
                self.summary.report = Some(report);
            }
            Err(reason) => self.summary.warnings.push(format!("the first difference cannot be told: {reason}")),
        }
        Ok(())
    }

    /// Writes our own tables about the run.
    fn describe(&self, request: &Request, writer: &mut Writer) -> Result<(), Error> {
        let json = |value: &serde_json::Value| value.to_string();
        let inputs = serde_json::json!({ "target": absolute(&request.target), "golden": request.golden.as_deref().map(absolute) });
        let facts = [
            ("created", request.stamp.clone()),
            ("inputs", json(&inputs)),
            ("options", serde_json::to_string(request).unwrap_or_default()),
        ];
        for (key, value) in &facts {
            writer.add_row(&schema::META, &[Cell::Text(key), Cell::Text(value)])?;
        }
        for left_out in &self.summary.left_out {
            let rank = left_out.rank.map_or(Cell::Null, |rank| Cell::Integer(rank as i64));
            let row = [Cell::Integer(left_out.step as i64), rank, Cell::Text(&left_out.reason)];
            writer.add_row(&schema::SKIPPED, &row)?;
        }
        Ok(())
    }

    fn config(&self, request: &Request) -> Config {
        Config {
            task: task(self.summary.mode),
            micro_steps: u32::try_from(self.micro_steps).unwrap_or(u32::MAX),
            overflow_check: request.overflow_check,
            extra_columns: if self.summary.mode == Some(Mode::Tensor) { self.columns.clone() } else { Vec::new() },
        }
    }

    /// One line for a run of which nothing is left.
    fn why_nothing(&self, target: &Path) -> String {
        match self.summary.left_out.as_slice() {
            [] => format!("{}: no rank found", target.display()),
            [only] => only.reason.clone(),
            [first, rest @ ..] => {
                let place =
                    |left: &LeftOut| left.rank.map_or_else(|| format!("step{}", left.step), |rank| format!("step{}/rank{rank}", left.step));
                let named: Vec<_> = rest.iter().take(3).map(place).collect();
                let more = if rest.len() > named.len() { format!(" and {} more", rest.len() - named.len()) } else { String::new() };
                format!("{} (nor could {}{more} be used)", first.reason, named.join(", "))
            }
        }
    }
}

/// Tells the progress of the part being written.
struct PartWatch<'p> {
    progress: &'p Progress,
    last: AtomicUsize,
}

impl Watch for PartWatch<'_> {
    fn nodes_written(&self, done: usize, total: usize) -> bool {
        let last = self.last.swap(done, Ordering::Relaxed);
        self.progress.advance(done, total, done - last);
        self.goes_on()
    }

    fn goes_on(&self) -> bool {
        !self.progress.is_cancelled()
    }
}

fn absolute(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn verdict_counts(totals: &PartTotals) -> VerdictCounts {
    let counts = &totals.target;
    VerdictCounts {
        error: counts.error.into(),
        warning: counts.warning.into(),
        pass: counts.pass.into(),
        // The roots face each other and hold nothing to compare.
        not_compared: counts.not_compared.saturating_sub(1).into(),
    }
}

fn way_counts(ways: &Ways) -> WayCounts {
    let of = |way| ways.of(way) as u64;
    WayCounts {
        name: of(How::SamePlace) + of(How::SameName),
        fuzzy: of(How::Fuzzy),
        mapping: of(How::Mapping),
        alignment: of(How::Alignment),
    }
}

fn task(mode: Option<Mode>) -> Task {
    match mode {
        None => Task::Build,
        Some(Mode::Statistics) => Task::Summary,
        Some(Mode::Md5) => Task::Md5,
        Some(Mode::Tensor) => Task::All,
        Some(Mode::Structure) => Task::Structure,
    }
}
