//! The tree of a finished file as HTML.

use std::path::PathBuf;

use msprobe_core::page::{self, Limits};
use pyo3::prelude::*;

use crate::EngineError;

/// The trees of all steps and ranks as HTML without script; the way to each of `shown` (step, rank, name) stands open.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // a path and a list that PyO3 has made
pub fn tree_page(py: Python<'_>, path: PathBuf, shown: Vec<(u64, u64, String)>) -> PyResult<String> {
    py.allow_threads(|| page::trees(&path, &shown, Limits::default())).map_err(|error| EngineError::new_err((1, error.to_string())))
}
