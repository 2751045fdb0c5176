//! The viewer's questions for Python.

use msprobe_core::view;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

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
}
