//! Questions of the browser to a finished vis.db, answered as strict JSON.
//!
//! [`Viewer::answer`] takes a question and its parameters and gives bytes. Nothing about a browser is remembered; only what is
//! worked out from a file's state is cached (outlines, surveys, drift), keyed by path, size and time. Files are opened read-only for
//! each question, so that several tabs can look at several files while somebody else replaces them.
//!
//! No answer is larger than [`MAX_BYTES`]; lists are paged and columns are arrays.
//!
//! ```no_run
//! let viewer = msprobe_core::view::Viewer::new("runs".into());
//! let answer = viewer.answer("files", &[]);
//! assert_eq!(answer.status, 200);
//! ```

mod args;
mod cache;
mod drift;
mod error;
mod file;
mod first;
mod heat;
mod logdir;
mod node;
mod outline;
mod pairs;
mod rows;
mod search;
mod summary;
mod tensors;
mod tree;
mod way;

pub use error::ViewError;
pub use logdir::{folder, list, resolve, Folder, Listed, Listing};

use args::Args;
use cache::{Cache, Found, Key, PATIENCE};
use drift::Drift;
use file::VisFile;
use heat::Survey;
use outline::Outline;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;
use std::time::Duration;

/// Largest answer, bytes before compression.
pub const MAX_BYTES: usize = 1_000_000;
/// Most rows of one page.
pub(crate) const MAX_ROWS: usize = 5_000;
/// How long a question waits for the outline when the file's own indexes can answer it too.
const SHORT_PATIENCE: Duration = Duration::from_millis(25);
/// Memory for outlines, bytes; the newest one stays even if it is larger.
const OUTLINE_BUDGET: usize = 160 << 20;
/// Memory for drift series, bytes.
const DRIFT_BUDGET: usize = 40 << 20;
/// Memory for surveys, bytes.
const SURVEY_BUDGET: usize = 40 << 20;

/// Answers questions about the files below one log directory.
pub struct Viewer {
    root: PathBuf,
    outlines: Arc<Cache<Outline>>,
    drifts: Cache<Drift>,
    surveys: Cache<Survey>,
}

/// An answer: a status of HTTP and a JSON text.
#[derive(Debug)]
pub struct Answer {
    /// 200, or the status of the error.
    pub status: u16,
    /// Strict JSON; errors are `{"error": {"code", "message"}}`.
    pub body: Vec<u8>,
}

impl Viewer {
    /// A viewer of the files below `root`.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            outlines: Arc::new(Cache::new(OUTLINE_BUDGET, 2)),
            drifts: Cache::new(DRIFT_BUDGET, 1),
            surveys: Cache::new(SURVEY_BUDGET, 1),
        }
    }

    /// Where the file is that a browser calls `relative`; an answer that says why it may not be opened otherwise.
    pub fn file(&self, relative: &str) -> Result<PathBuf, Answer> {
        resolve(&self.root, relative).map_err(|error| failure(&error))
    }

    /// Answers `route` with the parameters `pairs`; never fails, errors are answers too.
    #[must_use]
    pub fn answer(&self, route: &str, pairs: &[(String, String)]) -> Answer {
        let question = Question { viewer: self, args: Args(pairs) };
        let answer = match route {
            "files" => json(&list(&self.root)),
            "folder" => logdir::folder(&self.root, question.args.text("under").unwrap_or("")).and_then(|folder| json(&folder)),
            "file" => summary::file(&question),
            "summary" => summary::graph(&question),
            "graphs" => heat::graphs(&question),
            "roots" => tree::roots(&question),
            "children" => tree::children(&question),
            "start" => tree::start(&question),
            "way" => way::way(&question),
            "pairs" => pairs::pairs(&question),
            "node" => node::details(&question),
            "search" => search::search(&question),
            "step" => search::neighbour(&question),
            "heat" => heat::heat(&question),
            "drift" => drift::series(&question),
            _ => Err(ViewError::Route(route.to_owned())),
        };
        match answer {
            Ok(body) => Answer { status: 200, body },
            Err(error) => failure(&error),
        }
    }
}

fn failure(error: &ViewError) -> Answer {
    #[derive(Serialize)]
    struct Inner<'a> {
        code: &'a str,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        done: Option<u64>,
    }
    #[derive(Serialize)]
    struct Failure<'a> {
        error: Inner<'a>,
    }
    let done = if let ViewError::Indexing { done, .. } = error { Some(*done) } else { None };
    let failure = Failure { error: Inner { code: error.code(), message: error.to_string(), done } };
    Answer { status: error.status(), body: serde_json::to_vec(&failure).unwrap_or_default() }
}

/// One question under way.
struct Question<'a> {
    viewer: &'a Viewer,
    args: Args<'a>,
}

impl Question<'_> {
    fn file(&self) -> Result<VisFile, ViewError> {
        VisFile::open(&self.viewer.root, self.args.needed("path")?)
    }

    /// The step and rank asked for, or the first of the file.
    fn graph(&self, file: &VisFile) -> Result<(i64, i64), ViewError> {
        match (self.args.integer("step")?, self.args.integer("rank")?) {
            (Some(step), Some(rank)) => Ok((step, rank)),
            (step, rank) => rows::graphs(file)?
                .into_iter()
                .find(|graph| step.is_none_or(|step| step == graph.0) && rank.is_none_or(|rank| rank == graph.1))
                .ok_or_else(|| ViewError::NoNode(format!("{}: no such step and rank", file.shown))),
        }
    }

    /// The node named by `id`, or by `step`, `rank`, `side` and `name`.
    fn place(&self, file: &VisFile) -> Result<rows::Place, ViewError> {
        if let Some(id) = self.args.integer("id")? {
            return rows::place(file, id);
        }
        let name = self.args.needed("name")?;
        let (step, rank) = self.graph(file)?;
        rows::find(file, step, rank, self.args.side()?, name)?
            .ok_or_else(|| ViewError::NoNode(format!("{}: step {step}, rank {rank} has no node {name}", file.shown)))
    }

    fn find_outline(&self, file: &VisFile, step: i64, rank: i64, patience: Duration) -> Result<Found<Outline>, ViewError> {
        let key = Key { file: file.key.clone(), step, rank };
        let (root, shown) = (self.viewer.root.clone(), file.shown.clone());
        let work = move |progress: &AtomicU64| {
            let file = VisFile::open(&root, &shown)?;
            let outline = Outline::read(&file, step, rank, progress)?;
            let bytes = outline.bytes();
            Ok((outline, bytes))
        };
        self.viewer.outlines.get(&key, patience, work).map_err(|error| copied(&error))
    }

    /// The outline of a step and rank; "still indexing" if that takes longer.
    fn outline(&self, file: &VisFile, step: i64, rank: i64) -> Result<Arc<Outline>, ViewError> {
        match self.find_outline(file, step, rank, PATIENCE)? {
            Found::Ready(outline) => Ok(outline),
            Found::Working(done) => Err(ViewError::Indexing { path: file.shown.clone(), done }),
        }
    }

    /// The outline if it is there soon; `None` if the file's own indexes can answer meanwhile.
    fn outline_or_direct(&self, file: &VisFile, step: i64, rank: i64) -> Result<Option<Arc<Outline>>, ViewError> {
        if !file.indexed {
            return self.outline(file, step, rank).map(Some);
        }
        match self.find_outline(file, step, rank, SHORT_PATIENCE)? {
            Found::Ready(outline) => Ok(Some(outline)),
            Found::Working(_) => Ok(None),
        }
    }
}

fn json<T: Serialize>(answer: &T) -> Result<Vec<u8>, ViewError> {
    // serde_json writes NaN and infinities as null, so the text is strict whatever the file holds.
    let body = serde_json::to_vec(answer).map_err(|error| args::bad("answer", &error.to_string()))?;
    if body.len() > MAX_BYTES {
        return Err(args::bad("limit", "the answer would be larger than 1 MB, ask for fewer rows"));
    }
    Ok(body)
}

/// The reason of a remembered failure as an error of its own.
fn copied(error: &ViewError) -> ViewError {
    match error {
        ViewError::NoFile(path) => ViewError::NoFile(path.clone()),
        ViewError::Locked(path) => ViewError::Locked(path.clone()),
        ViewError::TooLong(path) => ViewError::TooLong(path.clone()),
        ViewError::NoNode(text) => ViewError::NoNode(text.clone()),
        ViewError::Outside(path) => ViewError::Outside(path.clone()),
        ViewError::Unreadable { path, code, reason } => ViewError::Unreadable { path: path.clone(), code, reason: reason.clone() },
        other => ViewError::Unreadable { path: String::new(), code: "damaged", reason: other.to_string() },
    }
}
