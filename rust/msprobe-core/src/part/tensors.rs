//! The tensor files that the rows of two nodes name.

use std::path::Path;

use super::Error;
use crate::dump::json::Value;
use crate::dump::rows::{Field, Row, RowClass};
use crate::graph::NodeId;
use crate::metrics::tensor::{compare_pair, Extra, Side, TensorComparison, COLUMNS, NO_FILE};
use crate::tensor::TensorFolder;
use crate::text::python;
use crate::visdb::{schema, Cell, Writer};

/// Where the tensors of both sides are.
#[derive(Debug)]
pub struct TensorFolders {
    target: TensorFolder,
    golden: TensorFolder,
}

impl TensorFolders {
    /// The folders of two ranks.
    pub(super) fn beside(target: &Path, golden: &Path) -> TensorFolders {
        TensorFolders { target: TensorFolder::beside(target), golden: TensorFolder::beside(golden) }
    }

    /// The folders themselves, as a result file names them.
    #[must_use]
    pub fn at(target: &Path, golden: &Path) -> TensorFolders {
        TensorFolders { target: TensorFolder::open(target), golden: TensorFolder::open(golden) }
    }

    /// Compares the tensors of two rows; a target row that nothing faces counts as one whose golden side has no file.
    pub(super) fn compare(&self, target: &Row<'_>, golden: Option<&Row<'_>>) -> TensorComparison {
        let alone = Side { folder: &self.golden, data_name: NO_FILE, dtype: None };
        compare_pair(side(&self.target, target), golden.map_or(alone, |row| side(&self.golden, row)))
    }
}

/// The two lines that the log of the reference has for a pair.
pub(super) fn log_lines(name: &str, found: &TensorComparison) -> [String; 2] {
    let mut line = format!("[{name}] Compare result: ");
    if found.message.contains("does not have data file") {
        line.push_str(&found.message);
        line.push(' ');
    } else {
        for (column, cell) in COLUMNS.iter().zip(found.cells) {
            line.push_str(column);
            line.push(' ');
            match cell.word() {
                Ok(word) => line.push_str(word),
                Err(number) => {
                    let mut text = Vec::new();
                    python::push_float(&mut text, number);
                    line.push_str(&String::from_utf8_lossy(&text));
                }
            }
            line.push_str(", ");
        }
        line.push_str(&found.message);
    }
    [format!("start compare: {name}"), line]
}

fn side<'r>(folder: &'r TensorFolder, row: &'r Row<'_>) -> Side<'r> {
    let dtype = match row.get(Field::Dtype) {
        Value::Str(text) => Some(text),
        _ => None,
    };
    Side { folder, data_name: row.data_name(), dtype }
}

/// A row of `msprobe_tensor`.
pub(super) struct TensorRow {
    pub node: NodeId,
    place: &'static str,
    name: String,
    extra: Extra,
}

impl TensorRow {
    /// The row of a pair that was looked at.
    pub(super) fn new(node: NodeId, row: &Row<'_>, found: &TensorComparison) -> Option<TensorRow> {
        let place = if row.class == RowClass::Output { "output" } else { "input" };
        Some(TensorRow { node, place, name: row.name.to_owned(), extra: found.extra.clone()? })
    }

    /// Adds the row behind the cells of step and rank.
    pub(super) fn write(&self, [step, rank]: [Cell<'_>; 2], node: &str, writer: &mut Writer) -> Result<(), Error> {
        let extra = &self.extra;
        let largest_at = extra.largest_at.as_ref().map(|index| format!("{index:?}"));
        let count = |n: u64| Cell::Integer(i64::try_from(n).unwrap_or(i64::MAX));
        writer.add_row(
            &schema::TENSOR,
            &[
                step,
                rank,
                Cell::Text(node),
                Cell::Text(self.place),
                Cell::Text(&self.name),
                largest_at.as_deref().map_or(Cell::Null, Cell::Text),
                Cell::Real(extra.equal),
                count(extra.nan[0]),
                count(extra.nan[1]),
                count(extra.infinite[0]),
                count(extra.infinite[1]),
                Cell::Real(extra.ulp),
            ],
        )?;
        Ok(())
    }
}
