//! A table b-tree, filled in the order of its rowids.

use std::io;

use super::levels::Levels;
use super::output::Output;
use super::page::{Page, PageKind, PAGE_SIZE};
use super::record::{put_varint, MAX_VARINT};

/// Longest payload that stays in a leaf.
const MAX_LOCAL: usize = PAGE_SIZE - 35;
/// Shortest part of a longer payload that stays in a leaf.
const MIN_LOCAL: usize = (PAGE_SIZE - 12) * 32 / 255 - 23;

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

/// A table under construction: the open leaf, and the open pages above it.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    leaf: Page,
    rows: i64,
    above: Levels,
}

/// A state of a table to come back to.
#[derive(Debug)]
pub(crate) struct TableMark(Table);

impl Table {
    pub(crate) fn new() -> Self {
        Table { leaf: Page::new(PageKind::LeafTable), rows: 0, above: Levels::new(PageKind::InteriorTable) }
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
            let mut divider = [0; MAX_VARINT];
            let divider_len = put_varint(&mut divider, self.rows as u64);
            self.above.push(page, &divider[..divider_len], output)?;
            if let Some(cell) = self.leaf.reserve(len) {
                fill(cell, head, &payload[..local], tail);
            }
        }
        self.rows += 1;
        Ok(self.rows)
    }

    pub(crate) fn mark(&self) -> TableMark {
        TableMark(self.clone())
    }

    pub(crate) fn rewind(&mut self, mark: TableMark) {
        *self = mark.0;
    }

    /// Writes the last leaf and the rest of the levels above; returns the number of the root page.
    pub(crate) fn finish(mut self, output: &mut Output) -> io::Result<u32> {
        let last = output.put_page(&mut self.leaf, 0)?;
        self.above.finish(last, output)
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
