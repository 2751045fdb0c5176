//! Noise as a second golden run shows it: golden compared with a rerun of itself.
//!
//! One rerun gives one sample of each error, and the quotient of two samples has no mean: taking the sample itself as the
//! tolerance would be wrong for one row in ten. So the sample is pooled with its neighbours in execution order, whose noise is
//! of the same origin: `tolerance = FACTOR * max(own, root mean square over WINDOW nodes on either side)`. For errors with a
//! normal distribution six standard deviations are exceeded by 2 rows in a billion; the factor leaves room for heavier tails.

use super::error::Result;
use super::file::{Place, VisFile};
use super::scan::for_each_node;
use super::tolerance::errors;
use std::collections::HashMap;
use std::path::Path;

/// Standard deviations that count as noise.
const FACTOR: f64 = 6.0;
/// Nodes on either side whose noise is pooled.
const WINDOW: usize = 32;

/// Tolerances by node, of one step and rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Twin {
    tolerances: HashMap<u64, [f32; 3]>,
}

impl Twin {
    /// Reads the comparison of the second golden run (as target) with the golden run.
    pub fn read(path: &Path, place: Place, threads: usize) -> Result<Self> {
        let file = VisFile::open(path)?;
        let mut nodes: Vec<(u64, [f32; 3])> = Vec::new();
        for_each_node(&file, place, threads, |node| {
            let mut most: Option<[f32; 3]> = None;
            for row in node.rows.iter().filter(|row| row.is_compared()) {
                let (row, so_far) = (errors(row), most.unwrap_or_default());
                most = Some([0, 1, 2].map(|i| so_far[i].max(row[i])));
            }
            if let Some(most) = most {
                nodes.push((node.mark, most));
            }
        })?;
        Ok(Self::pool(&nodes))
    }

    fn pool(nodes: &[(u64, [f32; 3])]) -> Self {
        let mut sums = vec![[0f64; 3]];
        for (_, errors) in nodes {
            let before = sums[sums.len() - 1];
            sums.push([0, 1, 2].map(|i| before[i] + f64::from(errors[i]).powi(2)));
        }
        let tolerances = nodes.iter().enumerate().map(|(at, &(mark, own))| {
            let (from, to) = (at.saturating_sub(WINDOW), (at + WINDOW + 1).min(nodes.len()));
            let pooled = [0, 1, 2].map(|i| ((sums[to][i] - sums[from][i]).max(0.0) / (to - from) as f64).sqrt());
            (mark, [0, 1, 2].map(|i| (FACTOR * pooled[i].max(f64::from(own[i]))) as f32))
        });
        Twin { tolerances: tolerances.collect() }
    }

    /// Tolerances of the three relative errors of a node's rows.
    pub fn tolerance(&self, node: u64) -> Option<[f32; 3]> {
        self.tolerances.get(&node).copied()
    }

    pub fn is_empty(&self) -> bool {
        self.tolerances.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_pooled_with_its_neighbourhood() {
        let mut nodes: Vec<(u64, [f32; 3])> = (0..200).map(|mark| (mark, [0.0; 3])).collect();
        nodes[100].1 = [0.65, 0.0, 0.0];
        let twin = Twin::pool(&nodes);
        let at = |mark: u64| twin.tolerance(mark).unwrap()[0];
        // 65 nodes of a window share the one error: 0.65^2 / 65.
        let pooled = 6.0 * (0.65f32 * 0.65 / 65.0).sqrt();
        assert!((at(100) - 6.0 * 0.65).abs() < 1e-6);
        assert!((at(132) - pooled).abs() < 1e-6 && (at(68) - pooled).abs() < 1e-6);
        assert_eq!((at(133), at(67)), (0.0, 0.0));
        assert_eq!(twin.tolerance(1000), None);
    }
}
