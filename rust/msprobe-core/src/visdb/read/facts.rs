//! What our own tables say.

use std::ops::ControlFlow;

use rusqlite::{Connection, Row};

use super::node::{integer, text, text_or_null, BadCell};
use super::{key, open, GraphId, Reader};
use crate::visdb::error::Result;
use crate::visdb::node::{MatchedBy, OverflowLevel};
use crate::visdb::schema::SCHEMA_VERSION;
use crate::visdb::write::Counts;

/// Whether a file has tables of ours. Only those of a known version are read; otherwise the methods below answer
/// "nothing".
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

/// What `msprobe_node` knows of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its `node_order`.
    pub order: i64,
    /// How it found its partner.
    pub matched_by: Option<MatchedBy>,
    /// How the nodes below it fared, itself left out; `None` for leaves. In a file with a single graph all counts are 0
    /// and only the overflow level speaks.
    pub below: Option<Counts>,
}

impl NodeFacts {
    fn from_row(row: &Row<'_>) -> Result<Self, BadCell> {
        let count = |column| Ok(u32::try_from(integer(row, column)?).unwrap_or(0));
        let counts = Counts {
            error: count(2)?,
            warning: count(3)?,
            pass: count(4)?,
            not_compared: count(5)?,
            unmatched: count(6)?,
            worst_overflow: text_or_null(row, 7)?.and_then(OverflowLevel::from_text),
        };
        Ok(NodeFacts {
            order: integer(row, 0)?,
            matched_by: text_or_null(row, 1)?.and_then(MatchedBy::from_text),
            below: (counts != Counts::default()).then_some(counts),
        })
    }
}

/// An input that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Step, if it is known.
    pub step: Option<u64>,
    /// Rank; `None` when a whole step was left out.
    pub rank: Option<u64>,
    /// Why, with the file.
    pub reason: String,
}

const FACTS: &str = "node_order, matched_by, error, warning, pass, not_compared, unmatched, worst_overflow";

impl Reader {
    fn knows_own_tables(&self) -> bool {
        matches!(self.own_tables(), OwnTables::Known(_))
    }

    /// Facts about one node.
    pub fn node_facts(&self, graph: GraphId, order: i64) -> Result<Option<NodeFacts>> {
        if !self.knows_own_tables() {
            return Ok(None);
        }
        let (step, rank, side) = key(graph);
        let sql = format!("SELECT {FACTS} FROM msprobe_node WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_order = ?4");
        self.one(&sql, (step, rank, side, order), NodeFacts::from_row)
    }

    /// Streams the facts about the nodes of a graph in node order until `each` breaks; nodes of which nothing is known
    /// are left out.
    pub fn for_each_facts(&self, graph: GraphId, mut each: impl FnMut(NodeFacts) -> ControlFlow<()>) -> Result<()> {
        if !self.knows_own_tables() {
            return Ok(());
        }
        let sql = format!("SELECT {FACTS} FROM msprobe_node WHERE step = ?1 AND rank = ?2 AND data_source = ?3 ORDER BY node_order");
        self.each(&sql, key(graph), |row| Ok(each(NodeFacts::from_row(row)?)))
    }

    /// A fact about the file, such as `tool_version`, `created`, `options`, `inputs`.
    pub fn meta(&self, name: &str) -> Result<Option<String>> {
        if !self.knows_own_tables() {
            return Ok(None);
        }
        self.one("SELECT value FROM msprobe_meta WHERE key = ?1", [name], |row| text(row, 0).map(str::to_owned))
    }

    /// Inputs that were left out.
    pub fn skipped(&self) -> Result<Vec<Skipped>> {
        let mut skipped = Vec::new();
        if self.knows_own_tables() {
            self.each("SELECT reason, step, rank FROM msprobe_skipped ORDER BY rowid", [], |row| {
                let number = |column| row.get::<_, Option<i64>>(column).map_err(BadCell::Sqlite).map(|n| n.map(|n| n as u64));
                skipped.push(Skipped { reason: text(row, 0)?.to_owned(), step: number(1)?, rank: number(2)? });
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(skipped)
    }

    /// Golden parameters without a partner, as full row names, of a golden node.
    pub fn surplus(&self, step: u64, rank: u64, node_name: &str) -> Result<Vec<String>> {
        let mut rows = Vec::new();
        if self.knows_own_tables() {
            let sql = "SELECT row_name FROM msprobe_surplus WHERE step = ?1 AND rank = ?2 AND node_name = ?3 ORDER BY row_name";
            self.each(sql, (step as i64, rank as i64, node_name), |row| {
                rows.push(text(row, 0)?.to_owned());
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(rows)
    }
}
