//! JSON text as Python's `json.dumps` writes it with `ensure_ascii`.

/// Appends the characters of `text` to `out` as the inside of a JSON string (without the quotes).
///
/// Every character outside space..`~` becomes `\uXXXX` (lower-case hex, surrogate pairs above U+FFFF) except the short
/// escapes `\n \r \t \b \f`; `"` and `\` are escaped.
pub fn push_escaped(out: &mut Vec<u8>, text: &str) {
    let mut rest = text;
    loop {
        let plain = plain_prefix(rest.as_bytes());
        out.extend_from_slice(&rest.as_bytes()[..plain]);
        let mut chars = rest[plain..].chars();
        match chars.next() {
            Some(c) => push_escape(out, c),
            None => return,
        }
        rest = chars.as_str();
    }
}

/// Appends `text` to `out` as a JSON string with its quotes.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

/// Escapes what was appended to `out` from `start` on, as [`push_escaped`] would have.
///
/// The appended bytes must be UTF-8, as everything in this room appends; a broken one would become U+FFFD.
pub fn escape_tail(out: &mut Vec<u8>, start: usize) {
    if start + plain_prefix(&out[start..]) < out.len() {
        let tail = out.split_off(start);
        push_escaped(out, &String::from_utf8_lossy(&tail));
    }
}

/// Length of the longest prefix that needs no escape.
fn plain_prefix(bytes: &[u8]) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    // Eight bytes at a time. Each test sets the high bit of bytes that need an escape, and perhaps of later bytes (borrows
    // travel upwards), never of earlier ones; so the first set bit tells the first byte that may need one.
    while let Some(word) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let delete = word ^ (ONES * 0x7f);
        let zero = |x: u64| x.wrapping_sub(ONES) & !x;
        let found = (word.wrapping_sub(ONES * 0x20) | word | zero(quote) | zero(backslash) | zero(delete)) & HIGH;
        if found != 0 {
            at += found.trailing_zeros() as usize / 8;
            break;
        }
        at += 8;
    }
    at + bytes[at..].iter().position(|b| !matches!(b, b' '..=b'~') || *b == b'"' || *b == b'\\').unwrap_or(bytes.len() - at)
}

fn push_escape(out: &mut Vec<u8>, c: char) {
    let short = match c {
        '"' => b"\\\"",
        '\\' => b"\\\\",
        '\n' => b"\\n",
        '\r' => b"\\r",
        '\t' => b"\\t",
        '\u{8}' => b"\\b",
        '\u{c}' => b"\\f",
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let digit = |shift: u16| b"0123456789abcdef"[usize::from(*unit >> shift & 15)];
                out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
            }
            return;
        }
    };
    out.extend_from_slice(short);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn string(text: &str) -> String {
        let mut out = Vec::new();
        push_string(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_are_pythons() {
        // json.dumps('"\\/\x00\x1f\x7f\n\r\t\b\f é € 😀')
        assert_eq!(
            string("\"\\/\0\u{1f}\u{7f}\n\r\t\u{8}\u{c} é € 😀"),
            r#""\"\\/\u0000\u001f\u007f\n\r\t\b\f \u00e9 \u20ac \ud83d\ude00""#
        );
        assert_eq!(string("plain text, longer than one word"), "\"plain text, longer than one word\"");
    }

    proptest! {
        #[test]
        fn reads_back_and_is_ascii(text in ".{0,40}", at in 0usize..40, c in any::<char>()) {
            let mut text: String = text;
            let at = text.char_indices().map(|(i, _)| i).nth(at).unwrap_or(text.len());
            text.insert(at, c);
            let json = string(&text);
            prop_assert!(json.bytes().all(|b| matches!(b, b' '..=b'~')));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn a_tail_is_escaped_alike(text in any::<String>()) {
            let mut out = "\"é".as_bytes().to_vec();
            let start = out.len();
            out.extend_from_slice(text.as_bytes());
            escape_tail(&mut out, start);
            let mut expected = Vec::new();
            push_escaped(&mut expected, &text);
            prop_assert_eq!(&out[start..], &expected[..]);
        }
    }
}
