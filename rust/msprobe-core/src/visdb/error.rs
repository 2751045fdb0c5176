//! What can go wrong with a result file.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::text::message::system;

/// An error of this room. Every variant names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: cannot {action}: {}", path.display(), system(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, a verb phrase.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: rusqlite::Error,
    },
    /// The file is no result file, or a damaged one.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// The file may not be changed.
    #[error("{}: cannot be changed: {reason}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// Somebody else holds the file.
    #[error("{}: {reason}", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// What to do.
        reason: String,
    },
    /// Rows cannot be stored as they are.
    #[error("{}: step {step}, rank {rank}: {reason}", path.display())]
    Rows {
        /// The file that was being written.
        path: PathBuf,
        /// Step of the part.
        step: u64,
        /// Rank of the part.
        rank: u64,
        /// What is wrong with the rows.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io<'a>(path: &'a Path, action: &'static str) -> impl FnOnce(io::Error) -> Error + use<'a> {
        move |source| Error::Io { path: path.to_owned(), action, source }
    }

    pub(crate) fn sqlite(path: &Path) -> impl FnOnce(rusqlite::Error) -> Error + use<'_> {
        move |source| {
            let path = path.to_owned();
            if source.sqlite_error_code() == Some(ErrorCode::DiskFull) {
                return Error::Io { path, action: "write", source: io::ErrorKind::StorageFull.into() };
            }
            Error::Sqlite { path, source }
        }
    }
}

/// Result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_alike_whoever_meets_it() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA max_page_count = 2").unwrap();
        let full = connection.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))").unwrap_err();
        let told = Error::sqlite(Path::new("x.vis.db"))(full).to_string();
        assert_eq!(told, "x.vis.db: cannot write: the disk is full; make room there or name another place");
        let other = connection.execute_batch("SELECT").unwrap_err();
        assert!(matches!(Error::sqlite(Path::new("x.vis.db"))(other), Error::Sqlite { .. }));
    }
}
