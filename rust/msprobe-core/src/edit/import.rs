//! Applying a file of matches: what can be applied is, the rest is told.

use std::collections::HashSet;

use super::config_file::Entries;
use super::error::Error;
use super::session::Session;
use super::MOST_NOTES;
use crate::visdb::Side;

impl Session {
    /// Applies the entries of a file, with the reasons why some of its lines were refused before.
    pub(super) fn import(&mut self, entries: &Entries, refused: Vec<String>) -> Result<(), Error> {
        for reason in refused {
            self.refuse(reason);
        }
        for (side, names) in [(Side::Target, &entries.unmatched_target), (Side::Golden, &entries.unmatched_golden)] {
            for name in names {
                match self.release_named(side, name) {
                    Ok(()) => {}
                    Err(error @ Error::File(_)) => return Err(error),
                    Err(error) => self.refuse(error.to_string()),
                }
            }
        }
        let mut applied = HashSet::new();
        for (target, golden) in &entries.matches {
            // The reference writes each match in both directions: the second is no news.
            let reversed = !entries.one_direction && applied.contains(&(golden.as_str(), target.as_str()));
            match self.check_alike(target, golden) {
                Ok(()) if reversed => {}
                Ok(()) => match self.pair(target, golden) {
                    Ok(()) => _ = applied.insert((target.as_str(), golden.as_str())),
                    Err(error @ Error::File(_)) => return Err(error),
                    Err(error) => self.refuse(format!("\"{target}\": {error}")),
                },
                Err(error @ Error::File(_)) => return Err(error),
                Err(_) if reversed || entries.has(golden, target) && self.check_alike(golden, target).is_ok() => {}
                Err(error) => self.refuse(format!("\"{target}\": {error}")),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, reason: String) {
        self.done.refusals += 1;
        if self.done.refused.len() < MOST_NOTES {
            self.done.refused.push(reason);
        }
    }
}
