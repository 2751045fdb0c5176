//! One order in which the elements of one or two strided tensors are visited, and gathering of raw elements along it.

use super::error::Reason;
use super::layout::Layout;
use super::storage::Storage;
use super::{Dtype, Tensor};

/// A view may have this many times the elements of its storage (plus [`SMALL`]); more is an attack on time.
const REPEATS: u64 = 64;
const SMALL: u64 = 1 << 24;
/// Largest piece of a file read at once for a strided tensor that cannot be mapped.
const SPAN: u64 = 4 << 20;

/// A dimension of a walk: its size and the elements between neighbours on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dimension {
    size: u64,
    steps: [u64; 2],
    /// Elements between neighbours in row-major order of the shape.
    logical: u64,
}

/// The order of visiting two tensors of equal squeezed shape together: dimensions merged where both allow it.
#[derive(Clone, Debug)]
pub struct Walk {
    dimensions: Vec<Dimension>,
    offsets: [u64; 2],
    /// How often each visited pair occurs: dimensions that repeat on both sides are not walked.
    pub repeat: u64,
    /// Pairs visited.
    pub elements: u64,
}

impl Walk {
    /// A walk in whatever order suits the memory of both.
    pub fn together(a: &Tensor, b: &Tensor) -> Result<Walk, Reason> {
        let mut walk = Walk::over(&a.values(), &b.values());
        let repeated = walk.dimensions.iter().filter(|d| d.steps == [0, 0]).map(|d| d.size).product();
        walk.dimensions.retain(|d| d.steps != [0, 0]);
        // Largest steps outside: two tensors of one odd order (channels last) are then walked without gaps.
        walk.dimensions.sort_by_key(|d| std::cmp::Reverse(d.steps));
        walk.repeat = repeated;
        walk.elements /= repeated.max(1);
        walk.merge();
        walk.bounded(a.count.max(b.count))
    }

    /// The row-major walk of one tensor.
    pub fn row_major(tensor: &Tensor) -> Result<Walk, Reason> {
        let mut walk = Walk::over(&tensor.values(), &tensor.values());
        walk.merge();
        walk.bounded(tensor.count)
    }

    fn over(a: &Layout, b: &Layout) -> Walk {
        let kept = |l: &Layout| -> Vec<(u64, u64)> {
            l.shape.iter().copied().zip(l.strides.iter().copied()).filter(|(size, _)| *size != 1).collect()
        };
        let mut logical = 1u64;
        let mut dimensions: Vec<_> = kept(a)
            .into_iter()
            .zip(kept(b))
            .rev()
            .map(|((size, step_a), (_, step_b))| {
                let dimension = Dimension { size, steps: [step_a, step_b], logical };
                logical = logical.saturating_mul(size);
                dimension
            })
            .collect();
        dimensions.reverse();
        if logical == 0 {
            // The steps of a tensor without elements are never taken, and may be any.
            dimensions.clear();
        }
        Walk { dimensions, offsets: [a.offset, b.offset], repeat: 1, elements: logical }
    }

    fn merge(&mut self) {
        let mut merged: Vec<Dimension> = Vec::new();
        for inner in self.dimensions.drain(..) {
            match merged.last_mut() {
                Some(outer)
                    if outer.logical == inner.logical * inner.size
                        && (0..2).all(|side| outer.steps[side] == inner.steps[side] * inner.size) =>
                {
                    *outer = Dimension { size: outer.size * inner.size, ..inner };
                }
                _ => merged.push(inner),
            }
        }
        self.dimensions = merged;
    }

    fn bounded(self, count: u64) -> Result<Walk, Reason> {
        if self.elements > count.saturating_mul(REPEATS).saturating_add(SMALL) {
            return Err(Reason::Limit(format!("a view of {} elements over {count} stored ones", self.elements)));
        }
        Ok(self)
    }

    /// Whether a side's elements follow each other without gaps.
    #[must_use]
    pub fn is_dense(&self, side: usize) -> bool {
        let mut next = 1;
        self.dimensions.iter().rev().all(|d| {
            let follows = d.steps[side] == next;
            next *= d.size;
            follows
        })
    }

    /// Row-major index in the squeezed shape of the pair at `position`.
    #[must_use]
    pub fn logical_index(&self, mut position: u64) -> u64 {
        let mut index = 0;
        for d in self.dimensions.iter().rev() {
            index += position % d.size * d.logical;
            position /= d.size;
        }
        index
    }

    /// The `length` raw elements of `side` from `position`, without copying where they lie together. `scratch` holds them otherwise.
    pub fn raw<'a>(
        &self,
        side: usize,
        tensor: &'a Tensor,
        position: u64,
        length: usize,
        scratch: &'a mut Scratch,
    ) -> Result<&'a [u8], Reason> {
        if tensor.dtype == Dtype::F4E2M1x2 {
            self.gather_halves(side, tensor, position, length, scratch)?;
            return Ok(&scratch.gathered);
        }
        let width = tensor.dtype.size();
        if self.is_dense(side) {
            let first = tensor.start + (self.offsets[side] + position) * width;
            return tensor.storage.slice(first, length * width as usize, &mut scratch.read);
        }
        match width {
            1 => self.gather::<1>(side, tensor, position, length, scratch)?,
            2 => self.gather::<2>(side, tensor, position, length, scratch)?,
            4 => self.gather::<4>(side, tensor, position, length, scratch)?,
            8 => self.gather::<8>(side, tensor, position, length, scratch)?,
            _ => self.gather::<16>(side, tensor, position, length, scratch)?,
        }
        Ok(&scratch.gathered)
    }

    fn gather<const W: usize>(
        &self,
        side: usize,
        tensor: &Tensor,
        position: u64,
        length: usize,
        scratch: &mut Scratch,
    ) -> Result<(), Reason> {
        let Scratch { gathered, read } = scratch;
        gathered.resize(length * W, 0);
        let (first, last) = self.span(side, position, length as u64);
        let stored: &Storage = &tensor.storage;
        let whole = stored.in_memory().is_some() || (last - first + 1) * W as u64 <= SPAN;
        let mut pieces = Vec::new();
        let window = if whole { stored.slice(tensor.start + first * W as u64, ((last - first + 1) as usize) * W, read)? } else { &[] };
        let mut out = gathered.chunks_exact_mut(W);
        self.runs(side, position, length as u64, |start, count, step| {
            if whole {
                let from = (start - first) as usize * W;
                if step == 1 {
                    for (to, value) in out.by_ref().take(count as usize).zip(window[from..].chunks_exact(W)) {
                        to.copy_from_slice(value);
                    }
                } else {
                    for (k, to) in out.by_ref().take(count as usize).enumerate() {
                        let at = from + k * step as usize * W;
                        to.copy_from_slice(&window[at..at + W]);
                    }
                }
                return Ok(());
            }
            for (k, to) in out.by_ref().take(count as usize).enumerate() {
                let at = tensor.start + (start + k as u64 * step) * W as u64;
                to.copy_from_slice(stored.slice(at, W, &mut pieces)?);
            }
            Ok(())
        })
    }

    /// Elements of half a byte, each spread to a byte.
    fn gather_halves(&self, side: usize, tensor: &Tensor, position: u64, length: usize, scratch: &mut Scratch) -> Result<(), Reason> {
        let Scratch { gathered, read } = scratch;
        gathered.resize(length, 0);
        let (first, last) = self.span(side, position, length as u64);
        let (first, last) = (first / 2, last / 2);
        let window = tensor.storage.slice(tensor.start + first, (last - first + 1) as usize, read)?;
        let mut out = gathered.iter_mut();
        self.runs(side, position, length as u64, |start, count, step| {
            for (k, to) in out.by_ref().take(count as usize).enumerate() {
                let half = start + k as u64 * step;
                *to = window[(half / 2 - first) as usize] >> (half % 2 * 4) & 0xf;
            }
            Ok(())
        })
    }

    /// Calls `run(first element, count, step)` for each stretch of `length` positions from `position`.
    fn runs(
        &self,
        side: usize,
        position: u64,
        length: u64,
        mut run: impl FnMut(u64, u64, u64) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let (coordinates, mut at) = self.coordinates(side, position);
        let mut coordinates = coordinates;
        let Some((inner, outer)) = self.dimensions.split_last() else { return run(at, length, 1) };
        let mut left = length;
        loop {
            let here = coordinates[outer.len()];
            let count = left.min(inner.size - here);
            run(at, count, inner.steps[side])?;
            left -= count;
            if left == 0 {
                return Ok(());
            }
            at -= here * inner.steps[side];
            coordinates[outer.len()] = 0;
            for (d, c) in outer.iter().zip(&mut coordinates).rev() {
                *c += 1;
                at += d.steps[side];
                if *c < d.size {
                    break;
                }
                at -= d.size * d.steps[side];
                *c = 0;
            }
        }
    }

    fn coordinates(&self, side: usize, mut position: u64) -> (Vec<u64>, u64) {
        let mut coordinates = vec![0; self.dimensions.len()];
        let mut at = self.offsets[side];
        for (d, c) in self.dimensions.iter().zip(&mut coordinates).rev() {
            *c = position % d.size;
            at += *c * d.steps[side];
            position /= d.size;
        }
        (coordinates, at)
    }

    /// Bounds of the elements that `length` positions from `position` touch.
    fn span(&self, side: usize, position: u64, length: u64) -> (u64, u64) {
        let (start, _) = self.coordinates(side, position);
        let (end, _) = self.coordinates(side, position + length - 1);
        let (mut first, mut last) = (self.offsets[side], self.offsets[side]);
        let mut parted = false;
        for (d, (s, e)) in self.dimensions.iter().zip(start.iter().zip(&end)) {
            let step = d.steps[side];
            if parted {
                last += (d.size - 1) * step;
            } else {
                first += s * step;
                last += e * step;
                parted = s != e;
            }
        }
        (first, last)
    }
}

/// Buffers of one worker, reused from piece to piece.
#[derive(Debug, Default)]
pub struct Scratch {
    gathered: Vec<u8>,
    read: Vec<u8>,
}
