//! What can go wrong with a question to a finished file.

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
    /// `SQLite` refused.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rusqlite::Error,
    },
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, a verb phrase.
        action: &'static str,
        /// The reason.
        source: std::io::Error,
    },
}

impl Error {
    pub(super) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
        move |source| Error::Sqlite { path: path.to_owned(), source }
    }

    pub(super) fn unreadable(path: &Path, reason: impl Into<String>) -> Error {
        Error::Unreadable { path: path.to_owned(), reason: reason.into() }
    }

    pub(super) fn io<'a>(path: &'a Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Error + 'a {
        move |source| Error::Io { path: path.to_owned(), action, source }
    }
}

/// Result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;
