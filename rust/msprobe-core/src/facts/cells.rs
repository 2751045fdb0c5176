//! The parameter rows of a node as they stand in `input_data` and `output_data`.
//!
//! A row is an object of texts. After a match by hand the reference's viewer leaves numbers where texts were, so a cell may
//! be either. Unknown members are skipped, a repeated member keeps its last value, and texts are borrowed where they can be.

use crate::text::float::decimal;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt;

/// One value of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Cell<'a> {
    /// Absent, null, or something that is neither text nor number.
    #[default]
    None,
    /// A text.
    Text(Cow<'a, str>),
    /// A number.
    Number(f64),
}

impl Cell<'_> {
    /// The text, empty for everything else.
    pub fn text(&self) -> &str {
        match self {
            Cell::Text(text) => text,
            _ => "",
        }
    }

    /// The number the cell holds or spells; NaN and infinities are numbers, `N/A`, `null` and booleans are not.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::None => None,
            Cell::Number(number) => Some(*number),
            Cell::Text(text) => number(text),
        }
    }

    /// The cell as a person reads it.
    pub fn shown(&self) -> String {
        match self {
            Cell::None => String::new(),
            Cell::Text(text) => text.clone().into_owned(),
            Cell::Number(number) => number.to_string(),
        }
    }
}

/// The number that `text` spells.
fn number(text: &str) -> Option<f64> {
    if let Some(number) = decimal(text.as_bytes()) {
        return Some(number);
    }
    // Of most rows without a number.
    if matches!(text, "N/A" | "null" | " ") {
        return None;
    }
    // Infinite differences carry a tab so that a spreadsheet takes them as texts.
    let text = text.trim();
    let first = text.as_bytes().first()?;
    if first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.') || text.len() <= 4 || text.eq_ignore_ascii_case("infinity") {
        text.parse().ok()
    } else {
        None
    }
}

/// The cells of one row that tell target and golden apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cells<'a> {
    pub kind: Cell<'a>,
    pub dtype: Cell<'a>,
    pub shape: Cell<'a>,
    pub value: Cell<'a>,
    /// `Max`, `Min`, `Mean`, `Norm` of this side.
    pub statistics: [Cell<'a>; 4],
    /// Target minus golden of the same four.
    pub differences: [Cell<'a>; 4],
    pub euclid: Cell<'a>,
    pub max_abs: Cell<'a>,
    pub max_relative: Cell<'a>,
    pub result: Cell<'a>,
    pub messages: Cell<'a>,
}

/// Names of the statistics in the order of [`Cells::statistics`].
pub(crate) const STATISTICS: [&str; 4] = ["Max", "Min", "Mean", "Norm"];

impl<'a> Cells<'a> {
    /// The cell of that key, if it is one that is looked at.
    pub(super) fn slot(&mut self, key: &str) -> Option<&mut Cell<'a>> {
        Some(match key {
            "type" => &mut self.kind,
            "dtype" => &mut self.dtype,
            "shape" => &mut self.shape,
            "value" => &mut self.value,
            "Max" => &mut self.statistics[0],
            "Min" => &mut self.statistics[1],
            "Mean" => &mut self.statistics[2],
            "Norm" => &mut self.statistics[3],
            "Max diff" => &mut self.differences[0],
            "Min diff" => &mut self.differences[1],
            "Mean diff" => &mut self.differences[2],
            "L2norm diff" => &mut self.differences[3],
            "EucDist" => &mut self.euclid,
            "MaxAbsErr" => &mut self.max_abs,
            "MaxRelativeErr" => &mut self.max_relative,
            "Result" => &mut self.result,
            "Err_message" => &mut self.messages,
            _ => return None,
        })
    }
}

/// A text that is borrowed unless it holds escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Cell<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Cell<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a cell")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Cell<'de>, E> {
                Ok(Cell::Number(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Cell<'de>, E> {
                Ok(Cell::Number(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Cell<'de>, E> {
                Ok(Cell::Number(number as f64))
            }

            fn visit_bool<E>(self, truth: bool) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(Cow::Borrowed(if truth { "True" } else { "False" })))
            }

            fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
                Ok(Cell::None)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Cell<'de>, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Cell::None)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Cell<'de>, A::Error> {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Cell::None)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Cells<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Row;
        impl<'de> Visitor<'de> for Row {
            type Value = Cells<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a parameter row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Cells<'de>, A::Error> {
                let mut cells = Cells::default();
                while let Some(Key(key)) = members.next_key()? {
                    match cells.slot(&key) {
                        Some(slot) => *slot = members.next_value()?,
                        None => {
                            members.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(cells)
            }
        }
        deserializer.deserialize_map(Row)
    }
}

/// Every member of a row, in order.
#[derive(Debug)]
pub(crate) struct Members<'a>(pub Vec<(Cow<'a, str>, Cell<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Row;
        impl<'de> Visitor<'de> for Row {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a parameter row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Members<'de>, A::Error> {
                let mut found = Vec::new();
                while let Some((Key(key), cell)) = members.next_entry()? {
                    found.push((key, cell));
                }
                Ok(Members(found))
            }
        }
        deserializer.deserialize_map(Row)
    }
}

/// Calls `each` with name and cells of every row of `input_data` or `output_data`, in order. An empty text has no rows.
pub(crate) fn for_each_row<'a, R: Deserialize<'a>>(text: &'a str, each: impl FnMut(&str, &R)) -> Result<(), serde_json::Error> {
    struct Rows<F, R>(F, std::marker::PhantomData<R>);
    impl<'de, R: Deserialize<'de>, F: FnMut(&str, &R)> Visitor<'de> for Rows<F, R> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of parameter rows")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut rows: A) -> Result<(), A::Error> {
            while let Some(Key(name)) = rows.next_key()? {
                let cells: R = rows.next_value()?;
                (self.0)(&name, &cells);
            }
            Ok(())
        }
    }
    if text.is_empty() {
        return Ok(());
    }
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_map(Rows(each, std::marker::PhantomData))?;
    json.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_whatever_its_cells_are() {
        let text = r#"{"A.input.0": {"dtype": "torch.float32", "Max": "1.5", "Max diff": 0.5, "L2norm diff": "inf\t", "x": [1], "Err_message": "[\"error: a\"]"},
                       "A.input.1": {"value": "null"}}"#;
        let mut seen = Vec::new();
        for_each_row(text, |name, cells: &Cells<'_>| {
            let numbers = [&cells.statistics[0], &cells.differences[0], &cells.differences[3]].map(Cell::number);
            seen.push((name.to_owned(), numbers, cells.messages.text().to_owned()));
        })
        .unwrap();
        assert_eq!(seen[0].0, "A.input.0");
        assert_eq!(seen[0].1, [Some(1.5), Some(0.5), Some(f64::INFINITY)]);
        assert_eq!(seen[0].2, "[\"error: a\"]");
        assert_eq!(seen[1].1, [None; 3]);
    }

    #[test]
    fn what_is_no_number_is_none() {
        for (text, expected) in
            [("N/A", None), ("null", None), ("True", None), ("", None), ("-1e-05", Some(-1e-5)), ("inf\t", Some(f64::INFINITY))]
        {
            assert_eq!(number(text), expected, "{text}");
        }
        assert!(number("Nan").is_some_and(f64::is_nan));
    }

    #[test]
    fn a_broken_text_is_an_error() {
        assert!(for_each_row("{\"a\": {", |_, _: &Cells<'_>| ()).is_err());
        assert!(for_each_row("[]", |_, _: &Cells<'_>| ()).is_err());
        assert!(for_each_row("{} x", |_, _: &Cells<'_>| ()).is_err());
    }
}
