//! The tree as lines, for a terminal.

use super::error::{Error, Result};
use super::evidence::verdict;
use super::file::VisFile;
use super::way;
use crate::name::NodeKind;
use crate::visdb::{Detail, GraphId, Node, Reader, Side};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;

/// One node of the tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Levels below the node asked for, from 0.
    pub depth: u32,
    /// Name.
    pub node: String,
    /// `module`, `api` or `collection`; null for a type that is not known.
    pub kind: Option<&'static str>,
    /// `error`, `warning`, `pass`, of a golden node those of its partner; null if nothing was compared.
    pub verdict: Option<&'static str>,
    /// Overflow level.
    pub overflow: Option<String>,
    /// Name of the partner.
    pub partner: Option<String>,
    /// Number of children.
    pub children: usize,
    /// Whether its step and rank first part here; false throughout if nobody asked.
    pub first_difference: bool,
}

/// Levels below the root that stand open where nobody says how many.
const LEVELS: u32 = 2;

/// What to show of a tree.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Only what is below this node; the whole tree without a name.
    pub node: Option<String>,
    /// Levels below it; two without a number.
    pub depth: Option<u32>,
    /// Mark the first difference. The way down to it stands open where neither a node nor a depth is asked for.
    pub first_difference: bool,
    /// Lines at most.
    pub limit: usize,
}

/// A step and rank to show, and how many the file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Step.
    pub step: u64,
    /// Rank.
    pub rank: u64,
    /// Steps and ranks of the file.
    pub places: usize,
}

/// Of the steps and ranks asked for the one where the runs first part; the first one if they do not, or if it cannot be told in bearable
/// time.
pub fn place_to_show(path: &Path, step: Option<u64>, rank: Option<u64>) -> Result<Chosen> {
    let parts = Reader::open(path)?.parts()?;
    let asked = |part: &&(u64, u64)| step.is_none_or(|step| step == part.0) && rank.is_none_or(|rank| rank == part.1);
    let mut found: Vec<_> = parts.iter().filter(asked).copied().collect();
    if found.len() > 1 {
        let parted = way::first_place(path, step, rank);
        found.sort_by_key(|&place| Some(place) != parted);
    }
    let chosen = found.first().map(|&(step, rank)| Chosen { step, rank, places: parts.len() });
    chosen.ok_or_else(|| {
        let places: Vec<_> = parts.iter().map(|part| (part.0 as i64, part.1 as i64)).collect();
        Error::nowhere(path, &places, step.map(|step| step as i64), rank.map(|rank| rank as i64))
    })
}

/// The lines of `shown`, in execution order, and whether there are more than its limit.
pub fn tree(path: &Path, graph: GraphId, shown: &Shown) -> Result<(Vec<Line>, bool)> {
    let reader = Reader::open(path)?;
    let first = match &shown.node {
        Some(name) => reader.node(graph, name, Detail::Tree)?,
        None => reader.root(graph)?,
    };
    let Some(first) = first else {
        let place = format!("in step {}, rank {}", graph.step, graph.rank);
        let Some(name) = &shown.node else { return Err(Error::unreadable(path, format!("no node {place}"))) };
        let similar = similar(path, graph, name)?;
        let told = if similar.is_empty() { String::new() } else { format!("; there are {}", similar.join(", ")) };
        return Err(Error::unreadable(path, format!("no node {name} {place}{told}")));
    };
    let way = if shown.first_difference { way::to_first_difference(&reader, graph) } else { Vec::new() };
    let depth = shown.depth.unwrap_or(LEVELS);
    let on_the_way = |level: u32, node: &Node| match way.split_last() {
        Some((_, above)) if shown.node.is_none() && shown.depth.is_none() => above.get(level as usize) == Some(&node.name),
        _ => false,
    };
    let mut lines = Vec::new();
    // The way down: an explicit stack, because trees may be deeper than the program's own.
    let mut waiting = vec![(0, first)];
    while let Some((level, node)) = waiting.pop() {
        if lines.len() == shown.limit {
            return Ok((lines, true));
        }
        if (level < depth || on_the_way(level, &node)) && !node.is_leaf() {
            let from = waiting.len();
            reader.for_each_child(graph, &node.name, Detail::Tree, None, |child| {
                waiting.push((level + 1, child.to_node()));
                // What lies behind the limit is not told.
                if waiting.len() - from > shown.limit {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            waiting[from..].reverse();
            // A long way past many siblings would keep them all.
            let left = shown.limit - lines.len();
            if waiting.len() > 2 * left {
                waiting.drain(..waiting.len() - left);
            }
        }
        let mut line = line(level, &node, way.last());
        if let (Side::Golden, Some(partner)) = (graph.side, &line.partner) {
            // Only target nodes are judged.
            let target = GraphId { side: Side::Target, ..graph };
            line.verdict = reader.node(target, partner, Detail::Tree)?.and_then(|node| node.precision_index).map(verdict);
        }
        lines.push(line);
    }
    Ok((lines, false))
}

/// A few nodes whose names hold `part`, the shortest of the first that are found.
fn similar(path: &Path, graph: GraphId, part: &str) -> Result<Vec<String>> {
    let file = VisFile::open(path)?;
    if !file.indexed || part.is_empty() {
        return Ok(Vec::new());
    }
    // The index holds all that is asked for, so the nodes themselves are not read.
    let sql = "SELECT node_name FROM (SELECT node_name FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 \
               AND instr(lower(node_name), lower(?4)) LIMIT 1000) ORDER BY length(node_name), node_name LIMIT 3";
    let mut statement = file.conn.prepare(sql).map_err(file.fail())?;
    let rows =
        statement.query_map((graph.step as i64, graph.rank as i64, graph.side.as_str(), part), |row| row.get(0)).map_err(file.fail())?;
    rows.collect::<rusqlite::Result<_>>().map_err(file.fail())
}

fn line(depth: u32, node: &Node, first_difference: Option<&String>) -> Line {
    Line {
        depth,
        node: node.name.clone(),
        kind: node.kind().map(|kind| match kind {
            NodeKind::Module => "module",
            NodeKind::Api => "api",
            NodeKind::Collection => "collection",
        }),
        verdict: node.precision_index.map(verdict),
        overflow: node.overflow_level.clone().filter(|level| !level.is_empty()),
        partner: node.partner().map(std::borrow::Cow::into_owned),
        children: node.children().map_or(0, |children| children.len()),
        first_difference: first_difference == Some(&node.name),
    }
}
