//! The second golden run, whose differences from the first are noise.

use std::path::{Path, PathBuf};

use super::{run, Error, Progress, Request};
use crate::part::Hooks;
use crate::report;
use crate::text::message::system;

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
            report::check_noise_twin(path).map_err(|reason| Error::Part(reason.to_string()))?;
            return Ok(Twin { file: path.to_owned(), _folder: None });
        }
        let folder = tempfile::tempdir_in(&request.output)
            .map_err(|reason| Error::Output { path: request.output.clone(), reason: system(&reason) })?;
        let comparison = Request {
            target: path.to_owned(),
            golden: Some(golden),
            output: folder.path().to_owned(),
            stamp: request.stamp.clone(),
            jobs: request.jobs,
            ..Request::default()
        };
        let file = run(&comparison, progress, Hooks::default())?.output;
        report::check_noise_twin(&file).map_err(|reason| Error::Part(about(path, reason)))?;
        Ok(Twin { file, _folder: Some(folder) })
    }

    /// The `*.vis.db`.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

/// The reason, said of the dump that the file came from: the file is gone when somebody reads this.
fn about(dump: &Path, reason: report::Error) -> String {
    match reason {
        report::Error::Unreadable { reason, .. } => format!("{}: {reason}", dump.display()),
        other @ report::Error::File(_) => other.to_string(),
    }
}
