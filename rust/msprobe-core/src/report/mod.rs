//! Where two runs first part: the answer to a finished comparison, whoever wrote the file.
//!
//! [`report`] reads the target nodes of every rank once, in execution order, and tells the *first difference* (by the rules
//! of `walk`), the *first verdict*, runner-ups, the nodes a difference flows into, counts, and the drift of the relative
//! error. Memory does not grow with the file beyond a few bytes for each node that differs.
//!
//! ```no_run
//! # fn main() -> Result<(), msprobe_core::report::Error> {
//! use msprobe_core::report::{report, Options};
//! let report = report("out/compare_20261130101500.vis.db".as_ref(), &Options::default())?;
//! if let Some(first) = &report.first_difference {
//!     println!("{} (rank {})", first.node, first.rank);
//! }
//! # Ok(())
//! # }
//! ```

mod answer;
mod candidate;
#[cfg(test)]
mod differential;
mod direct;
mod drift;
mod error;
mod evidence;
mod export;
mod file;
mod flow;
mod following;
mod golden;
mod inside;
mod list;
mod mark_set;
mod missing;
mod noise;
mod outcome;
mod rank;
mod ranks;
mod scan;
mod shift;
mod store;
mod table;
mod tolerance;
mod tree;
mod turns;
mod twin;
mod walk;
mod way;
mod workbook;

pub use crate::facts::{Break, Role};
pub use answer::{
    Calls, Counts, Difference, Drift, Evidence, FlowNode, Frame, GoldenPlace, Inputs, IntegerInput, LeftOut, Miss, NodeLine, NoiseUsed,
    OnlyGolden, Overflow, RankReport, Report, TwinNodes, Verdicts, SCHEMA,
};
pub use candidate::What;
pub use drift::Series;
pub use error::{Error, Result};
pub use export::{export, ExportError, Format};
pub(crate) use following::{Following, RankFollowing};
pub use noise::MULTIPLE;
pub(crate) use rank::GoldenNodes;
pub use store::store;
pub use table::{Rows, Selection, Table};
pub use tree::{place_to_show, tree, Chosen, Line, Shown};

use crate::facts::{NodeFacts, Verdict};
use file::{Place, VisFile};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tolerance::Level;

/// Which nodes to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Verdict error.
    Error,
    /// Verdict warning.
    Warning,
    /// Without a partner.
    Unmatched,
    /// With an overflow level.
    Overflow,
}

impl Only {
    /// The class of that name.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "error" => Some(Only::Error),
            "warning" => Some(Only::Warning),
            "unmatched" => Some(Only::Unmatched),
            "overflow" => Some(Only::Overflow),
            _ => None,
        }
    }

    fn takes(self, node: &NodeFacts) -> bool {
        match self {
            Only::Error => node.verdict == Verdict::Error && node.matched,
            Only::Warning => node.verdict == Verdict::Warning && node.matched,
            Only::Unmatched => !node.matched,
            Only::Overflow => node.overflow.is_some(),
        }
    }
}

/// What to look at and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only this step.
    pub step: Option<i64>,
    /// Only this rank.
    pub rank: Option<i64>,
    /// Runner-ups and listed nodes of each rank, at most.
    pub top: usize,
    /// Nodes to list.
    pub only: Option<Only>,
    /// Epsilons that count as noise.
    pub noise_multiple: f64,
    /// The comparison of a second golden run (as target) with the golden run.
    pub noise_twin: Option<PathBuf>,
    /// Threads that read, at least 1.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
        Options { step: None, rank: None, top: 5, only: None, noise_multiple: MULTIPLE, noise_twin: None, threads }
    }
}

/// Whether `path` can serve as [`Options::noise_twin`]: a comparison that knows the size of a difference.
pub fn check_noise_twin(path: &Path) -> Result<()> {
    twin::sized(&VisFile::open(path)?)
}

/// Reads `path` and answers.
pub fn report(path: &Path, options: &Options) -> Result<Report> {
    let file = VisFile::open(path)?;
    let places = file.places_of(options.step, options.rank)?;
    let left_out = file.left_out(options.step, options.rank)?;
    let (noise, ranks) = match stored(&file, &places, options)? {
        Some(stored) => stored,
        None => measured(&file, places, options)?,
    };
    Ok(told(&file, noise, ranks, left_out))
}

/// The answer that is in the file already, if it is to the same question.
fn stored(file: &VisFile, places: &[Place], options: &Options) -> Result<Option<(NoiseUsed, Vec<RankReport>)>> {
    if options.noise_twin.is_some() || options.noise_multiple != Options::default().noise_multiple {
        return Ok(None);
    }
    let mut noise = None;
    let mut ranks = Vec::new();
    for &place in places {
        let Some((used, mut rank)) = store::stored(file, place, options.top) else { return Ok(None) };
        if let Some(only) = options.only {
            let Some(listed) = list::list(file, place, only, options.top, &rank.counts)? else { return Ok(None) };
            rank.list(file, place, &listed)?;
            rank.list_golden(file, place, only, options.top)?;
        }
        noise.get_or_insert(used);
        ranks.push(rank);
    }
    Ok(noise.map(|noise| (noise, ranks)))
}

/// Step and rank of the first difference, if a finished run has left the answer in the file; it costs no look at the rows.
pub(crate) fn first_difference_place(path: &Path) -> Option<(i64, i64)> {
    let file = VisFile::open(path).ok().filter(|file| file.has_answer)?;
    let places = file.places_of(None, None).ok()?;
    let (_, ranks) = stored(&file, &places, &Options::default()).ok()??;
    ranks::first_difference(&ranks).map(|found| (found.step, found.rank))
}

/// The answer from the rows themselves.
fn measured(file: &VisFile, places: Vec<Place>, options: &Options) -> Result<(NoiseUsed, Vec<RankReport>)> {
    let mut ranks = Vec::new();
    let mut levels = HashMap::new();
    // What is noise in a step has shown in those before it; a second golden run tells it without them.
    if let Some(step) = options.step.filter(|_| options.noise_twin.is_none()) {
        for place in file.places_of(None, options.rank)?.into_iter().filter(|place| place.step < step) {
            let (walked, _) = rank::read(file, place, options, levels.get(&place.rank).copied())?;
            levels.insert(place.rank, walked.level());
        }
    }
    for place in places {
        let (walked, listed) = rank::read(file, place, options, levels.get(&place.rank).copied())?;
        levels.insert(place.rank, walked.level());
        ranks.push(walked.describe(file, place, options, &listed)?);
    }
    Ok((noise_used(options, &levels), ranks))
}

/// The noise that ranks were judged with; `levels` holds that of each rank at its end.
fn noise_used(options: &Options, levels: &HashMap<i64, Level>) -> NoiseUsed {
    NoiseUsed {
        method: if options.noise_twin.is_some() { "twin" } else { "dtype" }.into(),
        multiple: options.noise_multiple,
        twin: options.noise_twin.as_ref().map(|path| path.display().to_string()),
        twin_nodes: options.noise_twin.as_ref().map(|_| levels.values().fold(TwinNodes::default(), |sum, level| sum + level.of_twin)),
    }
}

fn told(file: &VisFile, noise: NoiseUsed, ranks: Vec<RankReport>, left_out: Vec<LeftOut>) -> Report {
    Report {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION"),
        file: file.path.display().to_string(),
        graph_type: file.task.graph_type(),
        task: file.task.as_str(),
        micro_steps: file.micro_steps,
        overflow_check: file.overflow_check,
        left_out,
        noise,
        totals: ranks.iter().fold(Counts::default(), |sum, rank| sum.plus(&rank.counts)),
        first_difference: ranks::first_difference(&ranks).cloned(),
        first_verdict: ranks::first_verdict(&ranks).cloned(),
        ranks,
    }
}
