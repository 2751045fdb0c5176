//! A table as a file for other programs: CSV, JSON or a workbook, written batch by batch.

use super::table::Table;
use super::workbook;
use crate::text::message::system;
use crate::text::{json, python};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Kind of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a head line. Texts that a spreadsheet would run begin with an apostrophe.
    Csv,
    /// One JSON list of objects, one a line. Numbers that JSON lacks are the texts `nan`, `inf`, `-inf`.
    Json,
    /// A workbook of Excel, with further sheets when one is full (see `workbook`). Texts never run; numbers that it lacks are
    /// the texts `nan`, `inf`, `-inf`.
    Xlsx,
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The result file cannot be read on.
    #[error("{0}")]
    Read(String),
    /// The file cannot be written.
    #[error("{}: cannot be written: {reason}", path.display())]
    Write {
        /// The file that was asked for.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl From<ArrowError> for ExportError {
    fn from(error: ArrowError) -> Self {
        ExportError::Read(match error {
            ArrowError::ExternalError(ours) => ours.to_string(),
            other => other.to_string(),
        })
    }
}

/// Rows for which somebody waits.
struct Wanted<'a> {
    table: Table,
    unwanted: &'a AtomicBool,
}

impl Iterator for Wanted<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.unwanted.load(Ordering::Relaxed) {
            return Some(Err(ArrowError::ComputeError("interrupted".to_owned())));
        }
        self.table.next()
    }
}

impl RecordBatchReader for Wanted<'_> {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }
}

/// Writes all rows of `table` to `path` and returns their number. The file gets its name when it is complete; if it is
/// `unwanted` before that, nothing is left.
pub fn export(table: Table, path: &Path, format: Format, unwanted: &AtomicBool) -> Result<u64, ExportError> {
    let title = table.title();
    let table = Wanted { table, unwanted };
    let failed = |error: std::io::Error| ExportError::Write { path: path.to_owned(), reason: reason(&error) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let partial = tempfile::Builder::new().prefix(".export-").tempfile_in(folder).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 20, partial.as_file());
    let rows = match format {
        Format::Csv => csv(table, &mut out, &failed)?,
        Format::Json => json_list(table, &mut out, &failed)?,
        Format::Xlsx => workbook::write(table, title, &mut out, &workbook::EXCEL, &failed)?,
    };
    out.flush().map_err(failed)?;
    drop(out);
    allow_reading(partial.as_file()).map_err(failed)?;
    partial.persist(path).map_err(|error| failed(error.error))?;
    Ok(rows)
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "its folder is missing; make it first".to_owned(),
        _ => system(error),
    }
}

/// Temporary files are for their owner alone, results are not.
fn allow_reading(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o640))
}

fn csv<E: Fn(std::io::Error) -> ExportError>(table: impl RecordBatchReader, out: &mut impl Write, failed: &E) -> Result<u64, ExportError> {
    let names: Vec<_> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    writeln!(out, "{}", names.join(",")).map_err(failed)?;
    let mut rows = 0;
    let mut line = Vec::new();
    for batch in table {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            line.clear();
            for column in 0..batch.num_columns() {
                if column > 0 {
                    line.push(b',');
                }
                match value(&batch, column, row) {
                    Value::Null => {}
                    Value::Integer(integer) => line.extend_from_slice(integer.to_string().as_bytes()),
                    Value::Number(number) => python::push_float(&mut line, number),
                    Value::Text(text) => push_field(&mut line, text),
                }
            }
            line.push(b'\n');
            out.write_all(&line).map_err(failed)?;
        }
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}

/// A text as a field, quoted where it has to be.
fn push_field(out: &mut Vec<u8>, text: &str) {
    let runs = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let quoted = text.contains(['"', ',', '\n', '\r']);
    if quoted {
        out.push(b'"');
    }
    if runs {
        out.push(b'\'');
    }
    for &byte in text.as_bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    if quoted {
        out.push(b'"');
    }
}

fn json_list<E: Fn(std::io::Error) -> ExportError>(
    table: impl RecordBatchReader,
    out: &mut impl Write,
    failed: &E,
) -> Result<u64, ExportError> {
    let schema = table.schema();
    let mut rows = 0u64;
    let mut line = Vec::new();
    for batch in table {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            line.clear();
            line.extend_from_slice(if rows == 0 { b"[\n{" } else { b",\n{" });
            for (column, field) in schema.fields().iter().enumerate() {
                if column > 0 {
                    line.push(b',');
                }
                json::push_string(&mut line, field.name());
                line.push(b':');
                match value(&batch, column, row) {
                    Value::Null => line.extend_from_slice(b"null"),
                    Value::Integer(integer) => line.extend_from_slice(integer.to_string().as_bytes()),
                    Value::Number(number) if number.is_finite() => python::push_float(&mut line, number),
                    Value::Number(number) => {
                        line.push(b'"');
                        python::push_float(&mut line, number);
                        line.push(b'"');
                    }
                    Value::Text(text) => json::push_string(&mut line, text),
                }
            }
            line.push(b'}');
            out.write_all(&line).map_err(failed)?;
            rows += 1;
        }
    }
    out.write_all(if rows == 0 { b"[]\n" } else { b"\n]\n" }).map_err(failed)?;
    Ok(rows)
}

/// A cell of a batch.
pub(super) enum Value<'a> {
    Null,
    Integer(i64),
    Number(f64),
    Text(&'a str),
}

/// The cell in that column and row.
pub(super) fn value(batch: &RecordBatch, column: usize, row: usize) -> Value<'_> {
    let array = batch.column(column);
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Int64 => Value::Integer(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Number(array.as_primitive::<Float64Type>().value(row)),
        _ => Value::Text(array.as_string::<i32>().value(row)),
    }
}

#[cfg(test)]
mod tests {
    use super::push_field;

    #[test]
    fn fields_are_quoted_and_never_run() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("@cmd,x", "\"'@cmd,x\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            let mut out = Vec::new();
            push_field(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
