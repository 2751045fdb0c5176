//! Writing a result file.
//!
//! ```text
//! Writer::create ─ begin_part ─ append, append_stack, add_row .. ─ finish_part ─ .. ─ complete ─ Complete ─ publish
//!                                                                  rollback_part                 └ connection (SQL)
//! ```
//!
//! The file grows under `NAME.vis.db.partial` and gets its name at the very end; whatever happens before leaves no file
//! that looks finished. Memory hardly grows with the file: a part's names stay until the part is complete, and each page
//! of the file leaves one key.

mod communication;
mod part;
mod partial;
mod rollup;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::OpenFlags;

use super::bulk::index::{join, Closed, Run, Tree};
use super::bulk::output::Output;
use super::bulk::record::{push_record, Cell};
use super::bulk::schema_page::{first_page, SchemaEntry};
use super::bulk::table::{Table as Rows, TableMark};
use super::config::Task;
use super::error::{Error, Result};
use super::node::{graph_id, push_stack_id, EncodedNodes};
use super::schema;
use super::values::Side;
use part::Graph;
use partial::Partial;
use tables::Filled;

pub use communication::{CommunicationNode, CommunicationNodes};
pub use partial::EXTENSION;
pub use rollup::Counts;

/// Longest row that SQLite reads with its default limits.
const MAX_ROW: usize = 1_000_000_000;

/// The one row of `tb_config`, as far as the writer does not know it from the parts.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the file holds.
    pub task: Task,
    /// Number of micro steps, the maximum over all graphs.
    pub micro_steps: u32,
    /// Whether overflow levels were asked for.
    pub overflow_check: bool,
    /// Metrics that a user added to a tensor comparison.
    pub extra_columns: Vec<String>,
}

/// Facts about a complete part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartTotals {
    /// Target nodes by verdict.
    pub target: Counts,
    /// Golden nodes; `unmatched` are those only in golden.
    pub golden: Counts,
}

/// The indexes of `tb_nodes`, and the b-trees that are filled with them.
#[derive(Debug)]
struct Indexes {
    /// One run per graph, with the beginning that its keys share.
    by_id: Vec<(String, Closed)>,
    by_parent: Tree,
    by_name: Tree,
    by_side_and_order: Tree,
    by_order: Tree,
    /// Empty: whatever is written is as the comparison made it.
    modified: Tree,
    distributed: Tree,
    /// `msprobe_node`
    facts: Tree,
}

/// The part that is being written.
#[derive(Debug)]
struct OpenPart {
    step: u64,
    rank: u64,
    graphs: [Option<Graph>; 2],
    /// Rowids of the stacks of each side.
    stacks: [Vec<i64>; 2],
    /// What to come back to.
    page: u32,
    nodes_mark: TableMark,
    stacks_mark: TableMark,
}

/// Writes a result file. Dropping it removes what was written.
#[derive(Debug)]
pub struct Writer {
    partial: Partial,
    output: Output,
    nodes: Rows,
    stacks: Rows,
    indexes: Indexes,
    stacks_by_id: Vec<(String, Closed)>,
    tables: Vec<Filled>,
    parts: BTreeSet<(u64, u64)>,
    part: Option<OpenPart>,
    scratch: Vec<u8>,
}

impl Writer {
    /// Creates `<folder>/<file_name>.partial`. The folder exists; `file_name` ends in [`EXTENSION`].
    pub fn create(folder: &Path, file_name: &str) -> Result<Self> {
        let (partial, file) = Partial::create(folder, file_name)?;
        let output = Output::new(file).map_err(Error::io(partial.path(), "write"))?;
        let indexes = Indexes {
            by_id: Vec::new(),
            by_parent: Tree::new(),
            by_name: Tree::new(),
            by_side_and_order: Tree::new(),
            by_order: Tree::new(),
            modified: Tree::new(),
            distributed: Tree::new(),
            facts: Tree::new(),
        };
        let tables = [&schema::META, &schema::SKIPPED, &schema::SURPLUS].map(Filled::new).into();
        Ok(Writer {
            partial,
            output,
            nodes: Rows::new(),
            stacks: Rows::new(),
            indexes,
            stacks_by_id: Vec::new(),
            tables,
            parts: BTreeSet::new(),
            part: None,
            scratch: Vec::new(),
        })
    }

    /// Starts the part of a step and rank. Parts come in ascending order.
    pub fn begin_part(&mut self, step: u64, rank: u64) -> Result<()> {
        if self.part.is_some() {
            return Err(self.bad_rows((step, rank), "the part before it is not finished"));
        }
        if self.parts.last().is_some_and(|last| *last >= (step, rank)) {
            return Err(self.bad_rows((step, rank), "parts are written in the order of step and rank, each once"));
        }
        self.tables.iter_mut().for_each(Filled::begin_part);
        self.part = Some(OpenPart {
            step,
            rank,
            graphs: [None, None],
            stacks: [Vec::new(), Vec::new()],
            page: self.output.mark(),
            nodes_mark: self.nodes.mark(),
            stacks_mark: self.stacks.mark(),
        });
        Ok(())
    }

    /// Appends nodes. The batches of a side come in node order and uninterrupted by those of the other side, the target's
    /// first.
    pub fn append(&mut self, batch: &EncodedNodes) -> Result<()> {
        let graph = batch.graph();
        let place = (graph.step, graph.rank);
        let Some(part) = self.part.as_mut().filter(|p| (p.step, p.rank) == place) else {
            return Err(self.bad_rows(place, "this part is not being written"));
        };
        let slot = &mut part.graphs[graph.side as usize];
        let open = slot.get_or_insert_with(|| Graph::new(graph.compared, self.nodes.rows() + 1));
        if open.next_rowid() != self.nodes.rows() + 1 {
            return Err(self.bad_rows(place, "the nodes of a side are interrupted by those of the other"));
        }
        for node in &batch.nodes {
            let payload = &batch.bytes[node.payload.clone()];
            let noted = if payload.len() > MAX_ROW {
                Err(format!("a row of {} bytes is longer than SQLite reads", payload.len()))
            } else {
                open.push(node, &batch.bytes)
            };
            if let Err(reason) = noted {
                return Err(self.bad_rows(place, reason));
            }
            self.nodes.append(payload, &mut self.output).map_err(Error::io(self.partial.path(), "write"))?;
        }
        Ok(())
    }

    /// Appends the next stack of a side, `stack_info` being JSON or, for a stack recorded as null, absent; returns its number, counted from 0 in each graph.
    pub fn append_stack(&mut self, side: Side, stack_info: Option<&str>) -> Result<u32> {
        let Some(part) = self.part.as_mut() else {
            return Err(self.bad_rows((0, 0), "a stack outside of any part"));
        };
        let numbers = &mut part.stacks[side as usize];
        let k = numbers.len() as u32;
        let mut id = Vec::new();
        push_stack_id(&mut id, &graph_id(side, part.step, part.rank), k);
        let id = String::from_utf8_lossy(&id);
        self.scratch.clear();
        push_record(&mut self.scratch, &[Cell::Text(&id), stack_info.into()]);
        let rowid = self.stacks.append(&self.scratch, &mut self.output).map_err(Error::io(self.partial.path(), "write"))?;
        numbers.push(rowid);
        Ok(k)
    }

    /// Appends a row to a table of ours, which is created if need be. Within a part the row belongs to the part and goes
    /// with it. `cells` are all columns.
    pub fn add_row(&mut self, table: &'static schema::Table, cells: &[Cell<'_>]) -> Result<()> {
        let known = self.tables.iter().position(|t| t.table.name == table.name);
        let at = known.unwrap_or_else(|| {
            self.tables.push(Filled::new(table));
            self.tables.len() - 1
        });
        self.tables[at].add(cells, &mut self.output).map_err(Error::io(self.partial.path(), "write"))
    }

    /// Writes the indexes of the part, which is then in the file for good. After an error of the kind [`Error::Rows`] the
    /// part can still be rolled back.
    pub fn finish_part(&mut self) -> Result<PartTotals> {
        let Some(part) = self.part.as_ref() else {
            return Err(self.bad_rows((0, 0), "no part to finish"));
        };
        let place = (part.step, part.rank);
        let mut graphs = Vec::new();
        let mut totals = PartTotals::default();
        for side in [Side::Target, Side::Golden] {
            let Some(graph) = &part.graphs[side as usize] else { continue };
            let by_name = match graph.by_name() {
                Ok(order) => order,
                Err(reason) => return Err(self.bad_rows(place, reason)),
            };
            graphs.push((side, graph, by_name));
            *(if side == Side::Target { &mut totals.target } else { &mut totals.golden }) = graph.totals();
        }
        for table in &mut self.tables {
            if let Err(reason) = table.sort() {
                return Err(self.bad_rows(place, reason));
            }
        }
        let written = part::append_entries(place, &graphs, &mut self.indexes, &mut self.output)
            .and_then(|()| self.tables.iter_mut().try_for_each(|t| t.finish_part(&mut self.output)));
        written.map_err(Error::io(self.partial.path(), "write"))?;
        for side in [Side::Target, Side::Golden] {
            let rowids = &part.stacks[side as usize];
            let id = graph_id(side, place.0, place.1);
            let run = stacks_by_id(&id, rowids, &mut self.output).map_err(Error::io(self.partial.path(), "write"))?;
            self.stacks_by_id.push((id + "_", run));
        }
        self.parts.insert(place);
        self.part = None;
        Ok(totals)
    }

    /// Takes back everything since [`Writer::begin_part`].
    pub fn rollback_part(&mut self) -> Result<()> {
        let Some(part) = self.part.take() else { return Ok(()) };
        self.output.rewind(part.page).map_err(Error::io(self.partial.path(), "shorten"))?;
        self.nodes.rewind(part.nodes_mark);
        self.stacks.rewind(part.stacks_mark);
        self.tables.iter_mut().for_each(Filled::rollback_part);
        Ok(())
    }

    /// Writes the configuration, the versions (`schema_version`, `tool_version` of `msprobe_meta`), the levels above the leaves and the first page.
    pub fn complete(mut self, config: &Config) -> Result<Complete> {
        if let Some(part) = &self.part {
            return Err(self.bad_rows((part.step, part.rank), "the part is not finished"));
        }
        self.add_row(&schema::META, &["schema_version".into(), schema::SCHEMA_VERSION.to_string().as_str().into()])?;
        self.add_row(&schema::META, &["tool_version".into(), env!("CARGO_PKG_VERSION").into()])?;
        for table in &mut self.tables {
            if let Err(reason) = table.sort() {
                return Err(self.bad_rows((0, 0), reason));
            }
        }
        let path = self.partial.path().to_owned();
        self.finish(config).map_err(Error::io(&path, "write"))
    }

    /// Writes what is left when all parts are in.
    fn finish(mut self, config: &Config) -> io::Result<Complete> {
        let output = &mut self.output;
        let mut entries = Vec::new();
        let mut table = |name, root, sql| entries.push(SchemaEntry { kind: "table", name, table: name, root, sql: Some(sql) });
        table("tb_nodes", self.nodes.finish(output)?, schema::NODES_SQL);
        table("tb_stack", self.stacks.finish(output)?, schema::STACK_SQL);
        let (config_root, config_index) = write_config(config, &self.parts, output)?;
        table("tb_config", config_root, schema::CONFIG_SQL);
        table("msprobe_node", self.indexes.facts.finish(output)?, schema::NODE_SQL);
        for mut filled in self.tables {
            filled.finish_part(output)?;
            let (name, sql) = (filled.table.name, filled.table.sql);
            table(name, filled.finish(output)?, sql);
        }
        let mut automatic = |name, table, root| entries.push(SchemaEntry { kind: "index", name, table, root, sql: None });
        automatic("sqlite_autoindex_tb_nodes_1", "tb_nodes", join_by_id(self.indexes.by_id, output)?);
        automatic("sqlite_autoindex_tb_stack_1", "tb_stack", join_by_id(self.stacks_by_id, output)?);
        automatic("sqlite_autoindex_tb_config_1", "tb_config", config_index);
        let trees = [
            self.indexes.by_parent,
            self.indexes.by_name,
            self.indexes.by_side_and_order,
            self.indexes.by_order,
            self.indexes.modified,
            self.indexes.distributed,
        ];
        let mut roots = Vec::new();
        for tree in trees {
            roots.push(tree.finish(output)?);
        }
        for ((name, sql), root) in schema::INDEXES.into_iter().zip(roots) {
            entries.push(SchemaEntry { kind: "index", name, table: "tb_nodes", root, sql: Some(sql) });
        }
        let file = self.output.finish(|pages| first_page(&entries, pages))?;
        Ok(Complete { partial: self.partial, file })
    }

    fn bad_rows(&self, (step, rank): (u64, u64), reason: impl Into<String>) -> Error {
        Error::Rows { path: self.partial.path().to_owned(), step, rank, reason: reason.into() }
    }
}

/// The index entries of one graph's stacks, in the order of the ids as texts.
fn stacks_by_id(graph_id: &str, rowids: &[i64], output: &mut Output) -> io::Result<Closed> {
    let mut order: Vec<u32> = (0..rowids.len() as u32).collect();
    // 1, 10, 100, 11, 2: as left-aligned decimal fractions, the shorter first.
    order.sort_by_cached_key(|&k| {
        let digits = k.checked_ilog10().unwrap_or(0);
        (u64::from(k) * 10u64.pow(10 - digits), digits)
    });
    let mut run = Run::new();
    let (mut id, mut entry) = (Vec::new(), Vec::new());
    for k in order {
        id.clear();
        push_stack_id(&mut id, graph_id, k);
        entry.clear();
        push_record(&mut entry, &[Cell::Text(&String::from_utf8_lossy(&id)), Cell::Integer(rowids[k as usize])]);
        run.append(&entry, output)?;
    }
    run.close(output)
}

/// Joins the runs of a text primary key whose keys begin alike within a run.
fn join_by_id(mut runs: Vec<(String, Closed)>, output: &mut Output) -> io::Result<u32> {
    runs.sort_by(|a, b| a.0.cmp(&b.0));
    join(runs.into_iter().map(|r| r.1), output)
}

/// Writes `tb_config`; returns the roots of the table and of its index.
fn write_config(config: &Config, parts: &BTreeSet<(u64, u64)>, output: &mut Output) -> io::Result<(u32, u32)> {
    let list = |number: fn(&(u64, u64)) -> u64| {
        let numbers: BTreeSet<u64> = parts.iter().map(number).collect();
        let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
        format!("[{}]", texts.join(", "))
    };
    let tips = config.task.tool_tip(&config.extra_columns);
    let mut row = Vec::new();
    push_record(
        &mut row,
        &[
            Cell::Text("1"),
            Cell::Text(config.task.graph_type()),
            Cell::Text(config.task.as_str()),
            tips.as_deref().into(),
            Cell::Integer(i64::from(config.micro_steps)),
            Cell::Integer(i64::from(config.overflow_check)),
            Cell::Text(&config.task.node_colors()),
            Cell::Text(&list(|part| part.1)),
            Cell::Text(&list(|part| part.0)),
        ],
    );
    let mut rows = Rows::new();
    let rowid = rows.append(&row, output)?;
    let mut entry = Vec::new();
    push_record(&mut entry, &[Cell::Text("1"), Cell::Integer(rowid)]);
    let mut index = Tree::new();
    index.append(&entry, output)?;
    Ok((rows.finish(output)?, index.finish(output)?))
}

/// Takes one row of a table.
pub type AddRow<'a> = dyn FnMut(&[Cell<'_>]) -> Result<()> + 'a;

/// A file with all its rows that still has its temporary name. Dropping it removes the file.
#[derive(Debug)]
pub struct Complete {
    partial: Partial,
    file: File,
}

impl Complete {
    /// The temporary name.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.partial.path()
    }

    /// Opens the file for changes by SQL, without journal and without syncing: a failure costs the whole file anyway.
    /// Drop the connection before [`Complete::publish`].
    pub fn connection(&self) -> Result<rusqlite::Connection> {
        let sqlite = |e| Error::sqlite(self.path())(e);
        // Should somebody have removed the file meanwhile, no empty one takes its place.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(self.path(), flags).map_err(sqlite)?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -8192;",
            )
            .map_err(sqlite)?;
        Ok(connection)
    }

    /// Creates a table of ours in the complete file; `fill` passes its rows, with all columns, to its argument one by one.
    pub fn add_table(
        &self,
        connection: &rusqlite::Connection,
        table: &schema::Table,
        fill: impl FnOnce(&mut AddRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let sqlite = |e| Error::sqlite(self.path())(e);
        connection.execute_batch(table.sql).map_err(sqlite)?;
        connection.execute_batch("BEGIN").map_err(sqlite)?;
        let mut insert = None;
        fill(&mut |cells| {
            if insert.is_none() {
                let marks = vec!["?"; cells.len()].join(", ");
                insert = Some(connection.prepare(&format!("INSERT INTO {} VALUES ({marks})", table.name)).map_err(sqlite)?);
            }
            insert.iter_mut().try_for_each(|insert| insert.execute(rusqlite::params_from_iter(cells)).map(drop)).map_err(sqlite)
        })?;
        connection.execute_batch("COMMIT").map_err(sqlite)
    }

    /// Puts the file safely on disk, which may take a while.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(Error::io(self.path(), "write to disk"))
    }

    /// Puts the file safely on disk and gives it its name; returns its path. If the name is taken, the next free one of
    /// `NAME_1.vis.db`, `NAME_2.vis.db`, ... is used.
    pub fn publish(self) -> Result<PathBuf> {
        self.partial.publish(&self.file)
    }
}
