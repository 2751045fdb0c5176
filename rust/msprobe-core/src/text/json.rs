//! JSON text as Python's `json.dumps` writes it with `ensure_ascii`.

use super::words;

/// Appends the characters of `text` to `out` as the inside of a JSON string (without the quotes).
///
/// Every character outside space..`~` becomes `\uXXXX` (lower-case hex, surrogate pairs above U+FFFF) except the short
/// escapes `\n \r \t \b \f`; `"` and `\` are escaped.
#[inline]
pub fn push_escaped(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        push_with_escapes(out, text);
    }
}

#[cold]
fn push_with_escapes(out: &mut Vec<u8>, text: &str) {
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
#[inline]
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text);
    out.push(b'"');
}

/// Escapes what was appended to `out` from `start` on, as [`push_escaped`] would have.
///
/// The appended bytes must be UTF-8, as everything in this room appends; a broken one would become U+FFFD.
pub fn escape_tail(out: &mut Vec<u8>, start: usize) {
    if !is_plain(&out[start..]) {
        let tail = out.split_off(start);
        push_with_escapes(out, &String::from_utf8_lossy(&tail));
    }
}

/// Whether no byte needs an escape.
#[inline]
fn is_plain(bytes: &[u8]) -> bool {
    let mut found = 0;
    words::each(bytes, |word| found |= special(word));
    found == 0
}

/// Length of the longest prefix that needs no escape.
fn plain_prefix(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let found = special(u64::from_le_bytes(*word));
        if found != 0 {
            // The first find is never a false one.
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + bytes[at..].iter().position(|b| !matches!(b, b' '..=b'~') || *b == b'"' || *b == b'\\').unwrap_or(bytes.len() - at)
}

/// Sets the high bit of each byte that needs an escape, and perhaps of bytes behind the first one.
#[inline]
pub(super) fn special(word: u64) -> u64 {
    let low = word.wrapping_sub(words::ONES * 0x20) | word;
    (low | words::zeros(word, b'"') | words::zeros(word, b'\\') | words::zeros(word, 0x7f)) & words::HIGH
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
