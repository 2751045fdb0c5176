//! Values as they are stored in a parameter row.

use super::json::{push_repr, Value};
use crate::text::{json, python, stored};

/// Appends the stored form of a value as a JSON string with its quotes: a text is cleaned (see [`stored::push_cleaned`]), null is
/// `null`, everything else is Python's text of it.
pub fn push_stored(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Str(text) => stored::push_cleaned_json(out, text),
        Value::Null => out.extend_from_slice(b"\"null\""),
        Value::Bool(true) => out.extend_from_slice(b"\"True\""),
        Value::Bool(false) => out.extend_from_slice(b"\"False\""),
        Value::Int(digits) => {
            out.push(b'"');
            out.extend_from_slice(digits.as_bytes());
            out.push(b'"');
        }
        Value::Float(value) => {
            out.push(b'"');
            python::push_float(out, value);
            out.push(b'"');
        }
        Value::List(_) | Value::Object(_) => {
            out.push(b'"');
            let start = out.len();
            push_repr(out, value);
            json::escape_tail(out, start);
            out.push(b'"');
        }
    }
}
