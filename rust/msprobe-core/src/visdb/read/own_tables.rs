//! Whether a file has tables of ours.

use rusqlite::Connection;

use super::open;
use crate::visdb::schema::SCHEMA_VERSION;

/// Whether a file has tables of ours. Only those of a known version are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnTables {
    /// Written by msProbe.
    Absent,
    /// Written by this tool, with this version of the tables.
    Known(u32),
    /// Written by a later version of this tool, with this version of the tables.
    Newer(u32),
}

impl OwnTables {
    pub(super) fn find(connection: &Connection) -> rusqlite::Result<Self> {
        if !open::has_table(connection, "msprobe_meta")? || !open::has_table(connection, "msprobe_node")? {
            return Ok(OwnTables::Absent);
        }
        let mut statement = connection.prepare("SELECT value FROM msprobe_meta WHERE key = 'schema_version'")?;
        let mut rows = statement.query([])?;
        let version = match rows.next()? {
            Some(row) => row.get_ref(0)?.as_str().ok().and_then(|text| text.parse().ok()),
            None => None,
        };
        Ok(match version {
            None | Some(0) => OwnTables::Absent,
            Some(version) if version <= SCHEMA_VERSION => OwnTables::Known(version),
            Some(version) => OwnTables::Newer(version),
        })
    }
}
