//! Tables of ours while the file is being written.

use std::io;

use crate::visdb::bulk::index::Tree;
use crate::visdb::bulk::output::Output;
use crate::visdb::bulk::record::{push_record, Cell};
use crate::visdb::bulk::table::{Table as Rows, TableMark};
use crate::visdb::schema::Table;

/// A table and its rows so far.
#[derive(Debug)]
pub(super) struct Filled {
    pub table: &'static Table,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Rowid { rows: Rows, mark: Option<TableMark> },
    Keyed { tree: Tree, last: Vec<u8>, waiting: Vec<Keyed> },
}

/// A row of a keyed table until the end of its part.
#[derive(Debug)]
struct Keyed {
    key: Vec<u8>,
    record: Vec<u8>,
}

impl Filled {
    pub(super) fn new(table: &'static Table) -> Self {
        let content = if table.key == 0 {
            Content::Rowid { rows: Rows::new(), mark: None }
        } else {
            Content::Keyed { tree: Tree::new(), last: Vec::new(), waiting: Vec::new() }
        };
        Filled { table, content }
    }

    pub(super) fn add(&mut self, cells: &[Cell<'_>], output: &mut Output) -> io::Result<()> {
        let mut record = Vec::new();
        push_record(&mut record, cells);
        match &mut self.content {
            Content::Rowid { rows, .. } => {
                rows.append(&record, output)?;
            }
            Content::Keyed { waiting, .. } => waiting.push(Keyed { key: comparable(&cells[..self.table.key]), record }),
        }
        Ok(())
    }

    pub(super) fn begin_part(&mut self) {
        if let Content::Rowid { rows, mark } = &mut self.content {
            *mark = Some(rows.mark());
        }
    }

    pub(super) fn rollback_part(&mut self) {
        match &mut self.content {
            // A table that came up within the part has no mark.
            Content::Rowid { rows, mark } => match mark.take() {
                Some(mark) => rows.rewind(mark),
                None => *rows = Rows::new(),
            },
            Content::Keyed { waiting, .. } => waiting.clear(),
        }
    }

    /// Sorts the rows of a keyed table and checks that they continue it; the error is a reason.
    pub(super) fn sort(&mut self) -> Result<(), String> {
        let Content::Keyed { waiting, last, .. } = &mut self.content else { return Ok(()) };
        waiting.sort_by(|a, b| a.key.cmp(&b.key));
        let mut previous = &*last;
        for row in &*waiting {
            if !previous.is_empty() && *previous >= row.key {
                return Err(format!("rows of {} repeat a key or go back behind an earlier part", self.table.name));
            }
            previous = &row.key;
        }
        Ok(())
    }

    /// Appends the sorted rows of a keyed table.
    pub(super) fn finish_part(&mut self, output: &mut Output) -> io::Result<()> {
        match &mut self.content {
            Content::Rowid { mark, .. } => *mark = None,
            Content::Keyed { tree, last, waiting } => {
                for row in waiting.drain(..) {
                    tree.append(&row.record, output)?;
                    *last = row.key;
                }
            }
        }
        Ok(())
    }

    /// Writes the rest; returns the root page.
    pub(super) fn finish(self, output: &mut Output) -> io::Result<u32> {
        match self.content {
            Content::Rowid { rows, .. } => rows.finish(output),
            Content::Keyed { tree, .. } => tree.finish(output),
        }
    }
}

/// A key whose bytes compare as SQLite compares the cells.
fn comparable(cells: &[Cell<'_>]) -> Vec<u8> {
    let mut key = Vec::new();
    for cell in cells {
        match cell {
            Cell::Null => key.push(0),
            Cell::Integer(i) => {
                key.push(1);
                key.extend_from_slice(&(*i as u64 ^ (1 << 63)).to_be_bytes());
            }
            Cell::Real(x) => {
                // Reals after integers: keys mix the two nowhere.
                key.push(2);
                let bits = x.to_bits();
                key.extend_from_slice(&(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }).to_be_bytes());
            }
            Cell::Text(text) => {
                key.push(3);
                for &byte in text.as_bytes() {
                    key.push(byte);
                    if byte == 0 {
                        key.push(0xff);
                    }
                }
                key.extend_from_slice(&[0, 0]);
            }
        }
    }
    key
}
