//! What can be wrong with a dump.

use std::io;
use std::path::PathBuf;

use crate::text::message::system;

/// Why a file of a dump cannot be read. Every text names the file, and the place in it where there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened, mapped or read.
    #[error("{}: {}", path.display(), unreadable(source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder, pipe or device stands in the place of the file.
    #[error("{}: is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than a JSON file of a dump may be.
    #[error("{}: has {size} bytes, more than the {limit} that are read", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// Largest size in bytes.
        limit: u64,
    },
    /// The file grew or shrank while it was read.
    #[error("{}: changed while it was read, is the dump still being written?", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is not valid JSON.
    #[error("{}: not valid JSON at byte {offset}: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Offset of the first byte that does not fit, counted from 0.
        offset: u64,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The file is valid JSON but not what a dump holds.
    #[error("{}: {place}: {reason}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The key, quoted, or `top level`.
        place: String,
        /// What is wrong there.
        reason: &'static str,
    },
    /// `construct.json` holds no structure.
    #[error("{}: the structure is empty, dump with level L0 or mix", path.display())]
    NoStructure {
        /// The file.
        path: PathBuf,
    },
}

fn unreadable(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "is missing; the folder of a rank holds dump.json, construct.json and stack.json".to_owned(),
        _ => format!("cannot be read: {}", system(source)),
    }
}
