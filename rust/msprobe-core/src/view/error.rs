//! What can go wrong with a question of the browser: a stable code, a status of HTTP, and a sentence for a person.

/// Why a question could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// A parameter misses or has no usable value.
    #[error("{name}: {reason}")]
    Parameter {
        /// Name of the parameter.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The route does not exist.
    #[error("no such question: {0}")]
    Route(String),
    /// The path leads outside the log directory, or is not a plain relative path.
    #[error("{0}: only files below the log directory can be opened")]
    Outside(String),
    /// The log directory has no file that can be read.
    #[error("there is no readable vis.db below the log directory")]
    NoFiles,
    /// There is no such file.
    #[error("{0}: no such file; it may have been moved or deleted")]
    NoFile(String),
    /// The file is there but is not a readable vis.db.
    #[error("{path}: {reason}")]
    Unreadable {
        /// Path relative to the log directory.
        path: String,
        /// Stable word: `directory`, `empty`, `not_sqlite`, `truncated`, `schema`, `permission`, `damaged`.
        code: &'static str,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Another program holds the file; asking again later helps.
    #[error("{0}: another program is writing this file, try again in a moment")]
    Locked(String),
    /// The file has no such node, step or rank.
    #[error("{0}")]
    NoNode(String),
    /// The question took longer than the limit.
    #[error("{0}: the question took too long and was stopped")]
    TooLong(String),
    /// Work in the background that this answer needs is still going on.
    #[error("{path}: still being indexed ({done} nodes read)")]
    Indexing {
        /// Path relative to the log directory.
        path: String,
        /// Nodes read so far.
        done: u64,
    },
}

impl ViewError {
    /// Stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Parameter { .. } => "parameter",
            Self::Route(_) => "route",
            Self::Outside(_) => "outside",
            Self::NoFiles => "no_files",
            Self::NoFile(_) => "no_file",
            Self::Unreadable { code, .. } => code,
            Self::Locked(_) => "locked",
            Self::NoNode(_) => "no_node",
            Self::TooLong(_) => "too_long",
            Self::Indexing { .. } => "indexing",
        }
    }

    /// Status of HTTP.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Parameter { .. } => 400,
            Self::Outside(_) => 403,
            Self::Route(_) | Self::NoFiles | Self::NoFile(_) | Self::NoNode(_) => 404,
            Self::Unreadable { .. } => 422,
            Self::Locked(_) | Self::TooLong(_) => 503,
            Self::Indexing { .. } => 202,
        }
    }

    /// Sorts an error of `SQLite` into the codes above.
    pub(crate) fn sqlite(path: &str, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let unreadable = |code, reason: String| Self::Unreadable { path: path.to_owned(), code, reason };
        match error.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked(path.to_owned()),
            Some(Code::OperationInterrupted) => Self::TooLong(path.to_owned()),
            Some(Code::NotADatabase) => unreadable("not_sqlite", "this is not a vis.db (no SQLite file)".into()),
            Some(Code::PermissionDenied | Code::CannotOpen) => {
                unreadable("permission", format!("the file cannot be opened for reading ({error})"))
            }
            _ => unreadable("damaged", format!("the file is damaged or incomplete ({error}); write it again")),
        }
    }
}
