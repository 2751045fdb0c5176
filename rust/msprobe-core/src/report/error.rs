//! What can go wrong with a question to a finished file.

use crate::text::message::quoted;
use crate::visdb::{self, read};
use std::collections::BTreeSet;
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

    /// A cell of `column` is no text.
    pub(super) fn no_text(path: &Path, column: &str) -> Error {
        Error::unreadable(path, format!("is damaged: column {column} holds something else than text; write it again"))
    }

    /// The rows of `node` are no JSON, for that reason.
    pub(super) fn no_rows(path: &Path, node: &str, reason: &impl std::fmt::Display) -> Error {
        Error::unreadable(path, format!("is damaged: the parameters of {} cannot be read ({reason}); write it again", quoted(node)))
    }

    /// There is no such step or rank; the text names those that there are, of `places` (steps and ranks, ascending).
    pub(super) fn nowhere(path: &Path, places: &[(i64, i64)], step: Option<i64>, rank: Option<i64>) -> Error {
        let list = |numbers: BTreeSet<i64>| ranges(&numbers.into_iter().collect::<Vec<_>>());
        let reason = match (step, rank) {
            _ if places.is_empty() => "holds no node; the run that wrote it did not finish, start it again".to_owned(),
            (Some(step), _) if places.iter().all(|place| place.0 != step) => {
                format!("holds no step {step}; its steps are {}", list(places.iter().map(|place| place.0).collect()))
            }
            (Some(step), Some(rank)) => {
                let of_step = places.iter().filter(|place| place.0 == step);
                format!("holds no rank {rank} of step {step}; its ranks are {}", list(of_step.map(|place| place.1).collect()))
            }
            (_, rank) => {
                let ranks = list(places.iter().map(|place| place.1).collect());
                format!("holds no rank {}; its ranks are {ranks}", rank.unwrap_or_default())
            }
        };
        Error::unreadable(path, reason)
    }

    pub(super) fn unreadable(path: &Path, reason: impl Into<String>) -> Error {
        Error::Unreadable { path: path.to_owned(), reason: reason.into() }
    }
}

/// Ascending numbers as people write them: `0 to 6, 8`.
fn ranges(numbers: &[i64]) -> String {
    let mut found: Vec<(i64, i64)> = Vec::new();
    for &number in numbers {
        match found.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => found.push((number, number)),
        }
    }
    let texts: Vec<String> = found
        .iter()
        .map(|&(from, to)| match to.wrapping_sub(from) {
            0 => from.to_string(),
            1 => format!("{from}, {to}"),
            _ => format!("{from} to {to}"),
        })
        .collect();
    texts.join(", ")
}

/// Result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_is_named_shortly() {
        let places: Vec<(i64, i64)> = (0..100).filter(|&rank| rank != 50).map(|rank| (2, rank)).chain([(3, 0), (3, 1)]).collect();
        let told = |step, rank| Error::nowhere(Path::new("x.vis.db"), &places, step, rank).to_string();
        assert_eq!(told(None, Some(50)), "x.vis.db: holds no rank 50; its ranks are 0 to 49, 51 to 99");
        assert_eq!(told(Some(3), Some(7)), "x.vis.db: holds no rank 7 of step 3; its ranks are 0, 1");
        assert_eq!(told(Some(0), Some(7)), "x.vis.db: holds no step 0; its steps are 2, 3");
    }
}
