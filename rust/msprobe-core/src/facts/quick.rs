//! Rows read fast where they stand exactly as msProbe lays them out: members in their usual order, one blank behind each comma
//! and colon, nothing but texts. A text that is different in any way is left to [`super::cells::for_each_row`], which takes all JSON
//! and names what is wrong; so reading here never changes what is read, only how long it takes.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::cells::{Cell, Cells};
use crate::dump::json::plain_end;
use crate::text::block::{specials, BLOCK};
use crate::text::float::decimal_at;

/// The text is laid out in another way, or is no JSON at all.
#[derive(Debug)]
pub(super) struct Unusual;

/// Calls `each` with name and cells of every row, in order, until it meets something unusual. An empty text has no rows.
pub(super) fn for_each_row<'a>(text: &'a str, mut each: impl FnMut(&str, &Cells<'a>)) -> Result<(), Unusual> {
    if text.is_empty() {
        return Ok(());
    }
    let mut place = Place { text, at: 0 };
    place.expect(b"{")?;
    let mut first = true;
    while !place.take(b"}") {
        place.expect(if first { b"\"" } else { b", \"" })?;
        first = false;
        let name = place.text()?;
        place.expect(b": {")?;
        let mut cells = Cells::default();
        place.row(&mut cells)?;
        each(&name, &cells);
    }
    if place.at == text.len() {
        Ok(())
    } else {
        Err(Unusual)
    }
}

/// A position in a text.
struct Place<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Place<'a> {
    #[inline(always)]
    #[allow(clippy::inline_always)] // the comparison with a constant becomes one or two machine words
    fn take(&mut self, wanted: &[u8]) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    #[inline]
    fn expect(&mut self, wanted: &[u8]) -> Result<(), Unusual> {
        if self.take(wanted) {
            Ok(())
        } else {
            Err(Unusual)
        }
    }

    /// Where the plain part of the text ends whose opening quote was just taken.
    #[inline]
    fn plain_end(&self) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while let Some(block) = bytes.get(at..at + BLOCK) {
            let found = specials(block.try_into().expect("a block"));
            if found != 0 {
                return at + found.trailing_zeros() as usize;
            }
            at += BLOCK;
        }
        plain_end(bytes, at)
    }

    /// The text whose opening quote was just taken.
    #[inline]
    fn text(&mut self) -> Result<Cow<'a, str>, Unusual> {
        let start = self.at;
        let end = self.plain_end();
        if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        serde_json::from_str(self.escaped(end)?).map(Cow::Owned).map_err(|_| Unusual)
    }

    #[inline]
    fn cell(&mut self) -> Result<Cell<'a>, Unusual> {
        self.text().map(Cell::Text)
    }

    /// A text that is a number more often than not, and as such the same.
    #[inline]
    fn number(&mut self) -> Result<Cell<'a>, Unusual> {
        match decimal_at(self.text.as_bytes(), self.at) {
            Some((number, end)) => {
                self.at = end + 1;
                Ok(Cell::Number(number))
            }
            None => self.cell(),
        }
    }

    /// Steps over a text of which nothing is needed.
    #[inline]
    fn skip(&mut self) -> Result<(), Unusual> {
        let end = self.plain_end();
        if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(());
        }
        serde_json::from_str::<IgnoredAny>(self.escaped(end)?).map(drop).map_err(|_| Unusual)
    }

    /// A text with its quotes, of which everything up to `end` is plain.
    #[cold]
    fn escaped(&mut self, mut end: usize) -> Result<&'a str, Unusual> {
        let bytes = self.text.as_bytes();
        let start = self.at - 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end = plain_end(bytes, end + 2),
                _ => return Err(Unusual),
            }
        }
        self.at = end + 1;
        self.text.get(start..=end).ok_or(Unusual)
    }

    /// The members of a row, up to its closing brace.
    fn row(&mut self, cells: &mut Cells<'a>) -> Result<(), Unusual> {
        if self.take(b"\"type\": \"") {
            cells.kind = self.cell()?;
        } else if self.take(b"\"value\": \"") {
            cells.value = self.cell()?;
        } else {
            return self.other_members(cells, true);
        }
        if self.take(b", \"dtype\": \"") {
            self.tensor(cells)?;
        } else if self.take(b", \"value\": \"") {
            self.number_or_flag(cells)?;
        }
        self.comparison(cells)?;
        self.other_members(cells, false)
    }

    /// What follows the dtype of a tensor.
    fn tensor(&mut self, cells: &mut Cells<'a>) -> Result<(), Unusual> {
        cells.dtype = self.cell()?;
        if self.take(b", \"shape\": \"") {
            cells.shape = self.cell()?;
        }
        self.statistics(cells)?;
        if self.take(b", \"requires_grad\": \"") {
            self.skip()?;
        }
        if self.take(b", \"md5\": \"") {
            self.skip()?;
        }
        if self.take(b", \"data_name\": \"") {
            self.skip()?;
        }
        Ok(())
    }

    /// What follows the type of a number, a flag, or a text.
    fn number_or_flag(&mut self, cells: &mut Cells<'a>) -> Result<(), Unusual> {
        cells.value = self.cell()?;
        if self.take(b", \"data_name\": \"") {
            self.skip()?;
        }
        if self.take(b", \"requires_grad\": \"") {
            self.skip()?;
        }
        self.statistics(cells)?;
        if self.take(b", \"dtype\": \"") {
            cells.dtype = self.cell()?;
        }
        if self.take(b", \"shape\": \"") {
            cells.shape = self.cell()?;
        }
        if self.take(b", \"md5\": \"") {
            self.skip()?;
        }
        Ok(())
    }

    fn statistics(&mut self, cells: &mut Cells<'a>) -> Result<(), Unusual> {
        if self.take(b", \"Max\": \"") {
            cells.statistics[0] = self.number()?;
        }
        if self.take(b", \"Min\": \"") {
            cells.statistics[1] = self.number()?;
        }
        if self.take(b", \"Mean\": \"") {
            cells.statistics[2] = self.number()?;
        }
        if self.take(b", \"Norm\": \"") {
            cells.statistics[3] = self.number()?;
        }
        Ok(())
    }

    /// The columns that a comparison of statistics adds; those of the others are few and come by name.
    fn comparison(&mut self, cells: &mut Cells<'a>) -> Result<(), Unusual> {
        if self.take(b", \"Max diff\": \"") {
            cells.differences[0] = self.number()?;
        }
        if self.take(b", \"Min diff\": \"") {
            cells.differences[1] = self.number()?;
        }
        if self.take(b", \"Mean diff\": \"") {
            cells.differences[2] = self.number()?;
        }
        if self.take(b", \"L2norm diff\": \"") {
            cells.differences[3] = self.number()?;
        }
        if self.take(b", \"MaxRelativeErr\": \"") {
            cells.max_relative = self.cell()?;
        }
        if self.take(b", \"MinRelativeErr\": \"") {
            self.skip()?;
        }
        if self.take(b", \"MeanRelativeErr\": \"") {
            self.skip()?;
        }
        if self.take(b", \"NormRelativeErr\": \"") {
            self.skip()?;
        }
        if self.take(b", \"Requires_grad Consistent\": \"") {
            self.skip()?;
        }
        if self.take(b", \"Result\": \"") {
            cells.result = self.cell()?;
        }
        if self.take(b", \"Err_message\": \"") {
            cells.messages = self.cell()?;
        }
        Ok(())
    }

    /// Members in any order; `first` if none has come yet.
    fn other_members(&mut self, cells: &mut Cells<'a>, mut first: bool) -> Result<(), Unusual> {
        while !self.take(b"}") {
            self.expect(if first { b"\"" } else { b", \"" })?;
            first = false;
            let key = self.text()?;
            self.expect(b": \"")?;
            match cells.slot(&key) {
                Some(slot) => *slot = self.cell()?,
                None => self.skip()?,
            }
        }
        Ok(())
    }
}

/// Reading a text both ways, to see that they agree.
#[cfg(any(test, debug_assertions))]
mod both {
    use super::{Cell, Cells};

    pub type Rows = Vec<(String, String)>;

    /// The cells, with numbers as bits whether they are spelled or not.
    fn seen(cells: &Cells<'_>) -> String {
        let mut cells = cells.clone();
        for cell in cells.statistics.iter_mut().chain(&mut cells.differences) {
            if let Some(number) = cell.number() {
                *cell = Cell::Text(format!("{:x}", number.to_bits()).into());
            }
        }
        format!("{cells:?}")
    }

    pub fn quick(text: &str) -> Option<Rows> {
        let mut rows = Rows::new();
        super::for_each_row(text, |name, cells| rows.push((name.to_owned(), seen(cells)))).ok()?;
        Some(rows)
    }

    pub fn general(text: &str) -> Option<Rows> {
        let mut rows = Rows::new();
        super::super::cells::for_each_row(text, |name, cells: &Cells<'_>| rows.push((name.to_owned(), seen(cells)))).ok()?;
        Some(rows)
    }
}

/// Whether what is read here is read elsewhere too, and the same.
#[cfg(debug_assertions)]
pub(super) fn agrees(text: &str) -> bool {
    both::quick(text).is_none_or(|rows| both::general(text) == Some(rows))
}

#[cfg(test)]
mod tests {
    use super::both::{general, quick};
    use proptest::prelude::*;

    const TENSOR: &str = r#""type": "torch.Tensor", "dtype": "torch.float32", "shape": "[8, 2]", "Max": "2.5", "Min": "-1e-05", "Mean": "0.5", "Norm": "3.0", "requires_grad": "True""#;
    const SCALAR: &str = r#""type": "int", "value": "5", "data_name": "-1", "requires_grad": "null", "Max": "5", "Min": "5", "Mean": "5", "Norm": "5", "dtype": "<class int>", "shape": "[]""#;
    const SUMMARY: &str = r#", "Max diff": "inf\t", "Min diff": "0.0", "Mean diff": "N/A", "L2norm diff": " ", "MaxRelativeErr": "0.5%", "MinRelativeErr": "0.0%", "MeanRelativeErr": "N/A", "NormRelativeErr": "1.0%", "Requires_grad Consistent": "True", "Result": "error", "Err_message": "[\"error: \u5c42\"]""#;
    const MD5: &str = r#", "Result": "pass", "Requires_grad Consistent": "True", "Err_message": "[]""#;
    const ALL: &str = r#", "Cosine": "1.0", "EucDist": "0.0", "MaxAbsErr": "0.5", "MaxRelativeErr": "0.1", "One Thousandth Err Ratio": "1.0", "Five Thousandths Err Ratio": "1.0", "Requires_grad Consistent": "True", "Result": "pass", "Err_message": "[]""#;

    #[test]
    fn rows_as_they_are_written_are_read_here() {
        let mut texts = vec![String::new(), "{}".into(), r#"{"a.input.0": {"value": "null"}, "a.input.1": {}}"#.into()];
        for own in [TENSOR, SCALAR] {
            for own in [
                format!("{own}, \"data_name\": \"-1\""),
                format!("{own}, \"md5\": \"0f\""),
                format!("{own}, \"md5\": \"0f\", \"data_name\": \"x\""),
            ] {
                for added in ["", SUMMARY, MD5, ALL] {
                    texts.push(format!("{{\"Torch.add.0.forward.input.0\": {{{own}{added}}}, \"Torch.\\u5c42.1\": {{{own}{added}}}}}"));
                }
            }
        }
        for text in texts {
            let found = quick(&text);
            assert!(found.is_some(), "{text}");
            assert_eq!(found, general(&text), "{text}");
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            "[]",
            "{",
            r#"{"a": {"value": "null"}"#,
            r#"{"a": {"value": "null"}} "#,
            r#"{"a": {"value": "null"},"b": {}}"#,
            r#"{"a": {"value": 1}}"#,
            r#"{"a": {"value": "a\x"}}"#,
            r#"{"a": {"x": "\"#,
            r#"{"a": {"value": "\ud800"}}"#,
            "{\"a\": {\"value\": \"\n\"}}",
        ] {
            assert_eq!(quick(text), None, "{text}");
        }
    }

    /// Members as they come and as they do not.
    fn member() -> impl Strategy<Value = String> {
        const KEYS: &str =
            "type|dtype|shape|value|Max|Min|Mean|Norm|requires_grad|md5|data_name|Max diff|Min diff|L2norm diff|EucDist|Result|Err_message";
        let value = prop_oneof![6 => "\"([-a-z0-9.\u{e9}]|\\\\[nt\"\\\\u]|\\\\u00e9|\\\\ud83d){0,12}\"", 1 => "null|true|1.5|\\[1, \\{\\}\\]|\\{\"a\": 1\\}"];
        (KEYS, value, "( |  )?").prop_map(|(key, value, blank)| format!("\"{key}\":{blank}{value}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

        #[test]
        fn what_is_read_here_is_what_is_read_elsewhere(rows in proptest::collection::vec(proptest::collection::vec(member(), 0..8), 0..4)) {
            let rows: Vec<_> = rows.iter().enumerate().map(|(at, row)| format!("\"n.{}\": {{{}}}", at % 2, row.join(", "))).collect();
            let text = format!("{{{}}}", rows.join(", "));
            if let Some(found) = quick(&text) {
                prop_assert_eq!(Some(found), general(&text), "{}", text);
            }
        }

        #[test]
        fn a_byte_more_or_less(place in 0usize..700, other in "[\"\\\\{}:, a\u{0}\u{e9}]{0,2}", removed in 0usize..3) {
            let mut text = format!("{{\"a.0\": {{{TENSOR}{SUMMARY}}}}}");
            let (from, to) = (place.min(text.len()), (place + removed).min(text.len()));
            text.replace_range(from..to, &other);
            if let Some(found) = quick(&text) {
                prop_assert_eq!(Some(found), general(&text), "{}", text);
            }
        }
    }
}
