//! Matches made and taken back by hand in a finished file, and the files that keep them.
//!
//! Lives here: which nodes may be matched, what is matched with them, and that all numbers follow. Every change is one
//! transaction, and the last ones can be undone. May not: know HTTP or the browser, or write SQL.
//!
//! ```no_run
//! use msprobe_core::edit::{apply, Action, Edit};
//!
//! # fn main() -> Result<(), msprobe_core::edit::Error> {
//! let pair = Action::Match { target: "Module.a.A.forward.0".into(), golden: "Module.b.B.forward.0".into(), descendants: true };
//! let done = apply("compare.vis.db".as_ref(), &Edit { step: 0, rank: 0, action: pair })?;
//! println!("{} nodes changed", done.changed);
//! # Ok(())
//! # }
//! ```

mod below;
mod config_file;
mod error;
mod import;
mod rows;
mod session;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::visdb::{amend, Amender, GraphId, Reader, Side};

pub use config_file::{config_files, CONFIG_SUFFIX};
pub use error::Error;
use session::Session;

/// One change to one step and rank.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// Step.
    pub step: u64,
    /// Rank.
    pub rank: u64,
    /// What to do.
    pub action: Action,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Action {
    /// Match two nodes, and their calls of the other direction.
    Match {
        /// Name of the target node.
        target: String,
        /// Name of the golden node.
        golden: String,
        /// Match what lies below them by name as well.
        #[serde(default)]
        descendants: bool,
    },
    /// Take the match of two nodes back, and that of their calls of the other direction.
    Unmatch {
        /// Name of the target node.
        target: String,
        /// Name of the golden node that faces it.
        golden: String,
        /// Take back the matches between what lies below them as well.
        #[serde(default)]
        descendants: bool,
    },
    /// Take back the last change of the file, whatever its step and rank.
    Undo,
    /// Apply a `*.vis.config` file that lies beside the file.
    Import {
        /// Its name.
        config: String,
    },
    /// Write the matches made by hand into a `*.vis.config` file beside the file.
    Export,
}

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Pairs that face each other now and did not before.
    pub matched: u64,
    /// Pairs that do not face each other any more.
    pub unmatched: u64,
    /// Nodes that were written.
    pub changed: u64,
    /// What a person should know, such as a match that moved; at most [`MOST_NOTES`].
    pub notes: Vec<String>,
    /// Entries of a file that could not be applied, each with its reason; at most [`MOST_NOTES`].
    pub refused: Vec<String>,
    /// Number of entries that could not be applied.
    pub refusals: u64,
    /// Names of the files that were written.
    pub files: Vec<String>,
}

/// Most notes of one change.
pub const MOST_NOTES: usize = 200;

/// What can be done with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct State {
    /// Why matches cannot be changed; `None` if they can.
    pub refused: Option<String>,
    /// `*.vis.config` files beside the file.
    pub configs: Vec<String>,
    /// The change that undo takes back.
    pub last: Option<LastEdit>,
    /// Nodes of both sides whose match was changed by hand in the step and rank asked for.
    pub by_hand: usize,
}

/// A change that can be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastEdit {
    /// `match`, `unmatch` or `import`.
    pub what: String,
    /// The target node, or the file.
    pub subject: String,
    /// Step.
    pub step: u64,
    /// Rank.
    pub rank: u64,
}

/// Changes `file`. Nothing is changed on an error.
pub fn apply(file: &Path, edit: &Edit) -> Result<Done, Error> {
    if edit.action == Action::Export {
        return export(file, edit.step, edit.rank);
    }
    let mut session = Session::open(file, edit.step, edit.rank)?;
    match &edit.action {
        Action::Match { target, golden, descendants } => {
            session.begin("match", target)?;
            session.match_calls(target, golden, *descendants)?;
        }
        Action::Unmatch { target, golden, descendants } => {
            session.begin("unmatch", target)?;
            session.unmatch_calls(target, golden, *descendants)?;
        }
        Action::Undo => session.undo()?,
        Action::Import { config } => {
            let (entries, refused) = config_file::read(file, config)?;
            session.begin("import", config)?;
            session.import(&entries, refused)?;
        }
        Action::Export => {}
    }
    session.finish()
}

/// What can be done with a step and rank of `file`.
pub fn state(file: &Path, step: u64, rank: u64) -> Result<State, Error> {
    let reader = Reader::open(file)?;
    let mut by_hand = 0;
    for side in [Side::Target, Side::Golden] {
        by_hand += amend::modified(&reader, GraphId { step, rank, side })?.len();
    }
    let last = amend::last_edit(&reader)?;
    let refused = match reader.config()?.kind() {
        Some(crate::visdb::Task::Build) | None => Some("this file holds a single graph; only comparisons have matches".to_owned()),
        Some(_) => amend::check_writable(file).err().map(|error| error.to_string()),
    };
    Ok(State {
        refused,
        configs: config_files(file),
        last: last.map(|edit| LastEdit { what: edit.what, subject: edit.subject, step: edit.step, rank: edit.rank }),
        by_hand,
    })
}

fn export(file: &Path, step: u64, rank: u64) -> Result<Done, Error> {
    let reader = Reader::open(file)?;
    let [target, golden] = [Side::Target, Side::Golden].map(|side| amend::modified(&reader, GraphId { step, rank, side }));
    let files = config_file::write(file, step, rank, &target?, &golden?)?;
    Ok(Done { files, ..Done::default() })
}

/// Opens `file` for changes; kept here so that the session has one way in.
fn open(file: &Path) -> Result<Amender, Error> {
    Ok(Amender::open(file)?)
}
