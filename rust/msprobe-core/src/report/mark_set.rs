//! A set of marks, of which there may be millions: more than a processor's cache holds.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::hint::black_box;

/// Slots of the smallest set.
const SMALLEST: u32 = 6;
/// Slots up to which a set lies in the cache anyway, as a power of two.
const IN_CACHE: u32 = 14;

/// Marks in slots, each as near behind its own as there is room.
#[derive(Debug)]
pub(super) struct MarkSet {
    /// As many as a power of two; 0 is free.
    slots: Vec<u64>,
    /// That power.
    bits: u32,
    count: usize,
    has_zero: bool,
    /// Another one in every set, so that nobody can make up marks that share a slot.
    key: u64,
}

impl Default for MarkSet {
    fn default() -> Self {
        MarkSet { slots: vec![0; 1 << SMALLEST], bits: SMALLEST, count: 0, has_zero: false, key: RandomState::new().hash_one(0) | 1 }
    }
}

impl MarkSet {
    /// A mark's own slot.
    #[inline]
    fn own(&self, mark: u64) -> usize {
        // Multiplicative hashing, by the upper half of the product too: marks are numbers of any kind.
        let product = u128::from(mark) * u128::from(self.key);
        let mixed = (product as u64 ^ (product >> 64) as u64).wrapping_mul(self.key);
        (mixed >> (64 - self.bits)) as usize
    }

    /// Where the mark is, or the free slot where it would be.
    #[inline]
    fn find(&self, mark: u64) -> usize {
        let last = self.slots.len() - 1;
        let mut at = self.own(mark);
        while self.slots[at] != mark && self.slots[at] != 0 {
            at = (at + 1) & last;
        }
        at
    }

    #[inline]
    pub fn contains(&self, mark: u64) -> bool {
        if mark == 0 {
            return self.has_zero;
        }
        self.slots[self.find(mark)] == mark
    }

    /// Takes a mark in; whether it is new.
    #[inline]
    pub fn insert(&mut self, mark: u64) -> bool {
        if mark == 0 {
            return !std::mem::replace(&mut self.has_zero, true);
        }
        let at = self.find(mark);
        if self.slots[at] == mark {
            return false;
        }
        self.slots[at] = mark;
        self.count += 1;
        // At most four fifths are taken, or the way to a free one gets long.
        if self.count * 5 > self.slots.len() * 4 {
            self.grow();
        }
        true
    }

    /// Takes marks in.
    pub fn extend(&mut self, marks: &[u64]) {
        for mark in marks {
            self.insert(*mark);
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.bits += 1;
        let old = std::mem::replace(&mut self.slots, vec![0; 1 << self.bits]);
        for mark in old.into_iter().filter(|mark| *mark != 0) {
            let at = self.find(mark);
            self.slots[at] = mark;
        }
    }

    /// Looks at the places of marks that will be asked for soon: the processor fetches them all at once, not one after the other.
    #[inline]
    pub fn expect(&self, marks: impl Iterator<Item = u64>) {
        if self.bits > IN_CACHE {
            black_box(marks.fold(0, |seen, mark| seen ^ self.slots[self.own(mark)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn mark() -> impl Strategy<Value = u64> {
        prop_oneof![0..40u64, any::<u64>(), (0..40u64).prop_map(|n| n << 58), (0..40u64).prop_map(|n| n << 32 | 1)]
    }

    proptest! {
        #[test]
        fn it_holds_what_was_taken_in(marks in proptest::collection::vec((mark(), any::<bool>()), 0..600)) {
            let (mut set, mut other) = (MarkSet::default(), HashSet::new());
            for (mark, is_new) in marks {
                if is_new {
                    prop_assert_eq!(set.insert(mark), other.insert(mark));
                }
                prop_assert_eq!(set.contains(mark), other.contains(&mark));
            }
        }
    }

    #[test]
    fn many_marks_of_any_pattern() {
        for pattern in [|n: u64| n, |n: u64| n << 40, |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1] {
            let mut set = MarkSet::default();
            set.extend(&(0..100_000).map(pattern).collect::<Vec<_>>());
            set.expect((0..100).map(pattern));
            assert!((0..100_000).all(|n| set.contains(pattern(n))));
            assert!(!(100_000..101_000).any(|n| set.contains(pattern(n))));
        }
    }
}
