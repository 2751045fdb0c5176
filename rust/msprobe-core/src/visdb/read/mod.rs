//! Reading a result file, ours or the reference's.
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use msprobe_core::visdb::{Detail, GraphId, Reader, Side};
//!
//! # fn main() -> Result<(), msprobe_core::visdb::Error> {
//! let reader = Reader::open("compare_20261130101500.vis.db".as_ref())?;
//! for (step, rank) in reader.parts()? {
//!     let graph = GraphId { step, rank, side: Side::Target };
//!     reader.for_each_node(graph, Detail::Tree, None, |node| {
//!         println!("{} {:?}", node.name, node.precision_index);
//!         ControlFlow::Continue(())
//!     })?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Files are hostile input: whatever they hold, a call gives an answer or an error in a time that is bounded by the
//! file's size. Nodes are streamed, never collected. A [`Reader`] may move between threads but serves one at a time;
//! opening another one takes less than a millisecond.

pub(crate) mod lenient;
mod node;
mod open;
mod own_tables;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::config::Task;
use super::error::{Error, Result};
use super::values::Side;
use crate::text::message::quoted;
use node::BadCell;

pub(crate) use node::partner_of;
pub use node::{Node, NodeRef};
pub(crate) use open::{has_log, uri, NODE_COLUMNS};
pub use own_tables::OwnTables;

/// One graph of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphId {
    /// Step number.
    pub step: u64,
    /// Rank number.
    pub rank: u64,
    /// Target or golden.
    pub side: Side,
}

/// How much of a node to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Everything but the parameters, which are most of the bytes.
    Tree,
    /// Everything.
    Parameters,
}

impl Detail {
    fn columns(self) -> &'static str {
        match self {
            Detail::Tree => node::COLUMNS,
            Detail::Parameters => node::ALL_COLUMNS,
        }
    }
}

/// The row of `tb_config`.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredConfig {
    /// `build` or `compare`.
    pub graph_type: String,
    /// Empty, `summary`, `md5`, `all` or `structure`; see [`StoredConfig::kind`].
    pub task: String,
    /// JSON object: metric to description.
    pub tool_tip: Option<String>,
    /// Number of micro steps.
    pub micro_steps: i64,
    /// Whether overflow levels were asked for.
    pub overflow_check: bool,
    /// JSON object: colour to range, description and level; `null` for a single graph.
    pub node_colors: String,
    /// Ranks, ascending.
    pub ranks: Vec<u64>,
    /// Steps, ascending.
    pub steps: Vec<u64>,
}

impl StoredConfig {
    /// The task, if it is one of the known ones.
    #[must_use]
    pub fn kind(&self) -> Option<Task> {
        Task::from_texts(&self.graph_type, &self.task)
    }
}

/// An open result file.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Connection,
    own: OwnTables,
    /// Rounds of a thousand steps of SQLite's machine that are left to the present call.
    rounds: Arc<AtomicU64>,
    rounds_per_call: u64,
}

impl Reader {
    /// Opens a file for reading and checks that it is a result file.
    ///
    /// The file is not changed and no file is created beside it. One that the reference left in WAL mode opens in a
    /// read-only folder too.
    pub fn open(path: &Path) -> Result<Self> {
        Self::over(path, open::open(path)?)
    }

    /// Reads through a connection to a file that was checked.
    pub(in crate::visdb) fn over(path: &Path, connection: Connection) -> Result<Self> {
        let rounds = bound(path, &connection)?;
        let rounds_per_call = rounds.load(Ordering::Relaxed);
        let own = OwnTables::find(&connection).map_err(|e| open::explain(path, e))?;
        Ok(Reader { path: path.to_owned(), connection, own, rounds, rounds_per_call })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file has tables of ours.
    #[must_use]
    pub fn own_tables(&self) -> OwnTables {
        self.own
    }

    /// The configuration.
    pub fn config(&self) -> Result<StoredConfig> {
        let sql = "SELECT graph_type, task, tool_tip, micro_steps, overflow_check, node_colors, rank_list, step_list FROM tb_config";
        let config = self.one(sql, [], |row| {
            let owned = |column| node::text(row, column).map(str::to_owned);
            let numbers = |column| serde_json::from_str(node::text(row, column)?).map_err(|_| BadCell::Kind(column, "a list of numbers"));
            Ok(StoredConfig {
                graph_type: owned(0)?,
                task: owned(1)?,
                tool_tip: node::text_or_null(row, 2)?.map(str::to_owned),
                micro_steps: node::integer(row, 3)?,
                overflow_check: node::integer(row, 4)? != 0,
                node_colors: owned(5)?,
                ranks: numbers(6)?,
                steps: numbers(7)?,
            })
        })?;
        config.ok_or_else(|| self.unreadable("has no configuration; the run that wrote it did not finish"))
    }

    /// Steps and ranks that have nodes, ascending.
    pub fn parts(&self) -> Result<Vec<(u64, u64)>> {
        // One seek per part instead of a scan.
        let next_step = "SELECT min(step) FROM tb_nodes WHERE step > ?1";
        let next_rank = "SELECT min(rank) FROM tb_nodes WHERE step = ?1 AND rank > ?2";
        let number = |row: &Row<'_>| row.get::<_, Option<i64>>(0).map_err(BadCell::Sqlite);
        let mut parts = Vec::new();
        let mut step = -1;
        while let Some(found) = self.one(next_step, [step], number)?.flatten() {
            step = found;
            let mut rank = -1;
            while let Some(found) = self.one(next_rank, [step, rank], number)?.flatten() {
                rank = found;
                parts.push((step as u64, rank as u64));
            }
        }
        Ok(parts)
    }

    /// Streams the nodes of a graph in node order, those behind `after` if it is given, until `each` breaks.
    pub fn for_each_node(
        &self,
        graph: GraphId,
        detail: Detail,
        after: Option<i64>,
        each: impl FnMut(NodeRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (step, rank, side) = key(graph);
        let sql = format!(
            "SELECT {} FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_order > ?4 ORDER BY node_order",
            detail.columns()
        );
        self.stream(&sql, (step, rank, side, after.unwrap_or(i64::MIN)), detail, each)
    }

    /// Streams the children of a node in node order, those behind `after` if it is given, until `each` breaks.
    pub fn for_each_child(
        &self,
        graph: GraphId,
        parent: &str,
        detail: Detail,
        after: Option<i64>,
        each: impl FnMut(NodeRef<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (step, rank, side) = key(graph);
        let sql = format!(
            "SELECT {} FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND up_node = ?4 AND node_order > ?5 \
             ORDER BY node_order",
            detail.columns()
        );
        self.stream(&sql, (step, rank, side, parent, after.unwrap_or(i64::MIN)), detail, each)
    }

    /// Hands over the nodes of a graph whose match was changed by hand, in node order.
    pub(in crate::visdb) fn for_each_modified(&self, graph: GraphId, mut each: impl FnMut(NodeRef<'_>)) -> Result<()> {
        let sql = format!(
            "SELECT {} FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND modified <> 0 ORDER BY node_order",
            Detail::Tree.columns()
        );
        self.stream(&sql, key(graph), Detail::Tree, |node| {
            each(node);
            ControlFlow::Continue(())
        })
    }

    /// The node of that name.
    pub fn node(&self, graph: GraphId, name: &str, detail: Detail) -> Result<Option<Node>> {
        let (step, rank, side) = key(graph);
        let columns = detail.columns();
        let sql = format!("SELECT {columns} FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_name = ?4");
        let parameters = detail == Detail::Parameters;
        self.one(&sql, (step, rank, side, name), |row| NodeRef::from_row(row, parameters).map(|n| n.to_node()))
    }

    /// The root: the first node without a parent.
    pub fn root(&self, graph: GraphId) -> Result<Option<Node>> {
        let mut root = None;
        self.for_each_child(graph, "", Detail::Parameters, None, |node| {
            root = Some(node.to_node());
            ControlFlow::Break(())
        })?;
        Ok(root)
    }

    /// The connection, for questions that this room does not answer yet.
    pub(crate) fn connection(&self) -> &Connection {
        self.rounds.store(self.rounds_per_call, Ordering::Relaxed);
        &self.connection
    }

    fn stream(&self, sql: &str, params: impl Params, detail: Detail, mut each: impl FnMut(NodeRef<'_>) -> ControlFlow<()>) -> Result<()> {
        let parameters = detail == Detail::Parameters;
        self.each(sql, params, |row| Ok(each(NodeRef::from_row(row, parameters)?)))
    }

    /// Runs a query and hands over its rows until `each` breaks.
    fn each(&self, sql: &str, params: impl Params, mut each: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, BadCell>) -> Result<()> {
        let explain = |e| open::explain(&self.path, e);
        let mut statement = self.connection().prepare_cached(sql).map_err(explain)?;
        let mut rows = statement.query(params).map_err(explain)?;
        while let Some(row) = rows.next().map_err(explain)? {
            match each(row) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(bad) => return Err(self.bad_cell(row, bad)),
            }
        }
        Ok(())
    }

    /// The first row of a query.
    fn one<T>(&self, sql: &str, params: impl Params, read: impl FnOnce(&Row<'_>) -> Result<T, BadCell>) -> Result<Option<T>> {
        let explain = |e| open::explain(&self.path, e);
        let mut statement = self.connection().prepare_cached(sql).map_err(explain)?;
        let found = statement.query_row(params, |row| Ok(read(row).map_err(|bad| self.bad_cell(row, bad))));
        found.optional().map_err(explain)?.transpose()
    }

    fn bad_cell(&self, row: &Row<'_>, bad: BadCell) -> Error {
        match bad {
            BadCell::Sqlite(e) => open::explain(&self.path, e),
            BadCell::Kind(column, expected) => {
                let name = row.as_ref().column_name(column).unwrap_or("?");
                let first = row.get::<_, String>(0).unwrap_or_default();
                let place = if column == 0 || first.is_empty() { String::new() } else { format!(" in the row of {}", quoted(&first)) };
                self.unreadable(&format!("is damaged: column {name} holds something else than {expected}{place}; write it again"))
            }
        }
    }

    fn unreadable(&self, reason: &str) -> Error {
        Error::Unreadable { path: self.path.clone(), reason: reason.to_owned() }
    }
}

/// Opens a file for reading, with the care of [`Reader::open`], for a room that asks questions of its own. All queries
/// together take a time that is bounded by the file's size.
pub(crate) fn connect(path: &Path) -> Result<Connection> {
    let connection = open::open(path)?;
    bound(path, &connection)?;
    Ok(connection)
}

/// Bounds what a connection may do: the rounds of a thousand steps that are left to it.
fn bound(path: &Path, connection: &Connection) -> Result<Arc<AtomicU64>> {
    let size = std::fs::metadata(path).map_err(Error::io(path, "open"))?.len();
    // A sound file needs a few hundred steps per row and has more than 50 bytes per row and index entry. A made-up one can
    // have a tree that leads to the same page over and over.
    let rounds = Arc::new(AtomicU64::new(10_000 + size / 50));
    let left = Arc::clone(&rounds);
    let stop = move || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err();
    connection.progress_handler(1000, Some(stop));
    Ok(rounds)
}

/// Whether the file behind a connection has tables of ours.
pub(crate) fn own_tables(connection: &Connection) -> rusqlite::Result<OwnTables> {
    OwnTables::find(connection)
}

/// An error of SQLite on `path` in words that a user can act on.
pub(crate) fn explain(path: &Path, error: rusqlite::Error) -> Error {
    open::explain(path, error)
}

fn key(graph: GraphId) -> (i64, i64, &'static str) {
    (graph.step as i64, graph.rank as i64, graph.side.as_str())
}
