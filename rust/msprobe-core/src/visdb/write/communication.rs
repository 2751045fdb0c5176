//! Communication nodes of a complete file, and storing which of them belong together.

use rusqlite::types::ValueRef;
use rusqlite::Connection;

use super::Complete;
use crate::visdb::error::{Error, Result};

/// A communication node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommunicationNode {
    /// Number of its row.
    pub row: i64,
    /// Name of the node.
    pub name: Box<str>,
    /// What the links to it show: its overflow level if such were asked for, else its verdict; `Nan` if it has none.
    pub index: Box<str>,
}

/// The communication nodes of a file, in the order in which they were written. Changes count only after
/// [`CommunicationNodes::finish`].
#[derive(Debug)]
pub struct CommunicationNodes<'f> {
    file: &'f Complete,
    connection: Connection,
    overflow_check: bool,
    last_row: i64,
}

impl Complete {
    /// The communication nodes of the file. Drop them before [`Complete::publish`].
    pub fn communication_nodes(&self, overflow_check: bool) -> Result<CommunicationNodes<'_>> {
        let connection = self.connection()?;
        connection.execute_batch("BEGIN IMMEDIATE").map_err(Error::sqlite(self.path()))?;
        Ok(CommunicationNodes { file: self, connection, overflow_check, last_row: 0 })
    }
}

impl CommunicationNodes<'_> {
    /// The next `count` nodes. An error if there are fewer.
    pub fn next(&mut self, count: usize) -> Result<Vec<CommunicationNode>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let nodes = self.read(count).map_err(Error::sqlite(self.file.path()))?;
        match nodes.last() {
            Some(last) if nodes.len() == count => self.last_row = last.row,
            _ => {
                let reason = format!("holds {} communication nodes where {count} were written", nodes.len());
                return Err(Error::Unreadable { path: self.file.path().to_owned(), reason });
            }
        }
        Ok(nodes)
    }

    fn read(&self, count: usize) -> rusqlite::Result<Vec<CommunicationNode>> {
        let index = if self.overflow_check { "overflow_level" } else { "precision_index" };
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT rowid, node_name, {index} FROM tb_nodes WHERE is_distributed = 1 AND rowid > ?1 ORDER BY rowid LIMIT ?2"
        ))?;
        let nodes = statement.query_map((self.last_row, count as i64), |row| {
            let index = match row.get_ref(2)? {
                ValueRef::Integer(value) => value.to_string(),
                ValueRef::Real(value) => value.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                ValueRef::Null | ValueRef::Blob(_) => "Nan".to_owned(),
            };
            // Names are stored as they are, a NUL included.
            let name = String::from_utf8_lossy(row.get_ref(1)?.as_bytes()?).into();
            Ok(CommunicationNode { row: row.get(0)?, name, index: index.into() })
        })?;
        nodes.collect()
    }

    /// Stores the links of the node in row `row`, a JSON object.
    pub fn store(&self, row: i64, links: &str) -> Result<()> {
        let stored = self
            .connection
            .prepare_cached("UPDATE tb_nodes SET matched_distributed = ?1 WHERE rowid = ?2")
            .and_then(|mut statement| statement.execute((links, row)));
        stored.map(|_| ()).map_err(Error::sqlite(self.file.path()))
    }

    /// Keeps the changes.
    pub fn finish(self) -> Result<()> {
        self.connection.execute_batch("COMMIT").map_err(Error::sqlite(self.file.path()))?;
        self.connection.close().map_err(|(_, reason)| Error::sqlite(self.file.path())(reason))
    }
}
