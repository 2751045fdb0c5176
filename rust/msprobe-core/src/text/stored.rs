//! The text rule for values of a parameter row: quotes out, `None` becomes `null`, long decimals are cut.

use std::borrow::Cow;

use super::{decimal, json, words};

/// Appends a text as it is stored in a row: all `'` removed, then every `None` replaced by `null`, then the decimal rule.
pub fn push_cleaned(out: &mut Vec<u8>, text: &str) {
    let start = out.len();
    let bytes = text.as_bytes();
    if memchr::memchr(b'\'', bytes).is_none() {
        out.extend_from_slice(bytes);
    } else {
        for piece in bytes.split(|b| *b == b'\'') {
            out.extend_from_slice(piece);
        }
    }
    // Removing quotes may have formed the word, so it is looked for afterwards. Both words have four bytes.
    let mut from = start;
    while let Some(at) = memchr::memchr(b'N', &out[from..]) {
        from += at;
        if out[from..].starts_with(b"None") {
            out[from..from + 4].copy_from_slice(b"null");
        }
        from += 1;
    }
    decimal::apply(out, start);
}

/// Appends a cleaned text as a JSON string with its quotes.
pub fn push_cleaned_json(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if is_ordinary(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        let start = out.len();
        push_cleaned(out, text);
        json::escape_tail(out, start);
    }
    out.push(b'"');
}

/// A text as it is stored in a row.
#[must_use]
pub fn cleaned(text: &str) -> Cow<'_, str> {
    if is_ordinary(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    push_cleaned(&mut out, text);
    // Only whole characters are taken out or replaced.
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Whether a text is surely stored as it is: nothing to escape, no `'`, no `N` of `None`, not like a number.
#[inline]
fn is_ordinary(bytes: &[u8]) -> bool {
    let mut found = 0;
    words::each(bytes, |word| found |= json::special(word) | words::zeros(word, b'\'') | words::zeros(word, b'N'));
    found == 0 && !bytes.first().is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cleaned(text: &str) -> String {
        let mut out = b"it's None ".to_vec();
        push_cleaned(&mut out, text);
        String::from_utf8(out).unwrap().strip_prefix("it's None ").unwrap().to_owned()
    }

    #[test]
    fn quotes_go_first_then_the_word() {
        assert_eq!(cleaned("<class 'int'>"), "<class int>");
        assert_eq!(cleaned("'No'ne' None NoneType NNone"), "null null nullType Nnull");
        assert_eq!(cleaned("'1'.1234567%"), "1.123457%");
        assert_eq!(cleaned("'"), "");
        assert_eq!(cleaned(" "), " ");
        assert_eq!(cleaned("Non"), "Non");
    }

    #[test]
    fn json_form_is_escaped_after_cleaning() {
        let mut out = Vec::new();
        push_cleaned_json(&mut out, "a'\"\n'é None");
        assert_eq!(out, br#""a\"\n\u00e9 null""#);
    }

    proptest! {
        #[test]
        fn ordinary_texts_take_the_same_way(text in "(1\\.[0-9]{5,8}%?|[-a-z0-9.'\"NoneXx\u{e9}\n]{0,30})") {
            let mut out = Vec::new();
            push_cleaned_json(&mut out, &text);
            let mut expected = b"\"".to_vec();
            push_cleaned(&mut expected, &text);
            json::escape_tail(&mut expected, 1);
            expected.push(b'"');
            prop_assert_eq!(out, expected);
        }
    }
}
