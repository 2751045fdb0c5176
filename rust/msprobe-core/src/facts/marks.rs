//! Short stand-ins for texts and numbers, of 64 bits: wyhash, final version 4 (Wang Yi, released into the public domain).
//!
//! Two texts of one file share a mark with a probability of about n^2 / 2^65, below 1e-7 for a million of them; the
//! consequence would be one node taken for another's source. Files that want this to happen fool only their own report.

const SECRET: [u64; 4] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3];

#[inline]
fn multiplied(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}

#[inline]
fn mixed(a: u64, b: u64) -> u64 {
    let (low, high) = multiplied(a, b);
    low ^ high
}

/// The eight bytes from `at` on.
#[inline]
fn eight(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[inline]
fn four(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
}

/// The mark of a text.
pub(crate) fn mark(text: &str) -> u64 {
    hash(text.as_bytes(), 0)
}

/// The mark of `before` and then a number.
#[inline]
pub(crate) fn joined(before: u64, number: u64) -> u64 {
    let (low, high) = multiplied(before ^ SECRET[0], number ^ SECRET[1]);
    mixed(low ^ SECRET[0], high ^ SECRET[1])
}

fn hash(bytes: &[u8], seed: u64) -> u64 {
    let length = bytes.len();
    let mut seed = seed ^ mixed(seed ^ SECRET[0], SECRET[1]);
    let (a, b) = match length {
        0 => (0, 0),
        1..=3 => (u64::from(bytes[0]) << 16 | u64::from(bytes[length >> 1]) << 8 | u64::from(bytes[length - 1]), 0),
        4..=16 => {
            let step = length >> 3 << 2;
            (four(bytes, 0) << 32 | four(bytes, step), four(bytes, length - 4) << 32 | four(bytes, length - 4 - step))
        }
        _ => {
            let mut rest = bytes;
            if rest.len() >= 48 {
                let (mut second, mut third) = (seed, seed);
                while rest.len() >= 48 {
                    seed = mixed(eight(rest, 0) ^ SECRET[1], eight(rest, 8) ^ seed);
                    second = mixed(eight(rest, 16) ^ SECRET[2], eight(rest, 24) ^ second);
                    third = mixed(eight(rest, 32) ^ SECRET[3], eight(rest, 40) ^ third);
                    rest = &rest[48..];
                }
                seed ^= second ^ third;
            }
            while rest.len() > 16 {
                seed = mixed(eight(rest, 0) ^ SECRET[1], eight(rest, 8) ^ seed);
                rest = &rest[16..];
            }
            (eight(bytes, length - 16), eight(bytes, length - 8))
        }
    };
    let (low, high) = multiplied(a ^ SECRET[1], b ^ seed);
    mixed(low ^ SECRET[0] ^ length as u64, high ^ SECRET[1])
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_values() {
        // The test vectors of wyhash's own README.
        for (seed, (text, expected)) in [
            ("", 0x0409_638e_e2bd_e459u64),
            ("a", 0xa841_2d09_1b5f_e0a9),
            ("abc", 0x32dd_92e4_b291_5153),
            ("message digest", 0x8619_1240_89a3_a16b),
            ("abcdefghijklmnopqrstuvwxyz", 0x7a43_afb6_1d7f_5f40),
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 0xff42_329b_90e5_0d58),
            ("12345678901234567890123456789012345678901234567890123456789012345678901234567890", 0xc39c_ab13_b115_aad3),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(super::hash(text.as_bytes(), seed as u64), expected, "{text}");
        }
    }

    #[test]
    fn the_order_of_numbers_counts() {
        assert_ne!(super::joined(super::joined(1, 2), 3), super::joined(super::joined(1, 3), 2));
        assert_ne!(super::joined(0, 0), super::joined(0, 1));
    }
}
