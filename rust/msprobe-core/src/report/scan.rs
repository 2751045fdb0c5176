//! Reads the target nodes of one rank in execution order: rows are parsed and measured by several threads, and handed to one
//! consumer in order. Memory is bounded by a few thousand nodes.

use super::error::{Error, Result};
use super::file::{Place, VisFile};
use crate::facts::{for_each_row, tensor_epsilon, Cells, NodeFacts, Verdict};
use crate::visdb::{partner_of, OverflowLevel, Task};
use crossbeam_channel::{bounded, Receiver, Sender};
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;

/// Nodes handed over at once.
const BATCH: usize = 1_024;
/// Consecutive nodes that one thread takes.
const STRETCH: i64 = 8 * BATCH as i64;

struct Batch {
    nodes: Vec<NodeFacts>,
    /// Whether the stretch ends here.
    last: bool,
}

/// Calls `consume` with the target nodes of orders `from..to`, in order.
pub(super) fn for_each_node_from(file: &VisFile, place: Place, from: u32, to: u32, mut consume: impl FnMut(&NodeFacts)) -> Result<()> {
    let reader = Reader { conn: file.again()?, path: &file.path, task: file.task, place, indexed: file.indexed };
    reader.nodes(i64::from(from), i64::from(to), |node| {
        consume(&node);
        true
    })
}

/// Calls `consume` with every target node of `place`, in order.
pub(super) fn for_each_node(file: &VisFile, place: Place, threads: usize, mut consume: impl FnMut(&NodeFacts)) -> Result<()> {
    let sql = "SELECT max(node_order) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'NPU'";
    let last: Option<i64> = file.conn.query_row(sql, (place.step, place.rank), |row| row.get(0)).map_err(file.fail())?;
    let Some(last) = last else { return Ok(()) };
    if last > i64::from(u32::MAX) {
        return Err(Error::unreadable(&file.path, format!("node_order {last} is out of range")));
    }
    // Without its index every stretch would read the whole file.
    let (stretch, threads) = if file.indexed { (STRETCH, threads.max(1)) } else { (i64::MAX, 1) };
    let stretches = if file.indexed { last / stretch + 1 } else { 1 };
    let threads = threads.min(stretches as usize);
    std::thread::scope(|scope| {
        let mut receivers: Vec<Receiver<Result<Batch>>> = Vec::new();
        for worker in 0..threads {
            let (sender, receiver) = bounded(2);
            receivers.push(receiver);
            let reader = Reader { conn: file.again()?, path: &file.path, task: file.task, place, indexed: file.indexed };
            scope.spawn(move || {
                let work = || -> Result<()> {
                    for number in (worker as i64..stretches).step_by(threads) {
                        let from = number.saturating_mul(stretch);
                        if !reader.stretch(from, from.saturating_add(stretch), &sender)? {
                            return Ok(());
                        }
                    }
                    Ok(())
                };
                if let Err(error) = work() {
                    let _ = sender.send(Err(error));
                }
            });
        }
        for number in 0..stretches as usize {
            let receiver = &receivers[number % threads];
            while let Ok(batch) = receiver.recv() {
                let batch = batch?;
                batch.nodes.iter().for_each(&mut consume);
                if batch.last {
                    break;
                }
            }
        }
        Ok(())
    })
}

struct Reader<'a> {
    conn: Connection,
    path: &'a Path,
    task: Task,
    place: Place,
    indexed: bool,
}

impl Reader<'_> {
    /// Sends the nodes of orders `from..to`; false if nobody listens any more.
    fn stretch(&self, from: i64, to: i64, sender: &Sender<Result<Batch>>) -> Result<bool> {
        let mut nodes = Vec::with_capacity(BATCH);
        let mut heard = true;
        self.nodes(from, to, |node| {
            nodes.push(node);
            if nodes.len() == BATCH {
                let full = std::mem::replace(&mut nodes, Vec::with_capacity(BATCH));
                heard = sender.send(Ok(Batch { nodes: full, last: false })).is_ok();
            }
            heard
        })?;
        Ok(heard && sender.send(Ok(Batch { nodes, last: true })).is_ok())
    }

    /// Calls `each` with the nodes of orders `from..to`, in order, until it says no.
    fn nodes(&self, from: i64, to: i64, mut each: impl FnMut(NodeFacts) -> bool) -> Result<()> {
        let sql = "SELECT node_order, node_name, node_type, up_node, precision_index, overflow_level, micro_step_id, matched_node_link, \
                   is_distributed, input_data, output_data, modified FROM tb_nodes \
                   WHERE step = ?1 AND rank = ?2 AND data_source = 'NPU' AND node_order >= ?3 AND node_order < ?4 ORDER BY node_order";
        let fail = Error::sqlite(self.path);
        let mut statement = self.conn.prepare_cached(sql).map_err(&fail)?;
        let mut rows = statement.query((self.place.step, self.place.rank, from, to)).map_err(&fail)?;
        while let Some(row) = rows.next().map_err(&fail)? {
            if !each(self.node(row)?) {
                break;
            }
        }
        Ok(())
    }

    fn node(&self, row: &rusqlite::Row<'_>) -> Result<NodeFacts> {
        let fail = Error::sqlite(self.path);
        let text = |index: usize| -> Result<&str> {
            match row.get_ref(index).map_err(&fail)? {
                rusqlite::types::ValueRef::Text(bytes) => {
                    std::str::from_utf8(bytes).map_err(|_| Error::unreadable(self.path, "a text is not UTF-8; the file is damaged"))
                }
                _ => Ok(""),
            }
        };
        let order: i64 = row.get(0).map_err(&fail)?;
        let name = text(1)?;
        let kind = text(2)?;
        let link = text(7)?;
        let mut node = NodeFacts::new(name, text(3)?);
        node.order = u32::try_from(order).map_err(|_| Error::unreadable(self.path, format!("node_order {order} is out of range")))?;
        node.is_api = kind == "1";
        node.is_collection = kind == "9";
        node.matched = !matches!(link.trim(), "" | "[]" | "null");
        if let Some(golden) = partner_of(link) {
            node.face(name, &golden);
        }
        node.verdict = match row.get::<_, Option<f64>>(4).map_err(&fail)? {
            None => Verdict::NotCompared,
            Some(index) if index < 0.3 => Verdict::Pass,
            Some(index) if index < 0.6 => Verdict::Warning,
            Some(_) => Verdict::Error,
        };
        node.overflow = OverflowLevel::from_text(text(5)?);
        node.micro_step = row.get::<_, Option<i64>>(6).map_err(&fail)?.and_then(|step| u32::try_from(step).ok()).unwrap_or(0);
        node.is_distributed = row.get::<_, Option<i64>>(8).map_err(&fail)? == Some(1);
        node.modified = row.get::<_, Option<i64>>(11).map_err(&fail)? == Some(1);
        self.rows(&mut node, name, text(9)?, text(10)?)?;
        if node.may_widen() {
            self.widen(&mut node, link)?;
        }
        Ok(node)
    }

    fn rows(&self, facts: &mut NodeFacts, node: &str, inputs: &str, outputs: &str) -> Result<()> {
        let mut take = |text: &str, is_output: bool| {
            facts
                .read_rows(node, text, is_output, self.task)
                .map_err(|error| Error::unreadable(self.path, format!("node {node}: its parameters cannot be read ({error})")))
        };
        take(inputs, false)?;
        take(outputs, true)
    }

    /// Takes the dtypes of the golden node into account where they differ.
    fn widen(&self, node: &mut NodeFacts, link: &str) -> Result<()> {
        if !self.indexed {
            return Ok(());
        }
        let fail = Error::sqlite(self.path);
        let Some(golden) = partner_of(link) else { return Ok(()) };
        let sql = "SELECT input_data, output_data FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' AND node_name = ?3";
        let mut statement = self.conn.prepare_cached(sql).map_err(&fail)?;
        let found: Option<(Option<String>, Option<String>)> = statement
            .query_row((self.place.step, self.place.rank, &golden), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(&fail)?;
        let Some((inputs, outputs)) = found else { return Ok(()) };
        let mut coarsest = 0f32;
        for text in [inputs, outputs].into_iter().flatten() {
            // A golden text that cannot be read widens nothing.
            let _ = for_each_row(&text, |_, cells: &Cells<'_>| coarsest = coarsest.max(tensor_epsilon(cells)));
        }
        node.widen(coarsest);
        Ok(())
    }
}
