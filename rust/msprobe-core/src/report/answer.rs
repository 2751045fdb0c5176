//! What a report says. The same structure is the JSON document of `--json`, described by `docs/report.schema.json`.

use super::candidate::{Candidate, What};
use super::drift::Series;
use crate::facts::{Break, Role};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Version of the JSON document; grows when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// The answer for a whole file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of msprobe-rs.
    pub tool_version: &'static str,
    /// The file.
    pub file: String,
    /// `build` or `compare`.
    pub graph_type: &'static str,
    /// `summary`, `md5`, `all` (tensors), `structure`; empty for one graph.
    pub task: &'static str,
    /// Number of micro steps.
    pub micro_steps: i64,
    /// Whether the run looked for NaN and infinity.
    pub overflow_check: bool,
    /// Ranks and steps that the run could not read, of those that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What counts as noise.
    pub noise: NoiseUsed,
    /// Counts over all ranks and steps.
    pub totals: Counts,
    /// The first difference of the whole run.
    pub first_difference: Option<Difference>,
    /// The first verdict of the whole run.
    pub first_verdict: Option<NodeLine>,
    /// Every rank of every step, ascending.
    pub ranks: Vec<RankReport>,
}

impl Report {
    /// Empties the drift of all ranks, by far the longest part, for those who only read the rest.
    pub fn forget_drift(&mut self) {
        self.ranks.iter_mut().for_each(|rank| rank.drift = Drift::default());
    }
}

/// A rank, or a whole step, that is missing from the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Step.
    pub step: i64,
    /// Rank; null for the whole step.
    pub rank: Option<i64>,
    /// Why, with the file.
    pub reason: String,
}

/// What counted as noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseUsed {
    /// `dtype`, or `twin` where a second golden run was given.
    pub method: Cow<'static, str>,
    /// Epsilons that count as noise.
    pub multiple: f64,
    /// The comparison of the two golden runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
    /// How much that comparison says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_nodes: Option<TwinNodes>,
}

/// How many of the compared nodes of the target a second golden run shows the noise of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TwinNodes {
    /// Nodes whose golden partner it has.
    pub found: u64,
    /// Nodes whose golden partner it does not have: their noise is that of their dtypes.
    pub not_found: u64,
}

impl std::ops::Add for TwinNodes {
    type Output = TwinNodes;

    fn add(self, other: TwinNodes) -> TwinNodes {
        TwinNodes { found: self.found + other.found, not_found: self.not_found + other.not_found }
    }
}

/// Numbers of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Nodes of the target.
    pub target_nodes: u64,
    /// Nodes of the golden graph.
    pub golden_nodes: u64,
    /// Target nodes with a partner, the root not counted.
    pub matched: u64,
    /// Target nodes without one, the root not counted.
    pub only_target: u64,
    /// Golden nodes without one, the root not counted.
    pub only_golden: u64,
    /// Matched target nodes by verdict.
    pub verdicts: Verdicts,
    /// Target nodes by overflow level.
    pub overflow: Overflow,
    /// Target nodes something of which was compared.
    pub compared_nodes: u64,
    /// Parameter pairs compared.
    pub compared_rows: u64,
    /// Target nodes with anything beyond noise.
    pub beyond_noise: u64,
}

/// Matched target nodes by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Error.
    pub error: u64,
    /// Warning.
    pub warning: u64,
    /// Pass.
    pub pass: u64,
    /// Nothing was compared.
    pub not_compared: u64,
}

/// Target nodes by overflow level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    /// NaN or infinity first appears in an output.
    pub critical: u64,
    /// It came in and goes on, or the norm jumped.
    pub high: u64,
    /// It came in and ends here.
    pub medium: u64,
}

/// The answer for one rank of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankReport {
    /// Step.
    pub step: i64,
    /// Rank.
    pub rank: i64,
    /// Numbers of nodes.
    pub counts: Counts,
    /// Where this rank first parts.
    pub first_difference: Option<Difference>,
    /// The first node that the verdict colours.
    pub first_verdict: Option<NodeLine>,
    /// The first node with an overflow level in whose tensors NaN or infinity shows (minus infinity only where nothing is worse).
    pub first_overflow: Option<NodeLine>,
    /// The first target node that faces NaN or infinity in the golden run while its own numbers are finite, if the target has shown
    /// none before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden_overflow: Option<NodeLine>,
    /// Further nodes that differ without their inputs explaining it, in execution order.
    pub runner_ups: Vec<Difference>,
    /// How many there are in all, at most 63; unknown in files of old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_ups_total: Option<u64>,
    /// What would come behind them, if it has been worked out: for [`super::store`] alone.
    #[serde(skip)]
    pub(super) further: Vec<Candidate>,
    /// The nodes that the first difference flows into, in execution order.
    pub flows_into: Vec<FlowNode>,
    /// Why there is no first difference.
    pub nearest_miss: Option<Miss>,
    /// The nodes that `only` asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<NodeLine>,
    /// Number of all nodes that `only` asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_total: Option<u64>,
    /// Golden nodes without a partner, if `only` asked for such nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed_golden: Vec<NodeLine>,
    /// Number of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_golden_total: Option<u64>,
    /// Relative error along the execution order.
    pub drift: Drift,
}

/// Relative error along the execution order, by the two halves of training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Forward nodes, and all that are neither.
    pub forward: Series,
    /// Backward nodes and gradients.
    pub backward: Series,
}

/// A node in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeLine {
    /// Step.
    pub step: i64,
    /// Rank.
    pub rank: i64,
    /// Name.
    pub node: String,
    /// Name of the parent.
    pub parent: String,
    /// Place in the execution order, from 0.
    pub order: u32,
    /// `error`, `warning`, `pass`; null if nothing was compared.
    pub verdict: Option<Cow<'static, str>>,
    /// Overflow level.
    pub overflow: Option<Cow<'static, str>>,
    /// Whether it has a partner.
    pub matched: bool,
    /// Innermost frame of the stack outside the framework; told only of nodes that are an answer, not of those in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Frame>,
}

/// A node where target and golden part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Step.
    pub step: i64,
    /// Rank.
    pub rank: i64,
    /// Name of the node.
    pub node: String,
    /// Name of its parent.
    pub parent: String,
    /// Name of its golden partner; null if it has none.
    pub golden_node: Option<String>,
    /// Place in the execution order, from 0.
    pub order: u32,
    /// Nodes of this rank.
    pub nodes: u64,
    /// Micro step.
    pub micro_step: u32,
    /// What differs.
    pub what: What,
    /// The row that shows it; null in a comparison of structure.
    pub evidence: Option<Evidence>,
    /// Largest relative error of the data inputs; null if none was compared.
    pub inputs: Option<Inputs>,
    /// Innermost frame of the stack outside the framework.
    pub frame: Option<Frame>,
    /// Communication nodes of this rank before it.
    pub communications_before: u32,
    /// Whether the node is a communication operation: its cause may be another rank.
    pub is_communication: bool,
    /// Whether the node draws random numbers, so that seeds may be all that differs.
    pub is_random: bool,
    /// Worst verdict of the node itself.
    pub verdict: Option<Cow<'static, str>>,
    /// For a computation: the first target node without a partner that ran inside it before the difference was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmatched_inside: Option<NodeLine>,
    /// What the target lacks where it parts; told of the first difference of a rank alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_golden: Option<OnlyGolden>,
    /// How often the two sides call the API that differs, or that of the first verdict, if unlike often, so that call numbers may be
    /// shifted against each other; told of the first difference of a rank alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlike_calls: Option<Calls>,
}

/// How often the two sides call an API in one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// The API, such as `Tensor.mul_`.
    pub api: String,
    /// Calls of the target.
    pub target: u64,
    /// Calls of the golden run.
    pub golden: u64,
}

/// Golden nodes without a partner where two runs part: often what the target forgot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnlyGolden {
    /// Where they stand.
    pub place: GoldenPlace,
    /// The last ones before the difference was seen, in execution order; of a module that is missing as a whole, the module.
    pub nodes: Vec<NodeLine>,
    /// Whether there are others before them.
    pub more: bool,
}

/// Where golden nodes without a partner stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoldenPlace {
    /// Inside the partner of the first difference.
    Inside,
    /// Before it, beside it or beside what it is in.
    Before,
}

/// The row that shows a difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Node of the row, if it is another one (inside the node named).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The row's name without its node, such as `output.0`.
    pub row: String,
    /// What the row is to its node.
    pub role: Role,
    /// `Norm`, `Max`, `Min`, `Mean`, `EucDist`, `MaxAbsErr`, `md5`, `value`, `shape`.
    pub statistic: Cow<'static, str>,
    /// Its value in target and golden, as text; golden is null in comparisons that keep only the difference.
    pub target: String,
    /// See `target`.
    pub golden: Option<String>,
    /// Relative error; null if beyond any number.
    pub error: Option<f32>,
    /// Tolerance.
    pub noise: f32,
    /// Why there is no number.
    pub broken: Option<Break>,
    /// Type of the target's value.
    pub dtype: String,
    /// Shape of the target's value.
    pub shape: String,
    /// What the elements of the two tensors show, where real tensors were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Elements>,
}

/// The elements of a pair of tensors (table `msprobe_tensor`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Elements {
    /// Index of the largest difference, `[i, j, ...]`; null if no element differs by a number.
    pub largest_at: Option<String>,
    /// Share of elements with the same bits, 0 to 1.
    pub equal: f64,
    /// Largest difference in units in the last place of the coarser dtype; null if it is beyond any number.
    pub ulp: Option<f64>,
    /// NaN in target and golden.
    pub nan: [i64; 2],
    /// Infinities in target and golden.
    pub infinite: [i64; 2],
}

/// How well the inputs agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    /// Largest relative error.
    pub error: f32,
    /// Tolerance.
    pub noise: f32,
    /// An input of integers of which only the largest and the smallest are known: others may be between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_extremes: Option<IntegerInput>,
}

/// An input of integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegerInput {
    /// The row's name without its node, such as `input.0`.
    pub row: String,
    /// Type.
    pub dtype: String,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Function.
    pub function: String,
    /// The line itself.
    pub code: String,
}

/// A node that a difference flows into.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowNode {
    /// Name.
    pub node: String,
    /// Place in the execution order.
    pub order: u32,
    /// Largest relative error of its inputs; null if beyond any number.
    pub input_error: Option<f32>,
    /// Largest relative error of its outputs; null if beyond any number or not compared.
    pub output_error: Option<f32>,
}

/// What comes nearest to a first difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Miss {
    /// `within_noise`: the largest excess stays below 1. `grew_slowly`: noise left the tolerance without any node standing
    /// out. `nothing_compared`.
    pub why: Cow<'static, str>,
    /// The node.
    pub node: Option<NodeLine>,
    /// Its relative error.
    pub error: Option<f32>,
    /// Its tolerance.
    pub noise: Option<f32>,
}
