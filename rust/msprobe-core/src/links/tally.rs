//! How many calls were linked, and why the others were not.

use std::fmt;

/// Why a call has no link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The ranks it talks to are not in the result.
    RankMissing,
    /// The other ranks have no such call, or fewer of them.
    NoCounterpart,
    /// The call in the same place of the other rank moves other data: another size, dtype, operation or root.
    Differs,
    /// It names no peer, root or group that can be read.
    Unreadable,
}

impl Reason {
    const ALL: [Reason; 4] = [Reason::RankMissing, Reason::NoCounterpart, Reason::Differs, Reason::Unreadable];

    fn as_str(self) -> &'static str {
        match self {
            Reason::RankMissing => "the other rank is not here",
            Reason::NoCounterpart => "the other rank has no such call",
            Reason::Differs => "the other rank's call has another size, dtype, operation or root",
            Reason::Unreadable => "peer, root or group cannot be read",
        }
    }
}

/// Calls by what became of them. Displays as one sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls with at least one partner.
    pub linked: u64,
    unlinked: [u64; Reason::ALL.len()],
}

impl Tally {
    /// Calls without a link for this reason.
    #[must_use]
    pub fn of(&self, reason: Reason) -> u64 {
        self.unlinked[reason as usize]
    }

    /// Calls without a link. Calls that talk to nobody else (groups of one rank) are not counted at all.
    #[must_use]
    pub fn unlinked(&self) -> u64 {
        self.unlinked.iter().sum()
    }

    pub(super) fn count(&mut self, reason: Reason) {
        self.unlinked[reason as usize] += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unlinked = self.unlinked();
        write!(f, "{unlinked} of {} communication calls are not linked across ranks", unlinked + self.linked)?;
        let mut separator = ": ";
        for reason in Reason::ALL.into_iter().filter(|&reason| self.of(reason) > 0) {
            write!(f, "{separator}{} {}", self.of(reason), reason.as_str())?;
            separator = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence() {
        let mut tally = Tally { linked: 7, ..Tally::default() };
        tally.count(Reason::Differs);
        tally.count(Reason::RankMissing);
        tally.count(Reason::RankMissing);
        assert_eq!(
            tally.to_string(),
            "3 of 10 communication calls are not linked across ranks: 2 the other rank is not here, \
             1 the other rank's call has another size, dtype, operation or root"
        );
    }
}
