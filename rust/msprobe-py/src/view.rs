//! The viewer's questions for Python.

use msprobe_core::view;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::{Path, PathBuf};

use crate::edit;

/// Answers questions about the `*.vis.db` files below one log directory.
#[pyclass(module = "msprobe._native", frozen)]
pub(crate) struct Viewer(view::Viewer);

#[pymethods]
impl Viewer {
    #[new]
    fn new(logdir: PathBuf) -> Self {
        Self(view::Viewer::new(logdir))
    }

    /// Status of HTTP and strict JSON for `route` with name and value `pairs`. Never raises for anything a browser sends.
    #[allow(clippy::needless_pass_by_value)] // PyO3 hands over a list it has built
    fn answer<'py>(&self, py: Python<'py>, route: &str, pairs: Vec<(String, String)>) -> (u16, Bound<'py, PyBytes>) {
        let answer = py.allow_threads(|| self.0.answer(route, &pairs));
        (answer.status, PyBytes::new(py, &answer.body))
    }

    /// Changes matches of the file at `path` as the JSON `request` says; an answer of the same form.
    fn edit<'py>(&self, py: Python<'py>, path: &str, request: &str) -> (u16, Bound<'py, PyBytes>) {
        let (status, body) = py.allow_threads(|| self.in_file(path, |file| edit::apply(file, request)));
        (status, PyBytes::new(py, &body))
    }

    /// What can be done with the matches of a step and rank of the file at `path`.
    fn matches<'py>(&self, py: Python<'py>, path: &str, step: u64, rank: u64) -> (u16, Bound<'py, PyBytes>) {
        let (status, body) = py.allow_threads(|| self.in_file(path, |file| edit::state(file, step, rank)));
        (status, PyBytes::new(py, &body))
    }
}

impl Viewer {
    fn in_file(&self, path: &str, work: impl FnOnce(&Path) -> (u16, Vec<u8>)) -> (u16, Vec<u8>) {
        match self.0.file(path) {
            Ok(file) => work(&file),
            Err(answer) => (answer.status, answer.body),
        }
    }
}
