//! The three files of one rank.

use std::path::{Path, PathBuf};

use super::{ConstructFile, DumpFile, Error, StackFile};

/// `dump.json`, `construct.json` and `stack.json` of one rank, checked and indexed.
#[derive(Debug)]
pub struct RankFiles {
    dir: PathBuf,
    /// What was recorded of each call.
    pub dump: DumpFile,
    /// Which call happened inside which.
    pub construct: ConstructFile,
    /// Where in the program each call was made.
    pub stack: StackFile,
}

impl RankFiles {
    /// Opens the files in the folder `dir`; all three must be there. They are read at the same time where the thread pool has room.
    pub fn open(dir: &Path) -> Result<RankFiles, Error> {
        let (dump, (construct, stack)) = rayon::join(
            || DumpFile::open(&dir.join("dump.json")),
            || (ConstructFile::open(&dir.join("construct.json")), StackFile::open(&dir.join("stack.json"))),
        );
        // In the order in which the reference checks them.
        let construct = construct?;
        Ok(RankFiles { dir: dir.to_owned(), dump: dump?, construct, stack: stack? })
    }

    /// The folder, as given.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}
