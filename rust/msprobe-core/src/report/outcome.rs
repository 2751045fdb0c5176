//! What the walk along the execution order comes to.

use super::candidate::Candidate;
use super::tolerance::Level;
use crate::facts::{Extremes, NodeFacts, Role, RowFacts, Verdict};

/// Candidates that are kept.
const KEPT: usize = 64;

/// A node whose outputs left the noise without standing out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grown {
    pub order: u32,
    pub input: f32,
    pub output: f32,
    pub tolerance: f32,
}

/// Counts of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub nodes: u64,
    pub matched: u64,
    pub unmatched: u64,
    pub verdicts: [u64; 4],
    pub overflow: [u64; 3],
    /// Nodes and rows with something to compare, and nodes with something beyond noise.
    pub compared_nodes: u64,
    pub compared_rows: u64,
    pub beyond_nodes: u64,
    pub modified: u64,
}

/// What the walk came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// The first ones, in the order of their time.
    pub candidates: Vec<Candidate>,
    pub grown: Option<Grown>,
    pub counts: Counts,
    /// The first node with a verdict of warning or error.
    pub first_verdict: Option<(u32, Verdict)>,
    /// The first node with an overflow level in which NaN or infinity shows; with minus infinity if there is nothing worse.
    pub first_overflow: Option<(u32, Extremes)>,
    /// The first node that faces NaN or infinity in golden while its own numbers are finite.
    pub golden_overflow: Option<u32>,
    /// Whether a node of the target has shown NaN or infinity.
    pub overflows: bool,
    /// The input that comes nearest to the tolerance without exceeding it, or the output: order, error, tolerance.
    pub nearest: Option<(u32, f32, f32)>,
    /// The noise at the end, for the next step of the rank.
    pub level: Level,
}

impl Outcome {
    /// Counts a node.
    pub fn count(&mut self, node: &NodeFacts) {
        let counts = &mut self.counts;
        counts.nodes += 1;
        counts.modified += u64::from(node.modified);
        // The roots face each other and hold nothing.
        if node.matched && !node.is_root {
            counts.matched += 1;
            counts.verdicts[node.verdict as usize] += 1;
        } else if !node.is_root {
            counts.unmatched += 1;
        }
        if let Some(level) = node.overflow {
            counts.overflow[level as usize] += 1;
            let extremes = node.overflown();
            if extremes > self.first_overflow.map_or(Extremes::Finite, |(_, worst)| worst) {
                self.first_overflow = Some((node.order, extremes));
            }
        }
        if !self.overflows && self.golden_overflow.is_none() && !node.is_root && !node.is_collection {
            self.look_at_golden(node);
        }
        if node.verdict >= Verdict::Warning && self.first_verdict.is_none() && !node.is_collection && !node.is_root {
            self.first_verdict = Some((node.order, node.verdict));
        }
    }

    /// Whoever has NaN first is asked about it. What a communication is given to fill may hold anything.
    fn look_at_golden(&mut self, node: &NodeFacts) {
        let counts = |row: &&RowFacts| match row.role {
            Role::Output => !node.is_uninitialised,
            _ => !node.is_distributed,
        };
        self.overflows = node.rows.iter().filter(counts).any(|row| row.measured.extremes == Extremes::NonFinite);
        if !self.overflows && node.rows.iter().filter(counts).any(|row| row.measured.golden_overflows) {
            self.golden_overflow = Some(node.order);
        }
    }

    /// Keeps a candidate if it is among the first.
    pub fn propose(&mut self, candidate: Candidate) {
        let at = self.candidates.partition_point(|kept| kept.key() <= candidate.key());
        if at < KEPT {
            self.candidates.insert(at, candidate);
            self.candidates.truncate(KEPT);
        }
    }
}
