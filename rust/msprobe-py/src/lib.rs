//! Python bindings: argument conversion, error mapping and the progress callback. No logic of its own.

use pyo3::prelude::*;

/// The native module `msprobe._native`.
#[pymodule]
fn _native(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
