//! Index b-trees, filled with sorted runs.
//!
//! In an index b-tree the entry between two neighbouring leaves stands in the page above them and nowhere else. So when a
//! leaf is full, its last entry is taken out and remembered as the divider.
//!
//! A [`Run`] is a stretch of entries in order. Runs that arrive in another order than that of their keys are written side
//! by side and joined at the end: each keeps its first and its last entries in memory, so that joining never has to read or
//! rewrite a page (`[a7] a8 (a9) + (b1) b2 [b3 ..` becomes `[a7] a8 [a9 b1] b2 [b3 ..`). There may be thousands of them, so
//! what a [`Closed`] run keeps is small.

use std::io;

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
        let mut head = [0; MAX_VARINT];
        let head_len = put_varint(&mut head, payload.len() as u64);
        let local = local_len(payload.len(), MAX_LOCAL, MIN_LOCAL);
        if local < payload.len() {
            let tail = output.put_overflow(&payload[local..])?;
            return self.append_cell(&[&head[..head_len], &payload[..local], &tail.to_be_bytes()], output);
        }
        self.append_cell(&[&head[..head_len], payload], output)
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

    /// Ends the run, which is all there is; returns the number of the root page.
    pub(crate) fn finish(self, output: &mut Output) -> io::Result<u32> {
        let closed = self.close(output)?;
        join([closed], output)
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

fn push_parts(leaf: &mut Page, parts: &[&[u8]]) -> bool {
    let Some(mut room) = leaf.reserve(parts.iter().map(|p| p.len()).sum()) else { return false };
    for part in parts {
        let (now, later) = room.split_at_mut(part.len());
        now.copy_from_slice(part);
        room = later;
    }
    true
}

/// Children of one level, and between each two of them an entry.
#[derive(Debug, Default)]
struct Level {
    pages: Vec<u32>,
    dividers: Cells,
}

impl Level {
    fn push(&mut self, page: u32, divider: &[u8]) {
        self.pages.push(page);
        self.dividers.push(divider);
    }

    /// Writes the pages of the level above; this level has at least two children.
    fn parents(&self, output: &mut Output) -> io::Result<Level> {
        let mut above = Level::default();
        let mut page = Page::new(PageKind::InteriorIndex);
        let last = self.pages.len() - 1;
        for (position, &child) in self.pages[..last].iter().enumerate() {
            let divider = self.dividers.get(position);
            if push_parts(&mut page, &[&child.to_be_bytes(), divider]) {
                continue;
            }
            if position + 1 < last {
                above.push(output.put_page(&mut page, child)?, divider);
                continue;
            }
            // The last page would be left with a single child, which is illegal: it borrows one.
            let borrowed = page.pop().to_vec();
            let right_most = u32::from_be_bytes([borrowed[0], borrowed[1], borrowed[2], borrowed[3]]);
            above.push(output.put_page(&mut page, right_most)?, &borrowed[4..]);
            push_parts(&mut page, &[&child.to_be_bytes(), divider]);
        }
        above.pages.push(output.put_page(&mut page, self.pages[last])?);
        Ok(above)
    }
}

/// Joins runs, given in the order of their keys, to one b-tree; returns the number of its root page.
pub(crate) fn join(runs: impl IntoIterator<Item = Closed>, output: &mut Output) -> io::Result<u32> {
    let mut level = Level::default();
    let mut leaf = Page::new(PageKind::LeafIndex);
    for Closed { written, tail } in runs {
        push_loose(&written.head, &mut leaf, &mut level, output)?;
        if !written.pages.is_empty() {
            level.push(output.put_page(&mut leaf, 0)?, written.dividers.get(0));
            for (position, &page) in written.pages.iter().enumerate() {
                level.push(page, written.dividers.get(position + 1));
            }
        }
        push_loose(&tail, &mut leaf, &mut level, output)?;
    }
    level.pages.push(output.put_page(&mut leaf, 0)?);
    while level.pages.len() > 1 {
        level = level.parents(output)?;
    }
    Ok(level.pages[0])
}

/// Appends cells that stand on no page yet to the open leaf.
fn push_loose(cells: &Cells, leaf: &mut Page, level: &mut Level, output: &mut Output) -> io::Result<()> {
    for cell in cells.iter() {
        if !leaf.push(cell) {
            let divider = leaf.pop().to_vec();
            level.push(output.put_page(leaf, 0)?, &divider);
            leaf.push(cell);
        }
    }
    Ok(())
}
