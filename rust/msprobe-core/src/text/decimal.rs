//! The decimal rule: numbers in texts are cut to six decimals, correctly rounded.

use super::python::push_float;

/// Longest run of digits the rule takes on either side of the dot.
const MAX_DIGITS: usize = 20;
/// Texts with no more decimals than this stay as they are.
const DECIMALS: usize = 6;

/// Appends `value`, which must not be negative, as C's `%.6f` prints it: the exact binary value, rounded half to even.
pub fn push_fixed6(out: &mut Vec<u8>, value: f64) {
    match micros(value) {
        Some(micros) => push_micros(out, micros),
        // From 2^53 on there are no decimals left to round; the standard library prints every digit exactly.
        None => out.extend_from_slice(format!("{value:.6}").as_bytes()),
    }
}

/// Appends a relative error in percent as it is stored: Python's text of the number, the decimal rule, `%`.
///
/// `value` is not negative; `inf` and NaN become `inf%` and `nan%`. Equal to formatting, appending `%` and applying
/// [`shorten`], without the detour through a text.
pub fn push_percent(out: &mut Vec<u8>, value: f64) {
    // Python writes these with an exponent, or they are not finite: the rule does not apply.
    let plain = value == 0.0 || (1e-4..1e16).contains(&value);
    match micros(value) {
        // A number whose nearest six-decimals neighbour reads back to it has no more than six decimals in its shortest text.
        // The division is correctly rounded because both operands are exact.
        Some(micros) if plain && (micros >= 1 << 53 || micros as f64 / 1e6 != value) => {
            if micros >= 1 << 53 {
                push_shortened(out, value);
            } else {
                push_micros(out, micros);
            }
        }
        _ => push_float(out, value),
    }
    out.push(b'%');
}

/// Formats and then shortens: the slow way, for numbers whose millionths are not exact.
fn push_shortened(out: &mut Vec<u8>, value: f64) {
    let start = out.len();
    push_float(out, value);
    apply(out, start);
}

/// Applies the decimal rule to the text that starts at `start` in `out`: 1 to 20 digits, a dot, 1 to 20 digits and an optional
/// `%`, with more than 6 digits after the dot, is reprinted with exactly 6. Everything else stays.
pub fn apply(out: &mut Vec<u8>, start: usize) {
    if let Some((value, percent)) = parse(&out[start..]) {
        out.truncate(start);
        push_fixed6(out, value);
        if percent {
            out.push(b'%');
        }
    }
}

/// The number of a text that the rule shortens, and whether a `%` follows.
fn parse(text: &[u8]) -> Option<(f64, bool)> {
    // Nearly all texts fail here.
    if !text.first()?.is_ascii_digit() || text.len() > 2 * MAX_DIGITS + 2 {
        return None;
    }
    let (number, percent) = text.strip_suffix(b"%").map_or((text, false), |number| (number, true));
    let dot = memchr::memchr(b'.', number)?;
    let decimals = number.len() - dot - 1;
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let fits = (1..=MAX_DIGITS).contains(&dot) && (DECIMALS + 1..=MAX_DIGITS).contains(&decimals);
    if !fits || !digits(&number[..dot]) || !digits(&number[dot + 1..]) {
        return None;
    }
    let value = std::str::from_utf8(number).ok()?.parse().ok()?;
    Some((value, percent))
}

/// `value` in millionths, rounded half to even on the exact binary value; `None` for negative, not finite and large values.
fn micros(value: f64) -> Option<u64> {
    let bits = value.to_bits();
    let biased = (bits >> 52) as u32; // with the sign, so negative values are too large below
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, shift) = match biased {
        0 => (fraction, 1074),
        1..=1074 => (fraction | 1 << 52, 1075 - biased),
        _ => return None,
    };
    if shift >= 80 {
        return Some(0); // mantissa * 10^6 < 2^73, so less than a half
    }
    let product = u128::from(mantissa) * 1_000_000;
    let quotient = u64::try_from(product >> shift).ok()?;
    let rest = product & ((1 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let up = rest > half || (rest == half && quotient & 1 == 1);
    Some(if up { quotient + 1 } else { quotient })
}

fn push_micros(out: &mut Vec<u8>, micros: u64) {
    let mut digits = [0u8; 21];
    let mut at = digits.len();
    let mut rest = micros;
    // At least seven digits: one before the dot.
    while rest != 0 || at > digits.len() - DECIMALS - 1 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let dot = digits.len() - DECIMALS;
    out.extend_from_slice(&digits[at..dot]);
    out.push(b'.');
    out.extend_from_slice(&digits[dot..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixed6(value: f64) -> String {
        let mut out = Vec::new();
        push_fixed6(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    fn shortened(text: &str) -> String {
        let mut out = b"kept ".to_vec();
        out.extend_from_slice(text.as_bytes());
        apply(&mut out, 5);
        String::from_utf8(out).unwrap().strip_prefix("kept ").unwrap().to_owned()
    }

    fn percent(value: f64) -> String {
        let mut out = Vec::new();
        push_percent(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ties_go_by_the_exact_binary_value() {
        // 2^-7 = 0.0078125 and 3 * 2^-7 are exact ties at six decimals.
        assert_eq!(fixed6(0.007_812_5), "0.007812");
        assert_eq!(fixed6(0.023_437_5), "0.023438");
        // 0.0000005 is a little below the tie in binary, 1.0000005 too.
        assert_eq!(fixed6(0.000_000_5), "0.000000");
        assert_eq!(fixed6(1.000_000_5), format!("{:.6}", 1.000_000_5));
        assert_eq!(fixed6(0.999_999_9), "1.000000");
    }

    #[test]
    fn only_long_plain_decimals_are_cut() {
        for (text, expected) in [
            ("3.225803375244141%", "3.225803%"),
            ("1.1234567", "1.123457"),
            ("0.0%", "0.0%"),
            ("1.123456", "1.123456"),
            ("-1.1234567", "-1.1234567"),
            ("1.1234567e-05", "1.1234567e-05"),
            ("1.1234567 ", "1.1234567 "),
            ("1.1234567%%", "1.1234567%%"),
            ("1.123456789012345678901", "1.123456789012345678901"),
            ("123456789012345678901.1234567", "123456789012345678901.1234567"),
            ("12345678901234567890.1234567", "12345678901234567168.000000"),
            (".1234567", ".1234567"),
            ("1234567.", "1234567."),
            ("%", "%"),
            ("", ""),
        ] {
            assert_eq!(shortened(text), expected, "{text}");
        }
    }

    #[test]
    fn percentages() {
        for (value, expected) in [
            (0.0, "0.0%"),
            (50.0, "50.0%"),
            (100.0 / 3.0, "33.333333%"),
            (0.000_1, "0.0001%"),
            (0.000_123_456_7, "0.000123%"),
            (1e-5, "1e-05%"),
            (1e16, "1e+16%"),
            (f64::INFINITY, "inf%"),
            (f64::NAN, "nan%"),
            (0.1, "0.1%"),
            (0.3, "0.3%"),
        ] {
            assert_eq!(percent(value), expected);
        }
    }

    fn not_negative() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>().prop_map(f64::abs),
            0.0..1e-3f64,
            0.0..1e4f64,
            0.0..1e17f64,
            (0..1u64 << 40, 0..60i32).prop_map(|(m, e)| m as f64 * 2f64.powi(-e)),
            (0..1_000_000_000u64).prop_map(|m| m as f64 / 1e6),
        ]
        .prop_filter("finite", |x| x.is_finite())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn fixed6_is_what_the_standard_library_prints(value in not_negative()) {
            prop_assert_eq!(fixed6(value), format!("{value:.6}"));
        }

        #[test]
        fn a_percentage_is_the_text_cut_by_the_rule(value in not_negative()) {
            let mut text = Vec::new();
            push_float(&mut text, value);
            text.push(b'%');
            apply(&mut text, 0);
            prop_assert_eq!(percent(value).into_bytes(), text);
        }
    }
}
