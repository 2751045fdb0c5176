//! The algorithms of the user, which are Python functions.

use msprobe_core::metrics::tensor::{Algorithms, Answer, Batch};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// A Python object with `columns`, a list of names, and `measure(buffer, pairs)`, which answers with a list of cells per pair:
/// None where an algorithm failed, else whether the cell is a text, and the text of the cell.
#[derive(Debug)]
pub struct PythonAlgorithms {
    columns: Vec<String>,
    measure: Py<PyAny>,
}

impl PythonAlgorithms {
    /// Takes the two parts of the object.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { columns: object.getattr("columns")?.extract()?, measure: object.getattr("measure")?.unbind() })
    }

    fn ask(&self, py: Python<'_>, batch: &Batch) -> PyResult<Vec<Vec<Answer>>> {
        let side = |pair: &msprobe_core::metrics::tensor::Array| (pair.dtype, pair.shape.clone(), pair.start, pair.elements);
        let pairs: Vec<_> = batch.pairs.iter().map(|[n, b]| (side(n), side(b))).collect();
        let cells: Vec<Vec<Option<(bool, String)>>> = self.measure.call1(py, (PyByteArray::new(py, &batch.buffer), pairs))?.extract(py)?;
        let answer = |cell| match cell {
            None => Answer::Failed,
            Some((true, text)) => Answer::Text(text),
            Some((false, number)) => Answer::Number(number),
        };
        Ok(cells.into_iter().map(|row| row.into_iter().map(answer).collect()).collect())
    }
}

impl Algorithms for PythonAlgorithms {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn measure(&self, batch: &Batch) -> Vec<Vec<Answer>> {
        Python::with_gil(|py| {
            self.ask(py, batch).unwrap_or_else(|error| {
                // `measure` catches what the algorithms raise; this is memory that ran out, or a defect of ours.
                error.print(py);
                vec![vec![Answer::Failed; self.columns.len()]; batch.pairs.len()]
            })
        })
    }
}
