//! The statements that the viewer sends to a vis.db. Everything that knows a column stands here.

use super::error::ViewError;
use super::file::VisFile;
use super::outline::{overflow_code, SOURCES};
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row};
use std::borrow::Cow;

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

/// Longest time the reading of a whole step and rank may take.
const SCAN_LIMIT: std::time::Duration = std::time::Duration::from_secs(900);

/// Calls `each` for every node of one step and rank, in the order of the file.
pub(crate) fn scan_shape(file: &VisFile, step: i64, rank: i64, mut each: impl FnMut(Shape<'_>)) -> Result<(), ViewError> {
    file.limit_time(SCAN_LIMIT);
    // With one graph in the file an index only adds a detour per row.
    let hint = if graphs(file)?.len() > 1 { "" } else { "NOT INDEXED" };
    let sql = format!(
        "SELECT rowid, data_source, node_order, node_name, node_type, up_node, precision_index, overflow_level, micro_step_id, \
         matched_node_link, modified FROM tb_nodes {hint} WHERE step = ?1 AND rank = ?2"
    );
    let fail = |error: rusqlite::Error| file.fail(&error);
    let mut statement = file.conn.prepare(&sql).map_err(fail)?;
    let mut found = statement.query([step, rank]).map_err(fail)?;
    while let Some(row) = found.next().map_err(fail)? {
        let source = text(row, 1);
        let Some(side) = SOURCES.iter().position(|name| *name == source) else { continue };
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
pub(crate) fn scan_parameters(file: &VisFile, step: i64, rank: i64, mut each: impl FnMut(i64, &str, &str)) -> Result<(), ViewError> {
    file.limit_time(SCAN_LIMIT);
    let hint = if graphs(file)?.len() > 1 { "" } else { "NOT INDEXED" };
    let sql = format!("SELECT rowid, input_data, output_data FROM tb_nodes {hint} WHERE step = ?1 AND rank = ?2 AND data_source = 'NPU'");
    let fail = |error: rusqlite::Error| file.fail(&error);
    let mut statement = file.conn.prepare(&sql).map_err(fail)?;
    let mut found = statement.query([step, rank]).map_err(fail)?;
    while let Some(row) = found.next().map_err(fail)? {
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
pub(crate) fn tensors(file: &VisFile, step: i64, rank: i64, node: &str) -> Result<Vec<TensorFacts>, ViewError> {
    if !file.own_tables.iter().any(|name| name == "msprobe_tensor") {
        return Ok(Vec::new());
    }
    let sql = "SELECT place, row_name, largest_at, equal, ulp, target_nan, golden_nan, target_inf, golden_inf FROM msprobe_tensor \
               WHERE step = ?1 AND rank = ?2 AND node_name = ?3";
    let fail = |error: rusqlite::Error| file.fail(&error);
    let mut statement = file.conn.prepare(sql).map_err(fail)?;
    let mut found = statement.query((step, rank, node)).map_err(fail)?;
    let mut facts = Vec::new();
    while let Some(row) = found.next().map_err(fail)? {
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
pub(crate) fn config(file: &VisFile) -> Result<Option<Config>, ViewError> {
    let sql = "SELECT graph_type, task, tool_tip, micro_steps, overflow_check, node_colors, rank_list, step_list FROM tb_config LIMIT 1";
    file.conn
        .query_row(sql, [], |row| {
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
        .map_err(|error| file.fail(&error))
}

/// Most (step, rank) pairs that are listed.
const MAX_GRAPHS: usize = 100_000;

/// The (step, rank) pairs that have nodes. With the indexes this is two seeks a pair instead of reading all rows.
pub(crate) fn graphs(file: &VisFile) -> Result<Vec<(i64, i64)>, ViewError> {
    let fail = |error: rusqlite::Error| file.fail(&error);
    let mut pairs = Vec::new();
    if !file.indexed {
        let sql = format!("SELECT DISTINCT step, rank FROM tb_nodes ORDER BY step, rank LIMIT {MAX_GRAPHS}");
        let mut statement = file.conn.prepare(&sql).map_err(fail)?;
        let mut found = statement.query([]).map_err(fail)?;
        while let Some(row) = found.next().map_err(fail)? {
            pairs.push((integer(row, 0).unwrap_or(0), integer(row, 1).unwrap_or(0)));
        }
        return Ok(pairs);
    }
    // Comparing both columns at once would look at every row of a step; one column at a time is a seek.
    let number = |row: &Row<'_>| Ok(integer(row, 0));
    let mut next_step = file.conn.prepare("SELECT min(step) FROM tb_nodes WHERE step > ?1").map_err(fail)?;
    let mut next_rank = file.conn.prepare("SELECT min(rank) FROM tb_nodes WHERE step = ?1 AND rank > ?2").map_err(fail)?;
    let mut step = i64::MIN;
    // What is no whole number would be found again and again.
    while let Some(found) = next_step.query_row([step], number).map_err(fail)?.filter(|found| *found > step) {
        step = found;
        let mut rank = i64::MIN;
        while let Some(found) = next_rank.query_row([step, rank], number).map_err(fail)?.filter(|found| *found > rank) {
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
pub(crate) fn children(file: &VisFile, parent: &Place, micro: Option<u32>, from: usize, limit: usize) -> Result<Vec<Direct>, ViewError> {
    let sql = format!(
        "SELECT rowid, node_name, node_type, precision_index, overflow_level, micro_step_id, matched_node_link, modified, \
         (SELECT count(*) FROM (SELECT 1 FROM tb_nodes c WHERE c.step = ?1 AND c.rank = ?2 AND c.data_source = ?3 \
         AND c.up_node = n.node_name LIMIT {COUNTED})) \
         FROM tb_nodes n WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND up_node = ?4 \
         AND (?5 < 0 OR micro_step_id = ?5) ORDER BY node_order LIMIT ?6 OFFSET ?7"
    );
    let fail = |error: rusqlite::Error| file.fail(&error);
    let mut statement = file.conn.prepare(&sql).map_err(fail)?;
    let micro = micro.map_or(-1, i64::from);
    let mut found =
        statement.query((parent.step, parent.rank, SOURCES[parent.side], &parent.name, micro, limit as i64, from as i64)).map_err(fail)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next().map_err(fail)? {
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
pub(crate) fn count_children(file: &VisFile, place: &Place, micro: Option<u32>) -> Result<usize, ViewError> {
    let sql = "SELECT count(*) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND up_node = ?4 \
               AND (?5 < 0 OR micro_step_id = ?5)";
    let micro = micro.map_or(-1, i64::from);
    file.conn
        .query_row(sql, (place.step, place.rank, SOURCES[place.side], &place.name, micro), |row| row.get::<_, i64>(0))
        .map(|count| usize::try_from(count).unwrap_or(0))
        .map_err(|error| file.fail(&error))
}

/// The output rows of one node as text; empty if it has none.
pub(crate) fn outputs(file: &VisFile, rowid: i64) -> Result<String, ViewError> {
    let mut statement = file.conn.prepare_cached("SELECT output_data FROM tb_nodes WHERE rowid = ?1").map_err(|error| file.fail(&error))?;
    statement
        .query_row([rowid], |row| Ok(text(row, 0).into_owned()))
        .optional()
        .map(Option::unwrap_or_default)
        .map_err(|error| file.fail(&error))
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
        side: usize::from(text(row, 3) == SOURCES[1]),
        name: text(row, 4).into_owned(),
        parent: text(row, 5).into_owned(),
    }
}

/// The place of a row number.
pub(crate) fn place(file: &VisFile, rowid: i64) -> Result<Place, ViewError> {
    file.conn
        .query_row("SELECT rowid, step, rank, data_source, node_name, up_node FROM tb_nodes WHERE rowid = ?1", [rowid], |row| {
            Ok(read_place(row))
        })
        .optional()
        .map_err(|error| file.fail(&error))?
        .ok_or_else(|| ViewError::NoNode(format!("{}: there is no node number {rowid}", file.shown)))
}

/// The place of a name.
pub(crate) fn find(file: &VisFile, step: i64, rank: i64, side: usize, name: &str) -> Result<Option<Place>, ViewError> {
    let sql = "SELECT rowid, step, rank, data_source, node_name, up_node FROM tb_nodes \
               WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_name = ?4 LIMIT 1";
    file.conn.query_row(sql, (step, rank, SOURCES[side], name), |row| Ok(read_place(row))).optional().map_err(|error| file.fail(&error))
}

/// The row number of a name. The index alone answers, so that thousands of them are found in no time.
pub(crate) fn find_row(file: &VisFile, step: i64, rank: i64, side: usize, name: &str) -> Result<Option<i64>, ViewError> {
    let sql = "SELECT rowid FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_name = ?4 LIMIT 1";
    let fail = |error: rusqlite::Error| file.fail(&error);
    let mut statement = file.conn.prepare_cached(sql).map_err(fail)?;
    statement.query_row((step, rank, SOURCES[side], name), |row| row.get(0)).optional().map_err(fail)
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

/// Reads one node whole.
pub(crate) fn details(file: &VisFile, rowid: i64) -> Result<Details, ViewError> {
    let sql = "SELECT rowid, step, rank, data_source, node_name, up_node, node_order, node_type, precision_index, overflow_level, \
               micro_step_id, matched_node_link, parallel_merge_info, matched_distributed, modified, input_data, output_data, \
               dump_data_dir, (SELECT stack_info FROM tb_stack WHERE id = stack_id) FROM tb_nodes WHERE rowid = ?1";
    file.conn
        .query_row(sql, [rowid], |row| {
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
        .map_err(|error| file.fail(&error))?
        .ok_or_else(|| ViewError::NoNode(format!("{}: there is no node number {rowid}", file.shown)))
}

/// The last entry of a JSON list of texts; `None` for an empty or unreadable list.
pub(crate) fn last_of_list(list: &str) -> Option<Cow<'_, str>> {
    let body = list.trim().strip_prefix('[')?.strip_suffix(']')?.trim_end();
    if body.is_empty() {
        return None;
    }
    if body.contains('\\') {
        return serde_json::from_str::<Vec<String>>(list).ok()?.pop().map(Cow::Owned);
    }
    let body = body.strip_suffix('"')?;
    Some(Cow::Borrowed(&body[body.rfind('"')? + 1..]))
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

#[cfg(test)]
mod tests {
    use super::last_of_list;

    #[test]
    fn last_of_a_list_of_names() {
        assert_eq!(last_of_list(r#"["DefaultModel", "Module.a.A.forward.0"]"#).unwrap(), "Module.a.A.forward.0");
        assert_eq!(last_of_list(r#"["\u5c42", "x\"y"]"#).unwrap(), "x\"y");
        for none in ["", "[]", "null", "[1]", "[ ]", "{}", "[\"a"] {
            assert_eq!(last_of_list(none), None, "{none}");
        }
    }
}
