//! Questions to the rows of a file (`visdb::read::lenient`), with the viewer's errors and time limits.

use super::error::ViewError;
use super::file::VisFile;
use crate::visdb::read::lenient;
pub(crate) use crate::visdb::read::lenient::{overflow_code, Config, Details, Direct, Place, Shape, TensorFacts, Told};

/// Longest time the reading of a whole step and rank may take.
const SCAN_LIMIT: std::time::Duration = std::time::Duration::from_secs(900);

/// Calls `each` for every node of one step and rank, in the order of the file.
pub(crate) fn scan_shape(file: &VisFile, step: i64, rank: i64, each: impl FnMut(Shape<'_>)) -> Result<(), ViewError> {
    file.limit_time(SCAN_LIMIT);
    file.ask(|conn| lenient::scan_shape(conn, file.indexed, step, rank, each))
}

/// The parameter columns of every target node of one step and rank: row number, inputs, outputs.
pub(crate) fn scan_parameters(file: &VisFile, step: i64, rank: i64, each: impl FnMut(i64, &str, &str)) -> Result<(), ViewError> {
    file.limit_time(SCAN_LIMIT);
    file.ask(|conn| lenient::scan_parameters(conn, file.indexed, step, rank, each))
}

/// The compared tensors of a target node; none in files without such a table.
pub(crate) fn tensors(file: &VisFile, step: i64, rank: i64, node: &str) -> Result<Vec<TensorFacts>, ViewError> {
    file.ask(|conn| lenient::tensors(conn, step, rank, node))
}

/// What the run that wrote the file found of this kind.
pub(crate) fn told(file: &VisFile, step: i64, rank: i64, kind: &str) -> Result<Told, ViewError> {
    file.ask(|conn| lenient::told(conn, step, rank, kind))
}

/// Reads `tb_config`; `None` if it has no row.
pub(crate) fn config(file: &VisFile) -> Result<Option<Config>, ViewError> {
    file.ask(lenient::config)
}

/// The (step, rank) pairs that have nodes.
pub(crate) fn graphs(file: &VisFile) -> Result<Vec<(i64, i64)>, ViewError> {
    file.ask(|conn| lenient::graphs(conn, file.indexed))
}

/// Children of `parent` (of empty name: the root) in order; `micro` limits to one micro step.
pub(crate) fn children(file: &VisFile, parent: &Place, micro: Option<u32>, from: usize, limit: usize) -> Result<Vec<Direct>, ViewError> {
    file.ask(|conn| lenient::children(conn, parent, micro, from, limit))
}

/// How many children `parent` has.
pub(crate) fn count_children(file: &VisFile, parent: &Place, micro: Option<u32>) -> Result<usize, ViewError> {
    file.ask(|conn| lenient::count_children(conn, parent, micro))
}

/// The output rows of one node as text; empty if it has none.
pub(crate) fn outputs(file: &VisFile, rowid: i64) -> Result<String, ViewError> {
    file.ask(|conn| lenient::outputs(conn, rowid))
}

/// The place of a row number.
pub(crate) fn place(file: &VisFile, rowid: i64) -> Result<Place, ViewError> {
    file.ask(|conn| lenient::place(conn, rowid))?.ok_or_else(|| no_row(file, rowid))
}

/// The place of a name.
pub(crate) fn find(file: &VisFile, step: i64, rank: i64, side: usize, name: &str) -> Result<Option<Place>, ViewError> {
    file.ask(|conn| lenient::find(conn, step, rank, side, name))
}

/// The row number of a name. The index alone answers, so that thousands of them are found in no time.
pub(crate) fn find_row(file: &VisFile, step: i64, rank: i64, side: usize, name: &str) -> Result<Option<i64>, ViewError> {
    file.ask(|conn| lenient::find_row(conn, step, rank, side, name))
}

/// Reads one node whole.
pub(crate) fn details(file: &VisFile, rowid: i64) -> Result<Details, ViewError> {
    file.ask(|conn| lenient::details(conn, rowid))?.ok_or_else(|| no_row(file, rowid))
}

fn no_row(file: &VisFile, rowid: i64) -> ViewError {
    ViewError::NoNode(format!("{}: there is no node number {rowid}", file.shown))
}
