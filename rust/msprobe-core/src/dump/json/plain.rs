//! Finding the end of the plain part of a string: a quote, a backslash or a control character.

/// Offset of the first such byte from `at` on; the length if there is none.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    while let Some(block) = bytes.get(at..at + 16) {
        let found = special_in_block(block.try_into().expect("sixteen bytes"));
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += 16;
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

/// One bit for each special byte.
#[cfg(target_arch = "x86_64")]
#[inline]
fn special_in_block(block: &[u8; 16]) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};
    // SAFETY: SSE2 belongs to every x86-64 processor, and the load takes any address of 16 readable bytes, which `block` is.
    unsafe {
        let block = _mm_loadu_si128(block.as_ptr().cast());
        let quote = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'"' as i8));
        let backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\\' as i8));
        let last_control = _mm_set1_epi8(0x1f);
        let control = _mm_cmpeq_epi8(_mm_max_epu8(block, last_control), last_control);
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control)) as u32
    }
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
