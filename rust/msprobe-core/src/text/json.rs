//! JSON text as Python's `json.dumps` writes it with `ensure_ascii`.

/// Appends the characters of `text` to `out` as the inside of a JSON string (without the quotes).
///
/// Every character outside space..`~` becomes `\uXXXX` (lower-case hex, surrogate pairs above U+FFFF) except the short
/// escapes `\n \r \t \b \f`; `"` and `\` are escaped.
pub fn push_escaped(out: &mut Vec<u8>, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            ' '..='~' => out.push(c as u8),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
}

/// Appends `text` to `out` as a JSON string with its quotes.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}
