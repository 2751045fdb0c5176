//! Python bindings: argument conversion, error mapping and the progress callback. No logic of its own.

mod view;

use pyo3::prelude::*;

/// The native module `msprobe._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<view::Viewer>()?;
    Ok(())
}
