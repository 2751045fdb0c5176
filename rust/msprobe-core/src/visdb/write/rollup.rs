//! Verdict counts of subtrees, added up while the nodes come by in post-order.

use crate::visdb::bulk::record::Cell;
use crate::visdb::node::EncodedNode;
use crate::visdb::values::{OverflowLevel, Verdict};

/// How the nodes of a subtree fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes with `precision_index` 1.
    pub error: u32,
    /// Nodes with `precision_index` 0.5.
    pub warning: u32,
    /// Nodes with `precision_index` 0.
    pub pass: u32,
    /// Matched nodes without a verdict.
    pub not_compared: u32,
    /// Nodes without a partner.
    pub unmatched: u32,
    /// The worst overflow level.
    pub worst_overflow: Option<OverflowLevel>,
}

impl Counts {
    /// The counts of one node.
    pub(crate) fn of(node: &EncodedNode) -> Self {
        let mut counts = Counts { worst_overflow: node.result.overflow_level, ..Counts::default() };
        *match (node.result.precision_index, node.matched_by) {
            (Some(Verdict::Error), _) => &mut counts.error,
            (Some(Verdict::Warning), _) => &mut counts.warning,
            (Some(Verdict::Pass), _) => &mut counts.pass,
            (None, Some(_)) => &mut counts.not_compared,
            (None, None) => &mut counts.unmatched,
        } = 1;
        counts
    }

    /// Adds the counts of another subtree.
    pub fn add(&mut self, other: &Counts) {
        self.error += other.error;
        self.warning += other.warning;
        self.pass += other.pass;
        self.not_compared += other.not_compared;
        self.unmatched += other.unmatched;
        self.worst_overflow = self.worst_overflow.max(other.worst_overflow);
    }

    pub(crate) fn cells(&self) -> [Cell<'static>; 6] {
        let number = |n: u32| Cell::Integer(i64::from(n));
        [
            number(self.error),
            number(self.warning),
            number(self.pass),
            number(self.not_compared),
            number(self.unmatched),
            self.worst_overflow.map(OverflowLevel::as_str).into(),
        ]
    }
}
