//! Opening a file that somebody else may have written, moved, truncated or made up.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::visdb::error::{Error, Result};

/// How long to wait for somebody who is writing.
const PATIENCE: Duration = Duration::from_secs(3);

/// Columns of `tb_nodes` that are read.
pub(crate) const NODE_COLUMNS: [&str; 21] = [
    "id",
    "node_order",
    "node_name",
    "node_type",
    "up_node",
    "sub_nodes",
    "precision_index",
    "overflow_level",
    "micro_step_id",
    "matched_node_link",
    "stack_id",
    "parallel_merge_info",
    "matched_distributed",
    "modified",
    "input_data",
    "output_data",
    "data_source",
    "dump_data_dir",
    "step",
    "rank",
    "is_distributed",
];

/// Tables of the reference with the columns that are read. Generated columns do not count: they would run SQL of the
/// file's author.
const EXPECTED: [(&str, &[&str]); 3] = [
    ("tb_nodes", &NODE_COLUMNS),
    ("tb_stack", &["id", "stack_info"]),
    ("tb_config", &["graph_type", "task", "tool_tip", "micro_steps", "overflow_check", "node_colors", "rank_list", "step_list"]),
];

/// Opens `path` for reading. Never changes the file and creates no file beside it, except that SQLite may create the
/// `-shm` file of a `-wal` file that lies there already.
pub(super) fn open(path: &Path) -> Result<Connection> {
    let header = read_header(path)?;
    let write_ahead = header[18] == 2 || header[19] == 2;
    let mut uri = uri(path);
    // Without a log there is nothing but the file itself, and SQLite must not start one.
    if write_ahead && !has_log(path) {
        uri.push_str("&immutable=1");
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let explain = |e| explain(path, e);
    let connection = Connection::open_with_flags(uri, flags).map_err(explain)?;
    connection.busy_timeout(PATIENCE).map_err(explain)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(explain)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(explain)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA cache_size = -4096").map_err(explain)?;
    check_schema(&connection, path)?;
    Ok(connection)
}

/// Reads and checks the file header.
fn read_header(path: &Path) -> Result<[u8; 100]> {
    let unreadable = |reason: String| Error::Unreadable { path: path.to_owned(), reason };
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(unreadable("no such file; name a *.vis.db that a run has written".into()));
        }
        found => found.map_err(Error::io(path, "open"))?,
    };
    if metadata.is_dir() {
        return Err(unreadable("is a folder; name a *.vis.db file in it".into()));
    }
    if !metadata.is_file() {
        return Err(unreadable("is no regular file".into()));
    }
    if metadata.len() == 0 {
        return Err(unreadable("is empty; the run that should have written it did not finish".into()));
    }
    let mut header = [0; 100];
    let mut file = File::open(path).map_err(Error::io(path, "open"))?;
    if metadata.len() < 100 || file.read_exact(&mut header).is_err() || !header.starts_with(b"SQLite format 3\0") {
        return Err(unreadable("is not a SQLite database, so no *.vis.db file".into()));
    }
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let expected = u64::from(number(28)) * page_size;
    // The page count counts only if its writer kept it up to date.
    if number(24) == number(92) && expected > metadata.len() && !has_log(path) {
        let (len, missing) = (metadata.len(), expected - metadata.len());
        return Err(unreadable(format!("is truncated: {len} bytes, {missing} bytes are missing; copy or write it again")));
    }
    Ok(header)
}

/// Whether a write-ahead log with content lies beside the file.
pub(crate) fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(PathBuf::from(log)).is_ok_and(|m| m.len() > 0)
}

/// The path as `file:` URI, opened read-only. Every byte that is not harmless is escaped, so that any path works.
pub(crate) fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    // An absolute path that starts with two slashes would be read as a host name.
    if uri.starts_with("file://") {
        uri.replace_range(5..6, "/.");
    }
    uri + "?mode=ro"
}

/// Checks that the tables are ordinary tables with the columns that are read.
fn check_schema(connection: &Connection, path: &Path) -> Result<()> {
    let explain = |e| explain(path, e);
    for (table, expected) in EXPECTED {
        if !has_table(connection, table).map_err(explain)? {
            let reason = format!("has no table {table}, so it is no *.vis.db file of msProbe 26.2 or this tool");
            return Err(Error::Unreadable { path: path.to_owned(), reason });
        }
        let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(explain)?;
        let columns: Vec<String> = statement.query_map([table], |row| row.get(0)).and_then(Iterator::collect).map_err(explain)?;
        if let Some(missing) = expected.iter().find(|&&column| !columns.iter().any(|c| c == column)) {
            let reason = format!("has no column {missing} in table {table}; it was written by another version of msProbe");
            return Err(Error::Unreadable { path: path.to_owned(), reason });
        }
    }
    Ok(())
}

/// Whether there is an ordinary table of this name: views and virtual tables, which run code, have no root page.
pub(super) fn has_table(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND rootpage > 0";
    connection.query_row(sql, [table], |row| row.get::<_, i64>(0)).map(|count| count == 1)
}

/// An error of SQLite in words that a user can act on.
pub(in crate::visdb) fn explain(path: &Path, error: rusqlite::Error) -> Error {
    let reason = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "is not a SQLite database, so no *.vis.db file".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "is damaged; copy or write it again".to_owned(),
        Some(ErrorCode::OperationInterrupted) => "is damaged: a query does not come to an end; write it again".to_owned(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "is being written by another process; try again later".to_owned(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) if has_log(path) => {
            "has changes that are still in its -wal file, which cannot be read in this folder; copy both files into a writable folder"
                .to_owned()
        }
        Some(ErrorCode::ReadOnly) => {
            "has an interrupted change in its -journal file; open it once with a program that may write to it".to_owned()
        }
        _ => match error {
            rusqlite::Error::InvalidColumnType(_, column, _) => {
                format!("is damaged: column {column} holds something else than it should; write it again")
            }
            rusqlite::Error::IntegralValueOutOfRange(_, value) => format!("is damaged: {value} is out of range; write it again"),
            rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::Utf8Error(..) => {
                "is damaged: a text is not UTF-8; write it again".to_owned()
            }
            other => return Error::sqlite(path)(other),
        },
    };
    Error::Unreadable { path: path.to_owned(), reason }
}
