//! The core's types as the boundary sees them: JSON in, JSON out, an exit status for each kind of failure.

use std::sync::{Mutex, PoisonError};

use msprobe_core::metrics::tensor::Algorithms;
use msprobe_core::pipeline::{self, Error};
use msprobe_core::pipeline::{Hooks, TensorLog};
pub use msprobe_core::pipeline::{Progress, Request};
use pyo3::prelude::*;
use serde_json::json;

use crate::algorithms::PythonAlgorithms;
use crate::EngineError;

/// Why the engine gave up.
pub struct Failure {
    /// The exit status a command ends with.
    pub exit_status: u8,
    /// One line: what, where, what to do.
    pub message: String,
}

impl Failure {
    /// A defect of ours. The panic message itself has gone to standard error.
    pub fn panic() -> Self {
        Self { exit_status: 1, message: "the engine stopped on a defect of its own; please report the lines above".to_owned() }
    }
}

impl Failure {
    /// An error of the room that answers questions to a file.
    pub fn of(error: &impl std::error::Error) -> Self {
        Self { exit_status: 1, message: error.to_string() }
    }

    /// As an exception.
    pub fn raise(self) -> PyErr {
        EngineError::new_err((self.exit_status, self.message))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { exit_status: error.exit_status(), message: error.to_string() }
    }
}

/// Reads a request.
pub fn request(json: &str) -> Result<Request, serde_json::Error> {
    serde_json::from_str(json)
}

/// Lines of the tensor log that wait for Python.
#[derive(Debug, Default)]
pub struct Lines(Mutex<Vec<String>>);

impl Lines {
    /// The lines since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TensorLog for Lines {
    fn line(&self, line: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    }
}

/// Does the work and returns the summary as JSON, with or without the drift of each rank.
pub fn run(
    request: &Request,
    progress: &Progress,
    log: Option<&Lines>,
    algorithms: Option<&PythonAlgorithms>,
    drift: bool,
) -> Result<String, Failure> {
    let hooks = Hooks { tensor_log: log.map(|log| log as &dyn TensorLog), algorithms: algorithms.map(|a| a as &dyn Algorithms) };
    let mut summary = pipeline::run(request, progress, hooks)?;
    if let Some(report) = summary.report.as_mut().filter(|_| !drift) {
        report.forget_drift();
    }
    serde_json::to_string(&summary).map_err(|error| Failure { exit_status: 1, message: error.to_string() })
}

/// Asks the work to stop.
pub fn cancel(progress: &Progress) {
    progress.cancel();
}

/// Where the work stands, as JSON.
pub fn snapshot(progress: &Progress) -> String {
    let (done, total) = progress.ranks();
    json!({ "phase": progress.phase(), "percent": progress.percent(), "ranks_done": done, "ranks": total, "nodes": progress.nodes() })
        .to_string()
}
