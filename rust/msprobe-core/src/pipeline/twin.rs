//! The second golden run, whose differences from the first are noise.

use std::path::{Path, PathBuf};

use super::{run, Error, Progress, Request};
use crate::part::Hooks;

/// The comparison of both golden runs.
pub(super) struct Twin {
    file: PathBuf,
    /// Where a comparison lies that was made for this run alone.
    _folder: Option<tempfile::TempDir>,
}

impl Twin {
    /// `path` is that comparison already, or the dump of a second golden run, which is then compared with the first.
    pub(super) fn of(request: &Request, path: &Path, progress: &Progress) -> Result<Twin, Error> {
        let Some(golden) = request.golden.clone() else {
            return Err(Error::Part(format!("{}: a second golden run says nothing without a golden run", path.display())));
        };
        if path.is_file() {
            return Ok(Twin { file: path.to_owned(), _folder: None });
        }
        let folder = tempfile::tempdir_in(&request.output)
            .map_err(|reason| Error::Output { path: request.output.clone(), reason: reason.to_string() })?;
        let comparison = Request {
            target: path.to_owned(),
            golden: Some(golden),
            output: folder.path().to_owned(),
            stamp: request.stamp.clone(),
            jobs: request.jobs,
            ..Request::default()
        };
        Ok(Twin { file: run(&comparison, progress, Hooks::default())?.output, _folder: Some(folder) })
    }

    /// The `*.vis.db`.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}
