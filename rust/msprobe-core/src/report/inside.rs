//! What only the target has inside a node: often the very thing that makes its results differ.

use super::candidate::{Candidate, What};
use super::error::Result;
use super::file::{Place, VisFile};
use crate::visdb::Side;
use rusqlite::OptionalExtension;

/// Levels that are followed down to the first node inside; every one costs a look into an index.
const LEVELS: usize = 1_000;
/// Nodes inside that are looked at.
pub(super) const LOOKED_AT: u32 = 65_536;

/// The order of the first target node without a partner that ran inside `node`, whose result differs, before the difference was seen.
pub(super) fn first_unmatched(file: &VisFile, place: Place, node: &str, candidate: &Candidate) -> Result<Option<u32>> {
    if candidate.what != What::Computation || !file.indexed {
        return Ok(None);
    }
    let from = first_inside(file, place, Side::Target, node, candidate.order)?;
    // What runs after the row that shows the difference did not make it.
    let to = candidate.order.min(candidate.row.order).min(from.saturating_add(LOOKED_AT));
    let sql = "SELECT node_order FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'NPU' AND node_order >= ?3 \
               AND node_order < ?4 AND (matched_node_link IS NULL OR matched_node_link IN ('', '[]')) ORDER BY node_order LIMIT 1";
    let found = file
        .conn
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row((place.step, place.rank, from, to), |row| row.get(0)).optional());
    found.map_err(file.fail())
}

/// Where the nodes inside `node` begin, which end before it: children come before their parents, so it is the first child of the
/// first child, and so on. The order of `node` itself, if there is nothing inside.
pub(super) fn first_inside(file: &VisFile, place: Place, side: Side, node: &str, order: u32) -> Result<u32> {
    let sql = "SELECT node_name, node_order FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND up_node = ?4 \
               ORDER BY node_order LIMIT 1";
    let mut statement = file.conn.prepare_cached(sql).map_err(file.fail())?;
    let (mut node, mut first) = (node.to_owned(), order);
    for _ in 0..LEVELS {
        // A place that is no number is one that cannot be told.
        let child = |row: &rusqlite::Row<'_>| Ok(row.get(0).ok().zip(row.get(1).ok()));
        let child: Option<Option<(String, u32)>> =
            statement.query_row((place.step, place.rank, side.as_str(), &node), child).optional().map_err(file.fail())?;
        // Another order than that of execution, or a circle, has no nodes inside that could be told.
        let Some(child) = child.flatten().filter(|child| child.1 < first) else { break };
        (node, first) = child;
    }
    Ok(first)
}
