//! The one pass over two tensors: everything the metrics need, gathered piece by piece.
//!
//! A pair is cut into blocks of [`BLOCK`] elements, a block into pieces of [`PIECE`] that stay in the first cache: decoded
//! there, looked at for NaN and infinities, and summed in [`LANES`] lanes. Lanes, pieces and blocks are added in one fixed
//! tree, products and sums are never fused: the result is the same bits on every instruction set and with any number of
//! threads. The tree also keeps rounding errors at the logarithm of the size.

#![allow(clippy::inline_always, reason = "every step must be compiled with the instruction set of the kernel it is a part of")]
#![allow(clippy::many_single_char_names, reason = "n, b, x, y, d are the letters of the formulas")]

use super::decode::{decode, Number};
use crate::tensor::{swap, Dtype, Reason, Scratch, Tensor, Walk};

/// Elements of a block, the unit of parallel work.
pub const BLOCK: u64 = 1 << 16;
const PIECE: usize = 1 << 10;
const LANES: usize = 16;
const PIECES: usize = BLOCK as usize / PIECE;

/// What was found in a part of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// Sums of n*n, b*b, n*b and (n-b)^2.
    pub sums: [f64; 4],
    /// Largest |n-b|.
    pub max_abs: f64,
    /// Position of the first one of the largest.
    pub max_at: u64,
    /// Largest relative error.
    pub max_rel: f64,
    /// Largest |n-b| in units of `2^(e-1)`, `e` the exponent of the larger magnitude.
    pub max_binade: f64,
    /// Elements with a relative error below 0.001 and below 0.005.
    pub below: [u64; 2],
    /// Elements of equal bits.
    pub equal: u64,
    /// NaN of the target, of the golden side; infinities of the target, of the golden side.
    pub nan: [u64; 2],
    /// Infinities of the target, of the golden side.
    pub infinite: [u64; 2],
    /// Whether a NaN or infinity faces something else.
    pub unlike: bool,
}

impl Found {
    /// Joins the findings of two neighbouring parts.
    #[inline(always)]
    #[must_use]
    pub fn and(self, later: &Found) -> Found {
        let mut all = self;
        for (sum, more) in all.sums.iter_mut().zip(later.sums) {
            *sum += more;
        }
        if later.max_abs > all.max_abs {
            all.max_abs = later.max_abs;
            all.max_at = later.max_at;
        }
        all.max_rel = all.max_rel.max(later.max_rel);
        all.max_binade = all.max_binade.max(later.max_binade);
        for side in 0..2 {
            all.below[side] += later.below[side];
            all.nan[side] += later.nan[side];
            all.infinite[side] += later.infinite[side];
        }
        all.equal += later.equal;
        all.unlike |= later.unlike;
        all
    }
}

/// Arithmetic of one width.
pub trait Real: Number + PartialOrd {
    /// 0.001 and 0.005 rounded to this type.
    const LIMITS: [Self; 2];
    /// As f64.
    fn wide(self) -> f64;
    /// |(n - b) / b| with each operation rounded; a zero `b` becomes epsilon on both sides.
    fn relative(n: Self, b: Self) -> Self;
    /// Equal bits.
    fn same(self, other: Self) -> bool;
    /// Neither NaN nor infinite.
    fn finite(self) -> bool;
}

macro_rules! real {
    ($type:ident) => {
        impl Real for $type {
            const LIMITS: [$type; 2] = [0.001, 0.005];
            #[inline(always)]
            #[allow(clippy::cast_lossless, reason = "one of the two is f64 itself")]
            fn wide(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn relative(n: $type, b: $type) -> $type {
                let (n, b) = if b == 0.0 { (n + $type::EPSILON, $type::EPSILON) } else { (n, b) };
                ((n - b) / b).abs()
            }
            #[inline(always)]
            fn same(self, other: $type) -> bool {
                self.to_bits() == other.to_bits()
            }
            #[inline(always)]
            fn finite(self) -> bool {
                self.abs() < $type::INFINITY
            }
        }
    };
}
real!(f32);
real!(f64);

/// A pair ready for the pass.
#[derive(Debug)]
pub struct Pair<'a> {
    /// Target and golden.
    pub sides: [&'a Tensor; 2],
    /// Common order.
    pub walk: Walk,
    /// Smallest normal number of the coarser type, below which units in the last place no longer shrink.
    pub smallest: f64,
}

impl Pair<'_> {
    /// Whether equal raw bytes mean equal elements.
    fn raw_equality(&self) -> bool {
        let [a, b] = self.sides;
        a.dtype == b.dtype && a.swapped == b.swapped && a.conjugated == b.conjugated && a.negated == b.negated
    }
}

/// Buffers of one pass.
struct Buffers<R> {
    scratch: [Scratch; 2],
    swapped: Vec<u8>,
    n: [R; PIECE],
    b: [R; PIECE],
}

/// Looks at the block that begins at `start`.
#[inline(always)]
fn block<R: Real>(pair: &Pair, start: u64) -> Result<Found, Reason> {
    let end = (start + BLOCK).min(pair.walk.elements);
    let mut buffers: Buffers<R> =
        Buffers { scratch: Default::default(), swapped: Vec::new(), n: [R::default(); PIECE], b: [R::default(); PIECE] };
    let mut found = [Found::default(); PIECES];
    let mut at = start;
    let mut used = 0;
    while at < end {
        let length = (end - at).min(PIECE as u64) as usize;
        found[used] = piece(pair, at, length, &mut buffers)?;
        used += 1;
        at += length as u64;
    }
    // Adding neighbours level by level is the same tree whatever the number of pieces.
    while used > 1 {
        for k in 0..used / 2 {
            found[k] = found[2 * k].and(&found[2 * k + 1]);
        }
        if used % 2 == 1 {
            found[used / 2] = found[used - 1];
        }
        used = used.div_ceil(2);
    }
    Ok(found[0])
}

#[inline(always)]
fn piece<R: Real>(pair: &Pair, at: u64, length: usize, buffers: &mut Buffers<R>) -> Result<Found, Reason> {
    let Buffers { scratch: [scratch_n, scratch_b], swapped, n, b } = buffers;
    let [target, golden] = pair.sides;
    let raw_n = pair.walk.raw(0, target, at, length, scratch_n)?;
    let raw_b = pair.walk.raw(1, golden, at, length, scratch_b)?;
    let mut found = Found { max_at: at, ..Found::default() };
    load(target, raw_n, swapped, &mut n[..length]);
    load(golden, raw_b, swapped, &mut b[..length]);
    found.equal = if pair.raw_equality() {
        equal_raw(raw_n.len() / length, raw_n, raw_b)
    } else {
        n[..length].iter().zip(&b[..length]).map(|(n, b)| u64::from(n.same(*b))).sum()
    };
    // Padding with pairs of zeros adds nothing to sums and maxima, and is taken off the counts again.
    let padded = length.next_multiple_of(LANES);
    n[length..padded].fill(R::default());
    b[length..padded].fill(R::default());
    let (n, b) = (&mut n[..padded], &mut b[..padded]);
    if !all_finite(n) || !all_finite(b) {
        clean(n, b, &mut found);
    }
    sums(n, b, &mut found);
    extremes(n, b, pair.smallest, &mut found);
    ratios(n, b, &mut found);
    for below in &mut found.below {
        *below -= (padded - length) as u64;
    }
    if found.max_abs > 0.0 {
        let first = n.iter().zip(b.iter()).position(|(n, b)| (n.wide() - b.wide()).abs() == found.max_abs);
        found.max_at = at + first.unwrap_or(0) as u64;
    }
    Ok(found)
}

#[inline(always)]
fn load<R: Real>(tensor: &Tensor, raw: &[u8], swapped: &mut Vec<u8>, out: &mut [R]) {
    if tensor.swapped {
        swapped.clear();
        swapped.extend_from_slice(raw);
        swap(swapped, tensor.dtype.swap_unit() as usize);
        decode(tensor.dtype, swapped, out);
    } else {
        decode(tensor.dtype, raw, out);
    }
    if tensor.negated {
        for value in out {
            *value = value.negated();
        }
    }
}

#[inline(always)]
fn equal_raw(width: usize, a: &[u8], b: &[u8]) -> u64 {
    #[inline(always)]
    fn count<const W: usize>(a: &[u8], b: &[u8]) -> u64 {
        a.chunks_exact(W).zip(b.chunks_exact(W)).map(|(a, b)| u32::from(a == b)).sum::<u32>().into()
    }
    match width {
        1 => count::<1>(a, b),
        2 => count::<2>(a, b),
        4 => count::<4>(a, b),
        8 => count::<8>(a, b),
        _ => count::<16>(a, b),
    }
}

#[inline(always)]
fn all_finite<R: Real>(values: &[R]) -> bool {
    values.iter().fold(true, |all, value| all & value.finite())
}

/// Counts NaN and infinities, notes where only one side has one, and zeroes them on both sides.
#[inline(never)]
fn clean<R: Real>(n: &mut [R], b: &mut [R], found: &mut Found) {
    for (n, b) in n.iter_mut().zip(b) {
        let kinds = [*n, *b].map(|value| (value.wide().is_nan(), value.wide().is_infinite()));
        for (side, (nan, infinite)) in kinds.into_iter().enumerate() {
            found.nan[side] += u64::from(nan);
            found.infinite[side] += u64::from(infinite);
        }
        found.unlike |= kinds[0] != kinds[1];
        if !(n.finite() && b.finite()) {
            (*n, *b) = (R::default(), R::default());
        }
    }
}

/// Adds the lanes as a tree.
#[inline(always)]
fn total(mut lanes: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        for k in 0..width {
            lanes[k] += lanes[k + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn sums<R: Real>(n: &[R], b: &[R], found: &mut Found) {
    let mut lanes = [[0.0; LANES]; 4];
    for (n, b) in n.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for k in 0..LANES {
            let (x, y) = (n[k].wide(), b[k].wide());
            let d = x - y;
            lanes[0][k] += x * x;
            lanes[1][k] += y * y;
            lanes[2][k] += x * y;
            lanes[3][k] += d * d;
        }
    }
    found.sums = lanes.map(total);
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b {
        a
    } else {
        b
    }
}

#[inline(always)]
fn extremes<R: Real>(n: &[R], b: &[R], smallest: f64, found: &mut Found) {
    let mut absolute = [0.0; LANES];
    let mut binade = [0.0; LANES];
    for (n, b) in n.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for k in 0..LANES {
            let (x, y) = (n[k].wide(), b[k].wide());
            let d = (x - y).abs();
            absolute[k] = larger(d, absolute[k]);
            let magnitude = larger(larger(x.abs(), y.abs()), smallest);
            let scale = f64::from_bits((2047 << 52) - (magnitude.to_bits() & (2047 << 52)));
            binade[k] = larger(d * scale, binade[k]);
        }
    }
    found.max_abs = absolute.into_iter().fold(0.0, larger);
    found.max_binade = binade.into_iter().fold(0.0, larger);
}

#[inline(always)]
fn ratios<R: Real>(n: &[R], b: &[R], found: &mut Found) {
    let mut largest = [R::default(); LANES];
    let mut below = [[0u32; LANES]; 2];
    for (n, b) in n.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for k in 0..LANES {
            let relative = R::relative(n[k], b[k]);
            largest[k] = if relative > largest[k] { relative } else { largest[k] };
            below[0][k] += u32::from(relative < R::LIMITS[0]);
            below[1][k] += u32::from(relative < R::LIMITS[1]);
        }
    }
    found.max_rel = largest.into_iter().fold(0.0, |all, value| larger(value.wide(), all));
    found.below = below.map(|lanes| lanes.into_iter().map(u64::from).sum());
}

/// The kernels of one instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    /// Name, for benches and tests.
    pub name: &'static str,
    single: unsafe fn(&Pair, u64) -> Result<Found, Reason>,
    double: unsafe fn(&Pair, u64) -> Result<Found, Reason>,
}

impl Kernels {
    /// Looks at one block.
    pub fn block(&self, single: bool, pair: &Pair, start: u64) -> Result<Found, Reason> {
        // SAFETY: `Kernels` values only come from `available`, which offers a set after the processor was asked for it.
        unsafe {
            if single {
                (self.single)(pair, start)
            } else {
                (self.double)(pair, start)
            }
        }
    }

    /// The best set of this processor.
    #[must_use]
    pub fn best() -> Kernels {
        static BEST: std::sync::OnceLock<Kernels> = std::sync::OnceLock::new();
        *BEST.get_or_init(|| Kernels::available()[0])
    }

    /// All sets of this processor, best first.
    #[must_use]
    pub fn available() -> Vec<Kernels> {
        let mut sets = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
            {
                sets.push(Kernels { name: "avx512", single: x86::avx512_single, double: x86::avx512_double });
            }
            if is_x86_feature_detected!("avx2") {
                sets.push(Kernels { name: "avx2", single: x86::avx2_single, double: x86::avx2_double });
            }
        }
        sets.push(Kernels { name: "baseline", single: block::<f32>, double: block::<f64> });
        sets
    }
}

/// The same code compiled for wider registers. Fused multiply-add stays off on purpose.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{block, Found, Pair, Reason};

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    pub fn avx512_single(pair: &Pair, start: u64) -> Result<Found, Reason> {
        block::<f32>(pair, start)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    pub fn avx512_double(pair: &Pair, start: u64) -> Result<Found, Reason> {
        block::<f64>(pair, start)
    }

    #[target_feature(enable = "avx2")]
    pub fn avx2_single(pair: &Pair, start: u64) -> Result<Found, Reason> {
        block::<f32>(pair, start)
    }

    #[target_feature(enable = "avx2")]
    pub fn avx2_double(pair: &Pair, start: u64) -> Result<Found, Reason> {
        block::<f64>(pair, start)
    }
}

/// Looks at the whole pair, in parallel when it is large. Blocks are joined in one tree whatever the number of threads.
pub fn pass(kernels: Kernels, single: bool, pair: &Pair) -> Result<Found, Reason> {
    tree(kernels, single, pair, 0, pair.walk.elements.div_ceil(BLOCK))
}

/// Blocks below which a part is not split over threads.
const ALONE: u64 = 4;

fn tree(kernels: Kernels, single: bool, pair: &Pair, first: u64, count: u64) -> Result<Found, Reason> {
    if count <= 1 {
        return kernels.block(single, pair, first * BLOCK);
    }
    let half = count / 2;
    let left = || tree(kernels, single, pair, first, half);
    let right = || tree(kernels, single, pair, first + half, count - half);
    let (left, right) = if count > ALONE { rayon::join(left, right) } else { (left(), right()) };
    Ok(left?.and(&right?))
}

/// Mantissa bits and smallest normal number of an element type; `None` for integers.
#[must_use]
pub fn precision(dtype: Dtype) -> Option<(i32, f64)> {
    let (bits, exponent) = match dtype {
        Dtype::F16 | Dtype::C32 => (10, -14),
        Dtype::BF16 | Dtype::CB32 => (7, -126),
        Dtype::F32 | Dtype::C64 => (23, -126),
        Dtype::F64 | Dtype::C128 => (52, -1022),
        Dtype::F8E4M3Fn => (3, -6),
        Dtype::F8E4M3Fnuz => (3, -7),
        Dtype::F8E5M2 => (2, -14),
        Dtype::F8E5M2Fnuz => (2, -15),
        Dtype::F8E8M0Fnu => (0, -127),
        Dtype::F4E2M1x2 => (1, 0),
        _ => return None,
    };
    Some((bits, 2f64.powi(exponent)))
}
