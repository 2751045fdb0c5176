//! Values as they are stored in a parameter row.

use super::json::{push_repr, Value};
use crate::text::{json, stored};

/// Appends the stored form of a value as a JSON string with its quotes: a text is cleaned (see [`stored::push_cleaned`]), null is
/// `null`, everything else is Python's text of it.
pub fn push_stored(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Str(text) => stored::push_cleaned_json(out, text),
        Value::Null => out.extend_from_slice(b"\"null\""),
        other => {
            out.push(b'"');
            let start = out.len();
            push_repr(out, other);
            if matches!(other, Value::List(_) | Value::Object(_)) {
                json::escape_tail(out, start);
            }
            out.push(b'"');
        }
    }
}
