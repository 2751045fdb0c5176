//! Layer mappings.

use std::path::PathBuf;

use msprobe_core::pipeline;
use pyo3::prelude::*;

use crate::EngineError;

/// Proposes a layer mapping for two dumps, as JSON: `text` (the file), `sure`, `likely`, `guess` (numbers of rules), `target`
/// and `golden` (the ranks it was made of).
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // paths that PyO3 has made
pub fn suggest_mapping(py: Python<'_>, target: PathBuf, golden: PathBuf) -> PyResult<String> {
    let answer = py.allow_threads(|| {
        pipeline::suggest_mapping(&target, &golden).map(|mapping| serde_json::to_string(&mapping).unwrap_or_else(|_| "null".to_owned()))
    });
    answer.map_err(|error| EngineError::new_err((error.exit_status(), error.to_string())))
}
