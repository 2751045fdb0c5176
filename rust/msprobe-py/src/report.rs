//! Questions to a finished file.

use std::ffi::CString;
use std::path::PathBuf;
use std::time::Duration;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use msprobe_core::report::{self, Format, Only, Options, Selection, Shown, Table};
use msprobe_core::visdb::{GraphId, Side};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::background;
use crate::engine::Failure;

/// Where two runs first part, as JSON (`docs/report.schema.json`).
#[pyfunction(name = "report")]
#[pyo3(signature = (path, *, step=None, rank=None, top=5, only=None, noise=None, noise_twin=None, drift=true))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // keyword arguments of a Python function, a path that PyO3 has made
pub fn report_file(
    py: Python<'_>,
    path: PathBuf,
    step: Option<i64>,
    rank: Option<i64>,
    top: usize,
    only: Option<&str>,
    noise: Option<f64>,
    noise_twin: Option<PathBuf>,
    drift: bool,
) -> PyResult<String> {
    let only = only
        .map(|name| Only::from_text(name).ok_or_else(|| PyValueError::new_err(format!("only: {name:?} is no class of nodes"))))
        .transpose()?;
    let noise_multiple = noise.unwrap_or(report::MULTIPLE);
    if !(noise_multiple.is_finite() && noise_multiple > 0.0) {
        return Err(PyValueError::new_err("noise: a positive number of epsilons"));
    }
    let options = Options { step, rank, top, only, noise_multiple, noise_twin, ..Options::default() };
    background::answer(py, Duration::ZERO, move |_| {
        let mut report = report::report(&path, &options).map_err(|error| Failure::of(&error))?;
        if !drift {
            report.forget_drift();
        }
        Ok(serde_json::to_string(&report).unwrap_or_else(|_| "null".to_owned()))
    })
}

/// Rows of a file as Arrow: any library that knows `__arrow_c_stream__` takes them without a copy.
#[pyclass(frozen)]
pub struct Rows {
    path: PathBuf,
    selection: Selection,
}

#[pymethods]
impl Rows {
    #[new]
    #[pyo3(signature = (path, *, rows="parameters", golden=false, step=None, rank=None))]
    fn new(path: PathBuf, rows: &str, golden: bool, step: Option<i64>, rank: Option<i64>) -> PyResult<Self> {
        let rows = match rows {
            "parameters" => report::Rows::Parameters,
            "nodes" => report::Rows::Nodes,
            other => return Err(PyValueError::new_err(format!("rows: {other:?} is neither 'nodes' nor 'parameters'"))),
        };
        let side = if golden { Side::Golden } else { Side::Target };
        Ok(Rows { path, selection: Selection { rows, side, step, rank } })
    }

    /// A capsule with a new `ArrowArrayStream` over the rows; batches are read as they are asked for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(&self, py: Python<'py>, requested_schema: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer that cannot cast give what it has.
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(self.table()?));
        PyCapsule::new(py, stream, Some(CString::from(c"arrow_array_stream")))
    }

    #[allow(clippy::needless_pass_by_value)] // a path that PyO3 has made
    /// Writes the rows to a file and returns their number; `kind` is `csv`, `json` or `xlsx`.
    fn export(&self, py: Python<'_>, path: PathBuf, kind: &str) -> PyResult<u64> {
        let format = match kind {
            "csv" => Format::Csv,
            "json" => Format::Json,
            "xlsx" => Format::Xlsx,
            other => return Err(PyValueError::new_err(format!("kind: {other:?} is none of 'csv', 'json', 'xlsx'"))),
        };
        let table = self.table()?;
        background::answer(py, background::CLEAN_UP, move |unwanted| {
            report::export(table, &path, format, unwanted).map_err(|error| Failure::of(&error))
        })
    }
}

impl Rows {
    fn table(&self) -> PyResult<Table> {
        Table::open(&self.path, self.selection).map_err(|error| Failure::of(&error).raise())
    }
}

/// The tree below a node as JSON: `{"step": int, "rank": int, "places": int, "lines": [...], "more": bool}`, of the step and rank where the
/// runs first part if none is asked for.
#[pyfunction]
#[pyo3(signature = (path, node=None, *, depth=None, golden=false, step=None, rank=None, first_difference=false, limit=1000))]
#[allow(clippy::too_many_arguments)] // the keyword arguments of a Python function
pub fn tree(
    py: Python<'_>,
    path: PathBuf,
    node: Option<String>,
    depth: Option<u32>,
    golden: bool,
    step: Option<u64>,
    rank: Option<u64>,
    first_difference: bool,
    limit: usize,
) -> PyResult<String> {
    let shown = Shown { node, depth, first_difference, limit };
    background::answer(py, Duration::ZERO, move |_| {
        let side = if golden { Side::Golden } else { Side::Target };
        let found = report::place_to_show(&path, step, rank).and_then(|at| {
            let (lines, more) = report::tree(&path, GraphId { step: at.step, rank: at.rank, side }, &shown)?;
            Ok(serde_json::json!({ "step": at.step, "rank": at.rank, "places": at.places, "lines": lines, "more": more }))
        });
        found.map(|found| found.to_string()).map_err(|error| Failure::of(&error))
    })
}
