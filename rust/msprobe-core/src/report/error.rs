//! What can go wrong with a question to a finished file.

use crate::visdb::{self, read};
use std::path::{Path, PathBuf};

/// An error of this room. Every variant names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is no result file, a damaged one, or one that this question does not fit.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// The file cannot be opened or read.
    #[error(transparent)]
    File(#[from] visdb::Error),
}

impl Error {
    pub(super) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
        move |error| Error::File(read::explain(path, error))
    }

    pub(super) fn unreadable(path: &Path, reason: impl Into<String>) -> Error {
        Error::Unreadable { path: path.to_owned(), reason: reason.into() }
    }
}

/// Result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;
