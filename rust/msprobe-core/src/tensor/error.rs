//! What can be wrong with a tensor file.

use std::path::{Path, PathBuf};

/// A tensor file that cannot be used, with the reason.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct Error {
    /// The file, as it was asked for.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: Reason,
}

impl Error {
    /// Joins a path and a reason.
    #[must_use]
    pub fn new(path: &Path, reason: Reason) -> Error {
        Error { path: path.to_path_buf(), reason }
    }
}

/// Why a tensor file cannot be used. One per kind of trouble; texts are complete without the path.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// There is no such file.
    #[error("the file does not exist")]
    Missing,
    /// A directory, a pipe, a device.
    #[error("not a regular file")]
    NotRegular,
    /// The name in the dump is absolute, holds `..`, or leads out of the tensor folder through a link.
    #[error("the name leads outside the tensor folder")]
    Outside,
    /// The operating system refused.
    #[error("{}", crate::text::message::system(_0))]
    Io(std::io::Error),
    /// Neither of the known containers.
    #[error("not a {0} file")]
    NotThis(&'static str),
    /// The bytes end before what the header promises.
    #[error("truncated: {0}")]
    Truncated(&'static str),
    /// A zip archive that is broken or crafted.
    #[error("zip archive: {0}")]
    Zip(String),
    /// A tar archive that is broken or crafted, or a member of it that no tensor can be read from.
    #[error("tar archive: {0}")]
    Tar(String),
    /// A `.npy` header that cannot be understood.
    #[error("npy header: {0}")]
    Npy(String),
    /// A pickle that is broken, with the byte at which it is.
    #[error("pickle: {what} at byte {at}")]
    Pickle {
        /// What is wrong.
        what: &'static str,
        /// Offset in the pickle; in the file where several pickles stand in a file.
        at: usize,
    },
    /// A pickle that names something a tensor does not need. It is neither looked up nor called.
    #[error("pickle: the global '{0}' is not allowed")]
    Global(String),
    /// Sparse, quantized, meta, nested.
    #[error("{0} tensors are not supported")]
    Kind(&'static str),
    /// An element type without a decoder.
    #[error("unsupported dtype {0}")]
    Dtype(String),
    /// The file holds a dict, a list, a number.
    #[error("holds {0}, not a tensor")]
    NotTensor(&'static str),
    /// Sizes, strides and storage do not fit together.
    #[error("{0}")]
    Layout(String),
    /// More than the reader is ready to spend on one file.
    #[error("{0}")]
    Limit(String),
}

impl Reason {
    /// An error of the operating system, with "no such file" set apart.
    #[must_use]
    pub fn from_io(error: std::io::Error) -> Reason {
        if error.kind() == std::io::ErrorKind::NotFound {
            Reason::Missing
        } else {
            Reason::Io(error)
        }
    }

    /// The same with the place in a pickle counted from `start` bytes before it.
    #[must_use]
    pub(super) fn behind(self, start: usize) -> Reason {
        match self {
            Reason::Pickle { what, at } => Reason::Pickle { what, at: start + at },
            other => other,
        }
    }
}
