//! Looking at eight bytes of a text at once.
//!
//! Nearly all texts of a dump are short and ordinary: the question is not where something special stands, but that there is
//! nothing. So these tests may be wrong about the place (borrows travel upwards, past the first find), never about whether.

pub(super) const HIGH: u64 = 0x8080_8080_8080_8080;
pub(super) const ONES: u64 = 0x0101_0101_0101_0101;

/// Sets the high bit of each byte that equals `wanted`, and perhaps of bytes behind the first one.
#[inline]
pub(super) fn zeros(word: u64, wanted: u8) -> u64 {
    let differing = word ^ (ONES * u64::from(wanted));
    differing.wrapping_sub(ONES) & !differing & HIGH
}

/// Passes all bytes to `look`, eight at a time, some of them twice. A text of less than eight bytes comes with blanks behind it.
#[inline]
pub(super) fn each(bytes: &[u8], mut look: impl FnMut(u64)) {
    let Some(last) = bytes.last_chunk::<8>() else { return look(short(bytes)) };
    for word in bytes.chunks_exact(8) {
        look(u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    look(u64::from_le_bytes(*last));
}

/// Less than eight bytes, the rest blanks.
#[inline]
fn short(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    bytes.iter().fold(ONES * u64::from(b' '), |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_byte_is_looked_at_and_no_other(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut seen = Vec::new();
            each(&bytes, |word| seen.extend(word.to_le_bytes()));
            prop_assert!(bytes.iter().all(|byte| seen.contains(byte)));
            prop_assert!(seen.iter().all(|byte| bytes.contains(byte) || (*byte == b' ' && bytes.len() < 8)));
        }

        #[test]
        fn a_byte_is_found_wherever_it_stands(bytes in proptest::collection::vec(any::<u8>(), 0..20), wanted in any::<u8>()) {
            let mut found = 0;
            each(&bytes, |word| found |= zeros(word, wanted));
            prop_assert_eq!(found != 0, bytes.contains(&wanted) || (wanted == b' ' && bytes.len() < 4));
        }
    }
}
