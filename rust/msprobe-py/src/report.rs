//! Questions to a finished file.

use std::path::PathBuf;

use msprobe_core::report::{self, Only, Options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::EngineError;

/// Where two runs first part, as JSON (`docs/report.schema.json`).
#[pyfunction(name = "report")]
#[pyo3(signature = (path, *, step=None, rank=None, top=5, only=None, noise=None, noise_twin=None))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // keyword arguments of a Python function, a path that PyO3 has made
pub fn report_file(
    py: Python<'_>,
    path: PathBuf,
    step: Option<i64>,
    rank: Option<i64>,
    top: usize,
    only: Option<&str>,
    noise: Option<f64>,
    noise_twin: Option<PathBuf>,
) -> PyResult<String> {
    let only = only
        .map(|name| Only::from_text(name).ok_or_else(|| PyValueError::new_err(format!("only: {name:?} is no class of nodes"))))
        .transpose()?;
    let noise_multiple = noise.unwrap_or(report::MULTIPLE);
    if !(noise_multiple.is_finite() && noise_multiple > 0.0) {
        return Err(PyValueError::new_err("noise: a positive number of epsilons"));
    }
    let options = Options { step, rank, top, only, noise_multiple, noise_twin, ..Options::default() };
    let answer = py.allow_threads(|| {
        report::report(&path, &options).map(|report| serde_json::to_string(&report).unwrap_or_else(|_| "null".to_owned()))
    });
    answer.map_err(|error| EngineError::new_err((1, error.to_string())))
}
