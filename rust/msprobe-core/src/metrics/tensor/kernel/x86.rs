//! Sixteen numbers at a time in the registers of AVX2 and AVX-512.

#![allow(unsafe_op_in_unsafe_fn, reason = "every line is one instruction; their one condition stands at `Lanes`")]
#![allow(clippy::wildcard_imports, reason = "some sixty instructions, whose names are their own prefix")]

use super::lanes::{Lanes, WideLanes};
use super::{block, Found, Pair, Reason, LANES};
use std::arch::x86_64::*;

/// Registers that together hold sixteen numbers.
#[derive(Clone, Copy)]
pub struct Registers<V, const N: usize>([V; N]);

const EXPONENT: i64 = 2047 << 52;

/// Applies an operation of one register to each of 1, 2 or 4. Written out, because loops over registers survive the optimiser.
macro_rules! each {
    (1, |$k:ident| $e:expr) => {
        Registers([at!(0, $k, $e)])
    };
    (2, |$k:ident| $e:expr) => {
        Registers([at!(0, $k, $e), at!(1, $k, $e)])
    };
    (4, |$k:ident| $e:expr) => {
        Registers([at!(0, $k, $e), at!(1, $k, $e), at!(2, $k, $e), at!(3, $k, $e)])
    };
}

/// Adds up what an operation of one register counts.
macro_rules! total {
    (1, |$k:ident| $e:expr) => {
        at!(0, $k, $e)
    };
    (2, |$k:ident| $e:expr) => {
        at!(0, $k, $e) + at!(1, $k, $e)
    };
    (4, |$k:ident| $e:expr) => {
        at!(0, $k, $e) + at!(1, $k, $e) + at!(2, $k, $e) + at!(3, $k, $e)
    };
}

/// An expression with the number of a register.
macro_rules! at {
    ($number:literal, $k:ident, $e:expr) => {{
        const $k: usize = $number;
        $e
    }};
}

macro_rules! lanes {
    ($name:ident, $vector:ty, $count:tt, $type:ident, wide $wide:ty, widen |$w:ident| $widen:expr,
     $set:ident $load:ident $store:ident $add:ident $sub:ident $mul:ident $div:ident $max:ident,
     magnitude |$m:ident| $magnitude:expr, patch |$zero:ident, $into:ident, $value:ident| $patch:expr,
     below |$ba:ident, $bb:ident| $below:expr, same |$sa:ident, $sb:ident| $same:expr) => {
        pub type $name = Registers<$vector, $count>;
        impl Lanes for $name {
            type Element = $type;
            type Wide = $wide;
            #[inline(always)]
            unsafe fn splat(value: $type) -> Self {
                Registers([$set(value); $count])
            }
            #[inline(always)]
            unsafe fn load(values: &[$type; LANES]) -> Self {
                // The array has sixteen numbers, `$count` registers hold exactly as many; unaligned loads.
                each!($count, |K| $load(values.as_ptr().add(K * (LANES / $count))))
            }
            #[inline(always)]
            unsafe fn store(self) -> [$type; LANES] {
                let mut out = [0.0; LANES];
                for (k, register) in self.0.into_iter().enumerate() {
                    $store(out.as_mut_ptr().add(k * (LANES / $count)), register);
                }
                out
            }
            #[inline(always)]
            unsafe fn widen(self) -> $wide {
                let $w = self;
                $widen
            }
            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                each!($count, |K| $add(self.0[K], other.0[K]))
            }
            #[inline(always)]
            unsafe fn minus(self, other: Self) -> Self {
                each!($count, |K| $sub(self.0[K], other.0[K]))
            }
            #[inline(always)]
            unsafe fn times(self, other: Self) -> Self {
                each!($count, |K| $mul(self.0[K], other.0[K]))
            }
            #[inline(always)]
            unsafe fn relative_to(self, golden: Self) -> Self {
                let epsilon = $set($type::EPSILON);
                each!($count, |K| {
                    let (n, b) = (self.0[K], golden.0[K]);
                    let patched_n = {
                        let ($zero, $into, $value) = (b, n, $add(n, epsilon));
                        $patch
                    };
                    let patched_b = {
                        let ($zero, $into, $value) = (b, b, epsilon);
                        $patch
                    };
                    let $m = $div($sub(patched_n, patched_b), patched_b);
                    $magnitude
                })
            }
            #[inline(always)]
            unsafe fn magnitude(self) -> Self {
                each!($count, |K| {
                    let $m = self.0[K];
                    $magnitude
                })
            }
            #[inline(always)]
            unsafe fn larger(self, other: Self) -> Self {
                each!($count, |K| $max(self.0[K], other.0[K]))
            }
            #[inline(always)]
            unsafe fn count_below(self, limit: Self) -> u32 {
                total!($count, |K| {
                    let ($ba, $bb) = (self.0[K], limit.0[K]);
                    $below
                })
            }
            #[inline(always)]
            unsafe fn count_same(self, other: Self) -> u32 {
                total!($count, |K| {
                    let ($sa, $sb) = (self.0[K], other.0[K]);
                    $same
                })
            }
            #[inline(always)]
            unsafe fn finite(self) -> bool {
                self.magnitude().count_below(Self::splat($type::INFINITY)) == LANES as u32
            }
        }
    };
}

lanes!(Avx512Single, __m512, 1, f32, wide Avx512Double,
    widen |v| Registers([_mm512_cvtps_pd(_mm512_castps512_ps256(v.0[0])), _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(v.0[0]))]),
    _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_max_ps,
    magnitude |v| _mm512_abs_ps(v),
    patch |zero, into, value| _mm512_mask_mov_ps(into, _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(zero, _mm512_setzero_ps()), value),
    below |a, b| _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b).count_ones(),
    same |a, b| _mm512_cmpeq_epi32_mask(_mm512_castps_si512(a), _mm512_castps_si512(b)).count_ones());

lanes!(Avx512Double, __m512d, 2, f64, wide Avx512Double, widen |v| v,
    _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_max_pd,
    magnitude |v| _mm512_abs_pd(v),
    patch |zero, into, value| _mm512_mask_mov_pd(into, _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(zero, _mm512_setzero_pd()), value),
    below |a, b| _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b).count_ones(),
    same |a, b| _mm512_cmpeq_epi64_mask(_mm512_castpd_si512(a), _mm512_castpd_si512(b)).count_ones());

lanes!(Avx2Single, __m256, 2, f32, wide Avx2Double,
    widen |v| Registers([
        _mm256_cvtps_pd(_mm256_castps256_ps128(v.0[0])), _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(v.0[0])),
        _mm256_cvtps_pd(_mm256_castps256_ps128(v.0[1])), _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(v.0[1]))]),
    _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_max_ps,
    magnitude |v| _mm256_andnot_ps(_mm256_set1_ps(-0.0), v),
    patch |zero, into, value| _mm256_blendv_ps(into, value, _mm256_cmp_ps::<_CMP_EQ_OQ>(zero, _mm256_setzero_ps())),
    below |a, b| (_mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) as u32).count_ones(),
    same |a, b| (_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_castps_si256(a), _mm256_castps_si256(b)))) as u32).count_ones());

lanes!(Avx2Double, __m256d, 4, f64, wide Avx2Double, widen |v| v,
    _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_max_pd,
    magnitude |v| _mm256_andnot_pd(_mm256_set1_pd(-0.0), v),
    patch |zero, into, value| _mm256_blendv_pd(into, value, _mm256_cmp_pd::<_CMP_EQ_OQ>(zero, _mm256_setzero_pd())),
    below |a, b| (_mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(a, b)) as u32).count_ones(),
    same |a, b| (_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_castpd_si256(a), _mm256_castpd_si256(b)))) as u32).count_ones());

impl WideLanes for Avx512Double {
    #[inline(always)]
    unsafe fn binade_scale(self) -> Self {
        let exponent = _mm512_set1_epi64(EXPONENT);
        each!(2, |K| _mm512_castsi512_pd(_mm512_sub_epi64(exponent, _mm512_and_si512(exponent, _mm512_castpd_si512(self.0[K])))))
    }
}

impl WideLanes for Avx2Double {
    #[inline(always)]
    unsafe fn binade_scale(self) -> Self {
        let exponent = _mm256_set1_epi64x(EXPONENT);
        each!(4, |K| _mm256_castsi256_pd(_mm256_sub_epi64(exponent, _mm256_and_si256(exponent, _mm256_castpd_si256(self.0[K])))))
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt")]
pub fn avx512_single(pair: &Pair, start: u64) -> Result<Found, Reason> {
    // SAFETY: the caller of a function of these features has shown that the processor has them.
    unsafe { block::<f32, Avx512Single>(pair, start) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt")]
pub fn avx512_double(pair: &Pair, start: u64) -> Result<Found, Reason> {
    // SAFETY: as above.
    unsafe { block::<f64, Avx512Double>(pair, start) }
}

#[target_feature(enable = "avx2,popcnt")]
pub fn avx2_single(pair: &Pair, start: u64) -> Result<Found, Reason> {
    // SAFETY: as above.
    unsafe { block::<f32, Avx2Single>(pair, start) }
}

#[target_feature(enable = "avx2,popcnt")]
pub fn avx2_double(pair: &Pair, start: u64) -> Result<Found, Reason> {
    // SAFETY: as above.
    unsafe { block::<f64, Avx2Double>(pair, start) }
}
