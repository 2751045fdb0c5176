//! Rows as JSON text: the values of `input_data` and `output_data`.

use super::compare::{Numbers, RowResult};
use super::tensors::FAILED;
use crate::dump::push_stored;
use crate::dump::rows::{Field, Key, Row, RowKind};
use crate::metrics::statistics::{Cell, Differences};
use crate::metrics::tensor::{Answer, TensorComparison};
use crate::metrics::{tensor, Mode};
use crate::text::{json, python, stored};

/// What decides which fields of a row are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'s> {
    /// Checksums are shown: an md5 comparison, or a build of an md5 dump.
    pub md5: bool,
    /// The node bundles point-to-point operations, whose own fields are left out.
    pub batched_p2p: bool,
    /// Columns of the user's algorithms.
    pub columns: &'s [String],
}

const P2P_FIELDS: [&str; 4] = ["op", "peer", "tag", "group_id"];
const PROCESS_GROUP_FIELDS: [&str; 4] = ["type", "group_ranks", "group_id", "data_name"];
/// Columns of the absolute differences of a comparison of statistics.
pub const DIFFERENCES: [&str; 4] = ["Max diff", "Min diff", "Mean diff", "L2norm diff"];
/// Columns of its relative errors.
pub const RELATIVE_ERRORS: [&str; 4] = ["MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"];
/// Columns that every comparison adds, whatever the mode.
pub const JUDGED: [&str; 3] = ["Requires_grad Consistent", "Result", "Err_message"];

/// Appends `"<name>": {<fields>}`, with the columns of a comparison behind the fields if there is one.
pub(super) fn push_row(out: &mut Vec<u8>, row: &Row<'_>, shown: Shown<'_>, compared: Option<(Mode, &RowResult)>) {
    json::push_string(out, row.name);
    out.extend_from_slice(b": {");
    if row.kind == RowKind::Null {
        out.extend_from_slice(b"\"value\": \"null\"}");
        return;
    }
    let start = out.len();
    let process_group = row.is_process_group();
    for &(key, value) in &row.fields {
        let hidden = (key == Key::Known(Field::Md5) && !shown.md5)
            || (shown.batched_p2p && P2P_FIELDS.contains(&key.text()))
            || (process_group && !PROCESS_GROUP_FIELDS.contains(&key.text()));
        if !hidden {
            match key {
                Key::Known(field) => out.extend_from_slice(field.quoted().as_bytes()),
                Key::Other(text) => {
                    json::push_string(out, text);
                    out.extend_from_slice(b": ");
                }
            }
            push_stored(out, value);
            out.extend_from_slice(b", ");
        }
    }
    if let Some((mode, result)) = compared {
        if !process_group {
            push_comparison(out, mode, result, shown.columns);
        }
    }
    if out.len() > start {
        out.truncate(out.len() - 2);
    }
    out.push(b'}');
}

/// Appends the columns of a comparison, each followed by a comma and a blank.
pub(super) fn push_comparison(out: &mut Vec<u8>, mode: Mode, result: &RowResult, columns: &[String]) {
    match (mode, &result.numbers) {
        (_, Numbers::Statistics(differences)) => push_differences(out, differences),
        (_, Numbers::Tensor(found)) => push_tensor_cells(out, found, columns),
        (Mode::Statistics, Numbers::Blank) => push_differences(out, &Differences::BLANK),
        (_, Numbers::Blank) => {}
    }
    let consistent: &[u8] = match (mode, result.same_requires_grad) {
        (_, true) => b"\"Requires_grad Consistent\": \"True\", ",
        (_, false) => b"\"Requires_grad Consistent\": \"False\", ",
    };
    let push_result = |out: &mut Vec<u8>| {
        out.extend_from_slice(b"\"Result\": \"");
        out.extend_from_slice(result.judged.verdict.as_str().as_bytes());
        out.extend_from_slice(b"\", ");
    };
    if mode == Mode::Md5 {
        push_result(out);
        out.extend_from_slice(consistent);
    } else {
        out.extend_from_slice(consistent);
        push_result(out);
    }
    push_messages(out, result);
}

fn push_differences(out: &mut Vec<u8>, differences: &Differences) {
    for (key, difference) in DIFFERENCES.iter().zip(&differences.0) {
        push_cell(out, key, difference.absolute);
    }
    for (key, difference) in RELATIVE_ERRORS.iter().zip(&differences.0) {
        push_cell(out, key, difference.relative);
    }
}

/// Appends the columns of two tensors, those of the user's algorithms last.
fn push_tensor_cells(out: &mut Vec<u8>, found: &TensorComparison, columns: &[String]) {
    for (key, cell) in tensor::COLUMNS.iter().zip(found.cells) {
        out.push(b'"');
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\": \"");
        match cell.word() {
            Ok(word) => out.extend_from_slice(word.as_bytes()),
            Err(number) => python::push_float(out, number),
        }
        out.extend_from_slice(b"\", ");
    }
    for (index, column) in columns.iter().enumerate() {
        json::push_string(out, column);
        out.extend_from_slice(b": ");
        match found.answers.get(index) {
            Some(Answer::Number(text)) => json::push_string(out, text),
            Some(Answer::Text(text)) => stored::push_cleaned_json(out, text),
            Some(Answer::Failed) => json::push_string(out, FAILED),
            // Where the built-in columns have no numbers, all of them have the same word.
            None => json::push_string(out, found.cells[0].word().unwrap_or_default()),
        }
        out.extend_from_slice(b", ");
    }
}

fn push_cell(out: &mut Vec<u8>, key: &str, cell: Cell) {
    out.push(b'"');
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\": \"");
    let start = out.len();
    cell.push_text(out);
    if out.last() == Some(&b'\t') {
        json::escape_tail(out, start);
    }
    out.extend_from_slice(b"\", ");
}

/// Appends `Err_message`: a JSON list of texts, as text.
fn push_messages(out: &mut Vec<u8>, result: &RowResult) {
    out.extend_from_slice(b"\"Err_message\": \"");
    let start = out.len();
    out.push(b'[');
    let mut separator: &[u8] = b"";
    for message in &result.judged.messages {
        out.extend_from_slice(separator);
        json::push_string(out, message);
        separator = b", ";
    }
    if let Some(reason) = &result.reason {
        out.extend_from_slice(separator);
        out.extend_from_slice(b"\"info: ");
        json::push_escaped(out, reason);
        out.push(b'"');
    }
    out.push(b']');
    json::escape_tail(out, start);
    out.extend_from_slice(b"\", ");
}
