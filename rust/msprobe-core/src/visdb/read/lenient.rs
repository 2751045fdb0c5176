//! Rows of a file for a viewer, which shows what there is: a cell of another kind than it should be is read as far as it goes, and no
//! row is refused. [`super::Reader`] is strict instead.

use std::borrow::Cow;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Result, Row};

use super::super::values::{OverflowLevel, Side};
use super::open::has_table;
use crate::visdb::schema::{DIVERGENCE, TENSOR};

/// The sides in the order of their numbers here, which are those of the viewer's answers.
const SIDES: [Side; 2] = [Side::Target, Side::Golden];

fn stored(side: usize) -> &'static str {
    SIDES[side].as_str()
}

/// The number of an overflow level, rising; 0 for none, or one that is not known.
pub(crate) fn overflow_code(level: &str) -> u8 {
    match OverflowLevel::from_text(level) {
        None => 0,
        Some(OverflowLevel::Medium) => 1,
        Some(OverflowLevel::High) => 2,
        Some(OverflowLevel::Critical) => 3,
    }
}

/// What the outline needs of one node.
pub(crate) struct Shape<'a> {
    pub(crate) side: usize,
    pub(crate) rowid: i64,
    pub(crate) order: i64,
    pub(crate) name: &'a str,
    pub(crate) kind: u8,
    pub(crate) parent: &'a str,
    pub(crate) precision: Option<f64>,
    pub(crate) overflow: u8,
    pub(crate) micro: u32,
    pub(crate) link: &'a str,
    pub(crate) modified: bool,
}

/// Calls `each` for every node of one step and rank, in the order of the file.
pub(crate) fn scan_shape(conn: &Connection, indexed: bool, step: i64, rank: i64, mut each: impl FnMut(Shape<'_>)) -> Result<()> {
    // With one graph in the file an index only adds a detour per row.
    let hint = if graphs(conn, indexed)?.len() > 1 { "" } else { "NOT INDEXED" };
    let sql = format!(
        "SELECT rowid, data_source, node_order, node_name, node_type, up_node, precision_index, overflow_level, micro_step_id, \
         matched_node_link, modified FROM tb_nodes {hint} WHERE step = ?1 AND rank = ?2"
    );
    let mut statement = conn.prepare(&sql)?;
    let mut found = statement.query([step, rank])?;
    while let Some(row) = found.next()? {
        let source = text(row, 1);
        let Some(side) = SIDES.iter().position(|side| side.as_str() == source) else { continue };
        each(Shape {
            side,
            rowid: integer(row, 0).unwrap_or(0),
            order: integer(row, 2).unwrap_or(i64::MAX),
            name: &text(row, 3),
            kind: integer(row, 4).and_then(|kind| u8::try_from(kind).ok()).unwrap_or(1),
            parent: &text(row, 5),
            precision: real(row, 6),
            overflow: overflow_code(&text(row, 7)),
            micro: integer(row, 8).and_then(|micro| u32::try_from(micro).ok()).unwrap_or(0),
            link: &text(row, 9),
            modified: integer(row, 10).unwrap_or(0) != 0,
        });
    }
    Ok(())
}

/// The parameter columns of every target node of one step and rank: row number, inputs, outputs.
pub(crate) fn scan_parameters(conn: &Connection, indexed: bool, step: i64, rank: i64, mut each: impl FnMut(i64, &str, &str)) -> Result<()> {
    let hint = if graphs(conn, indexed)?.len() > 1 { "" } else { "NOT INDEXED" };
    let sql = format!("SELECT rowid, input_data, output_data FROM tb_nodes {hint} WHERE step = ?1 AND rank = ?2 AND data_source = ?3");
    let mut statement = conn.prepare(&sql)?;
    let mut found = statement.query((step, rank, stored(0)))?;
    while let Some(row) = found.next()? {
        each(integer(row, 0).unwrap_or(0), &text(row, 1), &text(row, 2));
    }
    Ok(())
}

/// What our own table knows of a pair of tensors.
pub(crate) struct TensorFacts {
    pub(crate) output: bool,
    /// Full name of the target's row.
    pub(crate) row: String,
    /// Index of a largest difference, as a JSON list.
    pub(crate) largest_at: Option<String>,
    pub(crate) equal: Option<f64>,
    pub(crate) ulp: Option<f64>,
    /// Target and golden.
    pub(crate) nan: [i64; 2],
    /// Target and golden.
    pub(crate) infinite: [i64; 2],
}

/// The compared tensors of a target node; none in files without such a table.
pub(crate) fn tensors(conn: &Connection, step: i64, rank: i64, node: &str) -> Result<Vec<TensorFacts>> {
    if !has_table(conn, TENSOR.name)? {
        return Ok(Vec::new());
    }
    let sql = "SELECT place, row_name, largest_at, equal, ulp, target_nan, golden_nan, target_inf, golden_inf FROM msprobe_tensor \
               WHERE step = ?1 AND rank = ?2 AND node_name = ?3";
    let mut statement = conn.prepare(sql)?;
    let mut found = statement.query((step, rank, node))?;
    let mut facts = Vec::new();
    while let Some(row) = found.next()? {
        let count = |column| integer(row, column).unwrap_or(0);
        let largest_at = text(row, 2).into_owned();
        facts.push(TensorFacts {
            output: text(row, 0) == "output",
            row: text(row, 1).into_owned(),
            largest_at: Some(largest_at).filter(|index| !index.is_empty()),
            equal: real(row, 3),
            ulp: real(row, 4),
            nan: [count(5), count(6)],
            infinite: [count(7), count(8)],
        });
    }
    Ok(facts)
}

/// What the run that wrote a file has found of one kind (table `msprobe_divergence`).
pub(crate) enum Told {
    /// The file does not say: another program has written it, or it was changed since.
    Unknown,
    /// There is none.
    Nothing,
    /// The node, and the JSON object of the report.
    Found { node: String, detail: String },
}

/// The first entry of a `kind` such as `first_difference`.
pub(crate) fn told(conn: &Connection, step: i64, rank: i64, kind: &str) -> Result<Told> {
    let says = "SELECT EXISTS (SELECT 1 FROM msprobe_divergence WHERE step = ?1 AND rank = ?2)";
    if !has_table(conn, DIVERGENCE.name)? || !conn.query_row(says, [step, rank], |row| row.get::<_, bool>(0))? {
        return Ok(Told::Unknown);
    }
    let sql = "SELECT node_name, detail FROM msprobe_divergence WHERE step = ?1 AND rank = ?2 AND kind = ?3 ORDER BY position LIMIT 1";
    let found = |row: &Row<'_>| Ok(Told::Found { node: text(row, 0).into_owned(), detail: text(row, 1).into_owned() });
    Ok(conn.query_row(sql, (step, rank, kind), found).optional()?.unwrap_or(Told::Nothing))
}

/// The row `tb_config`, columns as texts.
pub(crate) struct Config {
    pub(crate) graph_type: String,
    pub(crate) task: String,
    pub(crate) tool_tip: String,
    pub(crate) micro_steps: i64,
    pub(crate) overflow_check: bool,
    pub(crate) node_colors: String,
    pub(crate) ranks: String,
    pub(crate) steps: String,
}

/// Reads `tb_config`; `None` if it has no row.
pub(crate) fn config(conn: &Connection) -> Result<Option<Config>> {
    let sql = "SELECT graph_type, task, tool_tip, micro_steps, overflow_check, node_colors, rank_list, step_list FROM tb_config LIMIT 1";
    conn.query_row(sql, [], |row| {
        let owned = |at| text(row, at).into_owned();
        Ok(Config {
            graph_type: owned(0),
            task: owned(1),
            tool_tip: owned(2),
            micro_steps: integer(row, 3).unwrap_or(1),
            overflow_check: integer(row, 4).unwrap_or(0) != 0,
            node_colors: owned(5),
            ranks: owned(6),
            steps: owned(7),
        })
    })
    .optional()
}

/// Most (step, rank) pairs that are listed.
const MAX_GRAPHS: usize = 100_000;

/// The (step, rank) pairs that have nodes. With the indexes this is two seeks a pair instead of reading all rows.
pub(crate) fn graphs(conn: &Connection, indexed: bool) -> Result<Vec<(i64, i64)>> {
    let mut pairs = Vec::new();
    if !indexed {
        let sql = format!("SELECT DISTINCT step, rank FROM tb_nodes ORDER BY step, rank LIMIT {MAX_GRAPHS}");
        let mut statement = conn.prepare(&sql)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            pairs.push((integer(row, 0).unwrap_or(0), integer(row, 1).unwrap_or(0)));
        }
        return Ok(pairs);
    }
    // Comparing both columns at once would look at every row of a step; one column at a time is a seek.
    let number = |row: &Row<'_>| Ok(integer(row, 0));
    let mut next_step = conn.prepare("SELECT min(step) FROM tb_nodes WHERE step > ?1")?;
    let mut next_rank = conn.prepare("SELECT min(rank) FROM tb_nodes WHERE step = ?1 AND rank > ?2")?;
    let mut step = i64::MIN;
    // What is no whole number would be found again and again.
    while let Some(found) = next_step.query_row([step], number)?.filter(|found| *found > step) {
        step = found;
        let mut rank = i64::MIN;
        while let Some(found) = next_rank.query_row([step, rank], number)?.filter(|found| *found > rank) {
            if pairs.len() >= MAX_GRAPHS {
                return Ok(pairs);
            }
            rank = found;
            pairs.push((step, rank));
        }
    }
    Ok(pairs)
}

/// One row of the tree read directly, before the outline is there.
pub(crate) struct Direct {
    pub(crate) rowid: i64,
    pub(crate) name: String,
    pub(crate) kind: u8,
    pub(crate) precision: Option<f64>,
    pub(crate) overflow: u8,
    pub(crate) micro: u32,
    pub(crate) link: String,
    pub(crate) children: u32,
    pub(crate) modified: bool,
}

/// Children are counted up to here when the outline is not there yet.
const COUNTED: u32 = 100_000;

/// Children of `parent` (of empty name: the root) in order; `micro` limits to one micro step.
pub(crate) fn children(conn: &Connection, parent: &Place, micro: Option<u32>, from: usize, limit: usize) -> Result<Vec<Direct>> {
    let sql = format!(
        "SELECT rowid, node_name, node_type, precision_index, overflow_level, micro_step_id, matched_node_link, modified, \
         (SELECT count(*) FROM (SELECT 1 FROM tb_nodes c WHERE c.step = ?1 AND c.rank = ?2 AND c.data_source = ?3 \
         AND c.up_node = n.node_name LIMIT {COUNTED})) \
         FROM tb_nodes n WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND up_node = ?4 \
         AND (?5 < 0 OR micro_step_id = ?5) ORDER BY node_order LIMIT ?6 OFFSET ?7"
    );
    let mut statement = conn.prepare(&sql)?;
    let micro = micro.map_or(-1, i64::from);
    let mut found = statement.query((parent.step, parent.rank, stored(parent.side), &parent.name, micro, limit as i64, from as i64))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(Direct {
            rowid: integer(row, 0).unwrap_or(0),
            name: text(row, 1).into_owned(),
            kind: integer(row, 2).and_then(|kind| u8::try_from(kind).ok()).unwrap_or(1),
            precision: real(row, 3),
            overflow: overflow_code(&text(row, 4)),
            micro: integer(row, 5).and_then(|micro| u32::try_from(micro).ok()).unwrap_or(0),
            link: text(row, 6).into_owned(),
            modified: integer(row, 7).unwrap_or(0) != 0,
            children: integer(row, 8).and_then(|count| u32::try_from(count).ok()).unwrap_or(0),
        });
    }
    Ok(rows)
}

/// How many children `parent` has.
pub(crate) fn count_children(conn: &Connection, place: &Place, micro: Option<u32>) -> Result<usize> {
    let sql = "SELECT count(*) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND up_node = ?4 \
               AND (?5 < 0 OR micro_step_id = ?5)";
    let micro = micro.map_or(-1, i64::from);
    conn.query_row(sql, (place.step, place.rank, stored(place.side), &place.name, micro), |row| row.get::<_, i64>(0))
        .map(|count| usize::try_from(count).unwrap_or(0))
}

/// The output rows of one node as text; empty if it has none.
pub(crate) fn outputs(conn: &Connection, rowid: i64) -> Result<String> {
    let mut statement = conn.prepare_cached("SELECT output_data FROM tb_nodes WHERE rowid = ?1")?;
    statement.query_row([rowid], |row| Ok(text(row, 0).into_owned())).optional().map(Option::unwrap_or_default)
}

/// Where a row stands.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) rowid: i64,
    pub(crate) step: i64,
    pub(crate) rank: i64,
    pub(crate) side: usize,
    pub(crate) name: String,
    pub(crate) parent: String,
}

fn read_place(row: &Row<'_>) -> Place {
    Place {
        rowid: integer(row, 0).unwrap_or(0),
        step: integer(row, 1).unwrap_or(0),
        rank: integer(row, 2).unwrap_or(0),
        side: usize::from(text(row, 3) == stored(1)),
        name: text(row, 4).into_owned(),
        parent: text(row, 5).into_owned(),
    }
}

/// The place of a row number; `None` if there is no such row.
pub(crate) fn place(conn: &Connection, rowid: i64) -> Result<Option<Place>> {
    conn.query_row("SELECT rowid, step, rank, data_source, node_name, up_node FROM tb_nodes WHERE rowid = ?1", [rowid], |row| {
        Ok(read_place(row))
    })
    .optional()
}

/// The place of a name.
pub(crate) fn find(conn: &Connection, step: i64, rank: i64, side: usize, name: &str) -> Result<Option<Place>> {
    let sql = "SELECT rowid, step, rank, data_source, node_name, up_node FROM tb_nodes \
               WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_name = ?4 LIMIT 1";
    conn.query_row(sql, (step, rank, stored(side), name), |row| Ok(read_place(row))).optional()
}

/// The row number of a name. The index alone answers, so that thousands of them are found in no time.
pub(crate) fn find_row(conn: &Connection, step: i64, rank: i64, side: usize, name: &str) -> Result<Option<i64>> {
    let sql = "SELECT rowid FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_name = ?4 LIMIT 1";
    let mut statement = conn.prepare_cached(sql)?;
    statement.query_row((step, rank, stored(side), name), |row| row.get(0)).optional()
}

/// Everything about one node.
pub(crate) struct Details {
    pub(crate) place: Place,
    pub(crate) order: i64,
    pub(crate) kind: u8,
    pub(crate) precision: Option<f64>,
    pub(crate) overflow: String,
    pub(crate) micro: u32,
    pub(crate) link: String,
    pub(crate) merge: String,
    pub(crate) communication: String,
    pub(crate) modified: bool,
    pub(crate) inputs: String,
    pub(crate) outputs: String,
    pub(crate) dump_dir: String,
    /// `None`: the node names a stack that the file does not have.
    pub(crate) stack: Option<String>,
}

/// Reads one node whole; `None` if there is no such row.
pub(crate) fn details(conn: &Connection, rowid: i64) -> Result<Option<Details>> {
    let sql = "SELECT rowid, step, rank, data_source, node_name, up_node, node_order, node_type, precision_index, overflow_level, \
               micro_step_id, matched_node_link, parallel_merge_info, matched_distributed, modified, input_data, output_data, \
               dump_data_dir, (SELECT stack_info FROM tb_stack WHERE id = stack_id) FROM tb_nodes WHERE rowid = ?1";
    conn.query_row(sql, [rowid], |row| {
        let owned = |at| text(row, at).into_owned();
        Ok(Details {
            place: read_place(row),
            order: integer(row, 6).unwrap_or(0),
            kind: integer(row, 7).and_then(|kind| u8::try_from(kind).ok()).unwrap_or(1),
            precision: real(row, 8),
            overflow: owned(9),
            micro: integer(row, 10).and_then(|micro| u32::try_from(micro).ok()).unwrap_or(0),
            link: owned(11),
            merge: owned(12),
            communication: owned(13),
            modified: integer(row, 14).unwrap_or(0) != 0,
            inputs: owned(15),
            outputs: owned(16),
            dump_dir: owned(17),
            stack: match row.get_ref(18)? {
                ValueRef::Null => None,
                _ => Some(owned(18)),
            },
        })
    })
    .optional()
}

fn text<'a>(row: &'a Row<'_>, at: usize) -> Cow<'a, str> {
    match row.get_ref(at) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => String::from_utf8_lossy(bytes),
        Ok(ValueRef::Integer(number)) => Cow::Owned(number.to_string()),
        Ok(ValueRef::Real(number)) => Cow::Owned(number.to_string()),
        _ => Cow::Borrowed(""),
    }
}

fn integer(row: &Row<'_>, at: usize) -> Option<i64> {
    match row.get_ref(at) {
        Ok(ValueRef::Integer(number)) => Some(number),
        Ok(ValueRef::Real(number)) if number.is_finite() => Some(number as i64),
        Ok(ValueRef::Text(bytes)) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
        _ => None,
    }
}

fn real(row: &Row<'_>, at: usize) -> Option<f64> {
    match row.get_ref(at) {
        Ok(ValueRef::Integer(number)) => Some(number as f64),
        Ok(ValueRef::Real(number)) => Some(number),
        Ok(ValueRef::Text(bytes)) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
        _ => None,
    }
}
