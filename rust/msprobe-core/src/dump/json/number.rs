//! From the digits of a number to its value.

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];
/// Digits that always fit into 64 bits.
const MOST_DIGITS: usize = 19;

/// The double nearest to a JSON number with a fraction or an exponent, or to `-Infinity`.
#[inline]
pub(super) fn float(text: &str) -> f64 {
    // The grammar of the standard parser contains JSON's.
    exact(text.as_bytes()).unwrap_or_else(|| text.parse().unwrap_or(f64::NAN))
}

/// The common case, in which digits and power of ten are both exact doubles: then one multiplication or division rounds
/// correctly (Clinger's fast path).
#[inline]
fn exact(text: &[u8]) -> Option<f64> {
    let (negative, text) = text.strip_prefix(b"-").map_or((false, text), |text| (true, text));
    let mut mantissa = 0;
    let whole = digits(text, &mut mantissa);
    let mut count = whole;
    let mut exponent = 0;
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let decimals = digits(fraction, &mut mantissa);
        count += decimals;
        exponent = -(decimals as i64);
        rest = &fraction[decimals..];
    }
    if count > MOST_DIGITS || count == 0 {
        return None;
    }
    if !rest.is_empty() {
        let (sign, power) = match rest.get(1)? {
            b'-' => (-1, &rest[2..]),
            b'+' => (1, &rest[2..]),
            _ => (1, &rest[1..]),
        };
        if power.len() > 3 {
            return None;
        }
        exponent += sign * power.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    }
    if mantissa > 1 << 53 {
        return None;
    }
    let power = POWERS.get(exponent.unsigned_abs() as usize)?;
    let value = if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
    Some(if negative { -value } else { value })
}

/// Appends leading digits to `value`, wrapping when there are too many, and counts them.
#[inline]
fn digits(text: &[u8], value: &mut u64) -> usize {
    let mut at = 0;
    while let Some(word) = text.get(at..at + 8) {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        if leading_digits(word) < 8 {
            break;
        }
        // Pairs, then fours, then all eight.
        let word = (word & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
        let word = (word & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
        let word = (word & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32;
        *value = value.wrapping_mul(100_000_000).wrapping_add(word);
        at += 8;
    }
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    at
}

/// Bytes that [`short_number`] looks at.
const WINDOW: usize = 32;

/// Length of the JSON number at the start of `window`, and whether it has a fraction or an exponent. `None` if it may go on behind
/// the window, and for whatever is no number, or `-Infinity`.
#[inline]
pub(super) fn short_number(window: &[u8; WINDOW]) -> Option<(usize, bool)> {
    let digits = digit_bits(window);
    let byte = |at: usize| window[at % WINDOW];
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
    (at < WINDOW).then_some((at, float))
}

/// One bit for each byte that is a digit.
#[inline]
fn digit_bits(window: &[u8; WINDOW]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_add_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
        let half = |from: usize| {
            // SAFETY: SSE2 belongs to every x86-64 processor, and both halves of the window are 16 readable bytes.
            unsafe {
                let bytes = _mm_loadu_si128(window.as_ptr().add(from).cast());
                // `0`..`9` become the ten lowest signed numbers.
                let shifted = _mm_add_epi8(bytes, _mm_set1_epi8(i8::MIN.wrapping_sub(b'0' as i8)));
                _mm_movemask_epi8(_mm_cmplt_epi8(shifted, _mm_set1_epi8(i8::MIN + 10))) as u32
            }
        };
        half(0) | half(16) << 16
    }
    #[cfg(not(target_arch = "x86_64"))]
    window.iter().rev().fold(0, |bits, byte| bits << 1 | u32::from(byte.is_ascii_digit()))
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
            let mut window = [b' '; WINDOW];
            let length = text.len().min(WINDOW);
            window[..length].copy_from_slice(&text.as_bytes()[..length]);
            // serde_json has the same grammar; what follows the number is not its business.
            let mut numbers = serde_json::Deserializer::from_slice(&window).into_iter::<serde_json::Number>();
            let known = numbers.next().and_then(Result::ok).map(|number| number.is_f64());
            let found = short_number(&window);
            if let Some((end, float)) = found {
                prop_assert!(end < WINDOW);
                let number = std::str::from_utf8(&window[..end]).unwrap();
                prop_assert!(number.parse::<f64>().is_ok() && !window[end].is_ascii_digit(), "{number:?}");
                prop_assert_eq!(float, number.contains(['.', 'e', 'E']));
            } else if let (Some(float), true) = (known, text.len() < WINDOW - 1) {
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
