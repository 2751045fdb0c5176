//! The one pass over two tensors: everything the metrics need, gathered piece by piece.
//!
//! A pair is cut into blocks of [`BLOCK`] elements, a block into pieces of [`PIECE`] that stay in the first cache: decoded
//! there, looked at for NaN and infinities, and summed in [`LANES`] lanes. Lanes, pieces and blocks are added in one fixed
//! tree, products and sums are never fused: the result is the same bits on every instruction set and with any number of
//! threads. The tree also keeps rounding errors at the logarithm of the size.

#![allow(clippy::inline_always, reason = "every step must be compiled with the instruction set of the kernel it is a part of")]
#![allow(clippy::many_single_char_names, reason = "n, b, x, y, d are the letters of the formulas")]

mod lanes;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::decode::{decode, Number};
use crate::tensor::{swap, Dtype, Reason, Scratch, Tensor, Walk};
use lanes::{Lanes, Plain, WideLanes};

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
    /// Where the first piece that has it begins.
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
    /// Whether elements that differ in bits always differ once decoded: then equality is counted on the way.
    fn decoded_equality(&self) -> bool {
        let [a, b] = self.sides;
        let injective = matches!(a.dtype, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64);
        injective || a.dtype != b.dtype || a.swapped != b.swapped || a.conjugated != b.conjugated || a.negated != b.negated
    }
}

/// Buffers of one pass.
struct Buffers<R> {
    scratch: [Scratch; 2],
    swapped: Vec<u8>,
    n: [R; PIECE],
    b: [R; PIECE],
}

impl<R: Real> Buffers<R> {
    fn new() -> Buffers<R> {
        Buffers { scratch: Default::default(), swapped: Vec::new(), n: [R::default(); PIECE], b: [R::default(); PIECE] }
    }
}

/// Looks at the block that begins at `start`.
///
/// # Safety
/// The processor must have the instructions of `L`.
#[inline(always)]
unsafe fn block<R: Real, L: Lanes<Element = R, Wide: WideLanes>>(pair: &Pair, start: u64) -> Result<Found, Reason> {
    let end = (start + BLOCK).min(pair.walk.elements);
    let mut buffers = Buffers::<R>::new();
    let mut found = [Found::default(); PIECES];
    let mut at = start;
    let mut used = 0;
    while at < end {
        let length = (end - at).min(PIECE as u64) as usize;
        // SAFETY: the caller's promise is passed on.
        found[used] = unsafe { piece::<R, L>(pair, at, length, &mut buffers) }?;
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

/// Looks at `length` elements from position `at`.
///
/// # Safety
/// The processor must have the instructions of `L`.
#[inline(always)]
unsafe fn piece<R: Real, L: Lanes<Element = R, Wide: WideLanes>>(
    pair: &Pair,
    at: u64,
    length: usize,
    buffers: &mut Buffers<R>,
) -> Result<Found, Reason> {
    let raw_equal = fetch(pair, at, length, buffers)?;
    let mut found = Found { max_at: at, ..Found::default() };
    // Padding with pairs of zeros adds nothing to sums and maxima, and is taken off the counts again.
    let padded = length.next_multiple_of(LANES);
    let padding = (padded - length) as u64;
    buffers.n[length..padded].fill(R::default());
    buffers.b[length..padded].fill(R::default());
    let (n, b) = (&mut buffers.n[..padded], &mut buffers.b[..padded]);
    // SAFETY: the caller's promise is passed on.
    unsafe {
        found.equal = raw_equal.unwrap_or_else(|| equal::<R, L>(n, b) - padding);
        if !finite::<R, L>(n) || !finite::<R, L>(b) {
            clean(n, b, &mut found);
        }
        measure::<R, L>(n, b, pair.smallest, &mut found);
    }
    for below in &mut found.below {
        *below -= padding;
    }
    Ok(found)
}

/// Decodes `length` elements of both sides from position `at`. Returns how many are equal where that shows in the raw bytes only.
#[inline(always)]
fn fetch<R: Real>(pair: &Pair, at: u64, length: usize, buffers: &mut Buffers<R>) -> Result<Option<u64>, Reason> {
    let Buffers { scratch: [scratch_n, scratch_b], swapped, n, b } = buffers;
    let [target, golden] = pair.sides;
    let raw_n = pair.walk.raw(0, target, at, length, scratch_n)?;
    let raw_b = pair.walk.raw(1, golden, at, length, scratch_b)?;
    load(target, raw_n, swapped, &mut n[..length]);
    load(golden, raw_b, swapped, &mut b[..length]);
    Ok((!pair.decoded_equality()).then(|| equal_raw(raw_n.len() / length, raw_n, raw_b)))
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

// The loops below are `for` loops on purpose: the closures of iterator chains would be compiled without the instruction set.

#[inline(always)]
unsafe fn finite<R: Real, L: Lanes<Element = R>>(values: &[R]) -> bool {
    let mut all = true;
    for group in values.as_chunks::<LANES>().0 {
        // SAFETY: the caller's promise is passed on.
        all &= unsafe { L::load(group).finite() };
    }
    all
}

#[inline(always)]
unsafe fn equal<R: Real, L: Lanes<Element = R>>(n: &[R], b: &[R]) -> u64 {
    let mut count = 0;
    for (n, b) in n.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        // SAFETY: the caller's promise is passed on.
        count += unsafe { u64::from(L::load(n).count_same(L::load(b))) };
    }
    count
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
        if !(n.wide().is_finite() && b.wide().is_finite()) {
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
fn larger(a: f64, b: f64) -> f64 {
    if a > b {
        a
    } else {
        b
    }
}

/// Sums, maxima and counts of finite numbers.
#[inline(always)]
unsafe fn measure<R: Real, L: Lanes<Element = R, Wide: WideLanes>>(n: &[R], b: &[R], smallest: f64, found: &mut Found) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let zero = L::Wide::splat(0.0);
        let smallest = L::Wide::splat(smallest);
        let (mut nn, mut bb, mut nb, mut dd) = (zero, zero, zero, zero);
        let (mut absolute, mut binade, mut relative) = (zero, zero, L::splat(R::default()));
        let limits = R::LIMITS.map(|limit| L::splat(limit));
        let mut below = [0u32; 2];
        for (n, b) in n.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
            let (n, b) = (L::load(n), L::load(b));
            let (x, y) = (n.widen(), b.widen());
            let d = x.minus(y);
            nn = nn.plus(x.times(x));
            bb = bb.plus(y.times(y));
            nb = nb.plus(x.times(y));
            dd = dd.plus(d.times(d));
            let d = d.magnitude();
            absolute = d.larger(absolute);
            let magnitude = x.magnitude().larger(y.magnitude()).larger(smallest);
            binade = d.times(magnitude.binade_scale()).larger(binade);
            let error = n.relative_to(b);
            relative = error.larger(relative);
            below[0] += error.count_below(limits[0]);
            below[1] += error.count_below(limits[1]);
        }
        found.sums = [total(nn.store()), total(bb.store()), total(nb.store()), total(dd.store())];
        found.max_abs = absolute.store().into_iter().fold(0.0, larger);
        found.max_binade = binade.store().into_iter().fold(0.0, larger);
        found.max_rel = relative.store().into_iter().fold(0.0, |all, value| larger(value.wide(), all));
        found.below = below.map(u64::from);
    }
}

/// Position of the first element of the largest difference.
pub fn locate(single: bool, pair: &Pair, found: &Found) -> Result<u64, Reason> {
    fn within<R: Real>(pair: &Pair, found: &Found) -> Result<u64, Reason> {
        let length = (pair.walk.elements - found.max_at).min(PIECE as u64) as usize;
        let mut buffers = Buffers::<R>::new();
        fetch(pair, found.max_at, length, &mut buffers)?;
        let (n, b) = (&mut buffers.n[..length], &mut buffers.b[..length]);
        clean(n, b, &mut Found::default());
        let first = n.iter().zip(b.iter()).position(|(n, b)| (n.wide() - b.wide()).abs() == found.max_abs);
        Ok(found.max_at + first.unwrap_or(0) as u64)
    }
    if single {
        within::<f32>(pair, found)
    } else {
        within::<f64>(pair, found)
    }
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
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                sets.push(Kernels { name: "avx2", single: x86::avx2_single, double: x86::avx2_double });
            }
        }
        sets.push(Kernels { name: "baseline", single: block::<f32, Plain<f32>>, double: block::<f64, Plain<f64>> });
        sets
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
