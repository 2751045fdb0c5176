//! A table b-tree, filled in the order of its rowids.

use std::io;

use super::output::Output;
use super::page::{Page, PageKind, PAGE_SIZE};
use super::record::{put_varint, MAX_VARINT};

/// Longest payload that stays in a leaf.
const MAX_LOCAL: usize = PAGE_SIZE - 35;
/// Shortest part of a longer payload that stays in a leaf.
const MIN_LOCAL: usize = (PAGE_SIZE - 12) * 32 / 255 - 23;

/// Children of an interior page, if every rowid took the longest varint.
const FAN_OUT: usize = (PAGE_SIZE - 12) / (2 + 4 + MAX_VARINT) + 1;

/// How many bytes of a payload stay in the page; the rest goes to overflow pages.
pub(super) fn local_len(payload: usize, max_local: usize, min_local: usize) -> usize {
    if payload <= max_local {
        return payload;
    }
    let fitting = min_local + (payload - min_local) % (PAGE_SIZE - 4);
    if fitting <= max_local {
        fitting
    } else {
        min_local
    }
}

/// A table under construction: the open leaf and one entry per written leaf.
#[derive(Debug)]
pub(crate) struct Table {
    leaf: Page,
    rows: i64,
    /// Page number and last rowid of every written leaf.
    leaves: Vec<(u32, i64)>,
}

/// A state of a table to come back to.
#[derive(Debug)]
pub(crate) struct TableMark {
    leaf: Page,
    rows: i64,
    leaves: usize,
}

impl Table {
    pub(crate) fn new() -> Self {
        Table { leaf: Page::new(PageKind::LeafTable), rows: 0, leaves: Vec::new() }
    }

    /// Number of rows, which is also the last rowid.
    pub(crate) fn rows(&self) -> i64 {
        self.rows
    }

    /// Appends a record and returns its rowid.
    pub(crate) fn append(&mut self, payload: &[u8], output: &mut Output) -> io::Result<i64> {
        let mut head = [0; 2 * MAX_VARINT];
        let mut head_len = put_varint(&mut head, payload.len() as u64);
        head_len += put_varint(&mut head[head_len..], (self.rows + 1) as u64);
        let head = &head[..head_len];
        let local = local_len(payload.len(), MAX_LOCAL, MIN_LOCAL);
        let tail = if local < payload.len() { Some(output.put_overflow(&payload[local..])?.to_be_bytes()) } else { None };
        let len = head_len + local + if tail.is_some() { 4 } else { 0 };
        if let Some(cell) = self.leaf.reserve(len) {
            fill(cell, head, &payload[..local], tail);
        } else {
            let page = output.put_page(&mut self.leaf, 0)?;
            self.leaves.push((page, self.rows));
            if let Some(cell) = self.leaf.reserve(len) {
                fill(cell, head, &payload[..local], tail);
            }
        }
        self.rows += 1;
        Ok(self.rows)
    }

    pub(crate) fn mark(&self) -> TableMark {
        TableMark { leaf: self.leaf.clone(), rows: self.rows, leaves: self.leaves.len() }
    }

    pub(crate) fn rewind(&mut self, mark: TableMark) {
        self.leaf = mark.leaf;
        self.rows = mark.rows;
        self.leaves.truncate(mark.leaves);
    }

    /// Writes the last leaf and the levels above the leaves; returns the number of the root page.
    pub(crate) fn finish(mut self, output: &mut Output) -> io::Result<u32> {
        let last = output.put_page(&mut self.leaf, 0)?;
        let mut level = self.leaves;
        level.push((last, self.rows));
        let mut page = Page::new(PageKind::InteriorTable);
        while level.len() > 1 {
            let parents = level.len().div_ceil(FAN_OUT);
            let mut above = Vec::with_capacity(parents);
            // Spread evenly: an interior page with a single child would be illegal.
            for parent in 0..parents {
                let children = &level[parent * level.len() / parents..(parent + 1) * level.len() / parents];
                let (&right_most, front) = children.split_last().unwrap_or((&(0, 0), &[]));
                for &(child, rowid) in front {
                    let mut cell = [0; 4 + MAX_VARINT];
                    cell[..4].copy_from_slice(&child.to_be_bytes());
                    let len = 4 + put_varint(&mut cell[4..], rowid as u64);
                    page.push(&cell[..len]);
                }
                above.push((output.put_page(&mut page, right_most.0)?, right_most.1));
            }
            level = above;
        }
        Ok(level[0].0)
    }
}

fn fill(cell: &mut [u8], head: &[u8], local: &[u8], tail: Option<[u8; 4]>) {
    let (front, rest) = cell.split_at_mut(head.len());
    front.copy_from_slice(head);
    let (body, end) = rest.split_at_mut(local.len());
    body.copy_from_slice(local);
    if let Some(tail) = tail {
        end.copy_from_slice(&tail);
    }
}
