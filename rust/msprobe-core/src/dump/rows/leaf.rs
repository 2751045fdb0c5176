//! One row from one dumped object: its own members, then what the rules fill in.

use bumpalo::collections::Vec;
use bumpalo::Bump;

use super::{Field, Key, Row, RowClass, RowKind, NOWHERE};
use crate::dump::json::{push_str, Member, Value};
use crate::name;
use crate::text::checksum::crc_text;

/// `data_name` of a row without tensor file.
const NO_FILE: &str = "-1";
/// Shape text of everything that has no shape.
const NO_SHAPE: Value<'static> = Value::Str("[]");
/// Most dimensions of a NumPy array.
const MOST_DIMENSIONS: usize = 64;
const STATISTICS: [Field; 4] = [Field::Max, Field::Min, Field::Mean, Field::Norm];

/// The place of a row, as far as the walk knows it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The walked name.
    pub name: &'a str,
    pub class: RowClass,
    pub keyword: Option<&'a str>,
}

/// The row of a null.
pub(super) fn null_row<'a>(place: Place<'a>, bump: &'a Bump) -> Row<'a> {
    let mut row = empty(place, RowKind::Null, 11, bump);
    for field in [Field::Type, Field::Max, Field::Min, Field::Mean, Field::Norm, Field::Dtype, Field::Shape, Field::Md5, Field::Value] {
        row.set(field, Value::Null);
    }
    row.set(Field::DataName, Value::Str(NO_FILE));
    row.set(Field::RequiresGrad, Value::Null);
    row
}

/// The row that stands for a value nested too deeply.
pub(super) fn too_deep_row<'a>(place: Place<'a>, bump: &'a Bump) -> Row<'a> {
    let mut row = null_row(place, bump);
    row.kind = RowKind::TooDeep;
    row.set(Field::Value, Value::Str("not read: nested deeper than 400 levels"));
    row
}

/// The row of an object with a text under `type`, or of the tensor of a point-to-point operation.
pub(super) fn leaf_row<'a>(members: &'a [Member<'a>], place: Place<'a>, bump: &'a Bump) -> Row<'a> {
    let mut row = empty(place, RowKind::Value, members.len() + 14, bump);
    let mut dumped = None;
    for member in members {
        // Never shown, and set anew by the reference.
        if member.key == "state" || member.key == "full_op_name" {
            continue;
        }
        let key = Key::of(member.key);
        if key == Key::Known(Field::Value) {
            dumped = Some(member.value);
        }
        let value = match member.value {
            Value::Bool(true) => Value::Str("True"),
            Value::Bool(false) => Value::Str("False"),
            other => other,
        };
        row.push(key, value);
    }
    row.md5_recorded = row.has(Field::Md5);
    match row.get(Field::DataName) {
        Value::Str(NO_FILE) => {}
        Value::Str(file) if !file.is_empty() => row.name = name::data_name_stem(file),
        _ => row.set(Field::DataName, Value::Str(NO_FILE)),
    }
    row.set_if_absent(Field::RequiresGrad, Value::Null);
    for field in STATISTICS {
        row.set_if_absent(field, Value::Null);
    }
    if !row.get(Field::Dtype).is_truthy() {
        fill_dtype(&mut row, place.name, dumped.unwrap_or(Value::Null), bump);
    }
    if !row.get(Field::Md5).is_truthy() {
        // Python's text of an absent value is empty.
        row.set(Field::Md5, Value::Str(dumped.map_or("00000000", |value| checksum(value, bump))));
    }
    row
}

/// Fields of values that have no dtype of their own, by the first rule that fits.
fn fill_dtype<'a>(row: &mut Row<'a>, walked: &str, value: Value<'a>, bump: &'a Bump) {
    match row.type_text() {
        "torch.Size" => {
            row.set(Field::Dtype, Value::Str("torch.Size"));
            row.set(Field::Shape, python_text(value, bump));
        }
        "slice" => {
            row.set(Field::Dtype, Value::Str("slice"));
            row.set(Field::Shape, Value::Str(array_shape(value, bump)));
        }
        "ellipsis" => {
            row.set(Field::Dtype, Value::Str("ellipsis"));
            row.set(Field::Shape, NO_SHAPE);
            row.set_statistics(value);
        }
        _ if matches!(name::last_part(walked), "src" | "dst" | "group_src" | "group_dst") => fill_ranks(row, value, bump),
        "torch.ProcessGroup" => fill_ranks(row, row.get(Field::GroupRanks), bump),
        _ => {
            row.set(Field::Dtype, Value::Str(python_class(value)));
            row.set(Field::Shape, NO_SHAPE);
            row.set_statistics(value);
        }
    }
}

/// Ranks are compared by their text.
fn fill_ranks<'a>(row: &mut Row<'a>, ranks: Value<'a>, bump: &'a Bump) {
    let text = python_text(ranks, bump);
    row.set(Field::Dtype, row.get(Field::Type));
    row.set(Field::Shape, NO_SHAPE);
    row.set_statistics(text);
    row.set(Field::Md5, text);
}

/// Sets the fields of a point-to-point operation behind those of its tensor.
pub(super) fn set_operation<'a>(row: &mut Row<'a>, operation: Value<'a>) {
    for key in ["class_type", "op", "peer", "tag", "group_id"] {
        let value = operation.get(key).unwrap_or(Value::Null);
        let key = Key::of(key);
        match row.fields.iter_mut().find(|(present, _)| *present == key) {
            Some((_, present)) => *present = value,
            None => row.push(key, value),
        }
    }
}

fn empty<'a>(place: Place<'a>, kind: RowKind, capacity: usize, bump: &'a Bump) -> Row<'a> {
    Row {
        name: place.name,
        class: place.class,
        kind,
        keyword: place.keyword,
        md5_recorded: false,
        fields: Vec::with_capacity_in(capacity, bump),
        known: [NOWHERE; Field::COUNT],
    }
}

impl<'a> Row<'a> {
    fn push(&mut self, key: Key<'a>, value: Value<'a>) {
        if let Key::Known(field) = key {
            self.known[field as usize] = self.fields.len() as u32;
        }
        self.fields.push((key, value));
    }

    fn set(&mut self, field: Field, value: Value<'a>) {
        match self.fields.get_mut(self.known[field as usize] as usize) {
            Some((_, present)) => *present = value,
            None => self.push(Key::Known(field), value),
        }
    }

    fn set_if_absent(&mut self, field: Field, value: Value<'a>) {
        if !self.has(field) {
            self.push(Key::Known(field), value);
        }
    }

    fn set_statistics(&mut self, value: Value<'a>) {
        for field in STATISTICS {
            self.set(field, value);
        }
    }
}

/// Python's `str(value)` as a value.
fn python_text<'a>(value: Value<'a>, bump: &'a Bump) -> Value<'a> {
    if matches!(value, Value::Str(_)) {
        return value;
    }
    let mut text = std::vec::Vec::new();
    push_str(&mut text, value);
    Value::Str(bump.alloc_str(&String::from_utf8_lossy(&text)))
}

fn checksum<'a>(value: Value<'a>, bump: &'a Bump) -> &'a str {
    let crc = match value {
        Value::Str(text) | Value::Int(text) => crc_text(text.as_bytes()),
        other => {
            let mut text = std::vec::Vec::new();
            push_str(&mut text, other);
            crc_text(&text)
        }
    };
    bump.alloc_str(&String::from_utf8_lossy(&crc))
}

/// What Python prints for the type of a JSON value.
fn python_class(value: Value<'_>) -> &'static str {
    match value {
        Value::Null => "<class 'NoneType'>",
        Value::Bool(_) => "<class 'bool'>",
        Value::Int(_) => "<class 'int'>",
        Value::Float(_) => "<class 'float'>",
        Value::Str(_) => "<class 'str'>",
        Value::List(_) => "<class 'list'>",
        Value::Object(_) => "<class 'dict'>",
    }
}

/// The shape that NumPy gives an array made of `value`, as Python prints it: `()`, `(3,)`, `(2, 3)`. Where lists of different
/// lengths meet, only the levels above them count.
fn array_shape<'a>(value: Value<'a>, bump: &'a Bump) -> &'a str {
    let mut text = bumpalo::collections::String::from_str_in("(", bump);
    let mut level = std::vec![value];
    let mut dimensions = 0;
    while let Some(length) = common_length(&level).filter(|_| dimensions < MOST_DIMENSIONS) {
        if dimensions > 0 {
            text.push_str(", ");
        }
        text.push_str(&length.to_string());
        dimensions += 1;
        level = level.iter().flat_map(|value| items(*value)).copied().collect();
    }
    text.push_str(if dimensions == 1 { ",)" } else { ")" });
    text.into_bump_str()
}

/// The length of all of these lists; `None` if they differ, or if some are no lists, or if there are none.
fn common_length(values: &[Value<'_>]) -> Option<usize> {
    let list = |value: &Value<'_>| if let Value::List(items) = value { Some(items.len()) } else { None };
    let length = list(values.first()?)?;
    values.iter().all(|value| list(value) == Some(length)).then_some(length)
}

fn items(value: Value<'_>) -> &[Value<'_>] {
    if let Value::List(items) = value {
        items
    } else {
        &[]
    }
}
