//! Sorting names, many of which begin alike.

/// Texts, one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, position: usize) -> &[u8] {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        &self.bytes[start..self.ends[position]]
    }

    /// Positions in the order of the texts' bytes, equal texts in the order of their positions.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let mut items: Vec<Item> = (0..self.len() as u32).map(|position| Item { piece: 0, position }).collect();
        let mut groups = vec![Group { start: 0, end: items.len(), depth: 0 }];
        while let Some(Group { start, end, depth }) = groups.pop() {
            let group = &mut items[start..end];
            if group.len() <= SMALL {
                group.sort_unstable_by(|a, b| {
                    let texts = (&self.get(a.position as usize)[depth..], &self.get(b.position as usize)[depth..]);
                    texts.0.cmp(texts.1).then(a.position.cmp(&b.position))
                });
                continue;
            }
            for item in &mut *group {
                item.piece = piece(&self.get(item.position as usize)[depth..]);
            }
            group.sort_unstable_by_key(|item| (item.piece, item.position));
            let mut from = 0;
            for same in group.chunk_by(|a, b| a.piece == b.piece) {
                let more = same[0].piece & 0xff == PIECE as u64 + 1;
                if more && same.len() > 1 {
                    groups.push(Group { start: start + from, end: start + from + same.len(), depth: depth + PIECE });
                }
                from += same.len();
            }
        }
        items.into_iter().map(|item| item.position).collect()
    }
}

/// Groups up to this size are compared byte by byte.
const SMALL: usize = 24;

/// Bytes of a text that are compared at once.
const PIECE: usize = 7;

struct Item {
    piece: u64,
    position: u32,
}

/// Texts that agree in their first `depth` bytes.
struct Group {
    start: usize,
    end: usize,
    depth: usize,
}

/// The next [`PIECE`] bytes as a number, and in the last byte how many there are (one more: the text goes on).
///
/// The count keeps `a` apart from `a\0`.
fn piece(rest: &[u8]) -> u64 {
    if let Some(bytes) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*bytes) & !0xff | (PIECE as u64 + 1);
    }
    let mut bytes = [0; 8];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(bytes) | rest.len() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(
            texts in proptest::collection::vec("(Module\\.module\\.)?[ab\u{0}\\.é]{0,20}", 0..200)
        ) {
            let mut arena = Texts::default();
            for text in &texts {
                arena.push(text.as_bytes());
            }
            let mut expected: Vec<u32> = (0..texts.len() as u32).collect();
            expected.sort_by_key(|&i| texts[i as usize].as_bytes());
            prop_assert_eq!(arena.sorted(), expected);
        }
    }
}
