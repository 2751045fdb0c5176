//! Which files may be mapped into memory: the one place that decides it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use memmap2::MmapOptions;

mod guard;

pub use guard::Mapping;

/// File systems that are read instead: what happens to a mapped file when another machine changes it is anybody's guess. By
/// `statfs` magic number.
const NETWORK_FILE_SYSTEMS: [i64; 8] = [
    0x6969,      // NFS
    0x6573_5546, // FUSE
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x517b,      // SMB
    0x0102_1997, // 9p
    0x00c3_6400, // Ceph
    0x0bd0_0bd0, // Lustre
];

/// Opens a regular file for reading, with its size. `None` for everything that is no regular file: a directory, a pipe, a device.
pub fn open_regular(path: &Path) -> io::Result<Option<(File, u64)>> {
    // Looked at before opening as well: opening a device may do something.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    // Not blocking, in case a pipe took the file's place since.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    Ok(found.is_file().then_some((file, found.len())))
}

/// Maps a file, or says that it should be read: empty, on a network file system, or the system refuses.
#[must_use]
pub fn map(file: &File, size: u64) -> Option<Mapping> {
    if size == 0 {
        return None;
    }
    let kind = rustix::fs::fstatfs(file).ok()?.f_type as i64;
    if NETWORK_FILE_SYSTEMS.contains(&(kind & 0xffff_ffff)) {
        return None;
    }
    // SAFETY: the mapping is read-only, and a file that shrinks is caught by the guard. Who writes into a dump while we read it
    // gets nonsense or an error; readers find out afterwards (`dump::Source::changed`).
    Mapping::new(unsafe { MmapOptions::new().len(size as usize).map(file) }.ok()?)
}
