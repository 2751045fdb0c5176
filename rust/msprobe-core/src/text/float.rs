//! Numbers as Python writes them, `-0.0164659286`, `1.5e-07`, read faster than any text is.
//!
//! The method is that of Eisel and Lemire (Lemire, *Number parsing at a gigabyte per second*, Software: Practice and
//! Experience 51, 2021, sections 5 to 9), cut down to what statistics look like: at most 19 digits that count and a decimal
//! exponent of -54 to 0 in front of them. Everything else is left to the standard library, which gives the same numbers.

use super::block::{digits_and_dots, last_digits, BLOCK};

/// 2 to the right power divided by 5 to the power of 0, 1, 2, ...: the 128 bits from the first one that is set. The powers
/// of five up to here fit into 128 bits with room to double.
const RECIPROCALS: [(u64, u64); 55] = {
    let mut table = [(0, 0); 55];
    table[0] = (1 << 63, 0);
    let mut power = 1u128;
    let mut at = 1;
    while at < table.len() {
        power *= 5;
        // Long division of 2 to the power of 127 + (bits of `power`) by `power`, which is no power of two.
        let (mut rest, mut quotient) = (1u128 << power.ilog2(), 0u128);
        let mut bit = 0;
        while bit < 128 {
            rest *= 2;
            quotient *= 2;
            if rest >= power {
                rest -= power;
                quotient += 1;
            }
            bit += 1;
        }
        // Section 7: rounded up where that makes the product exact enough, truncated beyond.
        let quotient = if at <= 27 { quotient + 1 } else { quotient };
        table[at] = ((quotient >> 64) as u64, quotient as u64);
        at += 1;
    }
    table
};

/// Eight zeros in ASCII.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The number that all of `text` spells, to the last bit; `None` if it is another kind of text.
pub(crate) fn decimal(text: &[u8]) -> Option<f64> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut digits = Digits { value: 0, at: 0 };
    digits.read(text);
    let whole = digits.at;
    let mut fraction = 0;
    if text.get(whole) == Some(&b'.') {
        digits.at += 1;
        digits.read(text);
        fraction = digits.at - whole - 1;
    }
    if whole + fraction == 0 || whole + fraction > 19 && too_many(&text[..digits.at]) {
        return None;
    }
    let mut exponent = -i32::try_from(fraction).ok()?;
    if digits.at < text.len() {
        exponent += written_exponent(&text[digits.at..])?;
    }
    let magnitude = if digits.value == 0 { Some(0.0) } else { scaled(digits.value, exponent) }?;
    Some(if negative { -magnitude } else { magnitude })
}

/// The number that the JSON string starting at `at` spells and where its closing quote is, if it is written like most
/// statistics; `None` for everything else, a number or not.
#[inline]
pub(crate) fn decimal_at(text: &[u8], at: usize) -> Option<(f64, usize)> {
    const POWERS: [u64; 20] = {
        let mut powers = [1; 20];
        let mut at = 1;
        while at < 20 {
            powers[at] = 10 * powers[at - 1];
            at += 1;
        }
        powers
    };
    let block: &[u8; BLOCK] = text.get(at..at + BLOCK)?.try_into().ok()?;
    let negative = block[0] == b'-';
    let (digits, dots) = digits_and_dots(block);
    let end = (digits | dots | u32::from(negative)).trailing_ones() as usize;
    let dots = dots & !(u32::MAX.checked_shl(end as u32).unwrap_or(0));
    let dot = dots.trailing_zeros() as usize;
    if dot >= end || dots & (dots - 1) != 0 {
        return None;
    }
    let (written, quote) = match block.get(end..)? {
        [b'"', ..] => (0, end),
        [b'e', sign @ (b'-' | b'+'), tens @ b'0'..=b'9', ones @ b'0'..=b'9', b'"', ..] => {
            let value = 10 * i32::from(tens - b'0') + i32::from(ones - b'0');
            (if *sign == b'-' { -value } else { value }, end + 4)
        }
        _ => return None,
    };
    let whole = &block[usize::from(negative)..dot];
    let decimals = end - dot - 1;
    let whole_value = match whole {
        [digit] => u64::from(digit - b'0'),
        [] => return None,
        _ => (whole.len() <= 19).then(|| whole.iter().fold(0, |value, digit| 10 * value + u64::from(digit - b'0')))?,
    };
    // The decimals, from the last one on.
    let behind = at + end;
    let last: &[u8; 24] = text[behind.checked_sub(24)?..behind].try_into().ok()?;
    if decimals == 0 || decimals > 24 {
        return None;
    }
    let low = last_digits(last[8..].try_into().expect("sixteen bytes"), decimals.min(16));
    let high = if decimals > 16 { last_digits(last[..16].try_into().expect("sixteen bytes"), 8 + decimals - 16) / 100_000_000 } else { 0 };
    if high > 999 {
        return None;
    }
    if whole_value != 0 && whole.len() + decimals > 19 {
        return None;
    }
    // With no more than 19 digits nothing wraps; 0 times anything is 0.
    let value = (high * POWERS[16] + low).wrapping_add(whole_value.wrapping_mul(POWERS[decimals.min(19)]));
    let magnitude = if value == 0 { 0.0 } else { scaled(value, written - decimals as i32)? };
    Some((f64::from_bits(magnitude.to_bits() | u64::from(negative) << 63), at + quote))
}

/// Digits under way; more than 19 of them that count make nonsense of the value.
struct Digits {
    value: u64,
    at: usize,
}

impl Digits {
    #[inline]
    fn read(&mut self, text: &[u8]) {
        while let Some(word) = text.get(self.at..self.at + 8) {
            let Some(eight) = eight_digits(u64::from_le_bytes(word.try_into().expect("eight bytes"))) else { break };
            self.value = self.value.wrapping_mul(100_000_000).wrapping_add(eight);
            self.at += 8;
        }
        while let Some(digit) = text.get(self.at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            self.value = self.value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
    }
}

/// The number that eight ASCII digits spell, the first in the lowest byte.
#[inline]
fn eight_digits(word: u64) -> Option<u64> {
    let high = word & 0xf0f0_f0f0_f0f0_f0f0;
    let carried = word.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    if high != ZEROS || carried != ZEROS {
        return None;
    }
    Some(sum_of_eight(word - ZEROS))
}

/// The same of digits as numbers.
#[inline]
fn sum_of_eight(digits: u64) -> u64 {
    // Pairs, then fours, then all eight.
    let pairs = digits.wrapping_mul(2561) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(6_553_601) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(42_949_672_960_001) >> 32
}

/// Whether more than 19 digits count.
#[cold]
fn too_many(text: &[u8]) -> bool {
    text.iter().filter(|byte| **byte != b'.').skip_while(|byte| **byte == b'0').count() > 19
}

/// The number behind an `e`, of at most three digits.
fn written_exponent(text: &[u8]) -> Option<i32> {
    let [b'e', rest @ ..] = text else { return None };
    let (negative, digits) = match rest {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if !(1..=3).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| 10 * value + i32::from(digit - b'0'));
    Some(if negative { -value } else { value })
}

/// The number nearest to `digits * 10^exponent`, of two equally near ones the even one.
#[inline]
fn scaled(digits: u64, exponent: i32) -> Option<f64> {
    let &(high, low) = RECIPROCALS.get(usize::try_from(-exponent).ok()?)?;
    let zeros = digits.leading_zeros();
    let digits = digits << zeros;
    let mut product = u128::from(digits) * u128::from(high);
    // Section 6: the second half of the reciprocal matters if carrying may reach the bits that are kept.
    if (product >> 64) as u64 & 0x1ff == 0x1ff {
        product += (u128::from(digits) * u128::from(low)) >> 64;
    }
    let (top, bottom) = ((product >> 64) as u64, product as u64);
    if bottom == u64::MAX && exponent < -27 {
        return None;
    }
    let upper = (top >> 63) as u32;
    let mut mantissa = top >> (upper + 9);
    // Section 8.1: halfway between two numbers, which only these exponents allow.
    if bottom <= 1 && exponent >= -4 && mantissa & 3 == 1 && mantissa << (upper + 9) == top {
        mantissa &= !1;
    }
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    // 217706 / 65536 is the binary logarithm of 10 to enough places.
    let mut power = ((exponent * 217_706) >> 16) + 63 + upper as i32 - zeros as i32 + 1023;
    if mantissa >> 53 != 0 {
        mantissa >>= 1;
        power += 1;
    }
    // Far from both ends of the range: 1e-54 at least, 2e19 at most.
    Some(f64::from_bits(mantissa & ((1 << 52) - 1) | (power as u64) << 52))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees(text: &str) -> bool {
        decimal(text.as_bytes()).is_none_or(|number| text.parse::<f64>().is_ok_and(|other| other.to_bits() == number.to_bits()))
    }

    #[test]
    fn ordinary_statistics_are_read_here() {
        for (text, number) in [
            ("0", 0.0),
            ("-0.0", -0.0),
            ("5", 5.0),
            ("-2.726643125440559", -2.726_643_125_440_559),
            ("0.00018822139295025658", 0.000_188_221_392_950_256_6),
            ("1e-05", 1e-5),
            ("-8.727967386584108e-13", -8.727_967_386_584_108e-13),
            ("1.5e+01", 15.0),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("9007199254740993.0", 9_007_199_254_740_992.0),
            ("1844674407370955161", 1_844_674_407_370_955_161.0),
        ] {
            assert_eq!(decimal(text.as_bytes()).map(f64::to_bits), Some(f64::to_bits(number)), "{text}");
        }
    }

    /// Whether a number in the middle of a text is the same.
    fn agrees_within(text: &str) -> bool {
        let before = "{\"Mean diff of the rows 0123456789\": \"";
        let whole = format!("{before}{text}\", \"something that follows, long enough\": \"\"}}");
        decimal_at(whole.as_bytes(), before.len()).is_none_or(|(number, end)| {
            end == before.len() + text.len() && text.parse::<f64>().is_ok_and(|other| other.to_bits() == number.to_bits())
        })
    }

    #[test]
    fn numbers_within_a_text_are_read_here() {
        for text in
            ["0.0", "-0.0", "-2.726643125440559", "0.00018822139295025658", "12345.5", "0.1234567890123456789", "-1.5e-05", "1.5e+01"]
        {
            let whole = format!("{{\"Mean diff of a row\": \"{text}\", \"and something that follows\": 1}}");
            let found = decimal_at(whole.as_bytes(), 24).map(|(number, end)| (number.to_bits(), end));
            assert_eq!(found, Some((text.parse::<f64>().unwrap().to_bits(), 24 + text.len())), "{text}");
        }
        for text in [
            "",
            "-",
            ".",
            "-.5",
            "5.",
            "1.5.2",
            "1e-05",
            "1.5e-005",
            "1.5e5",
            "1.5e",
            "1.5e-",
            "nan",
            "1.5 ",
            "1-5.0",
            "0.1234567890123456789012345",
            "5",
        ] {
            let whole = format!("{{\"Mean diff of a row\": \"{text}\", \"and something that follows\": 1}}");
            assert_eq!(decimal_at(whole.as_bytes(), 24), None, "{text}");
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        let long = "1".repeat(25);
        for text in ["", "-", ".", "+1", "1e", "1e-", "1e1e1", "1.5.2", "nan", "1_0", " 1", "1 ", "0x1", "1e-0005", &long] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn halves_go_to_the_even_number() {
        for base in [1u64 << 53, 1 << 54, 1 << 55, (1 << 53) + 2, (1 << 54) + 4, 1 << 60] {
            for by in 0..=2048 {
                for text in [format!("{}", base + by), format!("{}.5", (base >> 4) + by), format!("{}.0625", (base >> 12) + by)] {
                    assert!(agrees(&text), "{text}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

        #[test]
        fn the_standard_library_agrees(bits in any::<u64>(), near in -1e3..1e3f64, digits in any::<u64>(), dot in 0usize..30, exponent in -70..5i32) {
            let any = f64::from_bits(bits);
            for text in [format!("{any:?}"), format!("{any:e}"), format!("{near}"), format!("{near:e}"), format!("{}", near as f32)] {
                prop_assert!(agrees(&text) && agrees_within(&text), "{}", text);
            }
            let mut text = format!("{digits:030}");
            text.insert(dot, '.');
            prop_assert!(agrees(&text) && agrees_within(&text), "{}", text);
            let text = format!("{digits}e{exponent}");
            prop_assert!(agrees(&text) && agrees_within(&text), "{}", text);
        }

        #[test]
        fn any_text(text in "[-+.0-9e]{0,24}") {
            prop_assert!(agrees(&text) && agrees_within(&text), "{}", text);
        }
    }
}
