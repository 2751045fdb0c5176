//! Layer mappings.

use std::path::PathBuf;
use std::time::Duration;

use msprobe_core::pipeline;
use pyo3::prelude::*;

use crate::background;

/// Proposes a layer mapping for two dumps, as JSON: `text` (the file), `sure`, `likely`, `guess` (numbers of rules), `target`
/// and `golden` (the ranks it was made of).
#[pyfunction]
pub fn suggest_mapping(py: Python<'_>, target: PathBuf, golden: PathBuf) -> PyResult<String> {
    background::answer(py, Duration::ZERO, move |_| {
        let mapping = pipeline::suggest_mapping(&target, &golden)?;
        Ok(serde_json::to_string(&mapping).unwrap_or_else(|_| "null".to_owned()))
    })
}
