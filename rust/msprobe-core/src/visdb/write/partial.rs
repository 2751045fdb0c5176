//! The file under its temporary name, and how it gets its own.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::visdb::error::{Error, Result};

/// End of every result file's name.
pub const EXTENSION: &str = ".vis.db";

/// Names are tried with `_1`, `_2`, ... up to here.
const TRIES: u32 = 10_000;

/// A file `NAME.vis.db.partial`, removed when dropped before it is published.
#[derive(Debug)]
pub(super) struct Partial {
    folder: PathBuf,
    stem: String,
    path: PathBuf,
    published: bool,
}

impl Partial {
    /// Creates the file; nobody else may read it before it is complete but its owner and group.
    pub(super) fn create(folder: &Path, file_name: &str) -> Result<(Self, File)> {
        let stem = file_name.strip_suffix(EXTENSION).unwrap_or(file_name).to_owned();
        let mut tries = 0;
        loop {
            let path = folder.join(numbered(&stem, tries) + ".partial");
            match OpenOptions::new().read(true).write(true).create_new(true).mode(0o640).open(&path) {
                Ok(file) => return Ok((Partial { folder: folder.to_owned(), stem, path, published: false }, file)),
                // Another run in the same second, or what a killed one left behind.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
                Err(source) => return Err(Error::Io { path, action: "create the file", source }),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the complete file its name, or the next free one with a number; an existing file is never replaced.
    pub(super) fn publish(mut self, file: &File) -> Result<PathBuf> {
        file.sync_all().map_err(Error::io(&self.path, "write to disk"))?;
        let mut tries = 0;
        let target = loop {
            let target = self.folder.join(numbered(&self.stem, tries));
            match rename_to_new(&self.path, &target) {
                Ok(()) => break target,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
                Err(source) => return Err(Error::Io { path: target, action: "give the file its name", source }),
            }
        };
        self.published = true;
        // The name is safe once the folder is; not every file system can sync a folder.
        if let Ok(folder) = File::open(&self.folder) {
            let _ = folder.sync_all();
        }
        Ok(target)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.published {
            // Nothing can be done about a failure here; the name says that the file is incomplete.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn numbered(stem: &str, number: u32) -> String {
    if number == 0 {
        format!("{stem}{EXTENSION}")
    } else {
        format!("{stem}_{number}{EXTENSION}")
    }
}

/// Renames without replacing. File systems without such a rename get a hard link, those without hard links an empty
/// placeholder that the rename replaces.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, rustix::fs::RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(()),
        Err(rustix::io::Errno::EXIST) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {}
        Err(e) => return Err(e.into()),
    }
    rename_without_flags(from, to)
}

fn rename_without_flags(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(e),
        Err(_) => {
            OpenOptions::new().write(true).create_new(true).open(to)?;
            fs::rename(from, to).inspect_err(|_| {
                let _ = fs::remove_file(to);
            })
        }
    }
}
