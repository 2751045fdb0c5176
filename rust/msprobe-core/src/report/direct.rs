//! The nodes of one side of a rank where they stand in the file one after the other, in execution order, as every writer of
//! result files leaves them: they are read without SQLite and without an index.

use super::error::Result;
use super::file::{Place, VisFile};
use super::rank::GoldenNodes;
use super::scan::{NodeCells, COLUMNS};
use crate::facts::coarsest_epsilon;
use crate::visdb::pages::{column, NodePages, Record, Unusual, Walk};
use crate::visdb::Side;
use rusqlite::types::ValueRef;
use rusqlite::OptionalExtension;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows that stand one after the other.
#[derive(Debug)]
pub(super) struct Direct<'f> {
    pages: &'f NodePages,
    place: Place,
    side: Side,
    /// Orders of the first and the last node.
    first: i64,
    last: i64,
    /// Number of the row of a node less the node's order.
    rows_before: i64,
    /// Whether something unusual was met: the rest is left to SQLite.
    given_up: AtomicBool,
}

impl<'f> Direct<'f> {
    /// The nodes of a side; `None` if there are none or if they are left to SQLite.
    pub fn find(file: &'f VisFile, place: Place, side: Side) -> Result<Option<Self>> {
        if !file.indexed {
            return Ok(None);
        }
        let Some(pages) = file.pages()? else { return Ok(None) };
        let end = |order: &str| -> Result<Option<(i64, i64)>> {
            let sql = format!(
                "SELECT rowid, node_order FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 ORDER BY node_order {order} LIMIT 1"
            );
            let found = file.conn.query_row(&sql, (place.step, place.rank, side.as_str()), |row| {
                // Any other order than an integer is left to SQLite.
                Ok(row.get(1).ok().zip(Some(row.get(0)?)).map(|(order, row)| (row, order)))
            });
            Ok(found.optional().map_err(file.fail())?.flatten())
        };
        let Some(((first_row, first), (last_row, last))) = end("ASC")?.zip(end("DESC")?) else { return Ok(None) };
        let rows_before = first_row.checked_sub(first);
        let in_one_piece = rows_before.is_some() && rows_before == last_row.checked_sub(last);
        let in_range = first >= 0 && last <= i64::from(u32::MAX);
        let given_up = AtomicBool::new(false);
        Ok(rows_before.filter(|_| in_one_piece && in_range).map(|rows_before| Direct {
            pages,
            place,
            side,
            first,
            last,
            rows_before,
            given_up,
        }))
    }

    /// What a thread needs to read nodes.
    pub fn walk(&self) -> Walk<'f> {
        self.pages.walk()
    }

    /// How many nodes of orders `from..to` there are if this reads them all.
    pub fn expected(&self, from: i64, to: i64) -> i64 {
        (to.min(self.last + 1) - from.max(self.first)).max(0)
    }

    /// Calls `each` with order and record of the nodes of orders `from..to` until it breaks.
    fn records(
        &self,
        walk: &mut Walk<'_>,
        from: i64,
        to: i64,
        mut each: impl FnMut(i64, &Record<'_>) -> Result<ControlFlow<()>, Unusual>,
    ) -> Result<(), Unusual> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(Unusual);
        }
        let (from, to) = (from.max(self.first), (to - 1).min(self.last));
        if from > to {
            return Ok(());
        }
        let mut next = from;
        let mut found = Ok(());
        let read = walk.for_each(from + self.rows_before, to + self.rows_before, |row, record| {
            let order = row - self.rows_before;
            if order != next || !self.belongs(order, &record) {
                found = Err(Unusual);
                return ControlFlow::Break(());
            }
            next += 1;
            match each(order, &record) {
                Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
                Ok(ControlFlow::Break(())) => {
                    next = to + 1;
                    ControlFlow::Break(())
                }
                Err(unusual) => {
                    found = Err(unusual);
                    ControlFlow::Break(())
                }
            }
        });
        let outcome = read.and(found).and(if next == to + 1 { Ok(()) } else { Err(Unusual) });
        if outcome.is_err() {
            self.given_up.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn belongs(&self, order: i64, record: &Record<'_>) -> bool {
        const PLACE: [usize; 4] = [column("node_order"), column("step"), column("rank"), column("data_source")];
        let found = PLACE.map(|at| record.value(at));
        let Place { step, rank } = self.place;
        found == [ValueRef::Integer(order), ValueRef::Integer(step), ValueRef::Integer(rank), ValueRef::Text(self.side.as_str().as_bytes())]
    }

    /// Calls `each` with order and cells of the nodes of orders `from..to`, in order, until it says no. It says `None` of a node
    /// that it leaves to SQLite, with all that follow.
    pub fn nodes(
        &self,
        walk: &mut Walk<'_>,
        from: i64,
        to: i64,
        mut each: impl FnMut(i64, &NodeCells<'_>) -> Option<bool>,
    ) -> Result<(), Unusual> {
        const CELLS: [usize; COLUMNS.len()] = {
            let mut cells = [0; COLUMNS.len()];
            let mut at = 0;
            while at < cells.len() {
                cells[at] = column(COLUMNS[at]);
                at += 1;
            }
            cells
        };
        self.records(walk, from, to, |order, record| match each(order, &CELLS.map(|at| record.value(at))) {
            Some(true) => Ok(ControlFlow::Continue(())),
            Some(false) => Ok(ControlFlow::Break(())),
            None => Err(Unusual),
        })
    }

    /// The coarsest epsilon of the tensors of the node of that order, if it has that name too; otherwise it is another one.
    pub fn coarsest(&self, walk: &mut Walk<'_>, order: u32, name: &str) -> Option<f32> {
        let mut found = None;
        let order = i64::from(order);
        let read = self.records(walk, order, order + 1, |_, record| {
            if record.value(const { column("node_name") }) == ValueRef::Text(name.as_bytes()) {
                let texts = [const { column("input_data") }, const { column("output_data") }].map(|at| record.value(at));
                let mut coarsest = 0f32;
                for text in texts {
                    match text {
                        ValueRef::Text(text) => coarsest = coarsest.max(coarsest_epsilon(std::str::from_utf8(text).map_err(|_| Unusual)?)),
                        ValueRef::Null => {}
                        _ => return Err(Unusual),
                    }
                }
                found = Some(coarsest);
            }
            Ok(ControlFlow::Continue(()))
        });
        found.filter(|_| read.is_ok())
    }

    /// Counts the nodes, and those without a partner but for roots.
    pub fn count(&self) -> Result<GoldenNodes, Unusual> {
        let mut counted = GoldenNodes::default();
        self.records(&mut self.walk(), self.first, self.last + 1, |_, record| {
            counted.all += 1;
            counted.unmatched += u64::from(is_unmatched(record)?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(counted)
    }

    /// An error if the file was changed while it was read.
    pub fn check_unchanged(&self) -> Result<()> {
        Ok(self.pages.check_unchanged()?)
    }
}

/// Whether a node has no partner and is no root.
fn is_unmatched(record: &Record<'_>) -> Result<bool, Unusual> {
    let text = |column: usize| match record.value(column) {
        ValueRef::Null => Ok(&b""[..]),
        ValueRef::Text(text) => Ok(text),
        _ => Err(Unusual),
    };
    Ok(matches!(text(const { column("matched_node_link") })?, b"" | b"[]") && !text(const { column("up_node") })?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::scan::{for_each_node, through_sqlite};
    use super::*;
    use crate::visdb::schema::{CONFIG_SQL, INDEXES, NODES_SQL, STACK_SQL};
    use rusqlite::{params, Connection};
    use std::path::{Path, PathBuf};

    /// A comparison of two ranks with so many nodes a side, as msProbe writes it; every seventh golden node has no partner.
    fn written(folder: &Path, nodes: u32) -> (PathBuf, Connection) {
        let path = folder.join("compare.vis.db");
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(&format!("{NODES_SQL}; {STACK_SQL}; {CONFIG_SQL}; BEGIN")).unwrap();
        conn.execute("INSERT INTO tb_config VALUES ('1', 'compare', 'summary', NULL, 1, 0, 'null', '[0, 1]', '[0]')", []).unwrap();
        let sql = "INSERT INTO tb_nodes VALUES (?1, '', ?2, ?3, '1', ?4, '', ?5, NULL, 0, ?6, '', '', '{}', 0, ?7, ?7, ?8, NULL, 0, ?9, 0)";
        let mut insert = conn.prepare(sql).unwrap();
        for rank in 0..2 {
            for side in ["NPU", "Bench"] {
                for order in 0..nodes {
                    let name = format!("Torch.add.{order}.forward");
                    let up = if order + 1 == nodes { "" } else { "DefaultModel" };
                    // Some partners have another order.
                    let partner = if order % 5 == 3 { order + 1 } else { order };
                    let link = format!("[\"DefaultModel\", \"Torch.add.{partner}.forward\"]");
                    let link = if side == "Bench" && order % 7 == 0 { "[]" } else { &link };
                    let dtype = if side == "Bench" && order % 4 == 0 { "bfloat16" } else { "float32" };
                    let differs = r#"[\"warning: The dtype of NPU and Bench are inconsistent.\"]"#;
                    let message = if order % 3 == 0 { differs } else { "[]" };
                    let rows = format!(
                        "{{\"{name}.input.0\": {{\"type\": \"torch.Tensor\", \"dtype\": \"torch.{dtype}\", \"shape\": \"[{order}]\", \"Max\": \"{order}.5\", \
                         \"Min\": \"0.25\", \"Mean\": \"1e-05\", \"Norm\": \"{}\", \"Max diff\": \"0.0{order}\", \"Min diff\": \"N/A\", \"Err_message\": \"{message}\"}}}}",
                        "7".repeat(order as usize % 9 + 1)
                    );
                    let id = format!("{side}_0_{rank}_{name}");
                    insert.execute(params![id, order, name, up, f64::from(order % 3) / 2.0, link, rows, side, rank]).unwrap();
                }
            }
        }
        drop(insert);
        for (_, sql) in INDEXES {
            conn.execute_batch(sql).unwrap();
        }
        conn.execute_batch("COMMIT").unwrap();
        (path, conn)
    }

    fn directly(path: &Path, place: Place) -> (bool, Result<Vec<String>>) {
        let file = VisFile::open(path).unwrap();
        let mut nodes = Vec::new();
        let read = for_each_node(&file, place, 2, |node| nodes.push(format!("{node:?}")));
        let found = Direct::find(&file, place, Side::Target).unwrap();
        let usual = found.is_some_and(|direct| direct.nodes(&mut direct.walk(), 0, i64::MAX, |_, _| Some(true)).is_ok());
        (usual, read.map(|()| nodes))
    }

    fn by_sqlite(path: &Path, place: Place) -> Result<Vec<String>> {
        let file = VisFile::open(path).unwrap();
        let mut nodes = Vec::new();
        through_sqlite(&file, place, |node| nodes.push(format!("{node:?}"))).map(|()| nodes)
    }

    #[test]
    fn nodes_are_those_that_sqlite_reads() {
        let folder = tempfile::tempdir().unwrap();
        let (path, conn) = written(folder.path(), 5_000);
        for (change, usual) in [
            ("SELECT 1", true),
            // Rows that grow, shrink, and are modified by hand stay where they are.
            ("UPDATE tb_nodes SET input_data = '{}', modified = 1 WHERE node_order % 5 = 0", true),
            ("UPDATE tb_nodes SET stack_id = hex(randomblob(20000)) WHERE node_order % 500 = 3", true),
            ("UPDATE tb_nodes SET input_data = replace(input_data, ', ', ' ,') WHERE node_order = 2500", true),
            ("UPDATE tb_nodes SET node_order = 7001 - node_order WHERE node_order IN (3500, 3501)", false),
            ("UPDATE tb_nodes SET rank = 2 WHERE rank = 1 AND node_order = 77", false),
            ("DELETE FROM tb_nodes WHERE node_order BETWEEN 4000 AND 4500", false),
        ] {
            conn.execute_batch(change).or_else(|_| conn.query_row(change, [], |_| Ok(()))).unwrap();
            for rank in 0..2 {
                let place = Place { step: 0, rank };
                let (directly, found) = directly(&path, place);
                assert_eq!(directly, usual || rank == 0 && change.contains("rank = 1"), "{change}");
                assert_eq!(found.unwrap(), by_sqlite(&path, place).unwrap(), "{change}");
            }
            if change.contains("rank = 1") {
                conn.execute_batch("UPDATE tb_nodes SET rank = 1 WHERE rank = 2").unwrap();
            }
            if change.contains("7001") {
                conn.execute_batch(change).unwrap();
            }
        }
    }

    #[test]
    fn golden_dtypes_widen_the_noise_wherever_the_partner_stands() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _) = written(folder.path(), 50);
        let file = VisFile::open(&path).unwrap();
        let mut widened = Vec::new();
        let each = |node: &crate::facts::NodeFacts| {
            if node.rows.iter().any(|row| row.measured.epsilon > f32::EPSILON) {
                widened.push(node.order);
            }
        };
        for_each_node(&file, Place { step: 0, rank: 1 }, 2, each).unwrap();
        // The dtypes differ of multiples of 3, bfloat16 are the golden multiples of 4; the partner of 3 is 4, that of 48 is 49.
        assert_eq!(widened, [0, 3, 12, 24, 36]);
    }

    #[test]
    fn what_is_wrong_with_a_node_is_told_by_sqlite() {
        for change in [
            "UPDATE tb_nodes SET output_data = '{' WHERE node_order = 3000",
            "UPDATE tb_nodes SET precision_index = 'x' WHERE node_order = 3000",
            "UPDATE tb_nodes SET micro_step_id = 1.5 WHERE node_order = 3000",
            "UPDATE tb_nodes SET node_name = CAST(x'ff' AS TEXT) WHERE node_order = 3000",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let (path, conn) = written(folder.path(), 4_000);
            conn.execute_batch(change).unwrap();
            let place = Place { step: 0, rank: 1 };
            let (found, other) = (directly(&path, place).1.unwrap_err(), by_sqlite(&path, place).unwrap_err());
            assert_eq!(found.to_string(), other.to_string(), "{change}");
        }
    }

    #[test]
    fn golden_nodes_are_counted_by_index_or_without() {
        let folder = tempfile::tempdir().unwrap();
        let (path, conn) = written(folder.path(), 701);
        let by_match = "DROP INDEX index6; CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link)";
        // 101 of 701 are a multiple of 7, the root among them.
        for (change, unmatched) in [
            ("", 100),
            ("UPDATE tb_nodes SET matched_node_link = NULL, modified = 1 WHERE node_order IN (1, 2)", 102),
            ("UPDATE tb_nodes SET matched_node_link = '' WHERE node_order = 3", 103),
            (by_match, 103),
            ("DROP INDEX index2; DROP INDEX index6", 103),
        ] {
            conn.execute_batch(change).unwrap();
            let file = VisFile::open(&path).unwrap();
            let counted = super::super::golden::GoldenCount::new(&file, Place { step: 0, rank: 1 }).unwrap().count().unwrap();
            assert_eq!((counted.all, counted.unmatched, file.indexed_by_match), (701, unmatched, change == by_match), "{change}");
        }
    }
}
