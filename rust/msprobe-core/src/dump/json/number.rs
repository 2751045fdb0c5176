//! From the digits of a number to its value.

use crate::text::block::{digits_and_dots, BLOCK};
use crate::text::float::decimal;

/// The double nearest to a JSON number with a fraction or an exponent, or to `-Infinity`.
#[inline]
pub(super) fn float(text: &str) -> f64 {
    // The grammar of the standard parser contains JSON's.
    decimal(text.as_bytes()).unwrap_or_else(|| text.parse().unwrap_or(f64::NAN))
}

/// Length of the JSON number at the start of `window`, and whether it has a fraction or an exponent. `None` if it may go on behind
/// the window, and for whatever is no number, or `-Infinity`.
#[inline]
pub(super) fn short_number(window: &[u8; BLOCK]) -> Option<(usize, bool)> {
    let (digits, _) = digits_and_dots(window);
    let byte = |at: usize| window[at % BLOCK];
    let run = |at: usize| (!digits).checked_shr(at as u32).unwrap_or(1).trailing_zeros() as usize;
    let mut at = usize::from(window[0] == b'-');
    let whole = run(at);
    if whole == 0 || (whole > 1 && byte(at) == b'0') {
        return None;
    }
    at += whole;
    let mut float = false;
    if byte(at) == b'.' {
        let decimals = run(at + 1);
        if decimals == 0 {
            return None;
        }
        at += 1 + decimals;
        float = true;
    }
    if byte(at) | 0x20 == b'e' {
        at += 1 + usize::from(matches!(byte(at + 1), b'+' | b'-'));
        let power = run(at);
        if power == 0 {
            return None;
        }
        at += power;
        float = true;
    }
    (at < BLOCK).then_some((at, float))
}

/// How many of the eight bytes, lowest first, are digits before the first that is none.
#[inline]
pub(super) fn leading_digits(word: u64) -> usize {
    // Digits become 0..=9, everything else more; then only the others reach the high bit. Carries travel upwards, past the first.
    let others = word ^ 0x3030_3030_3030_3030;
    let others = (others.wrapping_add(0x7676_7676_7676_7676) | others) & 0x8080_8080_8080_8080;
    others.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extremes() {
        for text in
            ["0.0", "-0.0", "1e22", "1e23", "9007199254740992.0", "9007199254740993.0", "1e-400", "-1E+5", "0.1", "1.7976931348623157e308"]
        {
            assert_eq!(float(text).to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        assert_eq!(float("1e999"), f64::INFINITY);
        assert_eq!(float("-Infinity"), f64::NEG_INFINITY);
        assert_eq!(float(&format!("0.{}1", "0".repeat(400))), 0.0);
        assert_eq!(float(&format!("{}.0", "9".repeat(400))), f64::INFINITY);
        assert_eq!(float("1e99999999999999999999"), f64::INFINITY);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn agrees_with_the_standard_library(whole in "(0|[1-9][0-9]{0,20})", fraction in "(\\.[0-9]{1,22})?", power in "(e[-+]?[0-9]{1,3})?") {
            let text = format!("-{whole}{fraction}{power}");
            prop_assert_eq!(float(&text).to_bits(), text.parse::<f64>().unwrap().to_bits());
        }

        #[test]
        fn a_short_number_is_what_the_standard_library_takes_for_one(
            text in "(-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,18})?([eE][-+]?[0-9]{1,3})?|[-+.eE0-9In]{1,8})[,}\\] ]?",
        ) {
            let mut window = [b' '; BLOCK];
            let length = text.len().min(BLOCK);
            window[..length].copy_from_slice(&text.as_bytes()[..length]);
            // serde_json has the same grammar; what follows the number is not its business.
            let mut numbers = serde_json::Deserializer::from_slice(&window).into_iter::<serde_json::Number>();
            let known = numbers.next().and_then(Result::ok).map(|number| number.is_f64());
            let found = short_number(&window);
            if let Some((end, float)) = found {
                prop_assert!(end < BLOCK);
                let number = std::str::from_utf8(&window[..end]).unwrap();
                prop_assert!(number.parse::<f64>().is_ok() && !window[end].is_ascii_digit(), "{number:?}");
                prop_assert_eq!(float, number.contains(['.', 'e', 'E']));
            } else if let (Some(float), true) = (known, text.len() < BLOCK - 1) {
                prop_assert!(false, "{text:?} is a number ({float})");
            }
        }

        #[test]
        fn counts_digits(bytes in any::<[u8; 8]>(), digits in 0usize..9) {
            let mut bytes = bytes;
            bytes[..digits].fill(b'7');
            let expected = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(8);
            prop_assert_eq!(leading_digits(u64::from_le_bytes(bytes)), expected);
        }
    }
}
