//! Communication calls of the ranks of one step, linked with each other (`matched_distributed` of the file).
//!
//! Lives here: what a call says about its peers and its group, which calls of different ranks belong together, and why some
//! do not. May not: find files, know rows, measure anything.
//!
//! * `arguments`: one argument of a call, by name or by position
//! * `operation`: the APIs and where each has its peer, its group and its payload
//! * [`call`]: what one entry of dump.json says
//! * `join`: finding partners, `occurrences`: the same call of a group on all its ranks
//! * `text`: a result as the file holds it, [`tally`]: what could not be linked
//!
//! Point-to-point calls are told by sender, receiver, group and tag and paired in the order of the dump; calls of a group by
//! the group, the API and how often the rank has called it before. Work and memory are linear in the communication calls
//! and the texts written; nothing is kept of any other node.

mod arguments;
pub mod call;
mod join;
mod occurrences;
mod operation;
pub mod tally;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use crate::visdb::{Complete, Error, Result, Side};
pub use call::RankCalls;
pub use tally::{Reason, Tally};

/// The calls of a whole run, collected while its parts are written.
#[derive(Debug, Default)]
pub struct Links {
    /// By step; the parts of a step in the order of the file.
    steps: BTreeMap<u64, Vec<(u64, Side, RankCalls)>>,
}

impl Links {
    /// Notes the calls of one graph. Graphs come in the order in which they are written.
    pub fn add(&mut self, step: u64, rank: u64, side: Side, calls: RankCalls) {
        self.steps.entry(step).or_default().push((rank, side, calls));
    }

    /// Writes the links into the file, each step and side on its own. `None` if `stop` said so meanwhile.
    pub fn write(self, file: &Complete, overflow_check: bool, stop: impl Fn() -> bool) -> Result<Option<Tally>> {
        let mut tally = Tally::default();
        if self.steps.values().flatten().all(|(_, _, calls)| calls.is_empty()) {
            return Ok(Some(tally));
        }
        let mut rows = file.communication_nodes(overflow_check)?;
        for parts in self.steps.into_values() {
            let mut sides: [Vec<join::Rank>; 2] = [Vec::new(), Vec::new()];
            for (rank, side, calls) in parts {
                let nodes = rows.next(calls.len())?;
                sides[side as usize].push(join::Rank { number: rank, calls, nodes });
            }
            for ranks in sides.iter().filter(|ranks| ranks.len() > 1) {
                let stored = join::join(ranks, &mut tally, |row, links| {
                    if stop() {
                        return Err(None);
                    }
                    rows.store(row, links).map_err(Some)
                });
                match stored {
                    Ok(()) => {}
                    Err(None) => return Ok(None),
                    Err(Some(reason)) => return Err::<_, Error>(reason),
                }
            }
        }
        rows.finish()?;
        Ok(Some(tally))
    }
}
