//! What kinds of bytes stand among the next 32, one bit each, the first byte's lowest.

/// Bytes looked at together.
pub(crate) const BLOCK: usize = 32;

/// The bytes that end the plain part of a JSON string: quote, backslash, control characters.
#[inline]
pub(crate) fn specials(block: &[u8; BLOCK]) -> u32 {
    imp::specials(block)
}

/// The same of half a block.
#[inline]
pub(crate) fn specials_of_half(half: &[u8; BLOCK / 2]) -> u32 {
    imp::specials_of_half(half)
}

/// The digits, and the dots.
#[inline]
pub(crate) fn digits_and_dots(block: &[u8; BLOCK]) -> (u32, u32) {
    imp::digits_and_dots(block)
}

/// The number that the last `count` of sixteen ASCII digits spell, `count` being at most 16; whatever stands before them does not
/// matter.
#[inline]
pub(super) fn last_digits(digits: &[u8; 16], count: usize) -> u64 {
    imp::last_digits(digits, count)
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::BLOCK;
    use std::arch::x86_64::{
        __m128i, _mm_add_epi16, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_madd_epi16, _mm_max_epu8,
        _mm_min_epu8, _mm_movemask_epi8, _mm_mullo_epi16, _mm_or_si128, _mm_packs_epi32, _mm_set1_epi16, _mm_set1_epi32, _mm_set1_epi8,
        _mm_srli_epi16, _mm_sub_epi8,
    };

    /// Sixteen bytes to leave out and sixteen to keep.
    static KEPT: [u8; 32] = {
        let mut kept = [0; 32];
        let mut at = 16;
        while at < 32 {
            kept[at] = 0xff;
            at += 1;
        }
        kept
    };

    #[inline]
    pub(super) fn last_digits(digits: &[u8; 16], count: usize) -> u64 {
        let kept: &[u8; 16] = KEPT[count..count + 16].try_into().expect("sixteen bytes");
        // SAFETY: SSE2 belongs to every x86-64 processor, and the loads take any address of 16 readable bytes: those of the arrays.
        let fours = unsafe {
            let values = _mm_sub_epi8(_mm_loadu_si128(digits.as_ptr().cast()), _mm_set1_epi8(b'0' as i8));
            let values = _mm_and_si128(values, _mm_loadu_si128(kept.as_ptr().cast()));
            // The first digit of each pair is the lower byte.
            let tens = _mm_mullo_epi16(_mm_and_si128(values, _mm_set1_epi16(0xff)), _mm_set1_epi16(10));
            let pairs = _mm_add_epi16(tens, _mm_srli_epi16::<8>(values));
            // The first pair of each four a hundred times, the second once.
            let fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x0001_0064));
            // Below 10,000, so nothing is cut.
            _mm_cvtsi128_si64(_mm_packs_epi32(fours, fours)) as u64
        };
        let four = |at: u32| fours >> (16 * at) & 0xffff;
        ((four(0) * 10_000 + four(1)) * 10_000 + four(2)) * 10_000 + four(3)
    }

    #[inline]
    fn ask_half(half: &[u8], ask: impl Fn(__m128i) -> __m128i) -> u32 {
        let half: &[u8; BLOCK / 2] = half.try_into().expect("sixteen bytes");
        // SAFETY: SSE2 belongs to every x86-64 processor, and the load takes any address of 16 readable bytes, which `half` is.
        unsafe { _mm_movemask_epi8(ask(_mm_loadu_si128(half.as_ptr().cast()))) as u32 }
    }

    /// Asks both halves.
    #[inline]
    fn both(block: &[u8; BLOCK], ask: impl Fn(__m128i) -> __m128i) -> u32 {
        let (low, high) = block.split_at(BLOCK / 2);
        ask_half(low, &ask) | ask_half(high, &ask) << 16
    }

    #[inline]
    pub(super) fn specials(block: &[u8; BLOCK]) -> u32 {
        let (low, high) = block.split_at(BLOCK / 2);
        let half = |half: &[u8]| specials_of_half(half.try_into().expect("sixteen bytes"));
        half(low) | half(high) << 16
    }

    #[inline]
    pub(super) fn specials_of_half(half: &[u8; BLOCK / 2]) -> u32 {
        // SAFETY: SSE2 as above, and these take no addresses.
        ask_half(half, |bytes| unsafe {
            let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
            let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
            let last_control = _mm_set1_epi8(0x1f);
            let control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, last_control), last_control);
            _mm_or_si128(_mm_or_si128(quote, backslash), control)
        })
    }

    #[inline]
    pub(super) fn digits_and_dots(block: &[u8; BLOCK]) -> (u32, u32) {
        // SAFETY: as above.
        let digits = both(block, |bytes| unsafe {
            let value = _mm_sub_epi8(bytes, _mm_set1_epi8(b'0' as i8));
            _mm_cmpeq_epi8(_mm_min_epu8(value, _mm_set1_epi8(9)), value)
        });
        // SAFETY: as above.
        let dots = both(block, |bytes| unsafe { _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'.' as i8)) });
        (digits, dots)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use super::BLOCK;

    fn each(block: &[u8], is: impl Fn(u8) -> bool) -> u32 {
        block.iter().enumerate().fold(0, |bits, (at, byte)| bits | u32::from(is(*byte)) << at)
    }

    pub(super) fn specials(block: &[u8; BLOCK]) -> u32 {
        each(block, |byte| byte == b'"' || byte == b'\\' || byte < 0x20)
    }

    pub(super) fn specials_of_half(half: &[u8; BLOCK / 2]) -> u32 {
        each(half, |byte| byte == b'"' || byte == b'\\' || byte < 0x20)
    }

    pub(super) fn last_digits(digits: &[u8; 16], count: usize) -> u64 {
        digits[16 - count..].iter().fold(0, |value, digit| 10 * value + u64::from(digit - b'0'))
    }

    pub(super) fn digits_and_dots(block: &[u8; BLOCK]) -> (u32, u32) {
        (each(block, |byte| byte.is_ascii_digit()), each(block, |byte| byte == b'.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_in_every_place() {
        for at in 0..BLOCK {
            for byte in 0..=255u8 {
                let mut block = [b'a'; BLOCK];
                block[at] = byte;
                let bit = |is: bool| u32::from(is) << at;
                assert_eq!(specials(&block), bit(byte == b'"' || byte == b'\\' || byte < 0x20), "{byte} at {at}");
                assert_eq!(digits_and_dots(&block), (bit(byte.is_ascii_digit()), bit(byte == b'.')), "{byte} at {at}");
            }
        }
    }

    #[test]
    fn digits_from_the_end() {
        let digits = *b"9081726354432211";
        for count in 0..=16 {
            let mut digits = digits;
            let text = std::str::from_utf8(&digits[16 - count..]).unwrap();
            let expected: u64 = if count == 0 { 0 } else { text.parse().unwrap() };
            digits[..16 - count].fill(0xf7);
            assert_eq!(last_digits(&digits, count), expected);
        }
        assert_eq!(last_digits(b"9999999999999999", 16), 9_999_999_999_999_999);
    }
}
