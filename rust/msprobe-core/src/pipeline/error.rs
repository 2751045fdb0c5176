//! Why a run could not be done. One line each: what, where, what to do.

use std::path::PathBuf;

use super::layout::Kind;
use crate::text::message::system;

const WANTED: &str = "name the folder of a rank, of ranks or of steps";

/// Error of a whole run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input folder cannot be opened.
    #[error("{}: {}", path.display(), no_input(source))]
    Input {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// An input is a file.
    #[error("{}: not a folder; {WANTED}", path.display())]
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// An input folder is empty.
    #[error("{}: the folder is empty; {WANTED}", path.display())]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A folder beside ranks or steps that is neither.
    #[error("{}: holds the folder '{name}', which is no {expected}; rename it, move it away, or name one rank's folder", path.display())]
    ForeignFolder {
        /// The folder looked through.
        path: PathBuf,
        /// The entry that does not fit.
        name: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A folder of folders most of which are neither ranks nor steps.
    #[error("{}: holds {count} folders that are no ranks or steps ({}{}); {}", path.display(), names.join(", "), if names.len() < *count { ", ..." } else { "" }, no_ranks(*dumps))]
    NoRanks {
        /// The folder looked through.
        path: PathBuf,
        /// How many do not fit.
        count: usize,
        /// How many of them look like dumps of their own.
        dumps: usize,
        /// A few of them, those that look like dumps first.
        names: Vec<String>,
    },
    /// Two folders stand for the same number.
    #[error("{}: '{first}' and '{second}' stand for the same number; name one of them", path.display())]
    SameNumber {
        /// The folder looked through.
        path: PathBuf,
        /// One entry.
        first: String,
        /// The other entry.
        second: String,
    },
    /// Several `proc<pid>` folders: which one is meant cannot be told.
    #[error("{}: holds several runs ({}); name one of these folders", path.display(), names.join(", "))]
    SeveralProcesses {
        /// The folder looked through.
        path: PathBuf,
        /// The entries.
        names: Vec<String>,
    },
    /// One rank on each side, but with different numbers.
    #[error("{} and {} have different numbers; to compare them, name these two folders themselves", target.display(), golden.display())]
    DifferentNumbers {
        /// Rank of the target.
        target: PathBuf,
        /// Rank of the golden side.
        golden: PathBuf,
    },
    /// A folder of plain files, none of which is one of a dump.
    #[error("{}: holds no dump{}; {WANTED}", path.display(), instead(results))]
    NoDump {
        /// The folder.
        path: PathBuf,
        /// Finished results that lie in it.
        results: Vec<String>,
    },
    /// One input holds a rank, the other ranks or steps.
    #[error("{}: is {target_is}, but {} is {golden_is}; name two of the same kind{}", target.display(), golden.display(), such_as(fitting.as_ref()))]
    DifferentLayouts {
        /// The target.
        target: PathBuf,
        /// What the target is.
        target_is: Kind,
        /// The golden side.
        golden: PathBuf,
        /// What the golden side is.
        golden_is: Kind,
        /// Two of the same kind: one of these and a part of the other.
        fitting: Option<(PathBuf, PathBuf)>,
    },
    /// Nothing to compare.
    #[error("{} and {} have no {what} in common", target.display(), golden.display())]
    NothingInCommon {
        /// `step` or `rank`.
        what: &'static str,
        /// The target.
        target: PathBuf,
        /// The golden side.
        golden: PathBuf,
    },
    /// The layer mapping cannot be used.
    #[error(transparent)]
    Mapping(#[from] crate::matching::mapping::Error),
    /// The output folder cannot be made or written.
    #[error("{}: cannot be used as the output folder: {reason}", path.display())]
    Output {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The rank (or every rank) failed.
    #[error("{0}")]
    Part(String),
    /// The result file could not be written.
    #[error(transparent)]
    Write(#[from] crate::visdb::Error),
    /// Somebody asked to stop.
    #[error("interrupted; nothing was left behind")]
    Interrupted,
}

impl Error {
    /// Exit status of the command: 130 when interrupted, else 1.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Interrupted => 130,
            _ => 1,
        }
    }
}

/// What to name instead of a folder of folders that do not fit.
fn no_ranks(dumps: usize) -> String {
    match dumps {
        0 => WANTED.into(),
        1 => "1 of them looks like a dump: name it".into(),
        _ => format!("{dumps} of them look like dumps: name one of them"),
    }
}

/// What lies in a folder instead of a dump.
fn instead(results: &[String]) -> String {
    match results {
        [] => String::new(),
        [only] => format!(", but a finished result ({only})"),
        [first, rest @ ..] => format!(", but finished results ({first} and {} more)", rest.len()),
    }
}

/// Folders that would do, behind what is wanted.
fn such_as(fitting: Option<&(PathBuf, PathBuf)>) -> String {
    fitting.map_or_else(String::new, |(target, golden)| format!(", such as {} and {}", target.display(), golden.display()))
}

/// Why an input folder cannot be opened.
fn no_input(source: &std::io::Error) -> String {
    match source.kind() {
        std::io::ErrorKind::NotFound => format!("no such folder; {WANTED}"),
        _ => format!("cannot be opened: {}", system(source)),
    }
}
