//! What the fuzz targets share.

pub mod tensors;

use std::path::Path;

use msprobe_core::dump::json::Value;
use msprobe_core::dump::{Error, Source};

/// The bytes as a file of a dump; `None` if they are no UTF-8, which is checked to be reported at the right place.
#[must_use]
pub fn source(bytes: &[u8]) -> Option<Source> {
    match (Source::from_bytes(Path::new("fuzzed.json"), bytes.to_vec()), std::str::from_utf8(bytes)) {
        (Ok(source), Ok(_)) => Some(source),
        (Err(Error::Syntax { offset, .. }), Err(e)) => {
            assert_eq!(offset, e.valid_up_to() as u64);
            None
        }
        (ours, other) => panic!("{ours:?} {other:?}"),
    }
}

/// An error must tell a place within the file and be one line.
pub fn check_error(error: &Error, length: usize) {
    if let Error::Syntax { offset, .. } = error {
        assert!(*offset <= length as u64, "{error}");
    }
    let text = error.to_string();
    assert!(text.starts_with("fuzzed.json: ") && !text.contains('\n') && text.len() < 2000, "{text:?}");
}

/// Whether our value means the same as that of another JSON reader. Numbers are left to the unit tests.
#[must_use]
pub fn same(ours: Value<'_>, other: &serde_json::Value) -> bool {
    match (ours, other) {
        (Value::Null, serde_json::Value::Null) => true,
        (Value::Bool(a), serde_json::Value::Bool(b)) => a == *b,
        (Value::Int(_) | Value::Float(_), serde_json::Value::Number(_)) => true,
        (Value::Str(a), serde_json::Value::String(b)) => a == b,
        (Value::List(a), serde_json::Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, b)),
        (Value::Object(a), serde_json::Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, (key, b))| a.key == key && same(a.value, b))
        }
        _ => false,
    }
}
