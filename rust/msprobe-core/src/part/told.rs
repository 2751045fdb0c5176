//! The facts of a target node from its rows while they are at hand: the same that its stored row gives when it is read back.

use std::borrow::Cow;

use super::compare::{Numbers, RowResult};
use crate::dump::json::{push_repr, Value};
use crate::dump::rows::{Field, Row, RowKind};
use crate::facts::{self, measure, tensor_epsilon, Cells, NodeFacts, Verdict};
use crate::metrics::{statistics, tensor};
use crate::text::stored;
use crate::verdict;
use crate::visdb::Task;

/// Takes in a row; `compared` is there if the stored row has the columns of a comparison.
pub(super) fn push_row(node: &mut NodeFacts, name: &str, row: &Row<'_>, is_output: bool, compared: Option<&RowResult>, task: Task) {
    node.push_row(name, row.name, is_output, measure(&cells(row, compared), task));
}

/// The coarsest epsilon of the tensors among `rows`.
pub(super) fn coarsest(rows: &[Row<'_>]) -> f32 {
    rows.iter().map(|row| tensor_epsilon(&cells(row, None))).fold(0.0, f32::max)
}

/// The verdict of a node as its facts tell it.
pub(super) fn verdict(verdict: Option<verdict::Verdict>) -> Verdict {
    match verdict {
        None => Verdict::NotCompared,
        Some(verdict::Verdict::Pass) => Verdict::Pass,
        Some(verdict::Verdict::Warning) => Verdict::Warning,
        Some(verdict::Verdict::Error) => Verdict::Error,
    }
}

fn cells<'r>(row: &Row<'r>, compared: Option<&RowResult>) -> Cells<'r> {
    if row.kind == RowKind::Null {
        return Cells { value: text("null"), ..Cells::default() };
    }
    if row.is_process_group() {
        return Cells { kind: cell(row, Field::Type), ..Cells::default() };
    }
    let mut cells = Cells {
        kind: cell(row, Field::Type),
        dtype: cell(row, Field::Dtype),
        shape: cell(row, Field::Shape),
        value: cell(row, Field::Value),
        statistics: [Field::Max, Field::Min, Field::Mean, Field::Norm].map(|field| cell(row, field)),
        ..Cells::default()
    };
    let Some(result) = compared else { return cells };
    match &result.numbers {
        Numbers::Blank => {}
        Numbers::Statistics(found) => cells.differences = found.0.map(|difference| statistic(difference.absolute)),
        Numbers::Tensor(found) => {
            let [_, euclid, max_abs, max_relative, ..] = found.cells.map(distance);
            (cells.euclid, cells.max_abs, cells.max_relative) = (euclid, max_abs, max_relative);
        }
    }
    cells.result = text(result.judged.verdict.as_str());
    cells.messages = messages(result);
    cells
}

fn text(text: &str) -> facts::Cell<'_> {
    facts::Cell::Text(Cow::Borrowed(text))
}

/// A field as [`crate::dump::push_stored`] stores it.
fn cell<'r>(row: &Row<'r>, field: Field) -> facts::Cell<'r> {
    if !row.has(field) {
        return facts::Cell::None;
    }
    match row.get(field) {
        Value::Str(value) => facts::Cell::Text(stored::cleaned(value)),
        Value::Null => text("null"),
        Value::Bool(true) => text("True"),
        Value::Bool(false) => text("False"),
        Value::Int(digits) => text(digits),
        Value::Float(value) => facts::Cell::Number(value),
        value @ (Value::List(_) | Value::Object(_)) => {
            let mut out = Vec::new();
            push_repr(&mut out, value);
            facts::Cell::Text(Cow::Owned(String::from_utf8_lossy(&out).into_owned()))
        }
    }
}

fn statistic(cell: statistics::Cell) -> facts::Cell<'static> {
    match cell {
        statistics::Cell::Blank => text(" "),
        statistics::Cell::NotApplicable => text("N/A"),
        statistics::Cell::Nan => facts::Cell::Number(f64::NAN),
        statistics::Cell::Int(value) => facts::Cell::Number(value as f64),
        statistics::Cell::Float(value) | statistics::Cell::Percent(value) => facts::Cell::Number(value),
    }
}

fn distance(cell: tensor::Cell) -> facts::Cell<'static> {
    match cell.word() {
        Ok(word) => text(word),
        Err(number) => facts::Cell::Number(number),
    }
}

/// The messages, which are looked through for words only.
fn messages(result: &RowResult) -> facts::Cell<'static> {
    let mut all: Cow<'static, str> = match result.judged.messages.as_slice() {
        [] => Cow::Borrowed(""),
        [only] => Cow::Borrowed(*only),
        several => Cow::Owned(several.join(", ")),
    };
    if let Some(reason) = &result.reason {
        all.to_mut().push_str(reason);
    }
    facts::Cell::Text(all)
}
