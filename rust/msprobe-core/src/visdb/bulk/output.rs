//! The file as a growing row of pages.
//!
//! Pages are numbered from 1 and written strictly in the order of their numbers, many per system call. The first page
//! comes last, because it tells where everything is.

use std::fs::File;
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;

use super::page::{Page, PAGE_SIZE};

/// Pages per system call: half a megabyte, which is still in the second-level cache when the system copies it.
const PENDING: usize = 32;

/// Bytes after which the system is told to begin with writing them to the disk.
const SEND_OFF: u64 = 16 << 20;

/// Byte that SQLite locks; the page that holds it stays empty.
const LOCK_BYTE: u64 = 0x4000_0000;
const LOCK_PAGE: u32 = (LOCK_BYTE / PAGE_SIZE as u64) as u32 + 1;

/// Pages on their way to the file.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    /// Number of the next page.
    next: u32,
    pending: Vec<Box<[u8]>>,
    spare: Vec<Box<[u8]>>,
    /// Bytes of the file that are on their way to the disk.
    sent_off: u64,
}

impl Output {
    /// Starts an empty file. Page 1 is left for [`Output::finish`].
    pub(crate) fn new(mut file: File) -> io::Result<Self> {
        file.seek(SeekFrom::Start(PAGE_SIZE as u64))?;
        Ok(Output { file, next: 2, pending: Vec::with_capacity(PENDING), spare: Vec::new(), sent_off: 0 })
    }

    /// Number that the next page will get.
    pub(crate) fn next_page(&mut self) -> io::Result<u32> {
        if self.next == LOCK_PAGE {
            self.put(vec![0; PAGE_SIZE].into_boxed_slice())?;
        }
        Ok(self.next)
    }

    /// Takes the contents of `page`, gives it fresh memory, and returns its number.
    pub(crate) fn put_page(&mut self, page: &mut Page, right_most: u32) -> io::Result<u32> {
        page.seal(right_most);
        let number = self.next_page()?;
        let mut bytes = self.spare_page();
        page.exchange(&mut bytes);
        self.put(bytes)?;
        Ok(number)
    }

    /// Writes `content` as a chain of overflow pages and returns the number of its first page.
    pub(crate) fn put_overflow(&mut self, content: &[u8]) -> io::Result<u32> {
        let first = self.next_page()?;
        let mut rest = content;
        loop {
            self.next_page()?;
            let (now, later) = rest.split_at(rest.len().min(PAGE_SIZE - 4));
            let next = match self.next + 1 {
                _ if later.is_empty() => 0,
                LOCK_PAGE => LOCK_PAGE + 1,
                next => next,
            };
            let mut page = self.spare_page();
            page[..4].copy_from_slice(&next.to_be_bytes());
            page[4..4 + now.len()].copy_from_slice(now);
            page[4 + now.len()..].fill(0);
            self.put(page)?;
            rest = later;
            if rest.is_empty() {
                return Ok(first);
            }
        }
    }

    fn spare_page(&mut self) -> Box<[u8]> {
        self.spare.pop().unwrap_or_else(|| vec![0; PAGE_SIZE].into_boxed_slice())
    }

    fn put(&mut self, page: Box<[u8]>) -> io::Result<()> {
        if self.next == u32::MAX - 1 {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "a SQLite file has at most 4,294,967,294 pages"));
        }
        self.pending.push(page);
        self.next += 1;
        if self.pending.len() == PENDING {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = self.pending.iter().map(|page| IoSlice::new(page)).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            match self.file.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.spare.append(&mut self.pending);
        self.send_off();
        Ok(())
    }

    /// Has the system write to the disk what has come together, so that there is less to wait for at the end. To say that the
    /// pages are of no more use is how Linux is told; it keeps them as long as they are on their way.
    fn send_off(&mut self) {
        let written = u64::from(self.next - 1) * PAGE_SIZE as u64;
        let length = written.saturating_sub(self.sent_off);
        if let Some(some) = NonZeroU64::new(length).filter(|_| length >= SEND_OFF) {
            // It is but advice.
            let _ = rustix::fs::fadvise(&self.file, self.sent_off, Some(some), rustix::fs::Advice::DontNeed);
            self.sent_off = written;
        }
    }

    /// A place to come back to.
    pub(crate) fn mark(&self) -> u32 {
        self.next
    }

    /// Forgets every page from `mark` on.
    pub(crate) fn rewind(&mut self, mark: u32) -> io::Result<()> {
        let flushed = self.next - self.pending.len() as u32;
        if mark >= flushed {
            self.spare.extend(self.pending.drain((mark - flushed) as usize..));
        } else {
            self.spare.append(&mut self.pending);
            let end = u64::from(mark - 1) * PAGE_SIZE as u64;
            self.file.set_len(end)?;
            self.file.seek(SeekFrom::Start(end))?;
            self.sent_off = self.sent_off.min(end);
        }
        self.next = mark;
        Ok(())
    }

    /// Writes what is left and the first page; returns the file. `first` gets the number of pages.
    pub(crate) fn finish(mut self, first: impl FnOnce(u32) -> Option<Box<[u8]>>) -> io::Result<File> {
        self.flush()?;
        let first = first(self.next - 1).ok_or_else(|| io::Error::other("the schema does not fit into the first page"))?;
        self.file.write_all_at(&first, 0)?;
        Ok(self.file)
    }
}
