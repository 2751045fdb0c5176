//! What kinds of bytes stand among the next 32, one bit each, the first byte's lowest.

/// Bytes looked at together.
pub(super) const BLOCK: usize = 32;

/// The bytes that end the plain part of a JSON string: quote, backslash, control characters.
#[inline]
pub(super) fn specials(block: &[u8; BLOCK]) -> u32 {
    imp::specials(block)
}

/// The digits, and the dots.
#[inline]
pub(super) fn digits_and_dots(block: &[u8; BLOCK]) -> (u32, u32) {
    imp::digits_and_dots(block)
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::BLOCK;
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8, _mm_sub_epi8,
    };

    /// Asks both halves.
    #[inline]
    fn both(block: &[u8; BLOCK], ask: impl Fn(__m128i) -> __m128i) -> u32 {
        // SAFETY: SSE2 belongs to every x86-64 processor, and the loads take any address of 16 readable bytes: the block's halves.
        let [low, high] = [0, 16].map(|at| unsafe { _mm_movemask_epi8(ask(_mm_loadu_si128(block[at..at + 16].as_ptr().cast()))) as u32 });
        low | high << 16
    }

    #[inline]
    pub(super) fn specials(block: &[u8; BLOCK]) -> u32 {
        // SAFETY: as above, and these take no addresses.
        both(block, |bytes| unsafe {
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

    fn each(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u32 {
        block.iter().enumerate().fold(0, |bits, (at, byte)| bits | u32::from(is(*byte)) << at)
    }

    pub(super) fn specials(block: &[u8; BLOCK]) -> u32 {
        each(block, |byte| byte == b'"' || byte == b'\\' || byte < 0x20)
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
}
