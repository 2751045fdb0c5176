//! Opens one vis.db for reading, whoever wrote it, and leaves no trace beside it.

use super::error::ViewError;
use super::logdir::{self, Header};
use crate::text::message::system;
use crate::visdb::read::{has_log, uri, NODE_COLUMNS};
use crate::visdb::schema::INDEXES;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Longest time one question may take inside `SQLite`.
const QUESTION_LIMIT: Duration = Duration::from_secs(20);
/// Largest text or blob accepted from a file, bytes.
const MAX_CELL: i32 = 128 << 20;

/// Tells one state of one file from any other; caches are keyed by it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileKey {
    pub(crate) path: PathBuf,
    size: u64,
    modified: u128,
    wal_size: u64,
    wal_modified: u128,
}

impl FileKey {
    fn of(path: &Path) -> std::io::Result<Self> {
        let stamp = |meta: &fs::Metadata| {
            meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0, |age| age.as_nanos())
        };
        let meta = fs::metadata(path)?;
        let wal = fs::metadata(beside(path, "-wal")).ok();
        Ok(Self {
            path: path.to_owned(),
            size: meta.len(),
            modified: stamp(&meta),
            wal_size: wal.as_ref().map_or(0, fs::Metadata::len),
            wal_modified: wal.as_ref().map_or(0, stamp),
        })
    }

    /// Short text that changes whenever the file does.
    pub(crate) fn version(&self) -> String {
        format!("{:x}-{:x}-{:x}-{:x}", self.size, self.modified, self.wal_size, self.wal_modified)
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// An open vis.db.
pub(crate) struct VisFile {
    pub(crate) conn: Connection,
    pub(crate) key: FileKey,
    /// Path relative to the log directory, for messages.
    pub(crate) shown: String,
    /// Whether children and names can be found without reading the whole table.
    pub(crate) indexed: bool,
    /// Our own tables that are there.
    pub(crate) own_tables: Vec<String>,
}

impl VisFile {
    /// Opens `relative` below `root` read-only.
    pub(crate) fn open(root: &Path, relative: &str) -> Result<Self, ViewError> {
        let path = logdir::resolve(root, relative)?;
        let shown = relative.to_owned();
        let unreadable = |code, reason: &str| ViewError::Unreadable { path: shown.clone(), code, reason: reason.into() };
        let meta = fs::metadata(&path).map_err(|_| ViewError::NoFile(shown.clone()))?;
        if meta.is_dir() {
            return Err(unreadable("directory", "this is a folder, not a vis.db"));
        }
        if meta.len() == 0 {
            return Err(unreadable("empty", "the file is empty; the run that should write it may have died, start it again"));
        }
        let header = match Header::read(&path) {
            Ok(Some(header)) => header,
            Ok(None) => return Err(unreadable("not_sqlite", "this is not a vis.db (no SQLite file)")),
            Err(error) => return Err(unreadable("permission", &format!("the file cannot be read: {}", system(&error)))),
        };
        let has_wal = has_log(&path);
        if header.bytes_named() > meta.len() && !has_wal {
            return Err(unreadable("truncated", "the file ends too early; it was not copied or written completely"));
        }
        let key = FileKey::of(&path).map_err(|_| ViewError::NoFile(shown.clone()))?;
        let conn = connect(&path, header.wal && !has_wal).map_err(|error| ViewError::sqlite(&shown, &error))?;
        let mut file = Self { conn, key, shown, indexed: false, own_tables: Vec::new() };
        file.check_schema()?;
        Ok(file)
    }

    /// Asks `SQLite`; its errors become ours.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, ViewError> {
        question(&self.conn).map_err(|error| ViewError::sqlite(&self.shown, &error))
    }

    /// Makes long questions end: the clock starts now.
    pub(crate) fn limit_time(&self, limit: Duration) {
        let end = Instant::now() + limit;
        self.conn.progress_handler(20_000, Some(move || Instant::now() > end));
    }

    fn check_schema(&mut self) -> Result<(), ViewError> {
        let schema = |reason: String| ViewError::Unreadable { path: self.shown.clone(), code: "schema", reason };
        let mut tables = HashSet::new();
        let mut indexes = HashSet::new();
        let mut own = Vec::new();
        let rows = |error: rusqlite::Error| ViewError::sqlite(&self.shown, &error);
        {
            let mut statement = self.conn.prepare("SELECT type, name FROM sqlite_master").map_err(rows)?;
            let mut found = statement.query([]).map_err(rows)?;
            while let Some(row) = found.next().map_err(rows)? {
                let (kind, name): (String, String) = (row.get(0).map_err(rows)?, row.get(1).map_err(rows)?);
                if kind == "table" {
                    if name.starts_with("msprobe_") {
                        own.push(name.clone());
                    }
                    tables.insert(name);
                } else if kind == "index" {
                    indexes.insert(name);
                }
            }
        }
        for table in ["tb_nodes", "tb_stack", "tb_config"] {
            if !tables.contains(table) {
                return Err(schema(format!("table {table} is missing; this is another kind of SQLite file, or an unfinished one")));
            }
        }
        let mut columns = HashSet::new();
        {
            let mut statement = self.conn.prepare("SELECT name FROM pragma_table_info('tb_nodes')").map_err(rows)?;
            let mut found = statement.query([]).map_err(rows)?;
            while let Some(row) = found.next().map_err(rows)? {
                columns.insert(row.get::<_, String>(0).map_err(rows)?);
            }
        }
        if let Some(missing) = NODE_COLUMNS.iter().find(|column| !columns.contains(**column)) {
            return Err(schema(format!("column {missing} of tb_nodes is missing; the file is of another version")));
        }
        own.sort();
        let usual = INDEXES[..3].iter().all(|(name, _)| indexes.contains(*name));
        self.own_tables = own;
        self.indexed = usual;
        Ok(())
    }
}

fn connect(path: &Path, immutable: bool) -> rusqlite::Result<Connection> {
    let mut uri = uri(path);
    if immutable {
        // A file marked for write-ahead logging without its log needs no locks, and this way also opens in folders
        // that cannot be written and leaves no -wal and -shm behind.
        uri.push_str("&immutable=1");
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(uri, flags)?;
    conn.busy_timeout(Duration::from_millis(300))?;
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_CELL);
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0);
    conn.execute_batch("PRAGMA trusted_schema=OFF; PRAGMA query_only=ON; PRAGMA cell_size_check=ON; PRAGMA cache_size=-8000;")?;
    let end = Instant::now() + QUESTION_LIMIT;
    conn.progress_handler(20_000, Some(move || Instant::now() > end));
    Ok(conn)
}
