//! Index b-trees, filled with sorted runs.
//!
//! In an index b-tree the entry between two neighbouring leaves stands in the page above them and nowhere else. So when a
//! leaf is full, its last entry is taken out and remembered as the divider.
//!
//! A [`Run`] is a stretch of entries in order. Runs that arrive in another order than that of their keys are written side
//! by side and joined at the end: each keeps its first leaf in memory, so that joining never has to read or rewrite a page
//! (`.. a8 a9] + [b1 b2] b3 [b4 ..` becomes `.. a8 a9 b1 b2] b3 [b4 ..`).

use std::io;

use super::output::Output;
use super::page::{Page, PageKind, PAGE_SIZE};
use super::record::{put_varint, MAX_VARINT};
use super::table::local_len;

const MAX_LOCAL: usize = (PAGE_SIZE - 12) * 64 / 255 - 23;
const MIN_LOCAL: usize = (PAGE_SIZE - 12) * 32 / 255 - 23;

/// Cells that stand between leaves.
#[derive(Debug, Default)]
struct Dividers {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Dividers {
    fn push(&mut self, cell: &[u8]) {
        self.bytes.extend_from_slice(cell);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, position: usize) -> &[u8] {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        &self.bytes[start..self.ends[position]]
    }
}

/// Entries in ascending order: `head, divider, page, divider, page, .., divider, leaf`.
#[derive(Debug)]
pub(crate) struct Run {
    /// The first leaf, once there is a second.
    head: Option<Page>,
    pages: Vec<u32>,
    dividers: Dividers,
    /// The open leaf.
    leaf: Page,
}

impl Run {
    pub(crate) fn new() -> Self {
        Run { head: None, pages: Vec::new(), dividers: Dividers::default(), leaf: Page::new(PageKind::LeafIndex) }
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
        if push_parts(&mut self.leaf, parts) {
            return Ok(());
        }
        self.dividers.push(self.leaf.pop());
        if self.head.is_none() {
            self.head = Some(std::mem::replace(&mut self.leaf, Page::new(PageKind::LeafIndex)));
        } else {
            self.pages.push(output.put_page(&mut self.leaf, 0)?);
        }
        push_parts(&mut self.leaf, parts);
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
    dividers: Dividers,
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
pub(crate) fn join(runs: impl IntoIterator<Item = Run>, output: &mut Output) -> io::Result<u32> {
    let mut level = Level::default();
    let mut leaf = Page::new(PageKind::LeafIndex);
    for run in runs {
        let first = run.head.as_ref().unwrap_or(&run.leaf);
        for position in 0..first.cells() {
            let cell = first.cell(position);
            if !leaf.push(cell) {
                let divider = leaf.pop().to_vec();
                level.push(output.put_page(&mut leaf, 0)?, &divider);
                leaf.push(cell);
            }
        }
        if run.head.is_some() {
            level.push(output.put_page(&mut leaf, 0)?, run.dividers.get(0));
            for (position, &page) in run.pages.iter().enumerate() {
                level.push(page, run.dividers.get(position + 1));
            }
            leaf = run.leaf;
        }
    }
    level.pages.push(output.put_page(&mut leaf, 0)?);
    while level.pages.len() > 1 {
        level = level.parents(output)?;
    }
    Ok(level.pages[0])
}
