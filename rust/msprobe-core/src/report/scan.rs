//! Reads the target nodes of one rank in execution order: rows are parsed and measured by several threads, and given to one
//! consumer in order. Memory is bounded by a few thousand nodes.

use super::direct::Direct;
use super::error::{Error, Result};
use super::file::{Place, VisFile};
use super::turns::Turns;
use crate::facts::{coarsest_epsilon, NodeFacts, Verdict};
use crate::visdb::pages::{Unusual, Walk};
use crate::visdb::{partner_of, OverflowLevel, Side, Task};
use rusqlite::types::{FromSql, FromSqlError, ValueRef};
use rusqlite::{Connection, OptionalExtension};
use std::cell::RefCell;
use std::path::Path;
use std::thread::Builder;

/// Consecutive nodes that one thread reads at a time: few enough to stay in its cache until they are consumed.
const STRETCH: i64 = 512;
/// Stretches of a rank, at most twice as many: whoever made up node orders has not made up endless work.
const STRETCHES: i64 = 1 << 18;

/// Columns of a node, in the order of [`NodeCells`].
pub(super) const COLUMNS: [&str; 12] = [
    "node_order",
    "node_name",
    "node_type",
    "up_node",
    "precision_index",
    "overflow_level",
    "micro_step_id",
    "matched_node_link",
    "is_distributed",
    "modified",
    "input_data",
    "output_data",
];

/// What stands in these columns.
pub(super) type NodeCells<'a> = [ValueRef<'a>; COLUMNS.len()];

/// Calls `consume` with the target nodes of orders `from..to`, in order, until it says no.
pub(super) fn for_each_node_from(
    file: &VisFile,
    place: Place,
    from: u32,
    to: u32,
    mut consume: impl FnMut(&NodeFacts) -> bool,
) -> Result<()> {
    let direct = Direct::find(file, place, Side::Target)?;
    let golden = Direct::find(file, place, Side::Golden)?;
    let mut pages = direct.as_ref().map(Direct::walk);
    let reader = Reader::new(file, place, direct.as_ref(), golden.as_ref())?;
    reader.nodes(pages.as_mut(), i64::from(from), i64::from(to), |node| consume(node))?;
    direct.map_or(Ok(()), |direct| direct.check_unchanged())
}

/// Calls `consume` with every target node of `place`, in order.
pub(super) fn for_each_node(file: &VisFile, place: Place, threads: usize, mut consume: impl FnMut(&NodeFacts) + Send) -> Result<()> {
    for_each_few(file, place, threads, |nodes| nodes.iter().for_each(&mut consume))
}

/// The same, several nodes at once.
pub(super) fn for_each_few(file: &VisFile, place: Place, threads: usize, consume: impl FnMut(&[NodeFacts]) + Send) -> Result<()> {
    let sql = "SELECT max(node_order) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'NPU'";
    let last: Option<i64> = file.conn.query_row(sql, (place.step, place.rank), |row| row.get(0)).map_err(file.fail())?;
    let Some(last) = last else { return Ok(()) };
    if last > i64::from(u32::MAX) {
        return Err(Error::unreadable(&file.path, format!("node_order {last} is out of range")));
    }
    // Without its index every stretch would read the whole file.
    let (stretch, threads) = if file.indexed { (STRETCH.max(last / STRETCHES), threads.max(1)) } else { (i64::MAX, 1) };
    let stretches = if file.indexed { (last / stretch + 1).max(0) as u64 } else { 1 };
    let threads = threads.min(usize::try_from(stretches).unwrap_or(usize::MAX));
    let direct = Direct::find(file, place, Side::Target)?;
    let golden = Direct::find(file, place, Side::Golden)?;
    let readers = (0..threads).map(|_| Reader::new(file, place, direct.as_ref(), golden.as_ref())).collect::<Result<Vec<_>>>()?;
    let turns = Turns::new(stretches, threads, consume);
    let work = |reader: Reader<'_>| {
        let mut pages = direct.as_ref().map(Direct::walk);
        turns.work(|number, batch| {
            let from = (number as i64).saturating_mul(stretch);
            reader.nodes(pages.as_mut(), from, from.saturating_add(stretch), |node| {
                batch.take(node);
                true
            })
        });
    };
    std::thread::scope(|scope| {
        let mut readers = readers.into_iter();
        let own = readers.next();
        for reader in readers {
            // Where the system gives no more threads, fewer read.
            if Builder::new().spawn_scoped(scope, || work(reader)).is_err() {
                break;
            }
        }
        own.into_iter().for_each(work);
    });
    turns.outcome()?;
    match direct {
        Some(direct) => direct.check_unchanged(),
        None => Ok(()),
    }
}

/// As [`for_each_node`], without looking at pages.
#[cfg(test)]
pub(super) fn through_sqlite(file: &VisFile, place: Place, mut consume: impl FnMut(&NodeFacts)) -> Result<()> {
    Reader::new(file, place, None, None)?.nodes(None, 0, i64::MAX, |node| {
        consume(node);
        true
    })
}

/// Reads nodes without their rows, a few at a time.
pub(super) struct Heads<'a> {
    reader: Reader<'a>,
    pages: Option<Walk<'a>>,
}

impl<'a> Heads<'a> {
    /// The nodes of a side of `place`, which `direct` may have found.
    pub fn new(file: &'a VisFile, place: Place, side: Side, direct: Option<&'a Direct<'a>>) -> Result<Self> {
        let reader = Reader { with_rows: false, side, ..Reader::new(file, place, direct, None)? };
        Ok(Heads { reader, pages: direct.map(Direct::walk) })
    }

    /// Calls `each` with the nodes of orders `from..to`, in order, until it says no.
    pub fn nodes(&mut self, from: u32, to: u32, mut each: impl FnMut(&NodeFacts) -> bool) -> Result<()> {
        self.reader.nodes(self.pages.as_mut(), i64::from(from), i64::from(to), |node| each(node))
    }
}

/// Whether a link leads to a node of the name `name`, as most do; one that needs unescaping is left to [`partner_of`].
fn ends_with_own_name(link: &str, name: &str) -> bool {
    let before = link.strip_suffix("\"]").and_then(|names| names.strip_suffix(name)).and_then(|names| names.strip_suffix('"'));
    before.is_some_and(|before| !before.ends_with('\\')) && !name.bytes().any(|byte| matches!(byte, b'"' | b'\\'))
}

struct Reader<'a> {
    conn: Connection,
    path: &'a Path,
    task: Task,
    place: Place,
    side: Side,
    indexed: bool,
    direct: Option<&'a Direct<'a>>,
    /// The golden side, where it is read without SQLite too.
    golden: Option<(&'a Direct<'a>, RefCell<Walk<'a>>)>,
    with_rows: bool,
}

impl<'a> Reader<'a> {
    fn new(file: &'a VisFile, place: Place, direct: Option<&'a Direct<'a>>, golden: Option<&'a Direct<'a>>) -> Result<Self> {
        let golden = golden.map(|golden| (golden, RefCell::new(golden.walk())));
        let (conn, side) = (file.again()?, Side::Target);
        Ok(Reader { conn, path: &file.path, task: file.task, place, side, indexed: file.indexed, direct, golden, with_rows: true })
    }

    /// Calls `each` with the nodes of orders `from..to`, in order, until it says no.
    fn nodes(&self, pages: Option<&mut Walk<'_>>, mut from: i64, to: i64, mut each: impl FnMut(&mut NodeFacts) -> bool) -> Result<()> {
        let mut node = NodeFacts::new("", "");
        if let Some((direct, pages)) = self.direct.zip(pages) {
            let start = from;
            // Nodes of an order that another has too stand somewhere else.
            let read = if self.count(start, to)? == direct.expected(start, to) {
                direct.nodes(pages, start, to, |order, cells| {
                    // What is wrong with a node is told by SQLite.
                    if self.node(&mut node, cells).is_err() {
                        return None;
                    }
                    from = order + 1;
                    Some(each(&mut node))
                })
            } else {
                Err(Unusual)
            };
            if read.is_ok() {
                return Ok(());
            }
            // Others may stand in the place of missing ones.
            if from > start && self.count(start, from)? != direct.expected(start, from) {
                return Err(Error::unreadable(self.path, format!("two nodes before node_order {from} have the same one; write it again")));
            }
        }
        let sql = format!(
            "SELECT {} FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_order >= ?4 AND node_order < ?5 \
             ORDER BY node_order",
            COLUMNS.join(", ")
        );
        let fail = Error::sqlite(self.path);
        let mut statement = self.conn.prepare_cached(&sql).map_err(&fail)?;
        let mut rows = statement.query((self.place.step, self.place.rank, self.side.as_str(), from, to)).map_err(&fail)?;
        while let Some(row) = rows.next().map_err(&fail)? {
            let mut cells = [ValueRef::Null; COLUMNS.len()];
            for (index, cell) in cells.iter_mut().enumerate() {
                *cell = row.get_ref(index).map_err(&fail)?;
            }
            self.node(&mut node, &cells)?;
            if !each(&mut node) {
                break;
            }
        }
        Ok(())
    }

    /// How many nodes of orders `from..to` the index knows.
    fn count(&self, from: i64, to: i64) -> Result<i64> {
        let fail = Error::sqlite(self.path);
        let sql =
            "SELECT count(*) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_order >= ?4 AND node_order < ?5";
        let mut statement = self.conn.prepare_cached(sql).map_err(&fail)?;
        statement.query_row((self.place.step, self.place.rank, self.side.as_str(), from, to), |row| row.get(0)).map_err(&fail)
    }

    /// Reads a node into `node`.
    fn node(&self, node: &mut NodeFacts, cells: &NodeCells<'_>) -> Result<()> {
        let text = |index: usize| -> Result<&str> {
            let text = cells[index].as_str_or_null().map_err(|_| Error::no_text(self.path, COLUMNS[index]))?;
            Ok(text.unwrap_or(""))
        };
        let order: i64 = self.cell(cells, 0)?;
        let name = text(1)?;
        let kind = text(2)?;
        let link = text(7)?;
        node.begin(name, text(3)?);
        node.order = u32::try_from(order).map_err(|_| Error::unreadable(self.path, format!("node_order {order} is out of range")))?;
        node.is_api = kind == "1";
        node.is_collection = kind == "9";
        node.matched = !matches!(link.trim(), "" | "[]" | "null");
        if ends_with_own_name(link, name) {
            node.face(name, name);
        } else if let Some(golden) = partner_of(link) {
            node.face(name, &golden);
        }
        node.verdict = match self.cell::<Option<f64>>(cells, 4)? {
            None => Verdict::NotCompared,
            Some(index) if index < 0.3 => Verdict::Pass,
            Some(index) if index < 0.6 => Verdict::Warning,
            Some(_) => Verdict::Error,
        };
        node.overflow = OverflowLevel::from_text(text(5)?);
        node.micro_step = self.cell::<Option<i64>>(cells, 6)?.and_then(|step| u32::try_from(step).ok()).unwrap_or(0);
        node.is_distributed = self.cell::<Option<i64>>(cells, 8)? == Some(1);
        node.modified = self.cell::<Option<i64>>(cells, 9)? == Some(1);
        if !self.with_rows {
            return Ok(());
        }
        for (index, is_output) in [(10, false), (11, true)] {
            node.read_rows(name, text(index)?, is_output, self.task).map_err(|error| Error::no_rows(self.path, name, &error))?;
        }
        if node.may_widen() {
            self.widen(node, link)?;
        }
        Ok(())
    }

    fn cell<T: FromSql>(&self, cells: &NodeCells<'_>, index: usize) -> Result<T> {
        T::column_result(cells[index]).map_err(|error| {
            Error::sqlite(self.path)(match error {
                FromSqlError::OutOfRange(value) => rusqlite::Error::IntegralValueOutOfRange(index, value),
                _ => rusqlite::Error::InvalidColumnType(index, COLUMNS[index].to_owned(), cells[index].data_type()),
            })
        })
    }

    /// Takes the dtypes of the golden node into account where they differ.
    fn widen(&self, node: &mut NodeFacts, link: &str) -> Result<()> {
        if !self.indexed {
            return Ok(());
        }
        let Some(golden) = partner_of(link) else { return Ok(()) };
        // Partners nearly always have the same order.
        if let Some((direct, pages)) = &self.golden {
            if let Some(coarsest) = direct.coarsest(&mut pages.borrow_mut(), node.order, &golden) {
                node.widen(coarsest);
                return Ok(());
            }
        }
        let fail = Error::sqlite(self.path);
        let sql = "SELECT input_data, output_data FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' AND node_name = ?3";
        let mut statement = self.conn.prepare_cached(sql).map_err(&fail)?;
        let found: Option<(Option<String>, Option<String>)> = statement
            .query_row((self.place.step, self.place.rank, &golden), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(&fail)?;
        let texts = found.into_iter().flat_map(|(inputs, outputs)| [inputs, outputs]).flatten();
        node.widen(texts.map(|text| coarsest_epsilon(&text)).fold(0.0, f32::max));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_link_to_the_own_name_is_one(before in r#"\["([ab"\\.]{0,4}", ")?"#, name in r#"[ab"\\]{0,3}"#, shown in r#"[ab"\\]{0,3}"#, same: bool) {
            let link = format!("{before}{}\"]", if same { &name } else { &shown });
            if ends_with_own_name(&link, &name) {
                let partner = partner_of(&link);
                prop_assert_eq!(partner.as_deref(), Some(&*name), "{}", link);
            }
        }
    }

    #[test]
    fn usual_links_are_told_at_once() {
        for (link, name, is_own) in [
            (r#"["DefaultModel", "Module.a.A.forward.0"]"#, "Module.a.A.forward.0", true),
            (r#"["a"]"#, "a", true),
            (r#"["ba"]"#, "a", false),
            (r#"["\"a"]"#, "a", false),
            (r#"["DefaultModel", "a"]"#, "b", false),
            ("[]", "a", false),
            ("", "", false),
        ] {
            assert_eq!(ends_with_own_name(link, name), is_own, "{link}");
        }
    }
}
