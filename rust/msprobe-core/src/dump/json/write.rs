//! Values as text again: Python's `str` and `repr`, and `json.dumps`.

use std::slice::Iter;

use super::value::{Member, Value};
use crate::text::{json, python};

/// Appends `value` as Python's `str` shows it: a text as it is, everything else as [`push_repr`].
pub fn push_str(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Str(text) => out.extend_from_slice(text.as_bytes()),
        other => push_repr(out, other),
    }
}

/// Appends `value` as Python's `repr` shows it: `[1, 'a', None, True, {'k': 2.0}]`.
pub fn push_repr(out: &mut Vec<u8>, value: Value<'_>) {
    walk(out, value, &Python);
}

/// Appends `value` as Python's `json.dumps` writes it by default: ASCII, `", "` and `": "` between items.
pub fn push_dumps(out: &mut Vec<u8>, value: Value<'_>) {
    walk(out, value, &Json);
}

/// What differs between the two notations.
trait Style {
    fn text(&self, out: &mut Vec<u8>, text: &str);
    fn float(&self, out: &mut Vec<u8>, value: f64);
    fn word(&self, value: Option<bool>) -> &'static [u8];
}

struct Python;

impl Style for Python {
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        python::push_quoted(out, text);
    }

    fn float(&self, out: &mut Vec<u8>, value: f64) {
        python::push_float(out, value);
    }

    fn word(&self, value: Option<bool>) -> &'static [u8] {
        match value {
            None => b"None",
            Some(true) => b"True",
            Some(false) => b"False",
        }
    }
}

struct Json;

impl Style for Json {
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        json::push_string(out, text);
    }

    fn float(&self, out: &mut Vec<u8>, value: f64) {
        if value.is_nan() {
            out.extend_from_slice(b"NaN");
        } else if value.is_infinite() {
            out.extend_from_slice(if value > 0.0 { b"Infinity" } else { b"-Infinity" });
        } else {
            python::push_float(out, value);
        }
    }

    fn word(&self, value: Option<bool>) -> &'static [u8] {
        match value {
            None => b"null",
            Some(true) => b"true",
            Some(false) => b"false",
        }
    }
}

/// What is left of a container.
enum Rest<'a> {
    List(Iter<'a, Value<'a>>),
    Object(Iter<'a, Member<'a>>),
}

fn walk(out: &mut Vec<u8>, value: Value<'_>, style: &impl Style) {
    // Flat lists, the usual case, stay off this stack, which allocates when something is pushed.
    let mut outer: Vec<Rest<'_>> = Vec::new();
    let Some(mut rest) = open(out, value, style) else { return };
    let mut first = true;
    loop {
        let next = match &mut rest {
            Rest::List(items) => items.next().map(|item| (None, *item)),
            Rest::Object(members) => members.next().map(|member| (Some(member.key), member.value)),
        };
        let Some((key, value)) = next else {
            out.push(if matches!(rest, Rest::List(_)) { b']' } else { b'}' });
            first = false;
            match outer.pop() {
                Some(container) => rest = container,
                None => return,
            }
            continue;
        };
        if !first {
            out.extend_from_slice(b", ");
        }
        first = false;
        if let Some(key) = key {
            style.text(out, key);
            out.extend_from_slice(b": ");
        }
        if let Some(inner) = open(out, value, style) {
            outer.push(std::mem::replace(&mut rest, inner));
            first = true;
        }
    }
}

/// Appends a scalar, or the opening bracket of a container, whose content is returned.
fn open<'a>(out: &mut Vec<u8>, value: Value<'a>, style: &impl Style) -> Option<Rest<'a>> {
    match value {
        Value::Null => out.extend_from_slice(style.word(None)),
        Value::Bool(value) => out.extend_from_slice(style.word(Some(value))),
        Value::Int(digits) => out.extend_from_slice(digits.as_bytes()),
        Value::Float(value) => style.float(out, value),
        Value::Str(text) => style.text(out, text),
        Value::List(items) => {
            out.push(b'[');
            return Some(Rest::List(items.iter()));
        }
        Value::Object(members) => {
            out.push(b'{');
            return Some(Rest::Object(members.iter()));
        }
    }
    None
}
