//! The extreme of one measure over the inputs or the outputs of a node.

use super::{JudgedRow, Measure};

/// Largest measure, at least 0; NaN never wins.
pub(super) fn largest<'r>(rows: impl Iterator<Item = &'r JudgedRow<'r>>, measure: impl Fn(&JudgedRow<'_>) -> Measure) -> f64 {
    rows.filter_map(measure).fold(0.0, |best, v| if v > best { v } else { best })
}

/// Smallest measure, at most 1; NaN never wins.
pub(super) fn smallest<'r>(rows: impl Iterator<Item = &'r JudgedRow<'r>>, measure: impl Fn(&JudgedRow<'_>) -> Measure) -> f64 {
    rows.filter_map(measure).fold(1.0, |best, v| if v < best { v } else { best })
}
