//! Which of several ranks and steps parts first.
//!
//! Steps come one after another. The ranks of a step run at the same time and meet only where they communicate: the rank whose
//! first difference has fewer communications before it parts first. A first difference that *is* a communication has come
//! from another rank, if another one has parted; it counts only when every rank says so.

use super::answer::{Difference, NodeLine, RankReport};

/// The first difference of all.
pub(super) fn first_difference(ranks: &[RankReport]) -> Option<&Difference> {
    ranks
        .iter()
        .filter_map(|rank| rank.first_difference.as_ref())
        .min_by_key(|found| (found.step, found.is_communication, found.communications_before, found.order, found.rank))
}

/// The first verdict of all.
pub(super) fn first_verdict(ranks: &[RankReport]) -> Option<&NodeLine> {
    ranks.iter().filter_map(|rank| rank.first_verdict.as_ref()).min_by_key(|found| (found.step, found.order, found.rank))
}
