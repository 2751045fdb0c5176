//! The log directory: which vis.db files lie below it, and which path a browser may name.
//!
//! A path from the browser is relative, has no `..`, and after following links still lies below the log directory.

use super::error::ViewError;
use serde::Serialize;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Files listed at most; a log directory with more says so instead of growing without bound.
const MAX_FILES: usize = 5_000;
/// Directory entries looked at for one listing.
const MAX_ENTRIES: usize = 500_000;
const SUFFIX: &str = ".vis.db";

/// One vis.db below the log directory.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Listed {
    /// Path relative to the log directory, with `/`.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Seconds since 1970.
    pub modified: u64,
    /// `ok`, or the code of the reason why it cannot be opened (`empty`, `not_sqlite`, `truncated`, `directory`, `outside`, `permission`).
    pub state: &'static str,
}

/// What [`list`] found.
#[derive(Debug, Serialize)]
pub struct Listing {
    /// Files in natural order of their paths.
    pub files: Vec<Listed>,
    /// Whether the search stopped at its bound.
    pub truncated: bool,
    /// Folders that could not be read.
    pub unreadable: Vec<String>,
}

/// All vis.db files below `root`, any depth; folders that are links are not followed.
#[must_use]
pub fn list(root: &Path) -> Listing {
    let mut found = Listing { files: Vec::new(), truncated: false, unreadable: Vec::new() };
    let canonical = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let mut pending = vec![(canonical.clone(), String::new())];
    let mut seen = 0_usize;
    while let Some((folder, prefix)) = pending.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            found.unreadable.push(if prefix.is_empty() { ".".into() } else { prefix });
            continue;
        };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_ENTRIES || found.files.len() >= MAX_FILES {
                found.truncated = true;
                found.files.sort_by(|a, b| natural(&a.path, &b.path));
                return found;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let relative = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            let Ok(kind) = entry.file_type() else { continue };
            if name.ends_with(SUFFIX) {
                found.files.push(describe(&canonical, &entry.path(), relative));
            } else if kind.is_dir() {
                pending.push((entry.path(), relative));
            }
        }
    }
    found.files.sort_by(|a, b| natural(&a.path, &b.path));
    found
}

/// The first file of the list that can be read.
pub(crate) fn first(root: &Path) -> Option<String> {
    list(root).files.into_iter().find(|file| file.state == "ok").map(|file| file.path)
}

fn describe(root: &Path, path: &Path, relative: String) -> Listed {
    let mut listed = Listed { path: relative, size: 0, modified: 0, state: "ok" };
    match fs::canonicalize(path) {
        Ok(real) if real.starts_with(root) => {}
        Ok(_) => {
            listed.state = "outside";
            return listed;
        }
        Err(_) => {
            listed.state = "permission";
            return listed;
        }
    }
    let Ok(meta) = fs::metadata(path) else {
        listed.state = "permission";
        return listed;
    };
    listed.size = meta.len();
    listed.modified = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0, |d| d.as_secs());
    if meta.is_dir() {
        listed.state = "directory";
    } else if meta.len() == 0 {
        listed.state = "empty";
    } else {
        listed.state = match Header::read(path) {
            Ok(Some(header)) if header.bytes_named() > meta.len() => "truncated",
            Ok(Some(_)) => "ok",
            Ok(None) => "not_sqlite",
            Err(_) => "permission",
        };
    }
    listed
}

/// The part of the 100-byte header of `SQLite` that tells a whole file from a cut one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    page_size: u64,
    pages: u64,
    /// Whether the file is marked for write-ahead logging.
    pub(crate) wal: bool,
}

impl Header {
    /// Reads the header; `None` if the file is not of `SQLite`.
    pub(crate) fn read(path: &Path) -> std::io::Result<Option<Self>> {
        let mut bytes = [0_u8; 100];
        let mut file = fs::File::open(path)?;
        if let Err(error) = file.read_exact(&mut bytes) {
            return if error.kind() == std::io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
        }
        if &bytes[..16] != b"SQLite format 3\0" {
            return Ok(None);
        }
        let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
            1 => 65_536,
            size => u64::from(size),
        };
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        // The page count is only valid when the change counter equals the version-valid-for number.
        let pages = if word(24) == word(92) { u64::from(word(28)) } else { 0 };
        Ok(Some(Self { page_size, pages, wal: bytes[18] == 2 || bytes[19] == 2 }))
    }

    /// Bytes that the file says it has (0: it does not say).
    pub(crate) fn bytes_named(&self) -> u64 {
        self.page_size * self.pages
    }
}

/// What one folder offers to a conversion.
#[derive(Debug, Default, Serialize)]
pub struct Folder {
    /// Path relative to the log directory; empty for itself.
    pub path: String,
    /// Folders in it: name, and `dump` (holds dump.json), `ranks` or `steps` (holds such folders), or nothing.
    pub folders: Vec<(String, &'static str)>,
    /// Mapping files (`*.yaml`, `*.yml`) in it.
    pub mappings: Vec<String>,
    /// Whether there is more than was listed.
    pub truncated: bool,
}

/// Lists one folder below `root`; links are left out.
pub fn folder(root: &Path, relative: &str) -> Result<Folder, ViewError> {
    const MOST: usize = 2_000;
    let real = if relative.is_empty() {
        fs::canonicalize(root).map_err(|_| ViewError::NoFile(relative.to_owned()))?
    } else {
        resolve(root, relative)?
    };
    let mut found = Folder { path: relative.to_owned(), ..Folder::default() };
    for entry in fs::read_dir(&real).map_err(|_| ViewError::NoFile(relative.to_owned()))?.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        if found.folders.len() + found.mappings.len() >= MOST {
            found.truncated = true;
            break;
        }
        let mapping = Path::new(&name).extension().is_some_and(|end| end == "yaml" || end == "yml");
        if kind.is_dir() && !name.starts_with('.') {
            let holds = dump_kind(&entry.path());
            found.folders.push((name, holds));
        } else if kind.is_file() && mapping {
            found.mappings.push(name);
        }
    }
    found.folders.sort_by(|a, b| natural(&a.0, &b.0));
    found.mappings.sort_by(|a, b| natural(a, b));
    Ok(found)
}

fn dump_kind(folder: &Path) -> &'static str {
    if folder.join("dump.json").is_file() {
        return "dump";
    }
    let Ok(entries) = fs::read_dir(folder) else { return "" };
    let starts = |name: &str, word: &str| name.strip_prefix(word).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    for entry in entries.flatten().take(200) {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if starts(name, "step") {
            return "steps";
        }
        if starts(name, "rank") || name.starts_with("proc") {
            return "ranks";
        }
    }
    ""
}

/// The real path of a file that the browser named.
pub fn resolve(root: &Path, relative: &str) -> Result<PathBuf, ViewError> {
    let outside = || ViewError::Outside(relative.to_owned());
    let path = Path::new(relative);
    let plain = !relative.is_empty()
        && relative.len() <= 4096
        && !relative.contains(['\0', '\\'])
        && path.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain {
        return Err(outside());
    }
    let root = fs::canonicalize(root).map_err(|_| ViewError::NoFile(relative.to_owned()))?;
    let real = match fs::canonicalize(root.join(path)) {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(ViewError::Unreadable {
                path: relative.to_owned(),
                code: "permission",
                reason: "the folder of this file may not be entered".into(),
            });
        }
        Err(_) => return Err(ViewError::NoFile(relative.to_owned())),
    };
    if real.starts_with(&root) {
        Ok(real)
    } else {
        Err(outside())
    }
}

/// Natural order: runs of digits compare as numbers.
fn natural(left: &str, right: &str) -> std::cmp::Ordering {
    let (mut a, mut b) = (left.as_bytes(), right.as_bytes());
    loop {
        let (Some(first), Some(second)) = (a.first(), b.first()) else {
            return a.len().cmp(&b.len()).then_with(|| left.cmp(right));
        };
        if first.is_ascii_digit() && second.is_ascii_digit() {
            let (digits_a, digits_b) = (digits(a), digits(b));
            let (number_a, number_b) = (strip_zeros(&a[..digits_a]), strip_zeros(&b[..digits_b]));
            let order = number_a.len().cmp(&number_b.len()).then_with(|| number_a.cmp(number_b));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[digits_a..], &b[digits_b..]);
        } else if first == second {
            (a, b) = (&a[1..], &b[1..]);
        } else {
            return first.cmp(second);
        }
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn strip_zeros(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|byte| **byte == b'0').count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_files_of_a_folder_any_depth_natural_order() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c/d/e");
        fs::create_dir_all(&deep).unwrap();
        for name in ["run10.vis.db", "run9.vis.db", "other.db", "x.vis.db.partial"] {
            fs::write(deep.join(name), b"not a database").unwrap();
        }
        fs::write(dir.path().join("empty.vis.db"), b"").unwrap();
        fs::create_dir(dir.path().join("folder.vis.db")).unwrap();
        let listing = list(dir.path());
        let seen: Vec<_> = listing.files.iter().map(|f| (f.path.as_str(), f.state)).collect();
        assert_eq!(
            seen,
            [
                ("a/b/c/d/e/run9.vis.db", "not_sqlite"),
                ("a/b/c/d/e/run10.vis.db", "not_sqlite"),
                ("empty.vis.db", "empty"),
                ("folder.vis.db", "directory")
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_out_and_traversal_are_refused() {
        let outer = tempfile::tempdir().unwrap();
        let log = outer.path().join("log");
        fs::create_dir(&log).unwrap();
        fs::write(outer.path().join("secret.vis.db"), b"x").unwrap();
        fs::write(log.join("mine.vis.db"), b"x").unwrap();
        std::os::unix::fs::symlink(outer.path().join("secret.vis.db"), log.join("link.vis.db")).unwrap();
        std::os::unix::fs::symlink(outer.path(), log.join("up")).unwrap();
        for bad in ["../secret.vis.db", "/etc/passwd", "link.vis.db", "up/secret.vis.db", "./../secret.vis.db", "", "a\\b", "a\0b"] {
            assert!(matches!(resolve(&log, bad), Err(ViewError::Outside(_))), "{bad:?}");
        }
        assert!(matches!(resolve(&log, "none.vis.db"), Err(ViewError::NoFile(_))));
        assert!(resolve(&log, "mine.vis.db").is_ok());
        let listing = list(&log);
        assert_eq!(listing.files.iter().find(|f| f.path == "link.vis.db").unwrap().state, "outside");
        assert!(!listing.files.iter().any(|f| f.path.starts_with("up/")));
    }

    #[test]
    fn folders_tell_what_a_conversion_can_take() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("run/step0/rank0")).unwrap();
        fs::write(dir.path().join("run/step0/rank0/dump.json"), "{}").unwrap();
        fs::write(dir.path().join("run/map.yaml"), "").unwrap();
        assert_eq!(folder(dir.path(), "").unwrap().folders, [("run".to_owned(), "steps")]);
        let run = folder(dir.path(), "run").unwrap();
        assert_eq!((run.folders, run.mappings), (vec![("step0".to_owned(), "ranks")], vec!["map.yaml".to_owned()]));
        assert_eq!(folder(dir.path(), "run/step0").unwrap().folders, [("rank0".to_owned(), "dump")]);
        assert!(folder(dir.path(), "../").is_err());
    }

    #[test]
    fn natural_order_never_panics_on_long_digit_runs() {
        assert!(natural(&"9".repeat(400), &"10".repeat(400)).is_lt());
        assert!(natural("a01", "a1").is_lt());
        assert!(natural("a2b", "a10b").is_lt());
    }
}
