//! Tensor files for Python.

use std::path::PathBuf;

use msprobe_core::metrics::tensor::{self, TensorComparison, COLUMNS};
use msprobe_core::tensor::{open, Container, Dtype, Error, Reason, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::EngineError;

fn refused(path: &std::path::Path, reason: Reason) -> PyErr {
    EngineError::new_err((1, Error::new(path, reason).to_string()))
}

/// Shape and name of the type of single values: the packed type has a last dimension of two more.
fn seen(tensor: &Tensor) -> (Vec<u64>, &'static str) {
    let name = if tensor.dtype == Dtype::F4E2M1x2 { "float4_e2m1fn" } else { tensor.dtype.name() };
    (tensor.values().shape, name)
}

/// What a `.pt` or `.npy` file holds, without reading its elements.
#[pyfunction]
#[pyo3(signature = (path, dtype=None))]
#[allow(clippy::needless_pass_by_value)] // PyO3 hands over a path it has made
pub fn tensor_info<'py>(py: Python<'py>, path: PathBuf, dtype: Option<&str>) -> PyResult<Bound<'py, PyDict>> {
    let tensor = py.allow_threads(|| open(&path, dtype)).map_err(|reason| refused(&path, reason))?;
    let info = PyDict::new(py);
    info.set_item("dtype", tensor.dtype.name())?;
    info.set_item("shape", tensor.layout.shape)?;
    info.set_item("strides", tensor.layout.strides)?;
    info.set_item("offset", tensor.layout.offset)?;
    info.set_item("container", if tensor.container == Container::Pt { "pt" } else { "npy" })?;
    info.set_item("big_endian", tensor.swapped)?;
    Ok(info)
}

/// Type, shape and elements, row-major and in native byte order.
#[pyfunction]
#[pyo3(signature = (path, dtype=None, limit=u64::MAX))]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn read_tensor<'py>(
    py: Python<'py>,
    path: PathBuf,
    dtype: Option<&str>,
    limit: u64,
) -> PyResult<(&'static str, Vec<u64>, Bound<'py, PyBytes>)> {
    let read = || {
        let tensor = open(&path, dtype)?;
        let mut elements = Vec::new();
        tensor.copy_to(&mut elements, limit)?;
        Ok((tensor, elements))
    };
    let (tensor, elements) = py.allow_threads(read).map_err(|reason| refused(&path, reason))?;
    let (shape, name) = seen(&tensor);
    Ok((name, shape, PyBytes::new(py, &elements)))
}

/// The numbers of two files, as a comparison of dumps has them.
#[pyfunction]
#[pyo3(signature = (target, golden, target_dtype=None, golden_dtype=None))]
#[allow(clippy::needless_pass_by_value)] // as above
pub fn compare_tensors<'py>(
    py: Python<'py>,
    target: PathBuf,
    golden: PathBuf,
    target_dtype: Option<&str>,
    golden_dtype: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let compare = || {
        let n = open(&target, target_dtype).map_err(|reason| Error::new(&target, reason))?;
        let b = open(&golden, golden_dtype).map_err(|reason| Error::new(&golden, reason))?;
        tensor::compare_tensors(&n, &b).map_err(|reason| Error::new(&target, reason))
    };
    let found = py.allow_threads(compare).map_err(|error| EngineError::new_err((1, error.to_string())))?;
    comparison(py, found)
}

fn comparison(py: Python<'_>, found: TensorComparison) -> PyResult<Bound<'_, PyDict>> {
    let answer = PyDict::new(py);
    let metrics = PyDict::new(py);
    for (column, cell) in COLUMNS.iter().zip(found.cells) {
        match cell.word() {
            Ok(word) => metrics.set_item(column, word)?,
            Err(number) => metrics.set_item(column, number)?,
        }
    }
    answer.set_item("metrics", metrics)?;
    answer.set_item("message", found.message)?;
    answer.set_item("reason", found.reason)?;
    if let Some(extra) = found.extra {
        answer.set_item("largest_at", extra.largest_at)?;
        answer.set_item("equal", extra.equal)?;
        answer.set_item("nan", extra.nan)?;
        answer.set_item("inf", extra.infinite)?;
        answer.set_item("ulp", extra.ulp)?;
    }
    Ok(answer)
}
