//! The levels of a b-tree above its leaves, written as they fill.
//!
//! Of every level only the page that is being filled stays in memory, however large the tree is.

use std::io;

use super::output::Output;
use super::page::{Page, PageKind};

/// The levels above leaves that come in order.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    kind: PageKind,
    /// The lowest level first.
    open: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    /// Children with what divides each from the next.
    page: Page,
    /// The child behind those of a full page, and what divides it from the next. The page is written when the next child is there:
    /// a page with a single child would be illegal, so the last one may have to borrow from it.
    behind: Option<(u32, Vec<u8>)>,
}

impl Levels {
    /// `kind` is that of interior pages.
    pub(super) fn new(kind: PageKind) -> Self {
        Levels { kind, open: Vec::new() }
    }

    /// Appends a child, and what divides it from the next one.
    pub(super) fn push(&mut self, child: u32, divider: &[u8], output: &mut Output) -> io::Result<()> {
        self.push_at(0, child, divider, output)
    }

    fn push_at(&mut self, height: usize, child: u32, divider: &[u8], output: &mut Output) -> io::Result<()> {
        if self.open.len() == height {
            self.open.push(Level { page: Page::new(self.kind), behind: None });
        }
        let level = &mut self.open[height];
        if let Some((right_most, up)) = level.behind.take() {
            let page = output.put_page(&mut level.page, right_most)?;
            self.push_at(height + 1, page, &up, output)?;
        }
        let level = &mut self.open[height];
        if !level.push(child, divider) {
            level.behind = Some((child, divider.to_vec()));
        }
        Ok(())
    }

    /// Appends the last child and writes what is left; returns the root page.
    pub(super) fn finish(mut self, last: u32, output: &mut Output) -> io::Result<u32> {
        let (mut child, mut height) = (last, 0);
        while let Some(level) = self.open.get_mut(height) {
            if let Some((behind, divider)) = level.behind.take() {
                let borrowed = level.page.pop().to_vec();
                let (right_most, up) = borrowed.split_at(4);
                let right_most = u32::from_be_bytes([right_most[0], right_most[1], right_most[2], right_most[3]]);
                let page = output.put_page(&mut level.page, right_most)?;
                level.push(behind, &divider);
                self.push_at(height + 1, page, up, output)?;
            }
            child = output.put_page(&mut self.open[height].page, child)?;
            height += 1;
        }
        Ok(child)
    }
}

impl Level {
    fn push(&mut self, child: u32, divider: &[u8]) -> bool {
        let Some(cell) = self.page.reserve(4 + divider.len()) else { return false };
        cell[..4].copy_from_slice(&child.to_be_bytes());
        cell[4..].copy_from_slice(divider);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::visdb::bulk::page::PAGE_SIZE;

    /// Numbers that no page has here: those of the leaves.
    const LEAF: u32 = 1 << 24;

    /// Child, divider, child, .. child: what stands below the page `number`, which is `height` levels above the leaves.
    fn below(file: &File, number: u32, height: usize, found: &mut (Vec<u32>, Vec<Vec<u8>>), divider_len: usize) {
        if height == 0 {
            found.0.push(number);
            return;
        }
        let mut page = vec![0; PAGE_SIZE];
        file.read_exact_at(&mut page, u64::from(number - 1) * PAGE_SIZE as u64).unwrap();
        let short = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
        let number_at = |at: usize| u32::from_be_bytes(page[at..at + 4].try_into().unwrap());
        assert_eq!(page[0], PageKind::InteriorIndex as u8);
        assert!(short(3) > 0, "a page with a single child");
        for cell in 0..short(3) {
            let at = short(12 + 2 * cell);
            below(file, number_at(at), height - 1, found, divider_len);
            found.1.push(page[at + 4..at + 4 + divider_len].to_vec());
        }
        below(file, number_at(8), height - 1, found, divider_len);
    }

    #[test]
    fn children_and_dividers_keep_their_order_for_every_number_of_them() {
        let ones = [1, 2, 3];
        for (divider_len, counts) in [
            (4_000, (1..70).collect::<Vec<u32>>()),
            (4, ones.into_iter().chain(1_630..1_645).chain(3_265..3_285).chain(6_540..6_555).collect()),
        ] {
            for leaves in counts {
                let mut output = Output::new(tempfile::tempfile().unwrap()).unwrap();
                let mut levels = Levels::new(PageKind::InteriorIndex);
                let divider = |leaf: u32| leaf.to_be_bytes().repeat(divider_len / 4);
                for leaf in 1..leaves {
                    levels.push(LEAF + leaf, &divider(leaf), &mut output).unwrap();
                }
                let root = levels.finish(LEAF + leaves, &mut output).unwrap();
                let file = output.finish(|_| Some(vec![0; PAGE_SIZE].into())).unwrap();
                let mut found = (Vec::new(), Vec::new());
                below(&file, root, height(&file, root), &mut found, divider_len);
                assert_eq!(found.0, (1..=leaves).map(|leaf| LEAF + leaf).collect::<Vec<_>>());
                assert!(found.1 == (1..leaves).map(divider).collect::<Vec<_>>());
            }
        }
    }

    /// Levels from the page `number` down to the leaves.
    fn height(file: &File, number: u32) -> usize {
        let (mut number, mut height) = (number, 0);
        while number < LEAF {
            let mut right_most = [0; 4];
            file.read_exact_at(&mut right_most, u64::from(number - 1) * PAGE_SIZE as u64 + 8).unwrap();
            (number, height) = (u32::from_be_bytes(right_most), height + 1);
        }
        height
    }
}
