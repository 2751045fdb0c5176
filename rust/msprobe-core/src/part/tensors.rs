//! The tensor files that the rows of two nodes name.

use std::path::Path;

use super::Error;
use crate::dump::json::Value;
use crate::dump::rows::{Field, Row, RowClass};
use crate::graph::NodeId;
use crate::metrics::tensor::{compare_pair, compare_pair_and, Algorithms, Answer, Batch, Extra, Side, TensorComparison, COLUMNS, NO_FILE};
use crate::tensor::{Tensor, TensorFolder};
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
    /// `asked` keeps the tensors for the algorithms of the user.
    pub(super) fn compare(&self, target: &Row<'_>, golden: Option<&Row<'_>>, asked: Option<&mut Asked<'_>>) -> TensorComparison {
        let alone = Side { folder: &self.golden, data_name: NO_FILE, dtype: None };
        let (target, golden) = (side(&self.target, target), golden.map_or(alone, |row| side(&self.golden, row)));
        match asked {
            Some(asked) => compare_pair_and(target, golden, |n, b, found| asked.push(n, b, found)),
            None => compare_pair(target, golden),
        }
    }
}

/// The pairs of one node for which the algorithms of the user are asked.
pub(super) struct Asked<'q> {
    algorithms: &'q dyn Algorithms,
    batch: &'q mut Batch,
    /// The row at hand.
    row: usize,
    rows: Vec<usize>,
    answers: Vec<(usize, Vec<Answer>)>,
}

/// Bytes of arrays that are kept before the algorithms are asked.
const BATCH: usize = 16 << 20;

impl<'q> Asked<'q> {
    pub(super) fn new(algorithms: &'q dyn Algorithms, batch: &'q mut Batch) -> Self {
        batch.clear();
        Asked { algorithms, batch, row: 0, rows: Vec::new(), answers: Vec::new() }
    }

    /// The next pair belongs to this row.
    pub(super) fn at(&mut self, row: usize) -> &mut Self {
        self.row = row;
        self
    }

    fn push(&mut self, target: &Tensor, golden: &Tensor, found: &TensorComparison) {
        // Tensors of one element keep their NaN and infinities.
        let finite = !target.values().squeezed().is_empty();
        let odd = found.extra.as_ref().is_some_and(|extra| extra.nan.iter().chain(&extra.infinite).any(|count| *count > 0));
        if self.batch.push(target, golden, finite && odd).is_ok() {
            self.rows.push(self.row);
        } else {
            self.answers.push((self.row, vec![Answer::Failed; self.algorithms.columns().len()]));
        }
        if self.batch.buffer.len() > BATCH {
            self.ask();
        }
    }

    fn ask(&mut self) {
        if !self.rows.is_empty() {
            self.answers.extend(self.rows.drain(..).zip(self.algorithms.measure(self.batch)));
            self.batch.clear();
        }
    }

    /// All answers, by row.
    pub(super) fn finish(mut self) -> Vec<(usize, Vec<Answer>)> {
        self.ask();
        self.answers
    }
}

/// The cell of an algorithm that failed.
pub(super) const FAILED: &str = "unsupported";

/// The two lines that the log of the reference has for a pair.
pub(super) fn log_lines(name: &str, found: &TensorComparison, columns: &[String]) -> [String; 2] {
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
        for (index, column) in columns.iter().enumerate() {
            let answer = match found.answers.get(index) {
                Some(Answer::Number(text) | Answer::Text(text)) => text,
                Some(Answer::Failed) => FAILED,
                None => found.cells[0].word().unwrap_or_default(),
            };
            line.extend([column, " ", answer, ", "]);
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
