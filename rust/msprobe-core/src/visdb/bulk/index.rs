//! Index b-trees, filled with sorted runs.
//!
//! In an index b-tree the entry between two neighbouring leaves stands in the page above them and nowhere else. So when a
//! leaf is full, its last entry is taken out and remembered as the divider.
//!
//! A [`Tree`] takes its entries in order. A [`Run`] is a stretch of entries in order; runs that arrive in another order than that of
//! their keys are written side by side and joined at the end: each keeps its first and its last entries in memory, so that joining never has to read or
//! rewrite a page (`[a7] a8 (a9) + (b1) b2 [b3 ..` becomes `[a7] a8 [a9 b1] b2 [b3 ..`). There may be thousands of them, so
//! what a [`Closed`] run keeps is small.

use std::io;

use super::levels::Levels;
use super::output::Output;
use super::page::{Page, PageKind, PAGE_SIZE};
use super::record::{put_varint, MAX_VARINT};
use super::table::local_len;

const MAX_LOCAL: usize = (PAGE_SIZE - 12) * 64 / 255 - 23;
const MIN_LOCAL: usize = (PAGE_SIZE - 12) * 32 / 255 - 23;

/// Bytes of entries that are not worth a page of their own.
const SMALL: usize = PAGE_SIZE / 4;

/// Cells of a leaf that may be written: those that stay are the head, a divider, and another one behind. Any full leaf has them.
const FEWEST: usize = 4;

/// Cells in a row.
#[derive(Debug, Default)]
struct Cells {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Cells {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|position| self.get(position))
    }

    fn push(&mut self, cell: &[u8]) {
        self.bytes.extend_from_slice(cell);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, position: usize) -> &[u8] {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        &self.bytes[start..self.ends[position]]
    }
}

/// Entries in ascending order, the last of them in an open leaf.
#[derive(Debug)]
pub(crate) struct Run {
    written: Written,
    leaf: Page,
}

/// The beginning of a run: `head, divider, page, divider, page, .., divider`; without pages, nothing.
#[derive(Debug, Default)]
struct Written {
    /// The first entry, once there are pages.
    head: Cells,
    pages: Vec<u32>,
    /// One before each page, and one behind the last.
    dividers: Cells,
}

/// A run that is complete.
#[derive(Debug)]
pub(crate) struct Closed {
    written: Written,
    tail: Cells,
}

impl Run {
    pub(crate) fn new() -> Self {
        Run { written: Written::default(), leaf: Page::new(PageKind::LeafIndex) }
    }

    /// Appends a record; its key must not be below the last one's.
    pub(crate) fn append(&mut self, payload: &[u8], output: &mut Output) -> io::Result<()> {
        with_cell(payload, output, |parts, output| self.append_cell(parts, output))
    }

    fn append_cell(&mut self, parts: &[&[u8]], output: &mut Output) -> io::Result<()> {
        if !push_parts(&mut self.leaf, parts) {
            self.written.put(&mut self.leaf, output)?;
            push_parts(&mut self.leaf, parts);
        }
        Ok(())
    }

    /// Ends the run.
    pub(crate) fn close(mut self, output: &mut Output) -> io::Result<Closed> {
        let mut tail = Cells::default();
        if self.leaf.used() > SMALL && self.leaf.cells() > FEWEST {
            tail.push(self.leaf.pop());
            self.written.put(&mut self.leaf, output)?;
        } else {
            (0..self.leaf.cells()).for_each(|position| tail.push(self.leaf.cell(position)));
        }
        Ok(Closed { written: self.written, tail })
    }
}

impl Written {
    /// Writes a leaf but for the cells that stay, and empties it.
    fn put(&mut self, leaf: &mut Page, output: &mut Output) -> io::Result<()> {
        debug_assert!(leaf.cells() >= FEWEST, "the largest cells fill a quarter of a page");
        if self.pages.is_empty() {
            self.head.push(leaf.cell(0));
            self.dividers.push(leaf.cell(1));
            leaf.remove_first(2);
        }
        self.dividers.push(leaf.pop());
        self.pages.push(output.put_page(leaf, 0)?);
        Ok(())
    }
}

/// Makes a cell of a record, whose end goes to overflow pages if it is long, and hands over the parts of the cell.
fn with_cell(payload: &[u8], output: &mut Output, take: impl FnOnce(&[&[u8]], &mut Output) -> io::Result<()>) -> io::Result<()> {
    let mut head = [0; MAX_VARINT];
    let head_len = put_varint(&mut head, payload.len() as u64);
    let head = &head[..head_len];
    let local = local_len(payload.len(), MAX_LOCAL, MIN_LOCAL);
    if local < payload.len() {
        let tail = output.put_overflow(&payload[local..])?;
        return take(&[head, &payload[..local], &tail.to_be_bytes()], output);
    }
    take(&[head, payload], output)
}

fn push_parts(leaf: &mut Page, parts: &[&[u8]]) -> bool {
    let Some(mut room) = leaf.reserve(parts.iter().map(|p| p.len()).sum()) else { return false };
    for part in parts {
        let (now, later) = room.split_at_mut(part.len());
        now.copy_from_slice(part);
        room = later;
    }
    true
}

/// An index b-tree whose entries come in order.
#[derive(Debug)]
pub(crate) struct Tree {
    leaf: Page,
    above: Levels,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Tree { leaf: Page::new(PageKind::LeafIndex), above: Levels::new(PageKind::InteriorIndex) }
    }

    /// Appends a record; its key must not be below the last one's.
    pub(crate) fn append(&mut self, payload: &[u8], output: &mut Output) -> io::Result<()> {
        with_cell(payload, output, |parts, output| self.push(parts, output))
    }

    fn push(&mut self, parts: &[&[u8]], output: &mut Output) -> io::Result<()> {
        if !push_parts(&mut self.leaf, parts) {
            let divider = self.leaf.pop().to_vec();
            self.close_leaf(&divider, output)?;
            push_parts(&mut self.leaf, parts);
        }
        Ok(())
    }

    /// Writes the open leaf; `divider` comes behind it.
    fn close_leaf(&mut self, divider: &[u8], output: &mut Output) -> io::Result<()> {
        let page = output.put_page(&mut self.leaf, 0)?;
        self.above.push(page, divider, output)
    }

    /// Writes the rest; returns the number of the root page.
    pub(crate) fn finish(mut self, output: &mut Output) -> io::Result<u32> {
        let last = output.put_page(&mut self.leaf, 0)?;
        self.above.finish(last, output)
    }
}

/// Joins runs, given in the order of their keys, to one b-tree; returns the number of its root page.
pub(crate) fn join(runs: impl IntoIterator<Item = Closed>, output: &mut Output) -> io::Result<u32> {
    let mut tree = Tree::new();
    for Closed { written, tail } in runs {
        written.head.iter().try_for_each(|cell| tree.push(&[cell], output))?;
        if !written.pages.is_empty() {
            tree.close_leaf(written.dividers.get(0), output)?;
            for (position, &page) in written.pages.iter().enumerate() {
                tree.above.push(page, written.dividers.get(position + 1), output)?;
            }
        }
        tail.iter().try_for_each(|cell| tree.push(&[cell], output))?;
    }
    tree.finish(output)
}
