//! Files that hold one tensor: `.pt` and `.npy`, read without the frameworks that wrote them.
//!
//! Lives here: the containers (zip, pickles, npy), element types, strides, the folder a dump keeps its tensors in.
//! Nothing of a file is ever executed, its numbers are not copied, and a hostile file costs one [`Error`].
//! May not: know what is compared with what, or print.
//!
//! ```no_run
//! use msprobe_core::tensor::TensorFolder;
//! use std::path::Path;
//! let folder = TensorFolder::beside(Path::new("step0/rank0"));
//! let tensor = folder.load("Torch.add.0.forward.input.0.pt", Some("torch.bfloat16"))?;
//! println!("{} {:?}", tensor.dtype.name(), tensor.layout.shape);
//! # Ok::<(), msprobe_core::tensor::Error>(())
//! ```

mod dtype;
mod error;
mod folder;
mod layout;
mod legacy;
mod legacy_tar;
mod marks;
mod npy;
mod pickle;
mod pt;
mod rebuild;
mod storage;
mod tar;
mod walk;
mod zip;

pub use dtype::Dtype;
pub use error::{Error, Reason};
pub use folder::{open, read, TensorFolder};
pub use layout::Layout;
pub use storage::Storage;
pub use walk::{Scratch, Walk};

use std::sync::Arc;

/// Which kind of file a tensor came from. Big endian arrays keep their byte order as a part of their type, torch tensors do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `torch.save`
    Pt,
    /// `numpy.save`
    Npy,
}

/// One tensor in a file: what its bytes mean, and where they are.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Element type.
    pub dtype: Dtype,
    /// Sizes, strides and first element.
    pub layout: Layout,
    /// Kind of file.
    pub container: Container,
    /// Whether elements are big endian.
    pub swapped: bool,
    /// Whether imaginary parts are to be negated.
    pub conjugated: bool,
    /// Whether values are to be negated.
    pub negated: bool,
    /// The file's bytes.
    pub storage: Arc<Storage>,
    /// Byte of `storage` at which element 0 is.
    pub start: u64,
    /// Elements there are from `start`.
    pub count: u64,
}

/// Positions that are materialised at a time.
const PIECE: usize = 1 << 14;

impl Tensor {
    /// The layout in single values: packed types have a last dimension of two more.
    #[must_use]
    pub fn values(&self) -> Layout {
        let mut layout = self.layout.clone();
        if self.dtype == Dtype::F4E2M1x2 {
            layout.offset *= 2;
            layout.strides.iter_mut().for_each(|stride| *stride *= 2);
            layout.shape.push(2);
            layout.strides.push(1);
        }
        layout
    }

    /// Appends all elements in row-major order and native byte order, values of the packed type in a byte each, with `conj` and
    /// `neg` marks applied. The buffer grows by the size of the tensor, at most `limit` bytes.
    pub fn copy_to(&self, out: &mut Vec<u8>, limit: u64) -> Result<(), Reason> {
        let walk = Walk::row_major(self)?;
        let width = if self.dtype == Dtype::F4E2M1x2 { 1 } else { self.dtype.size() };
        let bytes = walk.elements.saturating_mul(width);
        if bytes > limit {
            return Err(Reason::Limit(format!("{bytes} bytes, at most {limit} are copied")));
        }
        let mut scratch = Scratch::default();
        let mut position = 0;
        out.try_reserve_exact(bytes as usize).map_err(|_| Reason::Limit(format!("{bytes} bytes do not fit into memory")))?;
        while position < walk.elements {
            let length = (walk.elements - position).min(PIECE as u64) as usize;
            let from = out.len();
            out.extend_from_slice(walk.raw(0, self, position, length, &mut scratch)?);
            if self.swapped {
                swap(&mut out[from..], self.dtype.swap_unit() as usize);
            }
            if self.conjugated && self.dtype.is_complex() {
                marks::conjugate(self.dtype, &mut out[from..]);
            }
            if self.negated {
                marks::negate(self.dtype, &mut out[from..])?;
            }
            position += length as u64;
        }
        Ok(())
    }
}

/// Reverses each group of `unit` bytes.
pub fn swap(bytes: &mut [u8], unit: usize) {
    for group in bytes.chunks_exact_mut(unit) {
        group.reverse();
    }
}
