//! One argument of a recorded call.

use crate::dump::json::Value;

/// Where a function takes an argument: its name, and its position from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(pub &'static str, pub usize);

/// Stands for a rank that cannot exist: negative, or beyond every number a rank may have.
pub(super) const NOWHERE: u64 = u64::MAX;

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a> {
    positional: &'a [Value<'a>],
    keywords: Option<Value<'a>>,
    output: Option<Value<'a>>,
}

impl<'a> Arguments<'a> {
    /// Those of an entry of dump.json, whatever it is.
    pub(super) fn of(entry: &Value<'a>) -> Arguments<'a> {
        let positional = match entry.get("input_args") {
            Some(Value::List(items)) => items,
            _ => &[],
        };
        let output = match entry.get("output") {
            Some(Value::List(items)) => items.first().copied(),
            _ => None,
        };
        Arguments { positional, keywords: entry.get("input_kwargs"), output }
    }

    pub(super) fn positional(&self) -> &'a [Value<'a>] {
        self.positional
    }

    /// The first value of the output.
    pub(super) fn output(&self) -> Option<Value<'a>> {
        self.output
    }

    /// The argument by name, else by position; `None` if it was left out or is null.
    pub(super) fn at(&self, Place(keyword, position): Place) -> Option<Value<'a>> {
        let named = self.keywords.and_then(|keywords| keywords.get(keyword));
        named.or_else(|| self.positional.get(position).copied()).filter(|value| *value != Value::Null && !is_none(value))
    }

    /// The argument as a rank.
    pub(super) fn rank(&self, place: Place) -> Option<u64> {
        rank(self.at(place)?.get("value")?)
    }
}

/// A `None` that was recorded with its type.
fn is_none(value: &Value<'_>) -> bool {
    matches!(value.get("value"), Some(Value::Null)) || matches!(value.get("value"), Some(Value::Str("None" | "null")))
}

/// A rank, written as an integer or as the text of one. [`NOWHERE`] for integers that no rank can be.
pub(super) fn rank(value: Value<'_>) -> Option<u64> {
    let (Value::Int(digits) | Value::Str(digits)) = value else { return None };
    let digits = digits.trim();
    if digits.parse::<u64>().is_err() && !digits.strip_prefix('-').unwrap_or(digits).bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    (!digits.is_empty()).then(|| digits.parse().unwrap_or(NOWHERE))
}

/// A list of ranks, or the text of one.
pub(super) fn ranks(value: Value<'_>) -> Option<Vec<u64>> {
    match value {
        Value::List(items) => items.iter().map(|&item| rank(item)).collect(),
        Value::Str(text) => {
            let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
            if inside.is_empty() {
                return Some(Vec::new());
            }
            inside.split(',').map(|digits| rank(Value::Int(digits))).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_integers_or_their_texts() {
        assert_eq!(rank(Value::Int("3")), Some(3));
        assert_eq!(rank(Value::Str(" 3 ")), Some(3));
        for nowhere in ["-1", "99999999999999999999999", "-99999999999999999999999"] {
            assert_eq!(rank(Value::Int(nowhere)), Some(NOWHERE), "{nowhere}");
        }
        for odd in [Value::Null, Value::Bool(true), Value::Float(1.0), Value::Str(""), Value::Str("-"), Value::Str("1 2"), Value::Str("r1")]
        {
            assert_eq!(rank(odd).filter(|&r| r != NOWHERE), None, "{odd:?}");
        }
    }

    #[test]
    fn groups_are_lists_or_their_texts() {
        assert_eq!(ranks(Value::List(&[Value::Int("0"), Value::Str("2")])), Some(vec![0, 2]));
        assert_eq!(ranks(Value::Str("[0, 2,1]")), Some(vec![0, 2, 1]));
        assert_eq!(ranks(Value::Str(" [ ] ")), Some(Vec::new()));
        for odd in [Value::Str("0, 1"), Value::Str("[0, 1"), Value::Str("[0,,1]"), Value::Str("[[0]]"), Value::Int("0")] {
            assert_eq!(ranks(odd), None, "{odd:?}");
        }
        assert_eq!(ranks(Value::List(&[Value::Int("0"), Value::Null])), None);
    }
}
