//! A result file, opened read-only.

use super::error::{Error, Result};
use crate::visdb::{read, OwnTables, Task};
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

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
    /// Whether the answer is in the file.
    pub has_answer: bool,
}

impl VisFile {
    pub fn open(path: &Path) -> Result<Self> {
        let conn = read::connect(path)?;
        let mut file = Self {
            path: path.to_owned(),
            conn,
            task: Task::Build,
            micro_steps: 1,
            overflow_check: false,
            indexed: false,
            has_answer: false,
        };
        file.read_schema()?;
        file.read_config()?;
        Ok(file)
    }

    /// The same file once more, for another thread.
    pub fn again(&self) -> Result<Connection> {
        Ok(read::connect(&self.path)?)
    }

    pub fn fail(&self) -> impl Fn(rusqlite::Error) -> Error + '_ {
        Error::sqlite(&self.path)
    }

    pub fn is_comparison(&self) -> bool {
        self.task != Task::Build
    }

    /// All steps and ranks, ascending.
    fn places(&self) -> Result<Vec<Place>> {
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

    /// Those of that step and rank; all without.
    pub fn places_of(&self, step: Option<i64>, rank: Option<i64>) -> Result<Vec<Place>> {
        let all = self.places()?;
        let asked = |place: &&Place| step.is_none_or(|step| step == place.step) && rank.is_none_or(|rank| rank == place.rank);
        let found: Vec<Place> = all.iter().filter(asked).copied().collect();
        if found.is_empty() {
            let all: Vec<_> = all.iter().map(|place| (place.step, place.rank)).collect();
            return Err(Error::nowhere(&self.path, &all, step, rank));
        }
        Ok(found)
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
        let known = matches!(read::own_tables(&self.conn).map_err(self.fail())?, OwnTables::Known(_));
        self.has_answer = known && ["msprobe_divergence", "msprobe_drift"].iter().all(|table| names.contains(*table));
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
