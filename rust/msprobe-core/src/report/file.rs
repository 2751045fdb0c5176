//! A result file, opened read-only.

use super::error::{Error, Result};
use crate::visdb::Task;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest text that is read, bytes. A node of a real dump has a few thousand.
const MAX_CELL: i32 = 256 << 20;

/// One rank of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub step: i64,
    pub rank: i64,
}

/// An open file and what `tb_config` says of it.
#[derive(Debug)]
pub(super) struct VisFile {
    pub path: PathBuf,
    pub conn: Connection,
    pub task: Task,
    pub micro_steps: i64,
    pub overflow_check: bool,
    /// Whether the indexes are there that make ranges of nodes and single nodes cheap.
    pub indexed: bool,
}

impl VisFile {
    pub fn open(path: &Path) -> Result<Self> {
        let immutable = check_header(path)?;
        let conn = connect(path, immutable).map_err(Error::sqlite(path))?;
        let mut file = Self { path: path.to_owned(), conn, task: Task::Build, micro_steps: 1, overflow_check: false, indexed: false };
        file.read_schema()?;
        file.read_config()?;
        Ok(file)
    }

    /// The same file once more, for another thread.
    pub fn again(&self) -> Result<Connection> {
        let immutable = check_header(&self.path)?;
        connect(&self.path, immutable).map_err(self.fail())
    }

    pub fn fail(&self) -> impl Fn(rusqlite::Error) -> Error + '_ {
        Error::sqlite(&self.path)
    }

    pub fn is_comparison(&self) -> bool {
        self.task != Task::Build
    }

    /// All steps and ranks, ascending.
    pub fn places(&self) -> Result<Vec<Place>> {
        // One look into the index for each, whatever the number of nodes.
        let sql = "SELECT step, rank FROM tb_nodes WHERE (step, rank) > (?1, ?2) ORDER BY step, rank LIMIT 1";
        let mut next = self.conn.prepare(sql).map_err(self.fail())?;
        let mut places = Vec::new();
        let mut last = (i64::MIN, i64::MIN);
        while let Some((step, rank)) = next.query_row(last, |row| Ok((row.get(0)?, row.get(1)?))).optional().map_err(self.fail())? {
            places.push(Place { step, rank });
            last = (step, rank);
        }
        Ok(places)
    }

    fn read_schema(&mut self) -> Result<()> {
        let mut names = HashSet::new();
        {
            let mut all = self.conn.prepare("SELECT name FROM sqlite_master").map_err(self.fail())?;
            let mut rows = all.query([]).map_err(self.fail())?;
            while let Some(row) = rows.next().map_err(self.fail())? {
                names.insert(row.get::<_, String>(0).map_err(self.fail())?);
            }
        }
        for table in ["tb_nodes", "tb_stack", "tb_config"] {
            if !names.contains(table) {
                return Err(Error::unreadable(
                    &self.path,
                    format!("table {table} is missing: another kind of SQLite file, or an unfinished one"),
                ));
            }
        }
        self.indexed = ["index2", "index3"].iter().all(|index| names.contains(*index));
        Ok(())
    }

    fn read_config(&mut self) -> Result<()> {
        type Row = (Option<String>, Option<String>, Option<i64>, Option<i64>);
        let sql = "SELECT graph_type, task, micro_steps, overflow_check FROM tb_config LIMIT 1";
        let row: Option<Row> =
            self.conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).optional().map_err(self.fail())?;
        let Some((graph_type, task, micro_steps, overflow_check)) = row else {
            return Err(Error::unreadable(&self.path, "tb_config is empty: the run that wrote the file did not finish; start it again"));
        };
        let (graph_type, task) = (graph_type.unwrap_or_default(), task.unwrap_or_default());
        self.task = match Task::from_texts(&graph_type, &task) {
            Some(task) => task,
            None if graph_type == "build" => Task::Build,
            None => {
                return Err(Error::unreadable(&self.path, format!("unknown task {task:?} in tb_config; the file is of another version")))
            }
        };
        self.micro_steps = micro_steps.unwrap_or(1);
        self.overflow_check = overflow_check == Some(1);
        Ok(())
    }
}

/// Checks that the file looks like a complete `SQLite` file; returns whether it can be opened as immutable.
fn check_header(path: &Path) -> Result<bool> {
    let mut file = File::open(path).map_err(Error::io(path, "open"))?;
    let meta = file.metadata().map_err(Error::io(path, "open"))?;
    if meta.is_dir() {
        return Err(Error::unreadable(path, "this is a folder; give a *.vis.db file"));
    }
    let mut header = [0; 100];
    if file.read_exact(&mut header).is_err() || &header[..16] != b"SQLite format 3\0" {
        return Err(Error::unreadable(path, "this is not a vis.db (no SQLite file)"));
    }
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let pages = u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]));
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let has_wal = std::fs::metadata(wal).is_ok_and(|wal| wal.len() > 0);
    if pages * page > meta.len() && !has_wal {
        return Err(Error::unreadable(path, "the file ends too early; it was not copied or written completely"));
    }
    // Marked for write-ahead logging without its log: needs no locks, and opens in folders that cannot be written.
    Ok(header[18] == 2 && !has_wal)
}

fn connect(path: &Path, immutable: bool) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        // Everything but the plainest characters is escaped, so that a name cannot add parameters of its own.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_') {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?mode=ro");
    if immutable {
        uri.push_str("&immutable=1");
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(uri, flags)?;
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_CELL);
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0);
    conn.execute_batch("PRAGMA trusted_schema=OFF; PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA cache_size=-8000;")?;
    Ok(conn)
}
