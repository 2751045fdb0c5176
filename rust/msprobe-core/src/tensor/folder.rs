//! The `dump_tensor_data` folder beside a dump.json.

use super::error::{Error, Reason};
use super::storage::Storage;
use super::{npy, pt, Container, Tensor};
use std::path::{Component, Path, PathBuf};

/// A folder of tensor files. Names come from a dump and are not trusted: they cannot lead out of the folder.
#[derive(Debug)]
pub struct TensorFolder {
    path: PathBuf,
    /// Where the folder really is; `None` when it does not exist (every load then says so).
    resolved: Option<PathBuf>,
}

impl TensorFolder {
    /// The folder at `path`. Where the dump says its data was written plays no part, so that dumps can be moved.
    #[must_use]
    pub fn open(path: &Path) -> TensorFolder {
        TensorFolder { path: path.to_path_buf(), resolved: path.canonicalize().ok() }
    }

    /// The folder of the dump in `rank_folder`.
    #[must_use]
    pub fn beside(rank_folder: &Path) -> TensorFolder {
        TensorFolder::open(&rank_folder.join("dump_tensor_data"))
    }

    /// Opens the tensor called `name`, a `data_name` of the dump. `hint` is the dtype text of its row.
    pub fn load(&self, name: &str, hint: Option<&str>) -> Result<Tensor, Error> {
        let path = self.path.join(name);
        self.contained(name).and_then(|()| open(&path, hint)).map_err(|reason| Error::new(&path, reason))
    }

    /// Refuses names that are absolute, hold `..`, or lead out of the folder through a link.
    fn contained(&self, name: &str) -> Result<(), Reason> {
        let relative = Path::new(name);
        if name.is_empty() || name.contains('\0') || !relative.components().all(|c| matches!(c, Component::Normal(_))) {
            return Err(Reason::Outside);
        }
        let Some(resolved) = &self.resolved else { return Err(Reason::Missing) };
        let plain = relative.components().count() == 1;
        let linked = std::fs::symlink_metadata(resolved.join(relative)).map_err(Reason::from_io)?.is_symlink();
        if plain && !linked {
            return Ok(());
        }
        let target = resolved.join(relative).canonicalize().map_err(Reason::from_io)?;
        if target.starts_with(resolved) {
            Ok(())
        } else {
            Err(Reason::Outside)
        }
    }
}

/// Opens the tensor file at `path`, of the kind its suffix says. `hint` is the dtype text for files that do not name theirs.
pub fn open(path: &Path, hint: Option<&str>) -> Result<Tensor, Reason> {
    let container = match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("pt") => Container::Pt,
        Some("npy") => Container::Npy,
        _ => return Err(Reason::NotThis(".pt or .npy")),
    };
    read(container, Storage::open(path)?, hint)
}

/// Finds the tensor in a file that is open already; as [`open`].
pub fn read(container: Container, storage: Storage, hint: Option<&str>) -> Result<Tensor, Reason> {
    match container {
        Container::Pt => pt::read(storage),
        Container::Npy => npy::read(storage, hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("dump_tensor_data");
        std::fs::create_dir_all(inside.join("deep")).unwrap();
        let secret = root.path().join("secret.npy");
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (), }";
        let mut bytes = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        bytes.push(7);
        std::fs::write(&secret, &bytes).unwrap();
        std::fs::write(inside.join("a b+é.npy"), &bytes).unwrap();
        std::fs::write(inside.join("deep/c.npy"), &bytes).unwrap();
        std::os::unix::fs::symlink(&secret, inside.join("out.npy")).unwrap();
        std::os::unix::fs::symlink("deep/c.npy", inside.join("in.npy")).unwrap();
        std::os::unix::fs::symlink(root.path(), inside.join("up")).unwrap();
        let folder = TensorFolder::beside(root.path());
        for good in ["a b+é.npy", "deep/c.npy", "in.npy"] {
            assert!(folder.load(good, None).is_ok(), "{good}");
        }
        let absolute = secret.to_str().unwrap();
        for bad in ["../secret.npy", "deep/../../secret.npy", absolute, "out.npy", "up/secret.npy", "", ".", "./a b+é.npy", "nul\0.npy"] {
            assert!(matches!(folder.load(bad, None).unwrap_err().reason, Reason::Outside), "{bad:?}");
        }
        assert!(matches!(folder.load("none.npy", None).unwrap_err().reason, Reason::Missing));
        std::fs::create_dir(inside.join("dir.npy")).unwrap();
        assert!(matches!(folder.load("dir.npy", None).unwrap_err().reason, Reason::NotRegular));
        let gone = TensorFolder::beside(Path::new("/nonexistent"));
        assert!(matches!(gone.load("a.npy", None).unwrap_err().reason, Reason::Missing));
    }
}
