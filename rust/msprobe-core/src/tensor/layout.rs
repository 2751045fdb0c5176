//! Sizes and strides of a tensor over its storage.

use super::error::Reason;

/// Most dimensions a tensor may have (torch and numpy: 64).
pub const DIMENSIONS: usize = 64;

/// Where the elements of a tensor lie, in elements of its storage. Row-major order is the order of the last dimension first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size of each dimension.
    pub shape: Vec<u64>,
    /// Elements between neighbours along each dimension. 0 repeats an element.
    pub strides: Vec<u64>,
    /// First element.
    pub offset: u64,
}

impl Layout {
    /// A tensor without gaps, last dimension fastest.
    pub fn row_major(shape: Vec<u64>) -> Result<Layout, Reason> {
        let mut strides = vec![1; shape.len()];
        let mut step: u64 = 1;
        for (stride, size) in strides.iter_mut().zip(&shape).rev() {
            *stride = step;
            step = step.checked_mul((*size).max(1)).ok_or_else(|| Reason::Layout(format!("shape {shape:?} is too large")))?;
        }
        Ok(Layout { shape, strides, offset: 0 })
    }

    /// A tensor without gaps, first dimension fastest.
    pub fn column_major(mut shape: Vec<u64>) -> Result<Layout, Reason> {
        shape.reverse();
        let mut layout = Layout::row_major(shape)?;
        layout.shape.reverse();
        layout.strides.reverse();
        Ok(layout)
    }

    /// Checks what a file says against a storage of `count` elements.
    pub fn checked(offset: i128, size: &[i128], stride: &[i128], count: u64) -> Result<Layout, Reason> {
        if size.len() != stride.len() {
            return Err(Reason::Layout(format!("{} sizes but {} strides", size.len(), stride.len())));
        }
        if size.len() > DIMENSIONS {
            return Err(Reason::Layout(format!("{} dimensions, at most {DIMENSIONS} are possible", size.len())));
        }
        let natural = |n: i128, what: &str| {
            u64::try_from(n).ok().filter(|n| i64::try_from(*n).is_ok()).ok_or_else(|| Reason::Layout(format!("{what} {n} is out of range")))
        };
        let layout = Layout {
            offset: natural(offset, "offset")?,
            shape: size.iter().map(|n| natural(*n, "size")).collect::<Result<_, _>>()?,
            strides: stride.iter().map(|n| natural(*n, "stride")).collect::<Result<_, _>>()?,
        };
        layout.elements()?;
        if layout.shape.contains(&0) {
            return Ok(layout);
        }
        let reach = layout
            .shape
            .iter()
            .zip(&layout.strides)
            .try_fold(u128::from(layout.offset) + 1, |sum, (size, stride)| sum.checked_add(u128::from(size - 1) * u128::from(*stride)));
        if reach.is_none_or(|reach| reach > u128::from(count)) {
            return Err(Reason::Layout(format!(
                "shape {:?} with strides {:?} reaches beyond {count} elements",
                layout.shape, layout.strides
            )));
        }
        Ok(layout)
    }

    /// Number of elements.
    pub fn elements(&self) -> Result<u64, Reason> {
        if self.shape.contains(&0) {
            return Ok(0);
        }
        let product = self.shape.iter().try_fold(1u64, |n, size| n.checked_mul(*size));
        product.filter(|n| i64::try_from(*n).is_ok()).ok_or_else(|| Reason::Layout(format!("shape {:?} is too large", self.shape)))
    }

    /// The shape without dimensions of size 1.
    #[must_use]
    pub fn squeezed(&self) -> Vec<u64> {
        self.shape.iter().copied().filter(|size| *size != 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_of_both_orders() {
        assert_eq!(Layout::row_major(vec![2, 3, 4]).unwrap().strides, [12, 4, 1]);
        assert_eq!(Layout::column_major(vec![2, 3, 4]).unwrap().strides, [1, 2, 6]);
        assert_eq!(Layout::row_major(vec![]).unwrap().elements().unwrap(), 1);
        assert!(Layout::row_major(vec![1 << 40, 1 << 40]).is_err());
    }

    #[test]
    fn reach_is_checked() {
        assert!(Layout::checked(3, &[4], &[1], 7).is_ok());
        assert!(Layout::checked(4, &[4], &[1], 7).is_err());
        assert!(Layout::checked(0, &[3, 2], &[0, 1], 2).is_ok());
        assert!(Layout::checked(0, &[3, 0], &[99, 99], 1).is_ok());
        assert!(Layout::checked(0, &[2], &[-1], 2).is_err());
        assert!(Layout::checked(0, &[i128::from(i64::MAX), i128::from(i64::MAX)], &[0, 0], 1).is_err());
        assert!(Layout::checked(0, &[1; 65], &[1; 65], 1).is_err());
        assert!(Layout::checked(0, &[2], &[], 9).is_err());
    }
}
