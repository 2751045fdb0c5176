//! The relative error along the execution order, thinned to what a chart can show.

use serde::{Deserialize, Serialize};

/// Points of a series; twice as many are held before neighbours are joined.
const POINTS: usize = 500;

/// Relative errors of node results along the execution order. Each point stands for a run of nodes: the worst of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Place of the worst node in the execution order.
    pub order: Vec<u32>,
    /// Its relative error; null if it differs beyond any number (NaN, infinity, shape, checksum).
    pub error: Vec<Option<f32>>,
    /// The tolerance it is judged with.
    pub noise: Vec<f32>,
    /// Nodes that each point stands for.
    pub nodes_per_point: u32,
}

/// A series under way.
#[derive(Clone, Debug)]
pub(super) struct Thinned {
    points: Vec<(u32, f32, f32)>,
    per_point: u32,
    in_last: u32,
}

impl Default for Thinned {
    fn default() -> Self {
        Thinned { points: Vec::new(), per_point: 1, in_last: 1 }
    }
}

impl Thinned {
    /// Appends the next node: order, relative error (infinite if beyond any number), tolerance.
    pub fn push(&mut self, order: u32, error: f32, tolerance: f32) {
        let point = (order, error, tolerance);
        if self.in_last < self.per_point {
            self.in_last += 1;
            if let Some(last) = self.points.last_mut() {
                *last = worse(*last, point);
            }
            return;
        }
        if self.points.len() == 2 * POINTS {
            for at in 0..POINTS {
                self.points[at] = worse(self.points[2 * at], self.points[2 * at + 1]);
            }
            self.points.truncate(POINTS);
            self.per_point *= 2;
        }
        self.points.push(point);
        self.in_last = 1;
    }

    /// The series as it is told.
    pub fn finish(self) -> Series {
        Series {
            order: self.points.iter().map(|p| p.0).collect(),
            error: self.points.iter().map(|p| p.1.is_finite().then_some(p.1)).collect(),
            noise: self.points.iter().map(|p| p.2).collect(),
            nodes_per_point: self.per_point,
        }
    }
}

fn worse(a: (u32, f32, f32), b: (u32, f32, f32)) -> (u32, f32, f32) {
    if b.1 > a.1 {
        b
    } else {
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_node_is_never_lost() {
        let mut series = Thinned::default();
        for order in 0..100_000u32 {
            series.push(order, if order == 77_777 { 5.0 } else { 0.001 }, 0.01);
        }
        series.push(100_000, f32::INFINITY, 0.01);
        let series = series.finish();
        assert!(series.order.len() <= 2 * POINTS);
        assert!(series.order.windows(2).all(|pair| pair[0] < pair[1]));
        let at = series.order.iter().position(|&order| order == 77_777).unwrap();
        assert_eq!(series.error[at], Some(5.0));
        assert_eq!((series.order.last(), series.error.last()), (Some(&100_000), Some(&None)));
        assert!(series.nodes_per_point as usize * series.order.len() >= 100_001);
    }

    #[test]
    fn a_short_series_is_complete() {
        let mut series = Thinned::default();
        (0..500).for_each(|order| series.push(order, 0.0, 1e-6));
        assert_eq!(series.finish().order, (0..500).collect::<Vec<_>>());
    }
}
