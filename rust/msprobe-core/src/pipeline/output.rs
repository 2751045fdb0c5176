//! The output folder, checked before any work is done.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::Error;
use crate::text::message::system;

/// Missing folders that are made at most.
const MAX_NEW_LEVELS: usize = 16;

/// Makes the output folder if it is missing and checks that a file can be made in it.
pub(super) fn prepare(path: &Path) -> Result<(), Error> {
    let error = |reason: String| Error::Output { path: path.to_owned(), reason };
    if path.as_os_str().is_empty() {
        return Err(error("the name is empty; name a folder".into()));
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(error("there is a file of that name; name another folder".into())),
        Err(reason) if reason.kind() == ErrorKind::NotFound => {
            let missing = path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).count();
            if missing > MAX_NEW_LEVELS {
                return Err(error(format!("{missing} levels of it are missing; make it first")));
            }
            fs::create_dir_all(path).map_err(|reason| match reason.kind() {
                // All that was missing would have been made.
                ErrorKind::NotFound => error("it cannot be made there; name another folder".to_owned()),
                _ => error(system(&reason)),
            })?;
        }
        Err(reason) => return Err(error(system(&reason))),
    }
    tempfile::tempfile_in(path).map(drop).map_err(|reason| error(system(&reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_made_and_files_are_refused() {
        let root = tempfile::tempdir().unwrap();
        prepare(&root.path().join("a/b c/数")).unwrap();
        assert!(root.path().join("a/b c/数").is_dir());
        fs::write(root.path().join("file"), "").unwrap();
        assert!(prepare(&root.path().join("file")).unwrap_err().to_string().contains("there is a file of that name"));
        assert!(prepare(&root.path().join("file/below")).is_err());
        assert!(prepare(&root.path().join(["x"; 17].join("/"))).unwrap_err().to_string().contains("17 levels"));
    }
}
