//! Names inside a file: where they stand, and finding them.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::json::{unescape, Escapes, StringToken};

/// Set in [`Text::offset`] when the text lies in the side buffer.
const DECODED: u64 = 1 << 63;

/// Where the text of a JSON string lies: in the file, or, unescaped or gathered, in a side buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text {
    offset: u64,
    length: u64,
}

/// The texts of one file.
#[derive(Debug, Default)]
pub(super) struct Decoded(String);

impl Decoded {
    /// Remembers a string of `file`.
    #[inline]
    pub(super) fn keep(&mut self, file: &str, token: StringToken<'_>) -> Text {
        if token.escapes == Escapes::Some {
            return self.gather(token);
        }
        // The token was cut out of the file, so the difference of the addresses is its place.
        let offset = token.raw.as_ptr() as usize - file.as_ptr() as usize;
        Text { offset: offset as u64, length: token.raw.len() as u64 }
    }

    /// The same in the side buffer, whatever the string is: texts that stand far from each other in the file are looked at again
    /// faster when they are gathered.
    #[inline]
    pub(super) fn gather(&mut self, token: StringToken<'_>) -> Text {
        let start = self.0.len();
        if token.escapes == Escapes::Some {
            unescape(token.raw, |piece| self.0.push_str(piece));
        } else {
            self.0.push_str(token.raw);
        }
        Text { offset: start as u64 | DECODED, length: (self.0.len() - start) as u64 }
    }

    /// The text itself.
    #[inline]
    pub(super) fn get<'a>(&'a self, file: &'a str, text: Text) -> &'a str {
        let (within, start) = if text.offset & DECODED == 0 { (file, text.offset) } else { (self.0.as_str(), text.offset & !DECODED) };
        // Between the bytes of a character only in a file that was overwritten meanwhile, of which nothing is used in the end.
        within.get(start as usize..(start + text.length) as usize).unwrap_or_default()
    }
}

/// Finds the number of a name. Knows only hashes and numbers; the names stay where they are.
#[derive(Debug, Default)]
pub(super) struct NameIndex {
    /// The hash stands beside the number, so that growing the table and telling most names apart does not touch the file.
    table: HashTable<(u32, u32)>,
    hasher: DefaultHashBuilder,
}

impl NameIndex {
    /// The number kept for `name`; `name_of` tells the name of a number.
    #[inline]
    pub(super) fn find<'a>(&self, name: &str, name_of: impl Fn(u32) -> &'a str) -> Option<u32> {
        let hash = self.hasher.hash_one(name) as u32;
        self.table.find(spread(hash), |kept| kept.0 == hash && name_of(kept.1) == name).map(|kept| kept.1)
    }

    /// The number kept for `name`, or else keeps `number` for it and returns `None`.
    #[inline]
    pub(super) fn find_or_insert<'a>(&mut self, name: &str, number: u32, name_of: impl Fn(u32) -> &'a str) -> Option<u32> {
        use hashbrown::hash_table::Entry;
        let hash = self.hasher.hash_one(name) as u32;
        match self.table.entry(spread(hash), |kept| kept.0 == hash && name_of(kept.1) == name, |kept| spread(kept.0)) {
            Entry::Occupied(found) => Some(found.get().1),
            Entry::Vacant(free) => {
                free.insert((hash, number));
                None
            }
        }
    }
}

/// The table looks at the lowest and the highest bits of a hash.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}
