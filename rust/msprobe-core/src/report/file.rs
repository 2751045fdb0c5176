//! A result file, opened read-only.

use super::answer::LeftOut;
use super::error::{Error, Result};
use crate::visdb::pages::NodePages;
use crate::visdb::schema::SKIPPED;
use crate::visdb::{read, OwnTables, Task};
use rusqlite::{Connection, OptionalExtension};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

/// One rank of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub step: i64,
    pub rank: i64,
}

/// An open file and what `tb_config` says of it.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // independent facts of the file, not states
pub(super) struct VisFile {
    pub path: PathBuf,
    pub conn: Connection,
    pub task: Task,
    pub micro_steps: i64,
    pub overflow_check: bool,
    /// Whether the indexes are there that make ranges of nodes and single nodes cheap.
    pub indexed: bool,
    /// Whether there is one by the matched node, which the files of msProbe have.
    pub indexed_by_match: bool,
    /// Whether the answer is in the file.
    pub has_answer: bool,
    /// Whether there is a list of what was left out, which the files of msProbe do not have.
    says_what_is_left_out: bool,
    pages: OnceCell<Option<NodePages>>,
}

/// Calls `work` with each of `things` and the file `path`, which each of up to so many `threads` opens for itself; the outcomes
/// in their order.
pub(super) fn each<R: Send, T: Send>(
    path: &Path,
    threads: usize,
    things: Vec<R>,
    work: impl Fn(&VisFile, R) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let share = things.len().div_ceil(threads.max(1)).max(1);
    let some = |things: Vec<R>| -> Result<Vec<T>> {
        let file = VisFile::open(path)?;
        things.into_iter().map(|thing| work(&file, thing)).collect()
    };
    if things.len() <= share {
        return some(things);
    }
    let mut things = things.into_iter();
    let mut shares: Vec<Vec<R>> = Vec::new();
    while things.len() > 0 {
        shares.push(things.by_ref().take(share).collect());
    }
    let helpers = shares.len() - 1;
    let (waiting, done) = (Mutex::new(shares.into_iter().enumerate()), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let shares_in_turn = || {
        while let Some((number, share)) = next() {
            let outcome = some(share);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // Where the system gives no more threads, fewer do.
            if Builder::new().spawn_scoped(scope, shares_in_turn).is_err() {
                break;
            }
        }
        shares_in_turn();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, outcome)| outcome).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
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
            indexed_by_match: false,
            has_answer: false,
            says_what_is_left_out: false,
            pages: OnceCell::new(),
        };
        file.read_schema()?;
        file.read_config()?;
        Ok(file)
    }

    /// The pages of `tb_nodes`, to be read without SQLite; `None` if they are left to it.
    pub fn pages(&self) -> Result<Option<&NodePages>> {
        if let Some(pages) = self.pages.get() {
            return Ok(pages.as_ref());
        }
        let pages = NodePages::open(&self.path, &self.conn)?;
        Ok(self.pages.get_or_init(|| pages).as_ref())
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
        // A look or two into the index for each, whatever the number of nodes.
        let sql = |further: &str| format!("SELECT step, rank FROM tb_nodes WHERE {further} ORDER BY step, rank LIMIT 1");
        let mut of_same_step = self.conn.prepare(&sql("step = ?1 AND rank > ?2")).map_err(self.fail())?;
        let mut of_later_steps = self.conn.prepare(&sql("step > ?1")).map_err(self.fail())?;
        let place = |row: &rusqlite::Row<'_>| Ok(Place { step: row.get(0)?, rank: row.get(1)? });
        let mut places: Vec<Place> = Vec::new();
        loop {
            let mut next = None;
            if let Some(last) = places.last() {
                next = of_same_step.query_row((last.step, last.rank), place).optional().map_err(self.fail())?;
            }
            if next.is_none() {
                let last = places.last().map_or(i64::MIN, |last| last.step);
                next = of_later_steps.query_row([last], place).optional().map_err(self.fail())?;
            }
            let Some(next) = next else { break };
            places.push(next);
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

    /// What the file lacks of that step and rank (of all without), as the run that wrote it has said.
    pub fn left_out(&self, step: Option<i64>, rank: Option<i64>) -> Result<Vec<LeftOut>> {
        if !self.says_what_is_left_out {
            return Ok(Vec::new());
        }
        let sql =
            "SELECT step, rank, reason FROM msprobe_skipped WHERE (?1 IS NULL OR step = ?1) AND (?2 IS NULL OR rank IS NULL OR rank = ?2) \
                   ORDER BY step, rank";
        let mut statement = self.conn.prepare(sql).map_err(self.fail())?;
        let read = |row: &rusqlite::Row<'_>| Ok(LeftOut { step: row.get(0)?, rank: row.get(1)?, reason: row.get(2)? });
        let found = statement.query_map((step, rank), read).and_then(Iterator::collect);
        found.map_err(self.fail())
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
        self.says_what_is_left_out = known && names.contains(SKIPPED.name);
        let sql = "SELECT name FROM pragma_index_info('index6') ORDER BY seqno";
        let mut columns = self.conn.prepare(sql).map_err(self.fail())?;
        let columns: Vec<Option<String>> = columns.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(self.fail())?;
        let by_match = ["step", "rank", "modified", "matched_node_link"];
        self.indexed_by_match = columns.iter().map(Option::as_deref).eq(by_match.map(Some));
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
