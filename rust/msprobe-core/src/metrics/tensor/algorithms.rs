//! Algorithms of the user: further columns, computed from the two tensors as plain arrays.

use super::decode::decode;
use crate::tensor::{Dtype, Reason, Tensor};

/// Elements that are widened at a time.
const PIECE: usize = 4096;
/// Arrays begin at multiples of so many bytes.
const ALIGNMENT: usize = 64;
/// Largest array an algorithm gets, in bytes. The arrays of a pair are in memory together.
const LARGEST: u64 = 4 << 30;

/// An array in the buffer of a batch: squeezed, row-major, in native byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Element type as torch names it. Types that NumPy does not have are widened to `float32` or `complex64`.
    pub dtype: &'static str,
    /// Sizes, without those of 1.
    pub shape: Vec<u64>,
    /// First byte in the buffer.
    pub start: usize,
    /// Number of elements.
    pub elements: usize,
}

/// What an algorithm made of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A number, as Python prints it.
    Number(String),
    /// A text.
    Text(String),
    /// The algorithm failed, or answered with something else.
    Failed,
}

/// Pairs that are measured together.
#[derive(Debug, Default)]
pub struct Batch {
    /// The bytes of all arrays.
    pub buffer: Vec<u8>,
    /// Target and golden of each pair.
    pub pairs: Vec<[Array; 2]>,
    scratch: Vec<u8>,
}

/// Further columns. Called from any thread.
pub trait Algorithms: std::fmt::Debug + Sync {
    /// The names of the columns.
    fn columns(&self) -> &[String];

    /// One answer per pair of the batch and column.
    fn measure(&self, batch: &Batch) -> Vec<Vec<Answer>>;
}

impl Batch {
    /// Adds a pair that was compared. If `finite`, NaN and infinities become zeros, as the built-in columns see them.
    pub fn push(&mut self, target: &Tensor, golden: &Tensor, finite: bool) -> Result<(), Reason> {
        let before = self.buffer.len();
        match self.array(target, finite).and_then(|n| Ok([n, self.array(golden, finite)?])) {
            Ok(pair) => {
                self.pairs.push(pair);
                Ok(())
            }
            Err(reason) => {
                self.buffer.truncate(before);
                Err(reason)
            }
        }
    }

    /// Forgets the pairs; the memory is kept for the next ones unless it is large.
    pub fn clear(&mut self) {
        self.pairs.clear();
        for buffer in [&mut self.buffer, &mut self.scratch] {
            buffer.clear();
            buffer.shrink_to(64 << 20);
        }
    }

    fn array(&mut self, tensor: &Tensor, finite: bool) -> Result<Array, Reason> {
        let Batch { buffer, scratch, .. } = self;
        buffer.resize(buffer.len().next_multiple_of(ALIGNMENT), 0);
        let start = buffer.len();
        let dtype = tensor.dtype.widened();
        if dtype == tensor.dtype {
            tensor.copy_to(buffer, LARGEST)?;
        } else {
            scratch.clear();
            tensor.copy_to(scratch, LARGEST / 4)?;
            widen(tensor.dtype, scratch, buffer);
        }
        if finite {
            clear_non_finite(dtype, &mut buffer[start..]);
        }
        let elements = (buffer.len() - start) / dtype.size() as usize;
        Ok(Array { dtype: dtype.name(), shape: tensor.values().squeezed(), start, elements })
    }
}

/// Appends the elements as f32; the parts of half complex numbers one after the other.
fn widen(dtype: Dtype, raw: &[u8], out: &mut Vec<u8>) {
    let (part, width) = match dtype {
        Dtype::C32 => (Dtype::F16, 2),
        Dtype::CB32 => (Dtype::BF16, 2),
        other => (other, other.size() as usize),
    };
    let mut wide = [0f32; PIECE];
    for raw in raw.chunks(PIECE * width) {
        let wide = &mut wide[..raw.len() / width];
        decode(part, raw, wide);
        out.extend(wide.iter().flat_map(|value| value.to_le_bytes()));
    }
}

/// Sets elements that are NaN or infinite to zero; complex ones if either part is.
fn clear_non_finite(dtype: Dtype, elements: &mut [u8]) {
    let part = dtype.swap_unit() as usize;
    // The exponent bits in the two highest bytes of a part.
    let mask = match dtype {
        Dtype::F16 => 0x7c00,
        Dtype::F32 | Dtype::C64 => 0x7f80,
        Dtype::F64 | Dtype::C128 => 0x7ff0,
        _ => return,
    };
    for element in elements.chunks_exact_mut(dtype.size() as usize) {
        let odd = element.chunks_exact(part).any(|part| u16::from_le_bytes([part[part.len() - 2], part[part.len() - 1]]) & mask == mask);
        if odd {
            element.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tensor::{Container, Layout, Storage};

    fn tensor(dtype: Dtype, shape: &[u64], bytes: Vec<u8>) -> Tensor {
        let layout = Layout::row_major(shape.to_vec()).unwrap();
        let count = layout.elements().unwrap();
        let storage = Arc::new(Storage::from_bytes(bytes));
        Tensor { dtype, layout, container: Container::Pt, swapped: false, conjugated: false, negated: false, storage, start: 0, count }
    }

    fn floats(batch: &Batch, side: usize) -> Vec<f32> {
        let array = &batch.pairs[0][side];
        batch.buffer[array.start..][..4 * array.elements].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }

    #[test]
    fn narrow_types_are_widened_and_ones_go() {
        let narrow = tensor(Dtype::BF16, &[1, 2, 1], vec![0x80, 0x3f, 0x20, 0xc0]);
        let wide = tensor(Dtype::F32, &[2], [1.0f32, -2.5].iter().flat_map(|v| v.to_le_bytes()).collect());
        let mut batch = Batch::default();
        batch.push(&narrow, &wide, false).unwrap();
        assert_eq!((floats(&batch, 0), floats(&batch, 1)), (vec![1.0, -2.5], vec![1.0, -2.5]));
        assert_eq!((batch.pairs[0][0].dtype, &batch.pairs[0][0].shape[..]), ("float32", &[2][..]));
        assert!(batch.pairs[0].iter().all(|array| array.start % ALIGNMENT == 0));
    }

    #[test]
    fn half_complex_keeps_both_parts() {
        // 1 - 2i
        let half = tensor(Dtype::C32, &[1], vec![0x00, 0x3c, 0x00, 0xc0]);
        let mut batch = Batch::default();
        batch.push(&half, &half, true).unwrap();
        assert_eq!(batch.pairs[0][0].dtype, "complex64");
        let parts: Vec<f32> = batch.buffer[..8].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!(parts, [1.0, -2.0]);
    }

    #[test]
    fn odd_numbers_become_zeros_when_asked() {
        let values = [f32::NAN, f32::INFINITY, f32::MAX, -0.0, f32::NEG_INFINITY];
        let odd = tensor(Dtype::F32, &[5], values.iter().flat_map(|v| v.to_le_bytes()).collect());
        let mut batch = Batch::default();
        batch.push(&odd, &odd, true).unwrap();
        assert_eq!(floats(&batch, 0), [0.0, 0.0, f32::MAX, 0.0, 0.0]);
        batch.clear();
        batch.push(&odd, &odd, false).unwrap();
        assert!(floats(&batch, 0)[0].is_nan());
    }
}
