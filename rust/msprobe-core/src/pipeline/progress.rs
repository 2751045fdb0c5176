//! Progress and cancellation, shared between the workers and whoever waits for them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is being done at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Reading dumps, building and matching trees, writing rows. Counted in nodes.
    Compare,
    /// Closing the file: indexes, links, moving it to its name.
    Finish,
}

/// Counters that workers advance and a front end polls. All methods take `&self` and may be called from any thread.
#[derive(Debug, Default)]
pub struct Progress {
    cancelled: AtomicBool,
    finishing: AtomicBool,
    parts: AtomicU64,
    parts_total: AtomicU64,
    /// Share of the part being written, in millionths.
    part_share: AtomicU64,
    nodes: AtomicU64,
}

impl Progress {
    /// Asks all workers to stop; they do within a few milliseconds and leave nothing behind.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// How much is done, in percent: 0 at the start, held at 98 until the file is closed, 100 at the end.
    #[must_use]
    pub fn percent(&self) -> f64 {
        let total = self.parts_total.load(Ordering::Relaxed);
        if total == 0 {
            return 0.0;
        }
        let share = self.part_share.load(Ordering::Relaxed) as f64 / 1e6;
        let done = self.parts.load(Ordering::Relaxed) as f64 + share;
        (done / total as f64 * 100.0).min(98.0)
    }

    /// What is being done.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if self.finishing.load(Ordering::Relaxed) {
            Phase::Finish
        } else {
            Phase::Compare
        }
    }

    /// Ranks done and ranks in all.
    #[must_use]
    pub fn ranks(&self) -> (u64, u64) {
        (self.parts.load(Ordering::Relaxed), self.parts_total.load(Ordering::Relaxed))
    }

    /// Nodes written so far.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed)
    }

    /// Starts to count anew.
    pub(crate) fn start(&self, parts: usize) {
        self.finishing.store(false, Ordering::Relaxed);
        for counter in [&self.parts, &self.part_share, &self.nodes] {
            counter.store(0, Ordering::Relaxed);
        }
        self.parts_total.store(parts as u64, Ordering::Relaxed);
    }

    /// `done` of `total` nodes of the part at hand are written; `new` of them since the last call.
    pub(crate) fn advance(&self, done: usize, total: usize, new: usize) {
        self.nodes.fetch_add(new as u64, Ordering::Relaxed);
        self.part_share.store((done as f64 / total.max(1) as f64 * 1e6) as u64, Ordering::Relaxed);
    }

    pub(crate) fn part_done(&self) {
        self.part_share.store(0, Ordering::Relaxed);
        self.parts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn finish(&self) {
        self.finishing.store(true, Ordering::Relaxed);
    }
}
