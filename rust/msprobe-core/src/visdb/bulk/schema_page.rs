//! The first page: the file header and the table of tables.

use super::page::{Page, PageKind, PAGE_SIZE};
use super::record::{push_record, push_varint, Cell};

/// Bytes of the file header.
const HEADER: usize = 100;

/// The library version that a file of ours pretends to come from; any from 3.8.2 on (tables without rowid) will do.
const SQLITE_VERSION: u32 = 3_040_001;

/// One object of the schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaEntry<'a> {
    /// `table` or `index`
    pub kind: &'static str,
    pub name: &'a str,
    /// Table that it belongs to; of a table, its own name.
    pub table: &'a str,
    pub root: u32,
    /// NULL for the indexes that a PRIMARY KEY or UNIQUE brings along.
    pub sql: Option<&'a str>,
}

/// The first page of a file of `pages` pages; `None` when the schema does not fit into it.
pub(crate) fn first_page(entries: &[SchemaEntry<'_>], pages: u32) -> Option<Box<[u8]>> {
    let mut page = Page::at(PageKind::LeafTable, HEADER);
    let mut payload = Vec::new();
    let mut cell = Vec::new();
    for (rowid, entry) in (1..).zip(entries) {
        payload.clear();
        let root = Cell::Integer(i64::from(entry.root));
        push_record(&mut payload, &[entry.kind.into(), entry.name.into(), entry.table.into(), root, entry.sql.into()]);
        cell.clear();
        push_varint(&mut cell, payload.len() as u64);
        push_varint(&mut cell, rowid);
        cell.extend_from_slice(&payload);
        if !page.push(&cell) {
            return None;
        }
    }
    let mut bytes: Box<[u8]> = page.seal(0).into();
    let page_size = if PAGE_SIZE == 65_536 { 1 } else { PAGE_SIZE as u16 };
    bytes[..16].copy_from_slice(b"SQLite format 3\0");
    bytes[16..18].copy_from_slice(&page_size.to_be_bytes());
    // Rollback journal for reading and writing, no reserved bytes, fixed fractions.
    bytes[18..24].copy_from_slice(&[1, 1, 0, 64, 32, 32]);
    let mut put = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
    put(24, 1); // change counter
    put(28, pages);
    put(40, 1); // schema cookie
    put(44, 4); // schema format: knows the integers 0 and 1 without a body
    put(56, 1); // UTF-8
    put(92, 1); // the page count is valid for this change counter
    put(96, SQLITE_VERSION);
    Some(bytes)
}
