//! Changes to a finished result file: matches made and undone by hand.
//!
//! One [`Amender`] is one transaction. What a node was before is kept in tables of ours (`msprobe_edit`, `msprobe_before`),
//! also in files of the reference, whose tools do not look at them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{params, Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::error::{Error, Result};
use super::read::{Detail, GraphId, Node, OwnTables, Reader, StoredConfig};
use super::schema::{BEFORE_SQL, EDIT_SQL};
use super::Side;
use crate::metrics::tensor::Extra;

/// How long to wait for somebody who is reading or writing.
const PATIENCE: Duration = Duration::from_secs(5);
/// Changes that can be taken back; older ones are forgotten so that the file does not grow for ever.
const KEPT_EDITS: i64 = 50;

/// What a change did, as it is kept for undoing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRecord {
    /// Number of the change, rising.
    pub number: i64,
    /// Step it was made in.
    pub step: u64,
    /// Rank it was made in.
    pub rank: u64,
    /// `match`, `unmatch` or `import`.
    pub what: String,
    /// The target node, or the file that was applied.
    pub subject: String,
}

/// The columns of a node that a match changes.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchColumns {
    /// 0 pass, 0.5 warning, 1 error; `None` when nothing was compared, and on the golden side.
    pub precision_index: Option<f64>,
    /// JSON list of names down to the partner; `[]` without one.
    pub matched_node_link: String,
    /// JSON object of input rows.
    pub input_data: String,
    /// JSON object of output rows.
    pub output_data: String,
    /// Whether the match was changed by hand.
    pub modified: bool,
}

/// What a node was before a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Before {
    /// Its side.
    pub side: Side,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: MatchColumns,
    /// How it had found its partner.
    pub way: Option<String>,
}

/// A child, as far as matching by name needs it.
#[derive(Clone, Debug)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// `0` module, `1` API, `9` collection.
    pub node_type: String,
    /// Name of its partner.
    pub partner: Option<String>,
}

/// A file that is being changed, until [`Amender::commit`]; dropped before, it stays as it was.
#[derive(Debug)]
pub struct Amender {
    reader: Reader,
    write_ahead: bool,
}

impl Amender {
    /// Opens a file for changes and locks it against other writers.
    pub fn open(path: &Path) -> Result<Self> {
        check_writable(path)?;
        // Everything that is asked of a file that is read is asked of one that is changed.
        let write_ahead = {
            let reader = Reader::open(path)?;
            let mode: String = reader.connection().query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(|e| refuse(path, e))?;
            mode == "wal"
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let explain = |e| refuse(path, e);
        let connection = Connection::open_with_flags(path, flags).map_err(explain)?;
        connection.busy_timeout(PATIENCE).map_err(explain)?;
        for (setting, on) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            // A made-up file must not have its own SQL run by our changes.
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            connection.set_db_config(setting, on).map_err(explain)?;
        }
        connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA cache_size = -16384; BEGIN IMMEDIATE").map_err(explain)?;
        let reader = Reader::over(path, connection)?;
        Ok(Amender { reader, write_ahead })
    }

    /// The configuration.
    pub fn config(&self) -> Result<StoredConfig> {
        self.reader.config()
    }

    /// The node of that name, with its parameters.
    pub fn node(&self, graph: GraphId, name: &str) -> Result<Option<Node>> {
        self.reader.node(graph, name, Detail::Parameters)
    }

    /// The node of that name, without its parameters.
    pub fn head(&self, graph: GraphId, name: &str) -> Result<Option<Node>> {
        self.reader.node(graph, name, Detail::Tree)
    }

    /// The children of a node, in order.
    pub fn children(&self, graph: GraphId, parent: &str) -> Result<Vec<Child>> {
        let mut children = Vec::new();
        self.reader.for_each_child(graph, parent, Detail::Tree, None, |node| {
            let partner = node.partner().map(std::borrow::Cow::into_owned);
            children.push(Child { name: node.name.to_owned(), node_type: node.node_type.to_owned(), partner });
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(children)
    }

    /// The worst verdict of a node's children; `None` when none of them was compared.
    pub fn worst_child(&self, graph: GraphId, parent: &str) -> Result<Option<f64>> {
        let sql = "SELECT max(precision_index) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND up_node = ?4";
        let key = (graph.step as i64, graph.rank as i64, graph.side.as_str(), parent);
        self.cached(sql, |statement| statement.query_row(key, |row| row.get(0)))
    }

    /// Begins the record of a change.
    pub fn begin_edit(&self, step: u64, rank: u64, what: &str, subject: &str) -> Result<i64> {
        self.sql(EDIT_SQL)?;
        self.sql(BEFORE_SQL)?;
        let sql = "INSERT INTO msprobe_edit (step, rank, what, subject) VALUES (?1, ?2, ?3, ?4)";
        self.cached(sql, |statement| statement.insert((step as i64, rank as i64, what, subject)))
    }

    /// Keeps what a node is now, unless that was done already for this change.
    pub fn keep(&self, edit: i64, graph: GraphId, name: &str) -> Result<()> {
        let way = if self.has_facts() {
            "(SELECT matched_by FROM msprobe_node f WHERE f.step = n.step AND f.rank = n.rank AND f.data_source = n.data_source \
             AND f.node_order = n.node_order)"
        } else {
            "NULL"
        };
        let sql = format!(
            "INSERT OR IGNORE INTO msprobe_before (edit, data_source, node_name, precision_index, matched_node_link, input_data, \
             output_data, modified, matched_by) SELECT ?1, data_source, node_name, precision_index, matched_node_link, input_data, \
             output_data, modified, {way} FROM tb_nodes n WHERE step = ?2 AND rank = ?3 AND data_source = ?4 AND node_name = ?5"
        );
        let key = params![edit, graph.step as i64, graph.rank as i64, graph.side.as_str(), name];
        self.cached(&sql, |statement| statement.execute(key)).map(|_| ())
    }

    /// Sets the columns that a match changes.
    pub fn set(&self, graph: GraphId, name: &str, columns: &MatchColumns) -> Result<()> {
        let sql = "UPDATE tb_nodes SET precision_index = ?5, matched_node_link = ?6, input_data = ?7, output_data = ?8, modified = ?9 \
                   WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_name = ?4";
        // The reference stores whole numbers as such and its readers compare texts of them.
        let precision = columns.precision_index.map(|index| match index {
            whole if whole.fract() == 0.0 => rusqlite::types::Value::Integer(whole as i64),
            part => rusqlite::types::Value::Real(part),
        });
        let values = params![
            graph.step as i64,
            graph.rank as i64,
            graph.side.as_str(),
            name,
            precision,
            columns.matched_node_link,
            columns.input_data,
            columns.output_data,
            i64::from(columns.modified)
        ];
        self.cached(sql, |statement| statement.execute(values)).map(|_| ())
    }

    /// Sets how a node found its partner.
    pub fn set_way(&self, graph: GraphId, order: i64, way: Option<&str>) -> Result<()> {
        if !self.has_facts() {
            return Ok(());
        }
        let sql = "INSERT INTO msprobe_node (step, rank, data_source, node_order, matched_by) VALUES (?1, ?2, ?3, ?4, ?5) \
                   ON CONFLICT (step, rank, data_source, node_order) DO UPDATE SET matched_by = excluded.matched_by";
        let key = (graph.step as i64, graph.rank as i64, graph.side.as_str(), order, way);
        self.cached(sql, |statement| statement.execute(key)).map(|_| ())
    }

    /// Adds to the counts of the nodes below a node: error, warning, pass, not compared, unmatched.
    pub fn add_below(&self, graph: GraphId, order: i64, change: [i64; 5]) -> Result<()> {
        let sql = "UPDATE msprobe_node SET error = error + ?5, warning = warning + ?6, pass = pass + ?7, \
                   not_compared = not_compared + ?8, unmatched = unmatched + ?9 \
                   WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_order = ?4";
        let [error, warning, pass, not_compared, unmatched] = change;
        let values =
            params![graph.step as i64, graph.rank as i64, graph.side.as_str(), order, error, warning, pass, not_compared, unmatched];
        self.cached(sql, |statement| statement.execute(values)).map(|_| ())
    }

    /// Whether counts of subtrees are kept in the file.
    pub fn has_facts(&self) -> bool {
        matches!(self.reader.own_tables(), OwnTables::Known(_))
    }

    /// Replaces the golden parameters that nothing faces, of one target node.
    pub fn set_surplus(&self, step: u64, rank: u64, node: &str, rows: &[&str]) -> Result<()> {
        if !self.has_facts() || !self.has_table("msprobe_surplus")? {
            return Ok(());
        }
        let key = (step as i64, rank as i64, node);
        let sql = "DELETE FROM msprobe_surplus WHERE step = ?1 AND rank = ?2 AND node_name = ?3";
        self.cached(sql, |statement| statement.execute(key))?;
        let sql = "INSERT OR IGNORE INTO msprobe_surplus (step, rank, node_name, row_name) VALUES (?1, ?2, ?3, ?4)";
        for row in rows {
            self.cached(sql, |statement| statement.execute((step as i64, rank as i64, node, row)))?;
        }
        Ok(())
    }

    /// Replaces what the tensors of a target node's pair show.
    pub fn set_tensor_facts(&self, step: u64, rank: u64, node: &str, facts: &[(&str, &str, &Extra)]) -> Result<()> {
        if !self.has_facts() || !self.has_table("msprobe_tensor")? {
            return Ok(());
        }
        let sql = "DELETE FROM msprobe_tensor WHERE step = ?1 AND rank = ?2 AND node_name = ?3";
        self.cached(sql, |statement| statement.execute((step as i64, rank as i64, node)))?;
        let sql = "INSERT OR REPLACE INTO msprobe_tensor (step, rank, node_name, place, row_name, largest_at, equal, target_nan, \
                   golden_nan, target_inf, golden_inf, ulp) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        for (place, row, extra) in facts {
            let largest_at = extra.largest_at.as_ref().map(|index| format!("{index:?}"));
            let [target_nan, golden_nan] = extra.nan.map(count);
            let [target_inf, golden_inf] = extra.infinite.map(count);
            let values = params![
                step as i64,
                rank as i64,
                node,
                place,
                row,
                largest_at,
                extra.equal,
                target_nan,
                golden_nan,
                target_inf,
                golden_inf,
                extra.ulp
            ];
            self.cached(sql, |statement| statement.execute(values))?;
        }
        Ok(())
    }

    /// The last change that can be taken back.
    pub fn last_edit(&self) -> Result<Option<EditRecord>> {
        last_edit(&self.reader)
    }

    /// What the nodes of a change were before it.
    pub fn before(&self, edit: i64) -> Result<Vec<Before>> {
        let sql = "SELECT data_source, node_name, precision_index, matched_node_link, input_data, output_data, modified, matched_by \
                   FROM msprobe_before WHERE edit = ?1";
        self.cached(sql, |statement| {
            let rows = statement.query_map([edit], |row| {
                let text = |at| row.get::<_, Option<String>>(at).map(Option::unwrap_or_default);
                let columns = MatchColumns {
                    precision_index: row.get(2)?,
                    matched_node_link: text(3)?,
                    input_data: text(4)?,
                    output_data: text(5)?,
                    modified: row.get::<_, i64>(6)? != 0,
                };
                let side = Side::from_text(&text(0)?).unwrap_or(Side::Target);
                Ok(Before { side, name: text(1)?, columns, way: row.get(7)? })
            })?;
            rows.collect()
        })
    }

    /// Forgets a change.
    pub fn forget_edit(&self, edit: i64) -> Result<()> {
        for sql in ["DELETE FROM msprobe_before WHERE edit = ?1", "DELETE FROM msprobe_edit WHERE edit = ?1"] {
            self.cached(sql, |statement| statement.execute([edit]))?;
        }
        Ok(())
    }

    /// Forgets where this step and rank were found to part first: the numbers have changed, and readers work it out anew.
    pub fn forget_answer(&self, step: u64, rank: u64) -> Result<()> {
        for table in [&super::schema::DIVERGENCE, &super::schema::DRIFT] {
            if self.has_table(table.name)? {
                let sql = format!("DELETE FROM {} WHERE step = ?1 AND rank = ?2", table.name);
                self.cached(&sql, |statement| statement.execute((step as i64, rank as i64)))?;
            }
        }
        Ok(())
    }

    /// Makes all changes at once and lasting.
    pub fn commit(self) -> Result<()> {
        if self.has_table("msprobe_edit")? {
            for sql in [
                "DELETE FROM msprobe_before WHERE edit <= (SELECT max(edit) FROM msprobe_edit) - ?1",
                "DELETE FROM msprobe_edit WHERE edit <= (SELECT max(edit) FROM msprobe_edit) - ?1",
            ] {
                self.cached(sql, |statement| statement.execute([KEPT_EDITS]))?;
            }
        }
        self.sql("COMMIT")?;
        if self.write_ahead {
            // So that a copy of the file alone has everything. Somebody who reads right now delays it to the last one to leave.
            let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
            let _busy: Option<i64> = self.cached(checkpoint, |statement| statement.query_row([], |row| row.get(0)).optional())?;
        }
        Ok(())
    }

    fn has_table(&self, name: &str) -> Result<bool> {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        self.cached(sql, |statement| statement.query_row([name], |row| row.get::<_, i64>(0))).map(|count| count > 0)
    }

    fn sql(&self, sql: &str) -> Result<()> {
        self.reader.connection().execute_batch(sql).map_err(|e| refuse(self.reader.path(), e))
    }

    fn cached<T>(&self, sql: &str, run: impl FnOnce(&mut rusqlite::CachedStatement<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let explain = |e| refuse(self.reader.path(), e);
        let mut statement = self.reader.connection().prepare_cached(sql).map_err(explain)?;
        run(&mut statement).map_err(explain)
    }
}

/// Nodes of one side whose match was changed by hand, in node order: name and partner.
pub fn modified(reader: &Reader, graph: GraphId) -> Result<Vec<(String, Option<String>)>> {
    let mut nodes = Vec::new();
    reader.for_each_modified(graph, |node| nodes.push((node.name.to_owned(), node.partner().map(std::borrow::Cow::into_owned))))?;
    Ok(nodes)
}

/// The last change of a file that can be taken back.
pub fn last_edit(reader: &Reader) -> Result<Option<EditRecord>> {
    let explain = |e| refuse(reader.path(), e);
    let connection = reader.connection();
    let there: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'msprobe_edit' AND rootpage > 0", [], |row| {
            row.get(0)
        })
        .map_err(explain)?;
    if there == 0 {
        return Ok(None);
    }
    let sql = "SELECT edit, step, rank, what, subject FROM msprobe_edit ORDER BY edit DESC LIMIT 1";
    connection
        .query_row(sql, [], |row| {
            let number = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
            Ok(EditRecord { number: row.get(0)?, step: number(1)?, rank: number(2)?, what: row.get(3)?, subject: row.get(4)? })
        })
        .optional()
        .map_err(explain)
}

/// Refuses a file that its owner may not write, and one whose folder takes no file: SQLite keeps its journal there.
///
/// The bits are looked at, because they are meant also where the system does not enforce them (as root).
pub fn check_writable(path: &Path) -> Result<()> {
    let refused = |reason: &str| Error::ReadOnly { path: path.to_owned(), reason: reason.to_owned() };
    let owner_may_write = |path: &Path| fs::metadata(path).map(|m| m.permissions().mode() & 0o200 != 0);
    if !owner_may_write(path).map_err(Error::io(path, "open"))? {
        return Err(refused("the file is read-only; give its owner write permission (chmod u+w), or change a copy"));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    if !owner_may_write(folder).map_err(Error::io(folder, "open"))? {
        return Err(refused("its folder is read-only, and a change needs room for its journal there; change a copy elsewhere"));
    }
    for place in [path, folder] {
        if rustix::fs::access(place, rustix::fs::Access::WRITE_OK).is_err() {
            return Err(refused("this user may not write here; start TensorBoard as the owner, or change a copy elsewhere"));
        }
    }
    Ok(())
}

fn refuse(path: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Error::ReadOnly { path: path.to_owned(), reason: format!("the file cannot be written ({error})") }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Locked { path: path.to_owned(), reason: "another program is writing or reading it, try again in a moment".to_owned() }
        }
        _ => super::read::explain(path, error),
    }
}
