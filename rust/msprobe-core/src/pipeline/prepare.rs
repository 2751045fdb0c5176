//! Reading one rank of both sides, and deciding what is compared.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use super::matcher::{Found, Matcher};
use super::pairing::Pair;
use crate::dump::{Framework, RankFiles};
use crate::graph::{micro_steps_of_both, Graph, Notes};
use crate::links::RankCalls;
use crate::matching::mapping::Usage;
use crate::matching::{NodeMatch, Side, Ways};
use crate::metrics::Mode;
use crate::part::{Golden, Hooks, Part, PartSide};
use crate::visdb;

/// Why a rank cannot be compared. One line, for the list of what was left out.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Dump(#[from] crate::dump::Error),
    #[error("{}: {source}", dir.display())]
    Graph { dir: PathBuf, source: crate::graph::Error },
    #[error("{}: no 'task' in dump.json; dump again with the key set", .0.display())]
    NoTask(PathBuf),
    #[error("{} was dumped with task '{target_task}', {} with '{golden_task}'; compare dumps of one task", target.display(), golden.display())]
    TasksDiffer { target: PathBuf, target_task: String, golden: PathBuf, golden_task: String },
    #[error("{} has md5 texts, {} has none; compare dumps of one summary mode", with.display(), without.display())]
    Md5OnOneSide { with: PathBuf, without: PathBuf },
    #[error("{}: task '{task}' cannot be compared; dump with task statistics, tensor or structure", dir.display())]
    UnknownTask { dir: PathBuf, task: String },
    #[error(
        "no node of {} was matched in {}: are these dumps of the same model? (-fm, a layer mapping -lm or --match align may help)",
        target.display(),
        golden.display()
    )]
    NothingMatched { target: PathBuf, golden: PathBuf },
    #[error("{}: dump.json names no framework and its data shows none", .0.display())]
    NoFramework(PathBuf),
    #[error("{} is from {target_framework}, {} from {golden_framework}: a layer mapping (-lm) or --match align is needed to compare frameworks", target.display(), golden.display())]
    FrameworksDiffer { target: PathBuf, target_framework: Framework, golden: PathBuf, golden_framework: Framework },
}

/// What both dumps allow to be compared.
pub(super) fn mode(target: &RankFiles, golden: &RankFiles) -> Result<Mode, Error> {
    let task = |files: &RankFiles| match files.dump.task() {
        Some(task) if !task.is_empty() => Ok(task.to_owned()),
        _ => Err(Error::NoTask(files.dir().to_owned())),
    };
    let (target_task, golden_task) = (task(target)?, task(golden)?);
    if target_task != golden_task {
        let (target, golden) = (target.dir().to_owned(), golden.dir().to_owned());
        return Err(Error::TasksDiffer { target, target_task, golden, golden_task });
    }
    match target_task.as_str() {
        "tensor" => Ok(Mode::Tensor),
        "structure" => Ok(Mode::Structure),
        "statistics" => match (target.dump.has_md5(), golden.dump.has_md5()) {
            (false, false) => Ok(Mode::Statistics),
            (true, true) => Ok(Mode::Md5),
            (true, false) => Err(Error::Md5OnOneSide { with: target.dir().to_owned(), without: golden.dir().to_owned() }),
            (false, true) => Err(Error::Md5OnOneSide { with: golden.dir().to_owned(), without: target.dir().to_owned() }),
        },
        _ => Err(Error::UnknownTask { dir: target.dir().to_owned(), task: target_task }),
    }
}

/// The folder of the tensor files as stored with every node: the recorded one if its parent is the rank's folder, else
/// `dump_tensor_data` in the rank's folder; nothing when nothing was recorded.
pub(super) fn dump_data_dir(files: &RankFiles) -> Option<String> {
    let recorded = files.dump.dump_data_dir()?;
    if recorded.is_empty() {
        return Some(String::new());
    }
    let dir = files.dir().canonicalize().unwrap_or_else(|_| files.dir().to_owned());
    if Path::new(recorded).parent() == Some(&dir) {
        return Some(recorded.to_owned());
    }
    Some(dir.join("dump_tensor_data").display().to_string())
}

/// The files of one rank of both sides.
pub(super) struct Files {
    target: RankFiles,
    golden: Option<RankFiles>,
    target_data_dir: Option<String>,
    golden_data_dir: Option<String>,
}

impl Files {
    /// Does `work` with the files. An error, whatever the work came to, if they changed meanwhile.
    pub(super) fn if_unchanged<T>(&self, work: impl FnOnce() -> T) -> Result<T, crate::dump::Error> {
        // Text that changes under its reader may break any promise, that of being UTF-8 for one.
        let outcome = catch_unwind(AssertUnwindSafe(work));
        for files in std::iter::once(&self.target).chain(&self.golden) {
            files.check_unchanged()?;
        }
        outcome.or_else(|panic| resume_unwind(panic))
    }
}

/// Maps and checks the files of both sides, in parallel.
pub(super) fn read(pair: &Pair, pool: &rayon::ThreadPool) -> Result<Files, Error> {
    let (target, golden) = pool.install(|| {
        rayon::join(|| RankFiles::open(&pair.target.path), || pair.golden.as_ref().map(|golden| RankFiles::open(&golden.path)).transpose())
    });
    let (target, golden) = (target?, golden?);
    let (target_data_dir, golden_data_dir) = (dump_data_dir(&target), golden.as_ref().and_then(dump_data_dir));
    Ok(Files { target, golden, target_data_dir, golden_data_dir })
}

/// One rank, ready to be written.
pub(super) struct Prepared<'a> {
    files: &'a Files,
    target: Graph<'a>,
    golden: Option<GoldenGraph<'a>>,
    warnings: Vec<String>,
    micro_steps: i64,
}

struct GoldenGraph<'a> {
    files: &'a RankFiles,
    graph: Graph<'a>,
    matched: NodeMatch,
    usage: Option<Usage>,
    mode: Mode,
    cross_framework: bool,
}

/// Numbers of nodes of one part. Those of matched and unmatched nodes do not count the roots.
#[derive(Default)]
pub(super) struct NodeCounts {
    pub target: u64,
    pub golden: u64,
    pub matched: Ways,
    pub only_target: u64,
    pub only_golden: u64,
}

/// Builds both trees, in parallel, and matches them.
pub(super) fn match_up<'a>(files: &'a Files, matcher: &Matcher, pool: &rayon::ThreadPool) -> Result<Prepared<'a>, Error> {
    let Some(golden_files) = &files.golden else {
        let (target, notes) = build(&files.target)?;
        let micro_steps = target.micro_steps();
        let warnings = no_framework(&files.target).into_iter().chain(notes.warnings()).collect();
        return Ok(Prepared { files, target, golden: None, warnings, micro_steps });
    };
    let mode = mode(&files.target, golden_files)?;
    let cross_framework = cross_framework(&files.target, golden_files, matcher)?;
    let (target, golden) = pool.install(|| rayon::join(|| build(&files.target), || build(golden_files)));
    let ((target, target_notes), (golden, golden_notes)) = (target?, golden?);
    let sides = (Side { graph: &target, files: &files.target }, Side { graph: &golden, files: golden_files });
    let Found { matched, usage, warnings: found } = matcher.find(sides.0, sides.1, cross_framework);
    if matched.is_empty() && target.len() > 1 {
        return Err(Error::NothingMatched { target: files.target.dir().to_owned(), golden: golden_files.dir().to_owned() });
    }
    let micro_steps = micro_steps_of_both(&target, &golden);
    let side = |files, notes: &Notes, side: &str| {
        no_framework(files).into_iter().chain(notes.warnings()).map(|warning| format!("{side}: {warning}")).collect::<Vec<_>>()
    };
    let warnings = [side(&files.target, &target_notes, "target"), side(golden_files, &golden_notes, "golden"), found].concat();
    let golden = Some(GoldenGraph { files: golden_files, graph: golden, matched, usage, mode, cross_framework });
    Ok(Prepared { files, target, golden, warnings, micro_steps })
}

fn build(files: &RankFiles) -> Result<(Graph<'_>, Notes), Error> {
    Graph::build(files).map_err(|source| Error::Graph { dir: files.dir().to_owned(), source })
}

fn framework(files: &RankFiles) -> Option<Framework> {
    files.dump.framework().and_then(Framework::from_text).or_else(|| files.dump.guessed_framework())
}

/// The warning for a dump that does not say where it comes from.
fn no_framework(files: &RankFiles) -> Option<String> {
    let taken_for = framework(files).unwrap_or(Framework::PyTorch);
    files.dump.framework().is_none().then(|| format!("dump.json names no framework, taken for {taken_for}"))
}

/// Whether the sides come from different frameworks, which only a layer mapping can bring together.
fn cross_framework(target: &RankFiles, golden: &RankFiles, matcher: &Matcher) -> Result<bool, Error> {
    let of = |files: &RankFiles| framework(files).ok_or_else(|| Error::NoFramework(files.dir().to_owned()));
    let (target_framework, golden_framework) = (of(target)?, of(golden)?);
    if target_framework == golden_framework {
        return Ok(false);
    }
    if matcher.crosses_frameworks() {
        return Ok(true);
    }
    let (target, golden) = (target.dir().to_owned(), golden.dir().to_owned());
    Err(Error::FrameworksDiffer { target, target_framework, golden, golden_framework })
}

impl<'a> Prepared<'a> {
    /// The files that it was made from.
    pub(super) fn files(&self) -> &Files {
        self.files
    }

    /// What is compared; `None` in a build.
    pub(super) fn mode(&self) -> Option<Mode> {
        self.golden.as_ref().map(|golden| golden.mode)
    }

    pub(super) fn task(&self) -> Option<&str> {
        self.files.target.dump.task()
    }

    pub(super) fn frameworks(&self) -> (Option<Framework>, Option<Framework>) {
        (framework(&self.files.target), self.golden.as_ref().and_then(|golden| framework(golden.files)))
    }

    pub(super) fn warnings(&self) -> impl Iterator<Item = &str> {
        self.warnings.iter().map(String::as_str)
    }

    pub(super) fn micro_steps(&self) -> i64 {
        self.micro_steps
    }

    /// What the rules of a layer mapping came to.
    pub(super) fn usage(&self) -> Option<&Usage> {
        self.golden.as_ref()?.usage.as_ref()
    }

    pub(super) fn node_counts(&self) -> NodeCounts {
        let (target, Some(golden)) = (self.target.len() as u64, &self.golden) else {
            return NodeCounts { target: self.target.len() as u64, ..NodeCounts::default() };
        };
        let (matched, golden_matched) = (&golden.matched, golden.matched.golden_len() as u64);
        let golden = golden.graph.len() as u64;
        NodeCounts {
            target,
            golden,
            matched: matched.ways(),
            only_target: target - matched.len() as u64,
            only_golden: golden - golden_matched,
        }
    }

    /// The communication calls of each side.
    pub(super) fn communication(&self) -> Vec<(visdb::Side, RankCalls)> {
        let target = (visdb::Side::Target, RankCalls::read(&self.files.target, &self.target));
        let golden = self.golden.as_ref().map(|golden| (visdb::Side::Golden, RankCalls::read(golden.files, &golden.graph)));
        std::iter::once(target).chain(golden).collect()
    }

    /// The part as it is written.
    pub(super) fn part(&'a self, step: u64, rank: u64, overflow_check: bool, hooks: Hooks<'a>) -> Part<'a> {
        let target = PartSide { files: &self.files.target, graph: &self.target, dump_data_dir: self.files.target_data_dir.as_deref() };
        let golden = self.golden.as_ref().map(|golden| Golden {
            side: PartSide { files: golden.files, graph: &golden.graph, dump_data_dir: self.files.golden_data_dir.as_deref() },
            matched: &golden.matched,
            mode: golden.mode,
            cross_framework: golden.cross_framework,
        });
        Part { step, rank, target, golden, overflow_check, hooks }
    }
}
