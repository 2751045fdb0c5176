//! Python's `repr` of numbers and texts.

/// Appends `value` as Python's `repr` of a float: shortest digits that read back to the same value, plain notation for
/// decimal exponents -4..=15, otherwise `1e-05`, `1e+16`; `nan`, `inf`, `-inf`, `-0.0`.
pub fn push_float(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if value.is_infinite() {
        return out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value).as_bytes();
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
        return out.extend_from_slice(text);
    }
    let (sign, text) = text.strip_prefix(b"-").map_or((&b""[..], text), |text| (b"-", text));
    out.extend_from_slice(sign);
    if let Some(digits) = text.strip_prefix(b"0.0000") {
        // zmij still writes 1e-5 in plain notation.
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        return out.extend_from_slice(b"e-05");
    }
    // Outside 1e-5..1e16 zmij always writes an exponent.
    let (digits, exponent) = text.split_at(memchr::memchr(b'e', text).unwrap_or(text.len()));
    let exponent = exponent.get(1..).unwrap_or_default();
    out.extend_from_slice(digits);
    let (sign, exponent) = match exponent {
        [sign @ (b'-' | b'+'), exponent @ ..] => (*sign, exponent),
        _ => (b'+', exponent),
    };
    out.extend_from_slice(&[b'e', sign]);
    if exponent.len() == 1 {
        out.push(b'0');
    }
    out.extend_from_slice(exponent);
}

/// Appends `text` as Python's `repr` of a text: in `'` unless it has a `'` and no `"`.
pub fn push_quoted(out: &mut Vec<u8>, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote as u8);
    for c in text.chars() {
        match c {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            ' '..='~' => {
                if c == quote {
                    out.push(b'\\');
                }
                out.push(c as u8);
            }
            _ if is_printable(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => {
                let code = u32::from(c);
                let (letter, digits) = match code {
                    0..=0xff => (b'x', 2),
                    0x100..=0xffff => (b'u', 4),
                    _ => (b'U', 8),
                };
                out.extend_from_slice(&[b'\\', letter]);
                out.extend((0..digits).rev().map(|i| b"0123456789abcdef"[(code >> (4 * i)) as usize & 15]));
            }
        }
    }
    out.push(quote as u8);
}

/// Python's `str.isprintable` of one character: no control, format, unassigned, private-use or separator character.
fn is_printable(c: char) -> bool {
    // The standard library keeps the same classes, reachable only through its escapes. Behind another character it does
    // not escape combining marks, which Python shows as they are.
    let mut buffer = [b'a', 0, 0, 0, 0];
    let length = 1 + c.encode_utf8(&mut buffer[1..]).len();
    let pair = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
    pair.escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn float(value: f64) -> String {
        let mut out = Vec::new();
        push_float(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    fn quoted(text: &str) -> String {
        let mut out = Vec::new();
        push_quoted(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    /// Python's notation made from the standard library: the number of shortest digits from `{:e}`, the digits by exact
    /// rounding to that many (half to even, which `{:e}` does not promise when two shortest texts are equally near).
    fn from_shortest_digits(value: f64) -> String {
        let shortest = format!("{value:e}");
        let decimals = shortest.split_once('e').unwrap().0.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let rounded = format!("{value:.decimals$e}");
        let scientific = if rounded.parse() == Ok(value) { rounded } else { shortest };
        let (digits, exponent) = scientific.split_once('e').unwrap();
        let exponent: i32 = exponent.parse().unwrap();
        if (-4..16).contains(&exponent) {
            let decimals = (decimals as i32 - exponent).max(1) as usize;
            return format!("{:.decimals$}", scientific.parse::<f64>().unwrap());
        }
        format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
    }

    #[test]
    fn floats_are_written_as_python_does() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (-1.5e-5, "-1.5e-05"),
            (9.999e-5, "9.999e-05"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.234_567_890_123_456_8e16, "1.2345678901234568e+16"),
            (1e22, "1e+22"),
            (1e100, "1e+100"),
            (-2.5e-300, "-2.5e-300"),
            (5e-324, "5e-324"),
            (6_654_901_268_931_018.0 / 8.0, "831862658616377.2"),
            (6_654_901_268_931_022.0 / 8.0, "831862658616377.8"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn texts_are_quoted_as_python_does() {
        for (text, expected) in [
            ("a", "'a'"),
            ("it's", "\"it's\""),
            ("it's \"q\"", r#"'it\'s "q"'"#),
            ("\"", "'\"'"),
            ("\\ \n\r\t", r"'\\ \n\r\t'"),
            ("\0\u{1b}\u{7f}\u{a0}\u{ad}", r"'\x00\x1b\x7f\xa0\xad'"),
            ("é € 😀 e\u{301}", "'é € 😀 e\u{301}'"),
            ("\u{2028}\u{200b}\u{e000}", r"'\u2028\u200b\ue000'"),
            ("\u{e0001}", r"'\U000e0001'"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn floats_agree_with_the_shortest_digits(bits in any::<u64>(), near in 1e-6..1e-3f64, big in 1e14..1e18f64) {
            for value in [f64::from_bits(bits), near, -near, big, big.trunc()] {
                if value.is_finite() && value != 0.0 {
                    prop_assert_eq!(float(value), from_shortest_digits(value));
                }
            }
        }
    }
}
