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

    /// An error if one of the files is not what it was when it was opened: what was read of it then means nothing.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.construct.check_unchanged()?;
        self.dump.check_unchanged()?;
        self.stack.check_unchanged()
    }

    /// The folder, as given.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn all_three_are_needed() {
        let dir = tempfile::Builder::new().prefix("Läufe 2 ").tempdir().unwrap();
        let files = [("dump.json", r#"{"data": {}}"#), ("construct.json", r#"{"a": null}"#), ("stack.json", "{}")];
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let rank = RankFiles::open(dir.path()).unwrap();
        assert_eq!((rank.dir(), rank.dump.len(), rank.construct.len(), rank.stack.find("")), (dir.path(), 0, 1, None));
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::remove_file(&path).unwrap();
            let error = RankFiles::open(dir.path()).unwrap_err().to_string();
            assert!(error.starts_with(path.to_str().unwrap()), "{error}");
            fs::create_dir(&path).unwrap();
            assert_eq!(RankFiles::open(dir.path()).unwrap_err().to_string(), format!("{}: is not a regular file", path.display()));
            fs::remove_dir(&path).unwrap();
            fs::write(&path, text).unwrap();
        }
    }

    #[test]
    fn a_read_only_folder_is_enough() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("dump.json", "{}"), ("construct.json", r#"{"a": null}"#), ("stack.json", "{}")] {
            fs::write(dir.path().join(name), text).unwrap();
            fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o444)).unwrap();
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o555)).unwrap();
        assert!(RankFiles::open(dir.path()).is_ok());
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
