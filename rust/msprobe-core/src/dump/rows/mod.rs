//! The parameter rows of one entry of `data`.
//!
//! Lives here: collecting the rows of an entry and completing their fields. May not: pair, compare or render rows.

mod collect;
mod leaf;
#[cfg(test)]
mod tests;

use super::json::Value;

pub use collect::collect_rows;

/// Where in the entry a row stood. Decides the pairing and the column it is stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowClass {
    /// `input_args`, `input_kwargs`, `input`, and every row of a `debug` entry.
    Input,
    /// `parameters`
    Parameters,
    /// `output`
    Output,
    /// A `parameters_grad` entry.
    ParametersGrad,
}

/// What a row was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// A dumped value: a tensor, a number, a text, a shape, ...
    Value,
    /// A null in the place of a value. Stored as `{"value": "null"}`.
    Null,
    /// A value nested deeper than is read. It has a field `value` that says so.
    TooDeep,
}

/// The fields that the rules know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Field {
    /// `type`
    Type,
    /// `dtype`
    Dtype,
    /// `shape`
    Shape,
    /// `Max`
    Max,
    /// `Min`
    Min,
    /// `Mean`
    Mean,
    /// `Norm`, the L2 norm
    Norm,
    /// `md5`, in truth a CRC-32 text
    Md5,
    /// `requires_grad`
    RequiresGrad,
    /// `data_name`, the tensor file, or `-1`
    DataName,
    /// `value`
    Value,
    /// `group_ranks`
    GroupRanks,
}

impl Field {
    const COUNT: usize = 12;

    /// The key in the dump and in the result.
    #[must_use]
    pub fn key(self) -> &'static str {
        let quoted = self.quoted();
        &quoted[1..quoted.len() - 3]
    }

    /// The key as it stands in a JSON object: in quotes, with the colon and the blank behind it.
    #[inline]
    #[must_use]
    pub fn quoted(self) -> &'static str {
        match self {
            Field::Type => "\"type\": ",
            Field::Dtype => "\"dtype\": ",
            Field::Shape => "\"shape\": ",
            Field::Max => "\"Max\": ",
            Field::Min => "\"Min\": ",
            Field::Mean => "\"Mean\": ",
            Field::Norm => "\"Norm\": ",
            Field::Md5 => "\"md5\": ",
            Field::RequiresGrad => "\"requires_grad\": ",
            Field::DataName => "\"data_name\": ",
            Field::Value => "\"value\": ",
            Field::GroupRanks => "\"group_ranks\": ",
        }
    }

    #[inline]
    fn of(key: &str) -> Option<Field> {
        Some(match key {
            "type" => Field::Type,
            "dtype" => Field::Dtype,
            "shape" => Field::Shape,
            "Max" => Field::Max,
            "Min" => Field::Min,
            "Mean" => Field::Mean,
            "Norm" => Field::Norm,
            "md5" => Field::Md5,
            "requires_grad" => Field::RequiresGrad,
            "data_name" => Field::DataName,
            "value" => Field::Value,
            "group_ranks" => Field::GroupRanks,
            _ => return None,
        })
    }
}

/// The key of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// One that the rules know.
    Known(Field),
    /// Any other.
    Other(&'a str),
}

impl<'a> Key<'a> {
    /// The key `text`.
    #[inline]
    #[must_use]
    pub fn of(text: &'a str) -> Key<'a> {
        Field::of(text).map_or(Key::Other(text), Key::Known)
    }

    /// The text of the key.
    #[must_use]
    pub fn text(self) -> &'a str {
        match self {
            Key::Known(field) => field.key(),
            Key::Other(text) => text,
        }
    }
}

/// One input, output, parameter or parameter gradient.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Full name, the key in `input_data` / `output_data`.
    pub name: &'a str,
    /// Where it stood.
    pub class: RowClass,
    /// What it was made of.
    pub kind: RowKind,
    /// Keyword, parameter or gradient name when the row stood under one (rows pair by it first): the path below
    /// `input_kwargs`, `parameters` or the `parameters_grad` entry, dots between its parts.
    pub keyword: Option<&'a str>,
    /// Whether the dump itself has a key `md5` here (a checksum of the value is filled in where it has none).
    pub md5_recorded: bool,
    /// All fields in the order in which they are shown, defaults included, `state` and the full name left out.
    pub fields: bumpalo::collections::Vec<'a, (Key<'a>, Value<'a>)>,
    /// Position of each known field in `fields`, or [`NOWHERE`].
    known: [u32; Field::COUNT],
}

const NOWHERE: u32 = u32::MAX;

impl<'a> Row<'a> {
    /// A row of given fields, as when a result file is read back.
    #[must_use]
    pub fn of_fields(
        name: &'a str,
        class: RowClass,
        kind: RowKind,
        keyword: Option<&'a str>,
        fields: bumpalo::collections::Vec<'a, (Key<'a>, Value<'a>)>,
    ) -> Self {
        let mut known = [NOWHERE; Field::COUNT];
        for (place, (key, _)) in fields.iter().enumerate() {
            if let Key::Known(field) = key {
                known[*field as usize] = place as u32;
            }
        }
        let md5_recorded = known[Field::Md5 as usize] != NOWHERE;
        Row { name, class, kind, keyword, md5_recorded, fields, known }
    }

    /// A known field; `Null` if absent.
    #[inline]
    #[must_use]
    pub fn get(&self, field: Field) -> Value<'a> {
        self.fields.get(self.known[field as usize] as usize).map_or(Value::Null, |(_, value)| *value)
    }

    /// Whether a known field is there at all.
    #[inline]
    #[must_use]
    pub fn has(&self, field: Field) -> bool {
        self.known[field as usize] != NOWHERE
    }

    /// Maximum, minimum, mean and L2 norm.
    #[inline]
    #[must_use]
    pub fn statistics(&self) -> [Value<'a>; 4] {
        [self.get(Field::Max), self.get(Field::Min), self.get(Field::Mean), self.get(Field::Norm)]
    }

    /// The type text; empty if it is no text.
    #[inline]
    #[must_use]
    pub fn type_text(&self) -> &'a str {
        self.text(Field::Type)
    }

    /// Whether the row is a process group, most fields of which are not shown.
    #[inline]
    #[must_use]
    pub fn is_process_group(&self) -> bool {
        self.type_text() == "torch.ProcessGroup"
    }

    /// The checksum text; empty if it is no text.
    #[inline]
    #[must_use]
    pub fn md5(&self) -> &'a str {
        self.text(Field::Md5)
    }

    /// The name of the tensor file; `-1` without one.
    #[inline]
    #[must_use]
    pub fn data_name(&self) -> &'a str {
        self.text(Field::DataName)
    }

    fn text(&self, field: Field) -> &'a str {
        match self.get(field) {
            Value::Str(text) => text,
            _ => "",
        }
    }
}
