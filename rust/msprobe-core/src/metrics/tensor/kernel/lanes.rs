//! Sixteen numbers at a time, as arrays. The vector forms beside this one compute the same bits.

use super::LANES;

/// Sixteen numbers of one type, in the registers of one instruction set.
///
/// Every operation is the IEEE operation of each lane; nothing is fused or reordered, so that all implementations agree to
/// the bit.
///
/// # Safety
/// All functions are `unsafe` for one reason: the processor must have the instructions of the implementing type.
pub trait Lanes: Copy {
    /// The numbers.
    type Element: Copy;
    /// The same sixteen numbers as f64.
    type Wide: Lanes<Element = f64>;
    /// All the same.
    unsafe fn splat(value: Self::Element) -> Self;
    /// From an array.
    unsafe fn load(values: &[Self::Element; LANES]) -> Self;
    /// To an array.
    unsafe fn store(self) -> [Self::Element; LANES];
    /// Exactly.
    unsafe fn widen(self) -> Self::Wide;
    /// `self + other`
    unsafe fn plus(self, other: Self) -> Self;
    /// `self - other`
    unsafe fn minus(self, other: Self) -> Self;
    /// `self * other`
    unsafe fn times(self, other: Self) -> Self;
    /// `|(self - golden) / golden|`, where a zero golden becomes epsilon on both sides.
    unsafe fn relative_to(self, golden: Self) -> Self;
    /// Without signs.
    unsafe fn magnitude(self) -> Self;
    /// `self` where it is larger, else `other`.
    unsafe fn larger(self, other: Self) -> Self;
    /// How many are below `limit`.
    unsafe fn count_below(self, limit: Self) -> u32;
    /// How many have the bits of `other`.
    unsafe fn count_same(self, other: Self) -> u32;
    /// Whether none is NaN or infinite.
    unsafe fn finite(self) -> bool;
}

/// What f64 lanes can do besides.
pub trait WideLanes: Lanes<Element = f64> {
    /// `2^(1-e)` of a normal magnitude with exponent `e`.
    unsafe fn binade_scale(self) -> Self;
}

/// An array; what the compiler makes of it for the baseline of the target.
#[derive(Clone, Copy)]
pub struct Plain<T>([T; LANES]);

macro_rules! plain {
    ($type:ident, |$value:ident| $wide:expr) => {
        impl Lanes for Plain<$type> {
            type Element = $type;
            type Wide = Plain<f64>;
            #[inline(always)]
            unsafe fn splat(value: $type) -> Self {
                Plain([value; LANES])
            }
            #[inline(always)]
            unsafe fn load(values: &[$type; LANES]) -> Self {
                Plain(*values)
            }
            #[inline(always)]
            unsafe fn store(self) -> [$type; LANES] {
                self.0
            }
            #[inline(always)]
            unsafe fn widen(self) -> Plain<f64> {
                Plain(self.0.map(|$value| $wide))
            }
            #[inline(always)]
            unsafe fn plus(mut self, other: Self) -> Self {
                for k in 0..LANES {
                    self.0[k] += other.0[k];
                }
                self
            }
            #[inline(always)]
            unsafe fn minus(mut self, other: Self) -> Self {
                for k in 0..LANES {
                    self.0[k] -= other.0[k];
                }
                self
            }
            #[inline(always)]
            unsafe fn times(mut self, other: Self) -> Self {
                for k in 0..LANES {
                    self.0[k] *= other.0[k];
                }
                self
            }
            #[inline(always)]
            unsafe fn relative_to(mut self, golden: Self) -> Self {
                for k in 0..LANES {
                    self.0[k] = super::Real::relative(self.0[k], golden.0[k]);
                }
                self
            }
            #[inline(always)]
            unsafe fn magnitude(self) -> Self {
                Plain(self.0.map($type::abs))
            }
            #[inline(always)]
            unsafe fn larger(mut self, other: Self) -> Self {
                for k in 0..LANES {
                    self.0[k] = if self.0[k] > other.0[k] { self.0[k] } else { other.0[k] };
                }
                self
            }
            #[inline(always)]
            unsafe fn count_below(self, limit: Self) -> u32 {
                (0..LANES).map(|k| u32::from(self.0[k] < limit.0[k])).sum()
            }
            #[inline(always)]
            unsafe fn count_same(self, other: Self) -> u32 {
                (0..LANES).map(|k| u32::from(self.0[k].to_bits() == other.0[k].to_bits())).sum()
            }
            #[inline(always)]
            unsafe fn finite(self) -> bool {
                self.0.iter().fold(true, |all, value| all & value.is_finite())
            }
        }
    };
}
plain!(f32, |value| f64::from(value));
plain!(f64, |value| value);

impl WideLanes for Plain<f64> {
    #[inline(always)]
    unsafe fn binade_scale(self) -> Self {
        Plain(self.0.map(|value| f64::from_bits((2047 << 52) - (value.to_bits() & (2047 << 52)))))
    }
}
