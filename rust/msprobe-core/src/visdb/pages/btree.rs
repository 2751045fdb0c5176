//! The b-tree of a table: its rows in the order of their numbers (SQLite's file format, sections 1.6 and 2).

use std::fs::File;
use std::ops::ControlFlow;

use super::record::varint;
use super::window::Window;
use super::{Layout, Unusual};

/// Deeper trees are not made: with 480 usable bytes a page this holds more rows than a file.
const DEEPEST: usize = 20;
const INTERIOR: u8 = 5;
const LEAF: u8 = 13;

/// A walk through the pages of a file.
#[derive(Debug)]
pub(super) struct Tree<'f> {
    layout: Layout,
    /// Interior pages, leaves, and what goes beyond leaves.
    interior: Window<'f>,
    leaves: Window<'f>,
    beyond: Window<'f>,
    /// A row that goes beyond its page.
    scratch: Vec<u8>,
    /// Pages that may still be visited: a made-up tree may lead to the same page over and over.
    left: usize,
}

/// An interior page on the way, and the child that comes next.
struct Step {
    bytes: Vec<u8>,
    next: usize,
}

impl<'f> Tree<'f> {
    pub fn new(file: &'f File, layout: Layout) -> Self {
        let window = || Window::new(file, layout);
        Tree { layout, interior: window(), leaves: window(), beyond: window(), scratch: Vec::new(), left: 0 }
    }

    /// Calls `each` with number and content of every row from `from` to `to` below the page `root`, until it breaks.
    pub fn for_each(
        &mut self,
        root: u32,
        from: i64,
        to: i64,
        mut each: impl FnMut(i64, &[u8]) -> Result<ControlFlow<()>, Unusual>,
    ) -> Result<(), Unusual> {
        // Every page of a sound tree has rows, interior ones have several children, and none is met twice.
        let rows = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
        let pages = usize::try_from(self.layout.pages).unwrap_or(usize::MAX);
        self.left = rows.saturating_mul(2).saturating_add(4 * DEEPEST).min(pages);
        let mut way: Vec<Step> = Vec::with_capacity(DEEPEST);
        let mut number = root;
        let mut next = from;
        loop {
            number = self.leaf_below(number, next, &mut way)?;
            let page = Page::of(self.leaves.page(number)?)?;
            for at in page.first_from(next)?..page.cells {
                let cell = page.cell(at)?;
                let (length, at) = varint(page.bytes, cell)?;
                let (row, start) = varint(page.bytes, at)?;
                let row = row as i64;
                if row > to {
                    return Ok(());
                }
                if row < next {
                    return Err(Unusual);
                }
                let payload = match within(self.layout, page.bytes, start, length)? {
                    Some(payload) => payload,
                    None => gathered(&mut self.beyond, self.layout, page.bytes, start, length, &mut self.scratch)?,
                };
                if each(row, payload)?.is_break() || row == to {
                    return Ok(());
                }
                next = row + 1;
            }
            number = loop {
                let Some(mut step) = way.pop() else { return Ok(()) };
                let page = Page::of(&step.bytes)?;
                if step.next <= page.cells {
                    let child = page.child(step.next)?;
                    step.next += 1;
                    way.push(step);
                    break child;
                }
            };
        }
    }

    /// The leaf below the page `number` where rows from `next` on begin; remembers the way to it.
    fn leaf_below(&mut self, mut number: u32, next: i64, way: &mut Vec<Step>) -> Result<u32, Unusual> {
        loop {
            self.left = self.left.checked_sub(1).ok_or(Unusual)?;
            // Most pages are leaves, and one below a known interior page nearly always is.
            let window = if way.is_empty() { &mut self.interior } else { &mut self.leaves };
            let page = Page::of(window.page(number)?)?;
            if page.is_leaf {
                return Ok(number);
            }
            if way.len() == DEEPEST {
                return Err(Unusual);
            }
            let child = page.first_from(next)?;
            let below = page.child(child)?;
            way.push(Step { bytes: page.bytes.to_vec(), next: child + 1 });
            number = below;
        }
    }
}

/// The content of a row that ends on its page; `None` if it goes beyond.
#[inline]
fn within(layout: Layout, page: &[u8], start: usize, length: u64) -> Result<Option<&[u8]>, Unusual> {
    let length = usize::try_from(length).map_err(|_| Unusual)?;
    if length > layout.usable - 35 {
        return Ok(None);
    }
    page.get(start..start + length).map(Some).ok_or(Unusual)
}

/// The content of a row that goes beyond its page, put together in `scratch`.
fn gathered<'s>(
    beyond: &mut Window<'_>,
    layout: Layout,
    page: &[u8],
    start: usize,
    length: u64,
    scratch: &'s mut Vec<u8>,
) -> Result<&'s [u8], Unusual> {
    let usable = layout.usable;
    let length = usize::try_from(length).ok().filter(|length| (*length / layout.page_size) as u64 <= layout.pages).ok_or(Unusual)?;
    let least = (usable - 12) * 32 / 255 - 23;
    let fitting = least + (length - least) % (usable - 4);
    let here = if fitting <= usable - 35 { fitting } else { least };
    scratch.clear();
    scratch.extend_from_slice(page.get(start..start + here).ok_or(Unusual)?);
    let mut next = number(page, start + here)?;
    while scratch.len() < length {
        let bytes = beyond.page(next)?;
        next = number(bytes, 0)?;
        scratch.extend_from_slice(&bytes[4..][..(length - scratch.len()).min(usable - 4)]);
    }
    Ok(scratch)
}

/// A page of the tree.
#[derive(Clone, Copy, Debug)]
struct Page<'a> {
    bytes: &'a [u8],
    is_leaf: bool,
    cells: usize,
}

impl<'a> Page<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, Unusual> {
        let is_leaf = match bytes[0] {
            INTERIOR => false,
            LEAF => true,
            _ => return Err(Unusual),
        };
        Ok(Page { bytes, is_leaf, cells: usize::from(u16::from_be_bytes([bytes[3], bytes[4]])) })
    }

    /// Where a cell starts.
    #[inline]
    fn cell(&self, at: usize) -> Result<usize, Unusual> {
        let pointer = if self.is_leaf { 8 } else { 12 } + 2 * at;
        let bytes = self.bytes.get(pointer..pointer + 2).ok_or(Unusual)?;
        Ok(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    }

    /// The child before the key `at`, or behind the last key.
    fn child(&self, at: usize) -> Result<u32, Unusual> {
        number(self.bytes, if at == self.cells { 8 } else { self.cell(at)? })
    }

    /// The first cell whose key is not below `from`.
    fn first_from(&self, from: i64) -> Result<usize, Unusual> {
        let (mut low, mut high) = (0, self.cells);
        while low < high {
            let middle = usize::midpoint(low, high);
            let cell = self.cell(middle)?;
            let key_at = if self.is_leaf { varint(self.bytes, cell)?.1 } else { cell + 4 };
            if (varint(self.bytes, key_at)?.0 as i64) < from {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// A page's number.
fn number(bytes: &[u8], at: usize) -> Result<u32, Unusual> {
    let bytes = bytes.get(at..at + 4).ok_or(Unusual)?;
    Ok(u32::from_be_bytes(bytes.try_into().expect("four bytes")))
}
