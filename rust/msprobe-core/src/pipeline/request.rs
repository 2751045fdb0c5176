//! What a run is asked to do, and what it answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::metrics::Mode;
use crate::report::Report;

/// One run of `graph_visualize`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Folder of the dump under test.
    pub target: PathBuf,
    /// Folder of the dump it is held against; without it the target's tree is built alone.
    pub golden: Option<PathBuf>,
    /// Folder of the result; made if missing.
    pub output: PathBuf,
    /// Time of the start as `YYYYMMDDHHMMSS`, part of the result's name.
    pub stamp: String,
    /// Give overflow levels.
    pub overflow_check: bool,
    /// Match modules by name wherever they are, and calls of APIs by counting.
    pub fuzzy_match: bool,
    /// Match by a layer mapping: its file, or an empty path to match by place alone.
    pub layer_mapping: Option<PathBuf>,
    /// Match by aligning the two trees; neither with a fuzzy match nor with a layer mapping.
    pub align: bool,
    /// Worker threads; all cores when absent.
    pub jobs: Option<usize>,
    /// A second golden run, whose differences from the golden one are noise: its dump, or the comparison of the two.
    pub noise_twin: Option<PathBuf>,
}

/// What became of one rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PartSummary {
    /// Number in the `step` column.
    pub step: u64,
    /// Number in the `rank` column.
    pub rank: u64,
    /// Nodes of the target's tree, the root included.
    pub target_nodes: u64,
    /// Nodes of the golden tree, the root included; 0 in a build.
    pub golden_nodes: u64,
    /// Target nodes with a partner, the root not counted.
    pub matched: u64,
    /// These target nodes by the way in which their partner was found.
    pub matched_by: WayCounts,
    /// Target nodes without a partner, the root not counted.
    pub only_target: u64,
    /// Golden nodes without a partner, the root not counted.
    pub only_golden: u64,
    /// Matched target nodes by verdict.
    pub verdicts: VerdictCounts,
    /// Nodes by overflow level (target and golden).
    pub overflow: OverflowCounts,
    /// Golden parameters that no target parameter faces.
    pub surplus_golden_parameters: u64,
    /// Tensor files of both sides; all 0 unless the dumps are of task `tensor`.
    pub tensors: TensorCounts,
}

/// Pairs of parameters with tensor files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorCounts {
    /// Pairs that were compared.
    pub compared: u64,
    /// Pairs that could not be compared; `Err_message` of each says why.
    pub not_compared: u64,
}

/// Matched target nodes by the way in which their partner was found, the root not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayCounts {
    /// By their name.
    pub name: u64,
    /// By the fuzzy match, where the name alone would not have done.
    pub fuzzy: u64,
    /// By the layer mapping, where the name alone would not have done.
    pub mapping: u64,
    /// By aligning the trees, where the name alone would not have done.
    pub alignment: u64,
}

/// Target nodes by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Nodes judged `error`.
    pub error: u64,
    /// Nodes judged `warning`.
    pub warning: u64,
    /// Nodes judged `pass`.
    pub pass: u64,
    /// Nodes with a partner but without a parameter to compare.
    pub not_compared: u64,
}

/// Nodes by overflow level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverflowCounts {
    /// Level `critical`.
    pub critical: u64,
    /// Level `high`.
    pub high: u64,
    /// Level `medium`.
    pub medium: u64,
}

/// A rank (or a whole step) that is missing from the result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    /// Number of the step.
    pub step: u64,
    /// Number of the rank; `None` for a whole step.
    pub rank: Option<u64>,
    /// Why, with the file and the place.
    pub reason: String,
}

/// What a run answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// The finished file.
    pub output: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Wall time of the run in seconds.
    pub seconds: f64,
    /// `true` for a comparison, `false` for a build.
    pub compare: bool,
    /// What was compared; `None` in a build.
    pub mode: Option<Mode>,
    /// Task recorded in the target's dump.
    pub task: Option<String>,
    /// Framework of the target, if it can be told.
    pub target_framework: Option<String>,
    /// Framework of the golden side.
    pub golden_framework: Option<String>,
    /// One entry per rank, in the order step, rank.
    pub parts: Vec<PartSummary>,
    /// What is missing. Not empty: exit status 3.
    pub left_out: Vec<LeftOut>,
    /// One sentence each.
    pub warnings: Vec<String>,
    /// Where the two runs first part; what is in the file, read again.
    #[serde(skip_deserializing)]
    pub report: Option<Report>,
}
