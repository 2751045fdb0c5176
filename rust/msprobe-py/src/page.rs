//! The tree of a finished file as HTML.

use std::path::PathBuf;
use std::time::Duration;

use msprobe_core::page::{self, Limits};
use pyo3::prelude::*;

use crate::background;
use crate::engine::Failure;

/// The trees of all steps and ranks as HTML without script; the way to each of `shown` (step, rank, name) stands open.
#[pyfunction]
pub fn tree_page(py: Python<'_>, path: PathBuf, shown: Vec<(u64, u64, String)>) -> PyResult<String> {
    background::answer(py, Duration::ZERO, move |_| page::trees(&path, &shown, Limits::default()).map_err(|error| Failure::of(&error)))
}
