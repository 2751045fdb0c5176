//! The text of one JSON file, mapped into memory where that is safe.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memmap2::{Advice, MmapMut};

use super::Error;
use crate::mapping::{self, Mapping};

/// Largest JSON file that is read, in bytes (10 GiB).
pub const LARGEST_JSON: u64 = 10 << 30;

/// Files up to this size in bytes are read whole: that costs no more than mapping them, and what happens to the file afterwards does
/// not matter any more.
const WHOLE: u64 = 64 << 20;

/// Files from this size in bytes on are read into memory of large pages, where the system has them: filling pages of 4 KiB costs
/// more than reading the file.
const LARGE: u64 = 2 << 20;

/// One JSON file of a dump, held open as UTF-8 text.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    content: Content,
    /// Where the text starts: behind a byte order mark, if there is one.
    start: usize,
}

#[derive(Debug)]
enum Content {
    Mapped(Mapping, Opened),
    Read(Vec<u8>),
    /// As [`Content::Read`], in memory of its own; the number of bytes of the file.
    ReadLarge(MmapMut, usize),
}

/// A file and what it looked like when it was opened.
#[derive(Debug)]
struct Opened {
    file: File,
    size: u64,
    modified: Option<SystemTime>,
}

impl Source {
    /// Opens a regular file of at most [`LARGEST_JSON`] bytes and checks that it is UTF-8. A byte order mark is skipped.
    ///
    /// Nothing is locked and nothing is written: read-only folders work.
    pub fn open(path: &Path) -> Result<Source, Error> {
        Source::open_and_map(path, WHOLE)
    }

    /// As [`Source::open`]; files of more than `whole` bytes are mapped if that is safe.
    fn open_and_map(path: &Path, whole: u64) -> Result<Source, Error> {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let Some((mut file, size)) = mapping::open_regular(path).map_err(unreadable)? else {
            return Err(Error::NotAFile { path: path.to_owned() });
        };
        if size > LARGEST_JSON {
            return Err(Error::TooLarge { path: path.to_owned(), size, limit: LARGEST_JSON });
        }
        let modified = file.metadata().map_err(unreadable)?.modified().ok();
        let content = if let Some(map) = (size > whole).then(|| mapping::map(&file, size)).flatten() {
            Content::Mapped(map, Opened { file, size, modified })
        } else {
            let content = read(&mut file, size).map_err(unreadable)?;
            if content.bytes().len() as u64 != size || file.metadata().map_err(unreadable)?.len() != size {
                return Err(Error::Changed { path: path.to_owned() });
            }
            content
        };
        Source::checked(path, content)
    }

    /// [`Error::Changed`] if the file is not what it was when it was opened; what was read of it then means nothing.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        let Content::Mapped(map, opened) = &self.content else { return Ok(()) };
        let same = |now: std::fs::Metadata| now.len() == opened.size && now.modified().ok() == opened.modified;
        if map.is_cut() || !opened.file.metadata().is_ok_and(same) {
            return Err(Error::Changed { path: self.path.clone() });
        }
        Ok(())
    }

    /// Takes text from memory; `path` is only a name for errors.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Source, Error> {
        Source::checked(path, Content::Read(bytes))
    }

    fn checked(path: &Path, content: Content) -> Result<Source, Error> {
        let mut source = Source { path: path.to_owned(), content, start: 0 };
        if let Err(e) = std::str::from_utf8(source.bytes()) {
            source.check_unchanged()?;
            let offset = e.valid_up_to() as u64;
            return Err(Error::Syntax { path: path.to_owned(), offset, reason: "invalid UTF-8" });
        }
        if source.bytes().starts_with("\u{feff}".as_bytes()) {
            source.start = 3;
        }
        Ok(source)
    }

    /// The file's path, as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.content.bytes()
    }

    /// The whole file as text, byte order mark included, so that offsets are offsets in the file.
    #[must_use]
    pub fn text(&self) -> &str {
        // SAFETY: `checked` has seen that these very bytes are UTF-8. Read bytes cannot change; mapped ones belong to a file that
        // nobody should write while it is read. If somebody does, nothing of it is used (`check_unchanged`).
        unsafe { std::str::from_utf8_unchecked(self.bytes()) }
    }

    /// Offset at which the JSON text starts.
    #[must_use]
    pub fn start(&self) -> usize {
        self.start
    }
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Content::Mapped(map, _) => map,
            Content::Read(bytes) => bytes,
            Content::ReadLarge(memory, length) => &memory[..*length],
        }
    }
}

/// Reads at most one byte more than `size`: enough to notice that the file has grown.
fn read(file: &mut File, size: u64) -> io::Result<Content> {
    if size < LARGE {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize + 1).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        file.take(size + 1).read_to_end(&mut bytes)?;
        return Ok(Content::Read(bytes));
    }
    let mut memory = MmapMut::map_anon(size as usize + 1).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let _ = memory.advise(Advice::HugePage);
    let mut length = 0;
    while length < memory.len() {
        match file.read(&mut memory[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Content::ReadLarge(memory, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dump.json");
        fs::write(&path, bytes).unwrap();
        (dir, path)
    }

    #[test]
    fn maps_and_reads_the_same_bytes() {
        let (_dir, path) = written("{\"é\": 1}".as_bytes());
        let (mapped, whole) = (Source::open_and_map(&path, 0).unwrap(), Source::open(&path).unwrap());
        assert!(matches!((&mapped.content, &whole.content), (Content::Mapped(..), Content::Read(_))));
        assert_eq!((mapped.text(), whole.text()), ("{\"é\": 1}", "{\"é\": 1}"));
        assert!(mapping::map(&File::open(&path).unwrap(), 0).is_none());
    }

    #[test]
    fn a_change_behind_our_back_is_noticed_or_does_not_matter() {
        for change in [9, 10, 11] {
            let (_dir, path) = written(b"{\"a\": 10}");
            let earlier = SystemTime::now() - std::time::Duration::from_secs(9);
            File::options().write(true).open(&path).unwrap().set_modified(earlier).unwrap();
            let (mapped, whole) = (Source::open_and_map(&path, 0).unwrap(), Source::open(&path).unwrap());
            mapped.check_unchanged().unwrap();
            if change == 10 {
                fs::write(&path, b"{\"b\": 10}").unwrap();
            } else {
                File::options().write(true).open(&path).unwrap().set_len(change).unwrap();
            }
            let error = mapped.check_unchanged().unwrap_err().to_string();
            assert_eq!(error, format!("{}: changed while it was read, is the dump still being written?", path.display()));
            whole.check_unchanged().unwrap();
            assert_eq!(whole.text(), "{\"a\": 10}");
        }
    }

    #[test]
    fn large_files_are_read_alike() {
        let text = format!("{{\"é\": \"{}\"}}", "x".repeat(LARGE as usize));
        let (_dir, path) = written(text.as_bytes());
        let source = Source::open(&path).unwrap();
        assert!(matches!(source.content, Content::ReadLarge(..)));
        assert!(source.text() == text);
        fs::write(&path, "{}").unwrap();
        source.check_unchanged().unwrap();
        assert!(source.text() == text);
    }

    #[test]
    fn a_file_that_grows_or_shrinks_while_it_is_read_is_noticed() {
        for length in [0, 5, LARGE - 1, LARGE, LARGE + 4096] {
            let (_dir, path) = written(&vec![b' '; length as usize]);
            for (size, found) in
                [(length + 1, length), (length + LARGE, length), (length.saturating_sub(3), length.min(length.saturating_sub(3) + 1))]
            {
                let content = read(&mut File::open(&path).unwrap(), size).unwrap();
                assert_eq!(content.bytes().len() as u64, found, "{size} of {length}");
            }
        }
    }

    #[test]
    fn an_empty_file_is_an_empty_text() {
        let (_dir, path) = written(b"");
        assert_eq!(Source::open(&path).unwrap().text(), "");
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let (_dir, path) = written("\u{feff}{}".as_bytes());
        let source = Source::open(&path).unwrap();
        assert_eq!((source.start(), source.bytes().len()), (3, 5));
    }

    #[test]
    fn invalid_utf8_is_placed() {
        let (_dir, path) = written(b"{\"a\": \"\xff\"}");
        match Source::open(&path).unwrap_err() {
            Error::Syntax { path: at, offset: 7, reason: "invalid UTF-8" } => assert_eq!(at, path),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn only_regular_files() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(Source::open(dir.path()), Err(Error::NotAFile { .. })));
        assert!(matches!(Source::open(Path::new("/dev/null")), Err(Error::NotAFile { .. })));
        let missing = dir.path().join("missing.json");
        let text = Source::open(&missing).unwrap_err().to_string();
        assert!(text.starts_with(missing.to_str().unwrap()) && text.contains("is missing"), "{text}");
        let link = dir.path().join("link.json");
        fs::write(dir.path().join("real.json"), b"{}").unwrap();
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        assert_eq!(Source::open(&link).unwrap().text(), "{}");
    }

    #[test]
    fn a_pipe_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dump.json");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(Source::open(&path), Err(Error::NotAFile { .. })));
    }

    #[test]
    fn a_sparse_file_beyond_the_limit_is_refused() {
        let (_dir, path) = written(b"{}");
        File::options().write(true).open(&path).unwrap().set_len(LARGEST_JSON + 1).unwrap();
        assert!(matches!(Source::open(&path), Err(Error::TooLarge { .. })));
    }
}
