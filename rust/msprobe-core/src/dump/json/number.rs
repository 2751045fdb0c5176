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
        fn counts_digits(bytes in any::<[u8; 8]>(), digits in 0usize..9) {
            let mut bytes = bytes;
            bytes[..digits].fill(b'7');
            let expected = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(8);
            prop_assert_eq!(leading_digits(u64::from_le_bytes(bytes)), expected);
        }
    }
}
