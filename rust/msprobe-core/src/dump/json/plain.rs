//! Finding the end of the plain part of a string: a quote, a backslash or a control character.

use crate::text::block::{specials_of_half, BLOCK};

/// Offset of the first such byte from `at` on; the length if there is none.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(half) = bytes.get(at..at + BLOCK / 2) {
        let found = specials_of_half(half.try_into().expect("half a block"));
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += BLOCK / 2;
    }
    while let Some(word) = bytes.get(at..at + 8) {
        let found = special_in_word(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// The high bit of each special byte, and perhaps of bytes behind the first (borrows travel upwards).
#[inline]
fn special_in_word(word: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    let quote = zero(word ^ (ONES * u64::from(b'"')));
    let backslash = zero(word ^ (ONES * u64::from(b'\\')));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte_in_every_place() {
        for length in 0..40 {
            for at in 0..length {
                for byte in 0..=255u8 {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    assert_eq!(plain_end(&bytes, 0), if is_special(byte) { at } else { length }, "{byte} at {at} of {length}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn words_find_the_first_special_byte(bytes in any::<[u8; 8]>()) {
            let found = special_in_word(u64::from_le_bytes(bytes));
            let first = bytes.iter().position(|byte| is_special(*byte));
            prop_assert_eq!((found != 0).then(|| found.trailing_zeros() as usize / 8), first);
        }

        #[test]
        fn the_first_one_counts(bytes in proptest::collection::vec(any::<u8>(), 0..80), at in 0usize..90) {
            let expected = bytes.iter().skip(at).position(|byte| is_special(*byte)).map_or(bytes.len().max(at), |found| at + found);
            prop_assert_eq!(plain_end(&bytes, at), expected);
        }
    }
}
