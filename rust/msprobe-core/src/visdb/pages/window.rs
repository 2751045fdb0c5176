//! A few neighbouring pages of a file in memory.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::{Layout, Unusual};

/// Bytes that are read at once where pages follow each other.
const AT_ONCE: usize = 64 * 1024;
/// Pages of other b-trees may stand between those of one that grew beside them.
const NEAR: u64 = 8;

/// The pages read last.
#[derive(Debug)]
pub(super) struct Window<'f> {
    file: &'f File,
    layout: Layout,
    bytes: Vec<u8>,
    /// Number of the first page held, counted from 0, and how many there are.
    first: u64,
    held: u64,
    /// The page asked for last.
    last: Option<u64>,
}

impl<'f> Window<'f> {
    pub fn new(file: &'f File, layout: Layout) -> Self {
        Window { file, layout, bytes: Vec::new(), first: 0, held: 0, last: None }
    }

    /// The usable bytes of a page; pages count from 1.
    pub fn page(&mut self, number: u32) -> Result<&[u8], Unusual> {
        let page = u64::from(number).checked_sub(1).filter(|page| *page < self.layout.pages).ok_or(Unusual)?;
        if !(self.first..self.first + self.held).contains(&page) {
            self.read(page)?;
        }
        self.last = Some(page);
        let start = (page - self.first) as usize * self.layout.page_size;
        self.bytes.get(start..start + self.layout.usable).ok_or(Unusual)
    }

    fn read(&mut self, page: u64) -> Result<(), Unusual> {
        let size = self.layout.page_size;
        // Only who goes forward will want what comes next.
        let goes_on = self.last.is_some_and(|last| (last..=last + NEAR).contains(&page));
        let wanted = if goes_on { (AT_ONCE / size).max(1) as u64 } else { 1 };
        self.held = 0;
        let pages = wanted.min(self.layout.pages - page);
        if self.bytes.len() < pages as usize * size {
            self.bytes.resize(pages as usize * size, 0);
        }
        self.file.read_exact_at(&mut self.bytes[..pages as usize * size], page * size as u64).map_err(|_| Unusual)?;
        (self.first, self.held) = (page, pages);
        Ok(())
    }
}
