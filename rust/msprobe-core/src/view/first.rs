//! Where target and golden first part: what the file says itself, else what the report finds.

use super::file::VisFile;
use super::outline::{Outline, NONE};
use super::rows::{self, Told};
use crate::report::{self, Options};
use serde::{Deserialize, Serialize};

/// Threads that work the answer out for a file that does not say it; the server has other things to do.
const THREADS: usize = 2;

/// A first difference, as the report's JSON has it.
#[derive(Debug, Deserialize)]
pub(crate) struct First {
    node: String,
    golden_node: Option<String>,
    what: String,
    inputs: Option<Agreement>,
    evidence: Option<Evidence>,
    #[serde(default)]
    is_random: bool,
    #[serde(default)]
    is_communication: bool,
    unmatched_inside: Option<Inside>,
    only_golden: Option<OnlyGolden>,
    unlike_calls: Option<Calls>,
    /// The node that faces NaN or infinity in the golden run, if the target has none before it.
    #[serde(skip)]
    golden_overflow: Option<String>,
}

/// How well the data inputs agree: largest relative error, and how much counts as noise.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Agreement {
    error: f32,
    noise: f32,
    /// An input of integers of which little is known.
    only_extremes: Option<IntegerInput>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct IntegerInput {
    row: String,
    dtype: String,
}

/// How often each side calls the API that differs.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Calls {
    api: String,
    target: u64,
    golden: u64,
}

/// What only golden has there.
#[derive(Debug, Deserialize)]
struct OnlyGolden {
    place: String,
    nodes: Vec<Inside>,
    more: bool,
}

/// The row that shows the difference. What it says in words is the browser's, in its language.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Evidence {
    /// Node of the row, if it is another one.
    node: Option<String>,
    row: String,
    statistic: String,
    target: String,
    golden: Option<String>,
    /// Null where no number tells how far the two are apart.
    error: Option<f32>,
    noise: f32,
    broken: Option<String>,
}

/// A node that one side lacks.
#[derive(Debug, Deserialize)]
struct Inside {
    node: String,
    frame: Option<Frame>,
}

/// The user's line that calls it.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Frame {
    file: String,
    line: u64,
}

/// The same for the browser.
#[derive(Debug, Serialize)]
pub(crate) struct Difference {
    id: i64,
    name: String,
    parent: String,
    /// Place in execution order, from 0.
    order: u32,
    /// `target`; `golden` for a node that the target lacks.
    side: &'static str,
    /// `parameter`, `argument`, `structure`, `input` or `computation`.
    what: String,
    /// Null where no data input was compared.
    inputs: Option<Agreement>,
    /// Null in a comparison of structure.
    evidence: Option<Evidence>,
    is_random: bool,
    is_communication: bool,
    /// The first node without a partner inside, if that may be the cause.
    only_inside: Option<OneSided>,
    /// What the target lacks there.
    only_golden: Option<Missing>,
    unlike_calls: Option<Calls>,
    /// The target node that faces NaN or infinity in the golden run.
    golden_overflow: Option<OneSided>,
    status: u8,
}

/// Golden nodes without a partner.
#[derive(Debug, Serialize)]
struct Missing {
    /// `inside` the first difference or `before` it.
    place: String,
    nodes: Vec<OneSided>,
    more: bool,
}

/// A node to go to.
#[derive(Debug, Serialize)]
struct OneSided {
    id: i64,
    name: String,
    frame: Option<Frame>,
}

/// The first difference of a step and rank; `None` if there is none, or none can be told.
pub(crate) fn find(file: &VisFile, step: i64, rank: i64) -> Option<First> {
    match told(file, step, rank, "first_difference") {
        Told::Found { detail, .. } => {
            let found: First = serde_json::from_str(&detail).ok()?;
            let golden_overflow = match told(file, step, rank, "golden_overflow") {
                Told::Found { node, .. } => Some(node),
                Told::Nothing | Told::Unknown => None,
            };
            Some(First { golden_overflow, ..found })
        }
        Told::Nothing => None,
        Told::Unknown => {
            let options = Options { step: Some(step), rank: Some(rank), top: 0, threads: THREADS, ..Options::default() };
            let report = report::report(&file.key.path, &options).ok()?;
            let golden_overflow = report.ranks.into_iter().find_map(|rank| rank.golden_overflow).map(|line| line.node);
            let found: First = serde_json::from_value(serde_json::to_value(report.first_difference?).ok()?).ok()?;
            Some(First { golden_overflow, ..found })
        }
    }
}

/// What the file says of the node that overflows first.
pub(crate) fn overflow(file: &VisFile, step: i64, rank: i64) -> Told {
    told(file, step, rank, "first_overflow")
}

/// What is damaged says nothing.
fn told(file: &VisFile, step: i64, rank: i64, kind: &str) -> Told {
    rows::told(file, step, rank, kind).unwrap_or(Told::Unknown)
}

impl First {
    /// As the browser sees it; `None` if the node is not in the file.
    pub(crate) fn shown(&self, file: &VisFile, step: i64, rank: i64, outline: &Outline) -> Option<Difference> {
        // Where the target lacks a node, that node is named.
        let side = usize::from(self.what == "structure" && self.golden_node.as_ref() == Some(&self.node));
        let tree = &outline.sides[side];
        let row = rows::find_row(file, step, rank, side, &self.node).ok()??;
        let (_, node) = outline.at_rowid(row).filter(|found| found.0 == side)?;
        let at = node as usize;
        Some(Difference {
            id: tree.rowid[at],
            name: self.node.clone(),
            parent: if tree.parent[at] == NONE { String::new() } else { tree.name(tree.parent[at]).to_owned() },
            order: node,
            side: ["target", "golden"][side],
            what: self.what.clone(),
            inputs: self.inputs.clone(),
            evidence: self.evidence.clone(),
            is_random: self.is_random,
            is_communication: self.is_communication,
            only_inside: self.unmatched_inside.as_ref().and_then(|inside| inside.shown(file, step, rank, 0)),
            only_golden: self.only_golden.as_ref().map(|missing| Missing {
                place: missing.place.clone(),
                nodes: missing.nodes.iter().filter_map(|node| node.shown(file, step, rank, 1)).collect(),
                more: missing.more,
            }),
            unlike_calls: self.unlike_calls.clone(),
            golden_overflow: self.golden_overflow.as_ref().and_then(|node| shown(file, step, rank, 0, node, None)),
            status: tree.status[at],
        })
    }
}

impl Inside {
    /// As the browser sees it; `None` if the node is not in the file.
    fn shown(&self, file: &VisFile, step: i64, rank: i64, side: usize) -> Option<OneSided> {
        shown(file, step, rank, side, &self.node, self.frame.clone())
    }
}

fn shown(file: &VisFile, step: i64, rank: i64, side: usize, node: &str, frame: Option<Frame>) -> Option<OneSided> {
    let id = rows::find_row(file, step, rank, side, node).ok()??;
    Some(OneSided { id, name: node.to_owned(), frame })
}
