//! Which files may be mapped into memory: the one place that decides it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

/// File systems on which a file that shrinks elsewhere turns a mapped page into a fatal signal, by `statfs` magic number.
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
pub fn map(file: &File, size: u64) -> Option<Mmap> {
    if size == 0 {
        return None;
    }
    let kind = rustix::fs::fstatfs(file).ok()?.f_type as i64;
    if NETWORK_FILE_SYSTEMS.contains(&(kind & 0xffff_ffff)) {
        return None;
    }
    // SAFETY: the mapping is read-only. A dump that is complete is not written any more; one that is cut short while we read would
    // end the process with a bus error, which is why network file systems, where that is likely, are read instead.
    unsafe { MmapOptions::new().len(size as usize).map(file) }.ok()
}
