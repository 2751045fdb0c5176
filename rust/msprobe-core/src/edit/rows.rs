//! The parameters of a stored node: read back as rows, and written again with or without the columns of a comparison.
//!
//! Values are stored as texts. Numbers stand there with all their digits, so what is computed from them equals what the
//! comparison computed from the dump.

use bumpalo::collections::Vec as BumpVec;
use bumpalo::Bump;
use serde_json::{Map, Value as Json};

use super::error::Error;
use crate::dump::json::Value;
use crate::dump::rows::{Field, Key, Row, RowClass, RowKind};
use crate::metrics::tensor;
use crate::name;
use crate::part::{DIFFERENCES, JUDGED, RELATIVE_ERRORS};
use crate::text::json;

const STATISTICS: [&str; 4] = ["Max", "Min", "Mean", "Norm"];

/// Whether a comparison adds this column to the rows of the target, in whatever mode.
fn is_compared(column: &str) -> bool {
    [&DIFFERENCES[..], &RELATIVE_ERRORS, &JUDGED, &tensor::COLUMNS].iter().any(|columns| columns.contains(&column))
}

/// Input and output rows of a stored node, as JSON.
pub(super) struct Stored {
    columns: [Map<String, Json>; 2],
}

impl Stored {
    /// Reads both columns of a node.
    pub(super) fn read(node: &str, input_data: &str, output_data: &str) -> Result<Self, Error> {
        let read = |text: &str, column: &str| match text.trim() {
            "" => Ok(Map::new()),
            text => serde_json::from_str::<Option<Map<String, Json>>>(text)
                .map(Option::unwrap_or_default)
                .map_err(|error| Error::Rows { node: node.to_owned(), reason: format!("{column}: {error}") }),
        };
        Ok(Stored { columns: [read(input_data, "input_data")?, read(output_data, "output_data")?] })
    }

    /// Removes everything that a comparison has added.
    pub(super) fn strip(&mut self) {
        for row in self.columns.iter_mut().flat_map(Map::values_mut).filter_map(Json::as_object_mut) {
            row.retain(|key, _| !is_compared(key));
        }
    }

    /// All rows, inputs first. Columns of a comparison are left out.
    pub(super) fn rows<'b>(&'b self, node: &str, bump: &'b Bump) -> Vec<Row<'b>> {
        let mut rows = Vec::new();
        for (column, output) in self.columns.iter().zip([false, true]) {
            for (key, row) in column {
                rows.push(stored_row(node, key, row, output, bump));
            }
        }
        rows
    }

    /// Both columns as they are stored, each row with the members that `columns` has for it (in the order of [`Stored::rows`]).
    pub(super) fn texts(&self, columns: &[String]) -> [String; 2] {
        let mut added = columns.iter();
        self.columns.each_ref().map(|rows| {
            if rows.is_empty() {
                return "{}".to_owned();
            }
            let mut out = Vec::new();
            for (key, row) in rows {
                out.extend_from_slice(if out.is_empty() { b"{" } else { b", " });
                json::push_string(&mut out, key);
                out.extend_from_slice(b": ");
                push_row(&mut out, row, added.next().map_or("", String::as_str));
            }
            out.push(b'}');
            String::from_utf8_lossy(&out).into_owned()
        })
    }
}

/// Appends a row as the writer of the file does: `, ` and `: `, everything beyond ASCII escaped.
fn push_row(out: &mut Vec<u8>, row: &Json, added: &str) {
    let Json::Object(members) = row else {
        out.extend_from_slice(row.to_string().as_bytes());
        return;
    };
    out.push(b'{');
    let start = out.len();
    for (key, value) in members {
        if out.len() > start {
            out.extend_from_slice(b", ");
        }
        json::push_string(out, key);
        out.extend_from_slice(b": ");
        match value {
            Json::String(text) => json::push_string(out, text),
            other => out.extend_from_slice(other.to_string().as_bytes()),
        }
    }
    if !added.is_empty() {
        if out.len() > start {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(added.as_bytes());
    }
    out.push(b'}');
}

fn stored_row<'b>(node: &str, key: &'b str, row: &'b Json, output: bool, bump: &'b Bump) -> Row<'b> {
    let (class, keyword) = place(node, key, output);
    let empty = Map::new();
    let members = row.as_object().unwrap_or(bump.alloc(empty));
    let text = |name: &str| members.get(name).and_then(Json::as_str);
    let is_null = members.len() == 1 && text("value") == Some("null");
    let kind = if is_null { RowKind::Null } else { RowKind::Value };
    let mut fields = BumpVec::with_capacity_in(members.len() + 6, bump);
    let dtype = text("dtype");
    let as_text = dtype == Some("<class str>") || names_a_rank(key) || dtype.is_some_and(|dtype| Some(dtype) == text("type"));
    for (name, value) in members {
        let value = match value {
            Json::String(text) if STATISTICS.contains(&name.as_str()) => statistic(text, as_text, dtype),
            Json::String(text) if text == "null" => Value::Null,
            Json::String(text) => Value::Str(text),
            other => Value::Str(bump.alloc_str(&other.to_string())),
        };
        fields.push((Key::of(name), value));
    }
    if text("type") == Some("torch.ProcessGroup") {
        // Stored without what follows from its ranks.
        let ranks = Value::Str(text("group_ranks").unwrap_or(""));
        fields.push((Key::Known(Field::Dtype), Value::Str("torch.ProcessGroup")));
        fields.push((Key::Known(Field::Shape), Value::Str("[]")));
        fields.extend(STATISTICS.map(|name| (Key::of(name), ranks)));
        fields.push((Key::Known(Field::Md5), ranks));
    }
    Row::of_fields(key, class, kind, keyword, fields)
}

/// Where a row stood, by its name: `<node>.input.0`, `<node>.input.key`, `<node>.parameters.weight`, `<node>.weight` of gradients.
fn place<'b>(node: &str, key: &'b str, output: bool) -> (RowClass, Option<&'b str>) {
    if output {
        return (RowClass::Output, None);
    }
    let rest = key.strip_prefix(node).and_then(|rest| rest.strip_prefix('.')).unwrap_or("");
    if name::is_parameters_grad(node) {
        return (RowClass::ParametersGrad, Some(rest).filter(|rest| !rest.is_empty()));
    }
    match rest.split_once('.') {
        Some(("parameters", parameter)) => (RowClass::Parameters, Some(parameter)),
        Some(("input", argument)) => {
            let first = argument.split('.').next().unwrap_or("");
            (RowClass::Input, (!name::is_number(first)).then_some(argument))
        }
        _ => (RowClass::Input, None),
    }
}

/// Ranks are compared by their text.
fn names_a_rank(key: &str) -> bool {
    matches!(name::last_part(key), "src" | "dst" | "group_src" | "group_dst")
}

/// The value that was stored as `text` under one of the statistics.
fn statistic<'b>(text: &'b str, as_text: bool, dtype: Option<&str>) -> Value<'b> {
    if text == "null" {
        return Value::Null;
    }
    if as_text {
        return Value::Str(text);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if name::is_number(digits) {
        return Value::Int(text);
    }
    match text {
        "True" | "False" if dtype == Some("<class bool>") => Value::Bool(text == "True"),
        // Rust also reads words that Python does not write.
        "nan" | "inf" | "-inf" => text.parse().map_or(Value::Str(text), Value::Float),
        _ if digits.starts_with(|c: char| c.is_ascii_digit()) => text.parse().map_or(Value::Str(text), Value::Float),
        _ => Value::Str(text),
    }
}
