//! Everything about one node and its counterpart: rows facing each other, stack, communication partners, merge details.

use super::args::bad;
use super::error::ViewError;
use super::file::VisFile;
use super::outline::verdict_of;
use super::rows::overflow_code;
use super::{rows, tensors, Question};
use crate::metrics::tensor;
use crate::part::{DIFFERENCES, JUDGED, RELATIVE_ERRORS};
use crate::visdb::partner_of;
use serde::Serialize;
use serde_json::{Map, Value};

/// Rows of one page; a node with more is asked for again with `from`.
const ROWS_PAGE: usize = 500;

#[derive(Serialize)]
struct Node {
    id: i64,
    name: String,
    side: &'static str,
    step: i64,
    rank: i64,
    parent: String,
    order: i64,
    kind: u8,
    micro: u32,
    status: u8,
    precision: Option<f64>,
    overflow: u8,
    edited: bool,
    dump_dir: String,
    /// One text per frame, innermost first as the dump wrote them.
    stack: Vec<String>,
    /// Whether the file has the stack that the node names.
    stack_known: bool,
    merge: Vec<String>,
    /// `{"communications_type", "nodes_info"}` or `{}`.
    communication: Value,
    /// Columns that could not be read, with the reason.
    problems: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Pair {
    /// Name without the node's name: `input.0`, `parameters.weight`.
    pub(super) name: String,
    pub(super) output: bool,
    pub(super) target: Option<Value>,
    pub(super) golden: Option<Value>,
    /// The golden row's name where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) golden_name: Option<String>,
}

#[derive(Serialize)]
struct Answer {
    node: Node,
    other: Option<Node>,
    /// The counterpart that the file names but does not have.
    missing: Option<String>,
    /// Columns that occur, in a fixed order.
    columns: Vec<String>,
    rows: Vec<Pair>,
    from: usize,
    total: usize,
}

/// `node?path&id&from` (or by `step`, `rank`, `side`, `name`).
pub(crate) fn details(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    let file = question.file()?;
    let place = question.place(&file)?;
    let from = question.args.count("from", 0, usize::MAX)?;
    let own = rows::details(&file, place.rowid)?;
    let link = partner_of(&own.link).map(std::borrow::Cow::into_owned);
    let compared = rows::config(&file)?.is_some_and(|config| config.graph_type == "compare");
    let other = match &link {
        Some(name) => match rows::find(&file, own.place.step, own.place.rank, 1 - own.place.side, name)? {
            Some(place) => Some(rows::details(&file, place.rowid)?),
            None => None,
        },
        None => None,
    };
    let missing = link.filter(|_| other.is_none());
    let side = own.place.side;
    let (target, golden) = if side == 0 { (Some(&own), other.as_ref()) } else { (other.as_ref(), Some(&own)) };
    let mut problems = [Vec::new(), Vec::new()];
    let mut pairs = Vec::new();
    for output in [false, true] {
        let mut read = |node: Option<&rows::Details>, at: usize| -> Vec<(String, Value)> {
            node.map_or_else(Vec::new, |node| {
                let (text, column) = if output { (&node.outputs, "output_data") } else { (&node.inputs, "input_data") };
                parameters(text, &node.place.name).unwrap_or_else(|reason| {
                    problems[at].push(format!("{column}: {reason}"));
                    Vec::new()
                })
            })
        };
        let (left, right) = (read(target, 0), read(golden, 1));
        face(left, right, output, &mut pairs);
    }
    if let Some(target) = target.filter(|target| !target.modified) {
        let facts = rows::tensors(&file, target.place.step, target.place.rank, &target.place.name)?;
        tensors::add(facts, &target.place.name, &mut pairs);
    }
    let columns = columns(&pairs);
    let total = pairs.len();
    let mut bytes = 0;
    let page: Vec<Pair> = pairs
        .into_iter()
        .skip(from)
        .take(ROWS_PAGE)
        .take_while(|pair| {
            // The first row always goes, so that paging gets on.
            let first = bytes == 0;
            bytes += serde_json::to_string(pair).map_or(0, |text| text.len());
            first || bytes < super::MAX_BYTES / 2
        })
        .collect();
    let shared = rows_status(target);
    let answer = Answer {
        node: node(&file, &own, compared, shared, problems[side].clone())?,
        other: other.as_ref().map(|other| node(&file, other, compared, shared, problems[1 - side].clone())).transpose()?,
        missing,
        columns,
        rows: page,
        from,
        total,
    };
    super::json(&answer)
}

/// Both nodes of a pair show the target's verdict.
fn rows_status(target: Option<&rows::Details>) -> u8 {
    target.map_or(0, |target| verdict_of(target.precision))
}

fn node(file: &VisFile, row: &rows::Details, compared: bool, shared: u8, mut problems: Vec<String>) -> Result<Node, ViewError> {
    let list = |text: &str, column: &str, problems: &mut Vec<String>| -> Vec<String> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(items)) => items.into_iter().take(2_000).map(|item| short(plain(item))).collect(),
            Ok(Value::Null) => Vec::new(),
            Ok(other) => vec![short(plain(other))],
            Err(error) => {
                problems.push(format!("{column}: {error}"));
                Vec::new()
            }
        }
    };
    if row.inputs.len() + row.outputs.len() > 64 << 20 {
        return Err(bad("id", &format!("{}: the rows of this node are larger than 64 MB", file.shown)));
    }
    let stack = row.stack.as_deref().map_or_else(Vec::new, |text| list(text, "stack_info", &mut problems));
    let merge = list(&row.merge, "parallel_merge_info", &mut problems);
    let communication = match serde_json::from_str::<Value>(&row.communication) {
        Ok(value) if row.communication.len() < 200_000 => value,
        Ok(_) => {
            problems.push("matched_distributed: too long to show".into());
            Value::Null
        }
        Err(_) if row.communication.trim().is_empty() => Value::Null,
        Err(error) => {
            problems.push(format!("matched_distributed: {error}"));
            Value::Null
        }
    };
    let linked = partner_of(&row.link).is_some();
    Ok(Node {
        id: row.place.rowid,
        name: row.place.name.clone(),
        side: ["target", "golden"][row.place.side],
        step: row.place.step,
        rank: row.place.rank,
        parent: row.place.parent.clone(),
        order: row.order,
        kind: row.kind,
        micro: row.micro,
        status: match (compared, linked) {
            (false, _) => 0,
            (true, false) => 4,
            (true, true) => shared,
        },
        precision: row.precision,
        overflow: overflow_code(&row.overflow),
        edited: row.modified,
        dump_dir: row.dump_dir.clone(),
        stack,
        stack_known: row.stack.is_some(),
        merge,
        communication,
        problems,
    })
}

fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Cuts a text so that one hostile frame cannot fill the answer.
fn short(mut text: String) -> String {
    const MOST: usize = 4_000;
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

fn parameters(text: &str, node: &str) -> Result<Vec<(String, Value)>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let rows: Option<Map<String, Value>> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(rows
        .unwrap_or_default()
        .into_iter()
        .map(|(key, row)| {
            let name = row_name(&key, node).to_owned();
            (name, row)
        })
        .collect())
}

/// The name of a row without that of its node.
pub(super) fn row_name<'k>(key: &'k str, node: &str) -> &'k str {
    key.strip_prefix(node).and_then(|rest| rest.strip_prefix('.')).unwrap_or(key)
}

/// Rows of the same name face each other; what is left does so by position, as the comparison paired it.
fn face(target: Vec<(String, Value)>, golden: Vec<(String, Value)>, output: bool, pairs: &mut Vec<Pair>) {
    let names: std::collections::HashSet<&str> = target.iter().map(|(name, _)| name.as_str()).collect();
    let (same, mut rest): (Vec<_>, Vec<_>) = golden.into_iter().partition(|(name, _)| names.contains(name.as_str()));
    let mut same: std::collections::HashMap<String, Value> = same.into_iter().collect();
    rest.reverse();
    for (name, row) in target {
        let (golden, golden_name) = match same.remove(&name) {
            Some(golden) => (Some(golden), None),
            None => rest.pop().map_or((None, None), |(other, golden)| (Some(golden), Some(other))),
        };
        pairs.push(Pair { name, output, target: Some(row), golden, golden_name });
    }
    for (name, row) in rest.into_iter().rev() {
        pairs.push(Pair { name, output, target: None, golden: Some(row), golden_name: None });
    }
}

/// The usual columns first, in the order of the comparison's own, then others as they come.
fn columns(pairs: &[Pair]) -> Vec<String> {
    let order = [
        &["Result", "type", "dtype", "shape", "value", "Max", "Min", "Mean", "Norm"][..],
        &DIFFERENCES,
        &RELATIVE_ERRORS,
        &tensor::COLUMNS,
        &[tensors::EQUAL, tensors::ULP, tensors::LARGEST_AT, tensors::NAN, tensors::INFINITE],
        &["md5", "requires_grad"],
        &JUDGED,
        &["group_ranks", "group_id", "full_op_name", "data_name", "tensor_stat_index"],
    ]
    .concat();
    let mut seen: Vec<&str> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for row in pairs.iter().flat_map(|pair| [&pair.target, &pair.golden]).flatten() {
        for key in row.as_object().into_iter().flat_map(Map::keys) {
            if known.len() < 200 && known.insert(key.as_str()) {
                seen.push(key);
            }
        }
    }
    let place = |key: &str| order.iter().position(|name| *name == key).unwrap_or(order.len());
    seen.sort_by_key(|key| place(key));
    seen.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: &[&str]) -> Vec<(String, Value)> {
        names.iter().map(|name| ((*name).to_owned(), Value::Null)).collect()
    }

    #[test]
    fn rows_pair_by_name_then_by_position() {
        let mut pairs = Vec::new();
        face(rows(&["input.0", "kw.a", "parameters.w"]), rows(&["input.0", "parameters.w", "kw.b", "input.9"]), false, &mut pairs);
        let seen: Vec<_> = pairs.iter().map(|p| (p.name.as_str(), p.golden.is_some(), p.golden_name.as_deref())).collect();
        assert_eq!(seen, [("input.0", true, None), ("kw.a", true, Some("kw.b")), ("parameters.w", true, None), ("input.9", true, None)]);
        assert!(pairs[3].target.is_none());
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = short("层".repeat(3_000));
        assert!(text.len() < 4_010 && text.ends_with('…'));
    }
}
