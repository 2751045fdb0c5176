//! Strings with their escapes resolved.

/// Passes the pieces of a checked string (the text between its quotes) to `push`, escapes resolved.
///
/// A surrogate without its partner, which no Unicode text can hold, becomes U+FFFD.
pub fn unescape(raw: &str, mut push: impl FnMut(&str)) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        push(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.bytes().next() else { return };
        rest = &rest[1..];
        match kind {
            b'b' => push("\u{8}"),
            b'f' => push("\u{c}"),
            b'n' => push("\n"),
            b'r' => push("\r"),
            b't' => push("\t"),
            b'u' => {
                let mut code = unit(rest).unwrap_or(0xfffd);
                rest = rest.get(4..).unwrap_or_default();
                if (0xd800..0xdc00).contains(&code) {
                    let low = rest.strip_prefix("\\u").and_then(unit).filter(|low| (0xdc00..0xe000).contains(low));
                    if let Some(low) = low {
                        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                        rest = &rest[6..];
                    }
                }
                push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut [0; 4]));
            }
            _ => push(char::from(kind).encode_utf8(&mut [0; 4])),
        }
    }
    push(rest);
}

fn unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::unescape;

    fn unescaped(raw: &str) -> String {
        let mut text = String::new();
        unescape(raw, |piece| text.push_str(piece));
        text
    }

    #[test]
    fn every_escape() {
        assert_eq!(unescaped(r#"a\"\\\/\b\f\n\r\tz"#), "a\"\\/\u{8}\u{c}\n\r\tz");
        assert_eq!(unescaped(r"\u0000\u00e9\u20AC\ud83d\ude00."), "\0é€😀.");
    }

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        assert_eq!(unescaped(r"\ud83d"), "\u{fffd}");
        assert_eq!(unescaped(r"\ud83dx"), "\u{fffd}x");
        assert_eq!(unescaped(r"\ude00\ud83d"), "\u{fffd}\u{fffd}");
        assert_eq!(unescaped(r"\ud83d\u0041"), "\u{fffd}A");
        assert_eq!(unescaped(r"\ud83d\ud83d\ude00"), "\u{fffd}😀");
        assert_eq!(unescaped(r"\ud83d\n"), "\u{fffd}\n");
    }
}
