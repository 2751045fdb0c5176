//! Python bindings: argument conversion, error mapping and the progress callback. No logic of its own.
//!
//! What lives here turns Python's words into the core's and back. Requests and answers cross as JSON texts, so that the
//! boundary is one function wide; `python/msprobe/_native.pyi` says the same to Python's type checkers.

mod algorithms;
mod background;
mod edit;
mod engine;
mod mapping;
mod page;
mod report;
mod tensor;
mod view;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

use algorithms::PythonAlgorithms;
use background::Listeners;

create_exception!(
    msprobe._native,
    EngineError,
    PyException,
    "The engine gave up. `args` is `(exit_status, message)`: the exit status a command should end with, and one line that says what, where and what to do."
);

/// Builds or compares, writes the `*.vis.db` and returns the summary as JSON.
///
/// The interpreter is released meanwhile. `progress` is called with a JSON object at most ten times a second; an exception
/// that it, or a signal handler, raises cancels the work and is raised here once the work has cleaned up. `tensor_log` is
/// called with lists of lines, two for every pair of parameters of dumps of task `tensor`. `algorithms` gives further columns
/// for such dumps; see `msprobe.cli.algorithms`. Without `drift` the answer's series are empty.
#[pyfunction]
#[pyo3(signature = (request_json, progress=None, tensor_log=None, algorithms=None, drift=true))]
fn graph_visualize<'py>(
    py: Python<'py>,
    request_json: &str,
    progress: Option<Bound<'py, PyAny>>,
    tensor_log: Option<Bound<'py, PyAny>>,
    algorithms: Option<&Bound<'py, PyAny>>,
    drift: bool,
) -> PyResult<String> {
    let request = engine::request(request_json).map_err(|error| PyValueError::new_err(format!("request: {error}")))?;
    let algorithms = algorithms.map(PythonAlgorithms::new).transpose()?;
    background::run(py, request, &Listeners { progress, tensor_log }, algorithms, drift)?.map_err(engine::Failure::raise)
}

/// The native module `msprobe._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<view::Viewer>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EngineError", module.py().get_type::<EngineError>())?;
    module.add_function(wrap_pyfunction!(graph_visualize, module)?)?;
    module.add_function(wrap_pyfunction!(page::tree_page, module)?)?;
    module.add_function(wrap_pyfunction!(report::report_file, module)?)?;
    module.add_function(wrap_pyfunction!(report::tree, module)?)?;
    module.add_class::<report::Rows>()?;
    module.add_function(wrap_pyfunction!(mapping::suggest_mapping, module)?)?;
    module.add_function(wrap_pyfunction!(tensor::tensor_info, module)?)?;
    module.add_function(wrap_pyfunction!(tensor::read_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(tensor::compare_tensors, module)?)?;
    Ok(())
}
