//! One page of a b-tree under construction.

/// Bytes of a page. Measured on a comparison of 450,000 nodes: see the bench `visdb`.
pub(crate) const PAGE_SIZE: usize = 16 * 1024;

/// Kinds of b-tree pages, as their first byte says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    InteriorIndex = 2,
    InteriorTable = 5,
    LeafIndex = 10,
    LeafTable = 13,
}

impl PageKind {
    fn header_len(self) -> usize {
        match self {
            PageKind::InteriorIndex | PageKind::InteriorTable => 12,
            PageKind::LeafIndex | PageKind::LeafTable => 8,
        }
    }
}

/// A page that is filled cell by cell in key order: pointers grow from the front, cells from the back.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    bytes: Box<[u8]>,
    kind: PageKind,
    /// Where the b-tree header starts: 0, or 100 on the first page of the file.
    base: usize,
    cells: usize,
    content: usize,
}

impl Page {
    pub(crate) fn new(kind: PageKind) -> Self {
        Page::at(kind, 0)
    }

    /// A page whose first `base` bytes are left for the file header.
    pub(crate) fn at(kind: PageKind, base: usize) -> Self {
        Page { bytes: vec![0; PAGE_SIZE].into_boxed_slice(), kind, base, cells: 0, content: PAGE_SIZE }
    }

    pub(crate) fn cells(&self) -> usize {
        self.cells
    }

    /// Room for a cell of `len` bytes, which the caller fills; `None` when the page is full.
    pub(crate) fn reserve(&mut self, len: usize) -> Option<&mut [u8]> {
        let pointer = self.pointer_at(self.cells);
        // Shorter cells would need padding; a record of two columns has three bytes, its length a fourth.
        debug_assert!(len >= 4, "a cell must be able to become a free block");
        if pointer + 2 + len > self.content {
            return None;
        }
        self.content -= len;
        self.bytes[pointer..pointer + 2].copy_from_slice(&(self.content as u16).to_be_bytes());
        self.cells += 1;
        Some(&mut self.bytes[self.content..self.content + len])
    }

    /// Appends a cell; `false` when the page is full.
    pub(crate) fn push(&mut self, cell: &[u8]) -> bool {
        match self.reserve(cell.len()) {
            Some(room) => {
                room.copy_from_slice(cell);
                true
            }
            None => false,
        }
    }

    /// Removes the last cell and returns it. The page must not be empty.
    pub(crate) fn pop(&mut self) -> &[u8] {
        let start = self.content;
        self.cells -= 1;
        self.content = if self.cells == 0 { PAGE_SIZE } else { self.pointer(self.cells - 1) };
        &self.bytes[start..self.content]
    }

    /// The cell at `position`.
    pub(crate) fn cell(&self, position: usize) -> &[u8] {
        let end = if position == 0 { PAGE_SIZE } else { self.pointer(position - 1) };
        &self.bytes[self.pointer(position)..end]
    }

    /// Bytes of all cells.
    pub(crate) fn used(&self) -> usize {
        PAGE_SIZE - self.content
    }

    /// Removes the first `count` cells; there are more.
    pub(crate) fn remove_first(&mut self, count: usize) {
        let removed = PAGE_SIZE - self.pointer(count - 1);
        self.bytes.copy_within(self.content..PAGE_SIZE - removed, self.content + removed);
        for position in count..self.cells {
            let moved = (self.pointer(position) + removed) as u16;
            let at = self.pointer_at(position - count);
            self.bytes[at..at + 2].copy_from_slice(&moved.to_be_bytes());
        }
        self.cells -= count;
        self.content += removed;
    }

    fn pointer(&self, position: usize) -> usize {
        let at = self.pointer_at(position);
        usize::from(u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]))
    }

    /// Where the pointer to a cell stands.
    fn pointer_at(&self, position: usize) -> usize {
        self.base + self.kind.header_len() + 2 * position
    }

    /// Writes the header and clears the gap; `right_most` is the last child of an interior page.
    pub(crate) fn seal(&mut self, right_most: u32) -> &[u8] {
        let header = self.kind.header_len();
        let gap = self.pointer_at(self.cells);
        self.bytes[gap..self.content].fill(0);
        let head = &mut self.bytes[self.base..self.base + header];
        head[0] = self.kind as u8;
        head[1..3].fill(0);
        head[3..5].copy_from_slice(&(self.cells as u16).to_be_bytes());
        head[5..7].copy_from_slice(&(self.content as u16).to_be_bytes());
        head[7] = 0;
        if header == 12 {
            head[8..12].copy_from_slice(&right_most.to_be_bytes());
        }
        &self.bytes
    }

    /// Forgets all cells.
    pub(crate) fn reset(&mut self) {
        self.cells = 0;
        self.content = PAGE_SIZE;
    }

    /// Exchanges the bytes with those of another page of the same size, so that a full page is handed over uncopied.
    pub(crate) fn exchange(&mut self, bytes: &mut Box<[u8]>) {
        std::mem::swap(&mut self.bytes, bytes);
        self.reset();
    }
}
