//! What only the golden run has where the target parts from it: often the very call that the target forgot.

use super::answer::{GoldenPlace, NodeLine, OnlyGolden};
use super::candidate::{Candidate, What};
use super::error::Result;
use super::evidence::{line_with_frame, stored};
use super::file::{Place, VisFile};
use super::inside::{first_inside, LOOKED_AT};
use crate::visdb::Side;
use rusqlite::OptionalExtension;
use std::collections::HashSet;

/// Nodes that are told.
const TOLD: usize = 3;
/// Nodes before the difference, under one parent, that are looked at.
const BESIDE: u32 = 64;
/// Levels above the difference that are looked at.
const LEVELS: usize = 64;
/// Nodes with a partner between the difference and what only golden has, at most: further away it is another matter.
const BETWEEN: usize = 16;

/// A golden node.
struct Found {
    name: String,
    parent: String,
    order: u32,
    matched: bool,
}

/// The last golden nodes without a partner that ran before the difference was seen, inside the golden partner of the node that differs;
/// else those that ran after, else those right before it.
pub(super) fn only_golden(file: &VisFile, place: Place, candidate: &Candidate) -> Result<Option<OnlyGolden>> {
    // A parameter was another one from the start; what only the target has is named already.
    if !file.indexed || matches!(candidate.what, What::Parameter | What::Structure) {
        return Ok(None);
    }
    let golden = stored(file, place, Side::Target, candidate.order)?.golden;
    let Some(partner) = golden.map(|golden| named(file, place, &golden)).transpose()?.flatten() else { return Ok(None) };
    if candidate.what == What::Computation {
        let from = first_inside(file, place, Side::Golden, &partner.name, partner.order)?;
        let seen = if candidate.row.order == candidate.order { None } else { seen_at(file, place, candidate.row.order)? };
        let to = seen.filter(|seen| (from..partner.order).contains(seen)).unwrap_or(partner.order);
        let mut inside = outermost_before(file, place, from.max(to.saturating_sub(LOOKED_AT)), to)?;
        if inside.is_empty() {
            // Where the numbers of calls are shifted, the one that is missing seems to be the last.
            inside = outermost_before(file, place, to, partner.order.min(to.saturating_add(LOOKED_AT)))?;
        }
        if !inside.is_empty() {
            return told(file, place, GoldenPlace::Inside, &inside).map(Some);
        }
    }
    let before = right_before(file, place, partner)?;
    if before.is_empty() {
        return Ok(None);
    }
    told(file, place, GoldenPlace::Before, &before).map(Some)
}

/// `found` with the last first.
fn told(file: &VisFile, place: Place, at: GoldenPlace, found: &[u32]) -> Result<OnlyGolden> {
    let more = found.len() > TOLD;
    let mut nodes = found.iter().take(TOLD).map(|&order| line(file, place, order)).collect::<Result<Vec<_>>>()?;
    nodes.reverse();
    Ok(OnlyGolden { place: at, nodes, more })
}

/// Where the golden partner of the target node of that order stands.
fn seen_at(file: &VisFile, place: Place, order: u32) -> Result<Option<u32>> {
    let golden = stored(file, place, Side::Target, order)?.golden;
    let found = golden.map(|golden| named(file, place, &golden)).transpose()?.flatten();
    Ok(found.map(|found| found.order))
}

const COLUMNS: &str = "node_name, up_node, node_order, coalesce(matched_node_link, '') NOT IN ('', '[]')";

/// A node whose cells are of other types than they should be, in a file that somebody else wrote, is none.
fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Found>> {
    let parent: Option<Option<String>> = row.get(1).ok();
    let found = row.get(0).ok().zip(parent).zip(row.get(2).ok());
    let matched = row.get(3)?;
    Ok(found.map(|((name, parent), order)| Found { name, parent: parent.unwrap_or_default(), order, matched }))
}

/// The golden node of that name.
fn named(file: &VisFile, place: Place, name: &str) -> Result<Option<Found>> {
    let sql = format!("SELECT {COLUMNS} FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' AND node_name = ?3");
    let mut statement = file.conn.prepare_cached(&sql).map_err(file.fail())?;
    let found = statement.query_row((place.step, place.rank, name), read).optional().map_err(file.fail())?;
    Ok(found.flatten())
}

/// The last nodes without a partner among those of orders `from..to`, the last first, without what is inside another such node; one
/// more than are told, if there are.
fn outermost_before(file: &VisFile, place: Place, from: u32, to: u32) -> Result<Vec<u32>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' AND node_order >= ?3 AND node_order < ?4 \
         AND coalesce(matched_node_link, '') IN ('', '[]') ORDER BY node_order DESC"
    );
    let mut statement = file.conn.prepare_cached(&sql).map_err(file.fail())?;
    let mut rows = statement.query((place.step, place.rank, from, to)).map_err(file.fail())?;
    let mut found = Vec::new();
    // Parents come behind their children, so they are seen first.
    let mut names = HashSet::new();
    while let Some(row) = rows.next().map_err(file.fail())? {
        let Some(node) = read(row).map_err(file.fail())? else { continue };
        if !names.contains(&node.parent) {
            found.push(node.order);
        }
        if found.len() > TOLD {
            break;
        }
        names.insert(node.name);
    }
    Ok(found)
}

/// The nodes without a partner next before `partner`, one after the other under one parent, the last first; one more than are told, if
/// there are. They stand beside it or, if nothing is before it there, beside what it is in.
fn right_before(file: &VisFile, place: Place, partner: Found) -> Result<Vec<u32>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' AND up_node = ?3 AND node_order < ?4 \
         ORDER BY node_order DESC LIMIT {BESIDE}"
    );
    let mut statement = file.conn.prepare_cached(&sql).map_err(file.fail())?;
    let mut node = partner;
    let mut between = 0;
    // Every level has a node above the one before, unless a foreign file goes in a circle.
    for _ in 0..LEVELS {
        let rows = statement.query_map((place.step, place.rank, &node.parent, node.order), read).map_err(file.fail())?;
        let siblings = rows.collect::<rusqlite::Result<Vec<_>>>().map_err(file.fail())?;
        let siblings: Vec<_> = siblings.into_iter().flatten().collect();
        let matched = siblings.iter().take_while(|node| node.matched).count();
        between += matched;
        if between > BETWEEN {
            break;
        }
        if matched < siblings.len() {
            return Ok(siblings[matched..].iter().take_while(|node| !node.matched).take(TOLD + 1).map(|node| node.order).collect());
        }
        let Some(above) = named(file, place, &node.parent)? else { break };
        node = above;
    }
    Ok(Vec::new())
}

/// A node with the line that calls it; of a module that has none of its own, that of what ran first in it.
fn line(file: &VisFile, place: Place, order: u32) -> Result<NodeLine> {
    let line = line_with_frame(file, place, Side::Golden, order)?;
    if line.frame.is_some() {
        return Ok(line);
    }
    let first = first_inside(file, place, Side::Golden, &line.node, order)?;
    Ok(NodeLine { frame: line_with_frame(file, place, Side::Golden, first)?.frame, ..line })
}

#[cfg(test)]
mod tests {
    use super::super::candidate::RowAt;
    use super::*;
    use crate::visdb::schema::{CONFIG_SQL, INDEXES, NODES_SQL, STACK_SQL};
    use rusqlite::{params, Connection};

    const PLACE: Place = Place { step: 0, rank: 0 };

    /// Golden nodes in post-order, as `name < parent`, those that the target has too without a `+`.
    const GOLDEN: [&str; 12] = [
        "+a < root",
        "b < root",
        "+norm.pow < norm",
        "+norm.mul < norm",
        "+norm < mlp",
        "x < mlp",
        "+c < mlp",
        "+d < mlp",
        "y < mlp",
        "+late < mlp",
        "mlp < root",
        "root < ",
    ];

    fn written(path: &std::path::Path) -> Connection {
        let conn = Connection::open(path).unwrap();
        conn.execute_batch(&format!("{NODES_SQL}; {STACK_SQL}; {CONFIG_SQL}")).unwrap();
        conn.execute("INSERT INTO tb_config VALUES ('1', 'compare', 'summary', NULL, 1, 0, 'null', '[0]', '[0]')", []).unwrap();
        let nodes: Vec<(&str, &str)> = GOLDEN.iter().map(|node| node.split_once(" < ").unwrap()).collect();
        let insert = |side: &str, order: usize, name: &str, up: &str, matched: bool| {
            let sql =
                "INSERT INTO tb_nodes VALUES (?1, '', ?2, ?3, '1', ?4, '', NULL, NULL, 0, ?5, '', '', '{}', 0, '', '', ?6, NULL, 0, 0, 0)";
            let link = if matched { format!("[\"{name}\"]") } else { "[]".to_owned() };
            conn.execute(sql, params![format!("{side}_{name}"), order, name, up, link, side]).unwrap();
        };
        for (order, (name, up)) in nodes.iter().enumerate() {
            insert("Bench", order, name.trim_start_matches('+'), up, !name.starts_with('+'));
        }
        for (order, (name, up)) in nodes.iter().filter(|node| !node.0.starts_with('+')).enumerate() {
            insert("NPU", order, name, up, true);
        }
        for (_, sql) in INDEXES {
            conn.execute_batch(sql).unwrap();
        }
        conn
    }

    /// The target's nodes are b, x, y, mlp, root.
    fn candidate(what: What, order: u32, seen: u32) -> Candidate {
        Candidate {
            what,
            time: order,
            order,
            row: RowAt { order: seen, row: 0 },
            error: 1.0,
            tolerance: 0.0,
            broken: None,
            inputs: None,
            is_distributed: false,
            communications: 0,
            micro_step: 0,
            marks: Vec::new(),
        }
    }

    #[test]
    fn what_the_target_forgot_stands_inside_or_right_before() {
        use GoldenPlace::{Before, Inside};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vis.db");
        let conn = written(&path);
        let found = |what, order, seen| {
            let file = VisFile::open(&path).unwrap();
            let found = only_golden(&file, PLACE, &candidate(what, order, seen)).unwrap();
            found.map(|found| (found.place, found.nodes.iter().map(|node| node.node.clone()).collect::<Vec<_>>().join(" "), found.more))
        };
        let told = |place, names: &str, more| Some((place, names.to_owned(), more));
        // Seen at the end of the module: the last three, a missing module as a whole, and there is one more.
        assert_eq!(found(What::Computation, 3, 3), told(Inside, "c d late", true));
        // Seen at `y`, `x`: what runs later did not make it.
        assert_eq!(found(What::Computation, 3, 2), told(Inside, "norm c d", false));
        assert_eq!(found(What::Computation, 3, 1), told(Inside, "norm", false));
        conn.execute_batch("UPDATE tb_nodes SET matched_node_link = '[\"z\"]' WHERE node_name LIKE 'norm%'").unwrap();
        assert_eq!(found(What::Computation, 3, 1), told(Inside, "c d late", false));
        // Nothing of it is missing beside `x`, but beside the module that it is in.
        assert_eq!(found(What::Input, 1, 1), told(Before, "a", false));
        conn.execute_batch("UPDATE tb_nodes SET matched_node_link = '[]' WHERE node_name LIKE 'norm%'").unwrap();
        // An input that nobody made: the calls before it.
        assert_eq!(found(What::Input, 2, 2), told(Before, "c d", false));
        assert_eq!(found(What::Input, 0, 0), told(Before, "a", false));
        assert_eq!(found(What::Computation, 1, 1), told(Before, "norm", false));
        // Past a call that both have.
        assert_eq!(found(What::Argument, 3, 3), told(Before, "a", false));
        assert_eq!(found(What::Parameter, 3, 3), None);
        conn.execute_batch("UPDATE tb_nodes SET matched_node_link = '[\"z\"]' WHERE node_name = 'a'").unwrap();
        assert_eq!(found(What::Input, 3, 3), None);
    }
}
