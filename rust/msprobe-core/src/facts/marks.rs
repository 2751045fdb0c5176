//! Short stand-ins for texts: FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
//!
//! Two texts of one file share a mark with a probability of about n^2 / 2^65, below 1e-7 for a million of them; the
//! consequence would be one node taken for another's source. Files that want this to happen fool only their own report.

/// The hash under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub fn value(self) -> u64 {
        self.0
    }
}

/// The mark of a text.
pub(crate) fn mark(text: &str) -> u64 {
    let mut hash = Fnv::default();
    hash.write(text.as_bytes());
    hash.value()
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_values() {
        // From the FNV draft's test vectors.
        assert_eq!(super::mark(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::mark("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(super::mark("foobar"), 0x8594_4171_f739_67e8);
    }
}
