//! The answer to a comparison that is being written: the walk goes along while the rows are at hand, so that the finished
//! file need not be read again.

use super::answer::Report;
use super::error::Result;
use super::file::{self, Place, VisFile};
use super::rank::{GoldenNodes, Listed, RankWalk, RankWalked};
use super::tolerance::Level;
use super::{noise_used, told, twin, Options};
use crate::facts::NodeFacts;
use crate::visdb::Task;
use std::collections::HashMap;
use std::path::Path;

/// Walks along the ranks of a comparison, those of a step after each other, steps ascending.
#[derive(Debug)]
pub(crate) struct Following {
    options: Options,
    /// Noise of each rank at the end of its last step.
    levels: HashMap<i64, Level>,
    walked: Vec<(Place, RankWalked)>,
}

/// The walk along one rank.
#[derive(Debug)]
pub(crate) struct RankFollowing {
    place: Place,
    walk: RankWalk,
}

impl Following {
    /// Nothing has come yet. `options` choose no rank, no step and no nodes to list.
    pub fn new(options: Options) -> Self {
        Following { options, levels: HashMap::new(), walked: Vec::new() }
    }

    /// Begins with a rank of a comparison of kind `task`.
    pub fn begin(&self, task: Task, step: u64, rank: u64) -> Result<RankFollowing> {
        let place = Place { step: step as i64, rank: rank as i64 };
        let before = self.levels.get(&place.rank).copied();
        Ok(RankFollowing { place, walk: RankWalk::new(task, place, &self.options, before)? })
    }

    /// Keeps what a rank came to that is in the file for good.
    pub fn keep(&mut self, rank: RankFollowing, golden: GoldenNodes) {
        let walked = rank.walk.end(golden);
        self.levels.insert(rank.place.rank, walked.level());
        self.walked.push((rank.place, walked));
    }

    /// The report on the finished file `path`, the same that [`super::report`] gives.
    pub fn report(self, path: &Path) -> Result<Report> {
        let file = VisFile::open(path)?;
        if let Some(twin) = &self.options.noise_twin {
            self.walked.iter().try_for_each(|(place, _)| twin::same_golden(&file, twin, *place))?;
        }
        let listed = Listed::default();
        let describe = |file: &VisFile, (place, walked): (Place, RankWalked)| walked.describe(file, place, &self.options, &listed);
        let ranks = file::each(path, self.options.threads, self.walked, describe)?;
        let left_out = file.left_out(None, None)?;
        Ok(told(&file, noise_used(&self.options, &self.levels), ranks, left_out))
    }
}

impl RankFollowing {
    /// Takes the next target node.
    pub fn node(&mut self, node: &NodeFacts) {
        self.walk.node(node);
    }
}
