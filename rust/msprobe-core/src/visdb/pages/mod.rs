//! Rows of `tb_nodes` read straight from the pages of a file, for those who want all of them.
//!
//! SQLite copies every row twice and steps through a program for each; a file of millions of nodes is read several times as
//! fast without. But only SQLite knows everything that a file may be. So this room reads nothing but what every writer of
//! result files leaves behind: the table of msProbe's very columns, UTF-8, no write-ahead log. Whatever else it meets is
//! [`Unusual`], and the caller asks SQLite instead, which answers or names the damage.
//!
//! Nothing is locked. Whoever writes into the file meanwhile is noticed: [`NodePages::check_unchanged`] tells afterwards.

mod btree;
mod record;
#[cfg(test)]
mod tests;
mod window;

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension};

use super::error::{Error, Result};
use super::read::{explain, has_log};
use crate::mapping::open_regular;
use btree::Tree;

pub(crate) use record::Record;

/// The table holds something that is left to SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unusual;

/// Columns of `tb_nodes` with their types, as they stand in a row.
const COLUMNS: [(&str, &str); COLUMN_COUNT] = [
    ("id", "TEXT"),
    ("graph_id", "TEXT"),
    ("node_order", "INTEGER"),
    ("node_name", "TEXT"),
    ("node_type", "TEXT"),
    ("up_node", "TEXT"),
    ("sub_nodes", "TEXT"),
    ("precision_index", "INTEGER"),
    ("overflow_level", "TEXT"),
    ("micro_step_id", "INTEGER"),
    ("matched_node_link", "TEXT"),
    ("stack_id", "TEXT"),
    ("parallel_merge_info", "TEXT"),
    ("matched_distributed", "TEXT"),
    ("modified", "INTEGER"),
    ("input_data", "TEXT"),
    ("output_data", "TEXT"),
    ("data_source", "TEXT"),
    ("dump_data_dir", "TEXT"),
    ("step", "INTEGER"),
    ("rank", "INTEGER"),
    ("is_distributed", "INTEGER"),
];
const COLUMN_COUNT: usize = 22;

/// Number of a column in a row of `tb_nodes`; the name must be one of its columns.
pub(crate) const fn column(name: &str) -> usize {
    let mut at = 0;
    while at < COLUMN_COUNT {
        if same(COLUMNS[at].0, name) {
            return at;
        }
        at += 1;
    }
    panic!("no column of tb_nodes")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The pages of `tb_nodes` of one file, to be read by several threads.
#[derive(Debug)]
pub(crate) struct NodePages {
    path: PathBuf,
    file: File,
    seen: Seen,
    root: u32,
    layout: Layout,
}

/// What changes when somebody writes into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    size: u64,
    modified: Option<SystemTime>,
    /// Holds a counter of changes, because clocks of some file systems tick once a second.
    header: [u8; 100],
}

/// Bytes of a page, those of them that are not set aside for extensions, and pages of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    page_size: usize,
    usable: usize,
    pages: u64,
}

impl NodePages {
    /// The table of the file `path`, to which there is a connection; `None` if it is left to SQLite.
    pub fn open(path: &Path, connection: &Connection) -> Result<Option<Self>> {
        let fail = |error| explain(path, error);
        let Some((file, _)) = open_regular(path).map_err(Error::io(path, "open"))? else { return Ok(None) };
        let Ok(seen) = Seen::of(&file) else { return Ok(None) };
        if has_log(path) {
            return Ok(None);
        }
        let sql = "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'tb_nodes'";
        let root: Option<u32> = connection.query_row(sql, [], |row| row.get(0)).optional().map_err(fail)?;
        if !has_usual_columns(connection).map_err(fail)? {
            return Ok(None);
        }
        let found = root.zip(Layout::of(&seen.header, seen.size));
        Ok(found.map(|(root, layout)| NodePages { path: path.to_owned(), file, seen, root, layout }))
    }

    /// A walk along the rows, with memory of its own: one for each thread.
    pub fn walk(&self) -> Walk<'_> {
        Walk { tree: Tree::new(&self.file, self.layout), root: self.root }
    }

    /// An error if the file is not what it was when it was opened; what was read of it then means nothing.
    pub fn check_unchanged(&self) -> Result<()> {
        if Seen::of(&self.file).is_ok_and(|now| now == self.seen) {
            return Ok(());
        }
        Err(Error::Unreadable { path: self.path.clone(), reason: "was changed while it was read; try again".into() })
    }
}

/// A walk along the rows of a table.
#[derive(Debug)]
pub(crate) struct Walk<'f> {
    tree: Tree<'f>,
    root: u32,
}

impl Walk<'_> {
    /// Calls `each` with row number and record of every row from `from` to `to`, in order, until it breaks.
    pub fn for_each(&mut self, from: i64, to: i64, mut each: impl FnMut(i64, Record<'_>) -> ControlFlow<()>) -> Result<(), Unusual> {
        self.tree.for_each(self.root, from, to, |row, payload| Ok(each(row, Record::new(payload)?)))
    }
}

impl Seen {
    fn of(file: &File) -> std::io::Result<Self> {
        let metadata = file.metadata()?;
        let mut header = [0; 100];
        file.read_exact_at(&mut header, 0)?;
        Ok(Seen { size: metadata.len(), modified: metadata.modified().ok(), header })
    }
}

impl Layout {
    /// The layout as the header of a file of `size` bytes tells it; `None` if it says something unusual.
    fn of(header: &[u8; 100], size: u64) -> Option<Self> {
        let page_size = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            size if size.is_power_of_two() && size >= 512 => usize::from(size),
            _ => return None,
        };
        let usable = page_size - usize::from(header[20]);
        let is_utf8 = header[56..60] == [0, 0, 0, 1];
        let known = header[18] <= 2 && header[19] <= 2 && usable >= 480 && size.is_multiple_of(page_size as u64);
        (is_utf8 && known).then_some(Layout { page_size, usable, pages: size / page_size as u64 })
    }
}

/// Whether the table has the columns of msProbe and no others, all of which stand in its rows.
fn has_usual_columns(connection: &Connection) -> rusqlite::Result<bool> {
    if connection.prepare("SELECT rowid FROM tb_nodes").is_err() {
        // WITHOUT ROWID: the rows stand in the b-tree of an index.
        return Ok(false);
    }
    let mut statement = connection.prepare("SELECT name, type, hidden, pk FROM pragma_table_xinfo('tb_nodes') ORDER BY cid")?;
    let mut rows = statement.query([])?;
    for (name, kind) in COLUMNS {
        let Some(row) = rows.next()? else { return Ok(false) };
        // A key that is an integer is the number of the row, and the row does not repeat it.
        let elsewhere = row.get::<_, i64>(2)? != 0 || kind == "INTEGER" && row.get::<_, i64>(3)? != 0;
        if row.get::<_, String>(0)? != name || row.get::<_, String>(1)? != kind || elsewhere {
            return Ok(false);
        }
    }
    Ok(rows.next()?.is_none())
}
