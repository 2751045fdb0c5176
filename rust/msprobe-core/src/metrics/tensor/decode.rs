//! Raw elements to numbers: every element type to `f32` where that is exact and meant, and to `f64`.
//!
//! The loops are plain so that the compiler turns them into the vector instructions of whichever kernel they are inlined in.

#![allow(clippy::inline_always, reason = "the loops must be compiled with the instruction set of the kernel they are a part of")]

use crate::tensor::Dtype;

/// Values of the 8 bit and 4 bit floats, by their bits.
struct Tables {
    e4m3fn: [f32; 256],
    e4m3fnuz: [f32; 256],
    e5m2: [f32; 256],
    e5m2fnuz: [f32; 256],
    e8m0fnu: [f32; 256],
    e2m1: [f32; 256],
}

static TABLES: Tables = Tables {
    e4m3fn: small_floats(4, 3, 7, Special::NanAtEnd),
    e4m3fnuz: small_floats(4, 3, 8, Special::NanAtMinusZero),
    e5m2: small_floats(5, 2, 15, Special::Ieee),
    e5m2fnuz: small_floats(5, 2, 16, Special::NanAtMinusZero),
    e8m0fnu: powers(),
    e2m1: small_floats(2, 1, 1, Special::None),
};

#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// Infinities and NaN in the last exponent.
    Ieee,
    /// Only all ones is NaN.
    NanAtEnd,
    /// Only the bits of minus zero are NaN.
    NanAtMinusZero,
    /// Every code is a number.
    None,
}

/// `2^exponent` as f32, subnormals included.
const fn power(exponent: i32) -> f32 {
    if exponent >= -126 {
        f32::from_bits(((exponent + 127) as u32) << 23)
    } else {
        f32::from_bits(1 << (exponent + 149))
    }
}

const fn small_floats(exponent_bits: u32, mantissa_bits: u32, bias: i32, special: Special) -> [f32; 256] {
    let codes = 1 << (1 + exponent_bits + mantissa_bits);
    let mut table = [0.0; 256];
    let mut code = 0;
    while code < codes {
        let magnitude = code & (codes / 2 - 1);
        let mantissa = magnitude & ((1 << mantissa_bits) - 1);
        let exponent = magnitude >> mantissa_bits;
        let last = (1 << exponent_bits) - 1;
        let unit = power(if exponent == 0 { 1 } else { exponent as i32 } - bias - mantissa_bits as i32);
        let whole = if exponent == 0 { mantissa } else { mantissa + (1 << mantissa_bits) };
        let is_nan = match special {
            Special::Ieee => exponent == last && mantissa != 0,
            Special::NanAtEnd => magnitude == codes / 2 - 1,
            Special::NanAtMinusZero => code == codes / 2,
            Special::None => false,
        };
        let value = if is_nan {
            f32::NAN
        } else if matches!(special, Special::Ieee) && exponent == last {
            f32::INFINITY
        } else {
            whole as f32 * unit
        };
        table[code] = if code >= codes / 2 { -value } else { value };
        code += 1;
    }
    table
}

const fn powers() -> [f32; 256] {
    let mut table = [f32::NAN; 256];
    let mut code = 0;
    while code < 255 {
        table[code] = power(code as i32 - 127);
        code += 1;
    }
    table
}

/// The value of a half, exactly; subnormals through a multiplication that cannot round.
#[inline(always)]
#[must_use]
pub fn half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let body = u32::from(bits & 0x7fff) << 13;
    let scaled = (f32::from_bits(body) * f32::from_bits(0x7780_0000)).to_bits();
    let magnitude = if bits & 0x7c00 == 0x7c00 { body | 0x7f80_0000 } else { scaled };
    f32::from_bits(magnitude | sign)
}

#[inline(always)]
fn brain(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// A number type of the computation.
pub trait Number: Copy + Default {
    /// From the narrow floats.
    fn of_f32(value: f32) -> Self;
    /// From what only f64 holds (rounded by `as` where even that is too narrow, as numpy does).
    fn of_f64(value: f64) -> Self;
    /// With the opposite sign.
    fn negated(self) -> Self;
}

impl Number for f32 {
    #[inline(always)]
    fn of_f32(value: f32) -> f32 {
        value
    }
    #[inline(always)]
    fn of_f64(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn negated(self) -> f32 {
        -self
    }
}

impl Number for f64 {
    #[inline(always)]
    fn of_f32(value: f32) -> f64 {
        f64::from(value)
    }
    #[inline(always)]
    fn of_f64(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn negated(self) -> f64 {
        -self
    }
}

/// Whether elements of this type are compared in `f32` (if the other side's are too). The other types need `f64`.
#[must_use]
pub fn is_single(dtype: Dtype) -> bool {
    matches!(dtype.widened(), Dtype::F16 | Dtype::F32)
}

#[inline(always)]
fn each<const W: usize, N: Number>(raw: &[u8], out: &mut [N], value: impl Fn([u8; W]) -> N) {
    for (to, from) in out.iter_mut().zip(raw.chunks_exact(W)) {
        let mut bytes = [0; W];
        bytes.copy_from_slice(from);
        *to = value(bytes);
    }
}

#[inline(always)]
fn by_table<N: Number>(raw: &[u8], out: &mut [N], table: &[f32; 256]) {
    for (to, from) in out.iter_mut().zip(raw) {
        *to = N::of_f32(table[usize::from(*from)]);
    }
}

/// Decodes little endian elements; of complex ones the real part. Values of the 4 bit type stand in a byte each.
#[inline(always)]
pub fn decode<N: Number>(dtype: Dtype, raw: &[u8], out: &mut [N]) {
    match dtype {
        Dtype::F32 => each(raw, out, |b| N::of_f32(f32::from_le_bytes(b))),
        Dtype::BF16 => each(raw, out, |b| N::of_f32(brain(u16::from_le_bytes(b)))),
        Dtype::F16 => each(raw, out, |b| N::of_f32(half(u16::from_le_bytes(b)))),
        Dtype::F8E4M3Fn => by_table(raw, out, &TABLES.e4m3fn),
        Dtype::F8E4M3Fnuz => by_table(raw, out, &TABLES.e4m3fnuz),
        Dtype::F8E5M2 => by_table(raw, out, &TABLES.e5m2),
        Dtype::F8E5M2Fnuz => by_table(raw, out, &TABLES.e5m2fnuz),
        Dtype::F8E8M0Fnu => by_table(raw, out, &TABLES.e8m0fnu),
        Dtype::F4E2M1x2 => by_table(raw, out, &TABLES.e2m1),
        Dtype::F64 => each(raw, out, |b| N::of_f64(f64::from_le_bytes(b))),
        Dtype::Bool => each(raw, out, |b: [u8; 1]| N::of_f64(if b[0] == 0 { 0.0 } else { 1.0 })),
        Dtype::U8 => each(raw, out, |b: [u8; 1]| N::of_f64(f64::from(b[0]))),
        Dtype::I8 => each(raw, out, |b: [u8; 1]| N::of_f64(f64::from(b[0] as i8))),
        Dtype::U16 => each(raw, out, |b| N::of_f64(f64::from(u16::from_le_bytes(b)))),
        Dtype::I16 => each(raw, out, |b| N::of_f64(f64::from(i16::from_le_bytes(b)))),
        Dtype::U32 => each(raw, out, |b| N::of_f64(f64::from(u32::from_le_bytes(b)))),
        Dtype::I32 => each(raw, out, |b| N::of_f64(f64::from(i32::from_le_bytes(b)))),
        Dtype::U64 => each(raw, out, |b| N::of_f64(u64::from_le_bytes(b) as f64)),
        Dtype::I64 => each(raw, out, |b| N::of_f64(i64::from_le_bytes(b) as f64)),
        Dtype::C32 => each(raw, out, |b: [u8; 4]| N::of_f32(half(u16::from_le_bytes([b[0], b[1]])))),
        Dtype::CB32 => each(raw, out, |b: [u8; 4]| N::of_f32(brain(u16::from_le_bytes([b[0], b[1]])))),
        Dtype::C64 => each(raw, out, |b: [u8; 8]| N::of_f32(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
        Dtype::C128 => each(raw, out, |b: [u8; 16]| N::of_f64(f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 754 by its definition, with powers computed in f64.
    fn by_definition(code: u32, exponent_bits: u32, mantissa_bits: u32, bias: i32) -> f64 {
        let sign = if code >> (exponent_bits + mantissa_bits) & 1 == 1 { -1.0 } else { 1.0 };
        let exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1);
        let fraction = f64::from(code & ((1 << mantissa_bits) - 1)) / f64::from(1u32 << mantissa_bits);
        if exponent == 0 {
            sign * fraction * 2f64.powi(1 - bias)
        } else {
            sign * (1.0 + fraction) * 2f64.powi(exponent as i32 - bias)
        }
    }

    #[test]
    fn every_half() {
        for code in 0..=u16::MAX {
            let value = half(code);
            match (code >> 10 & 0x1f, code & 0x3ff) {
                (31, 0) => assert_eq!(value, if code >> 15 == 1 { f32::NEG_INFINITY } else { f32::INFINITY }),
                (31, _) => assert!(value.is_nan()),
                _ => assert_eq!(f64::from(value), by_definition(u32::from(code), 5, 10, 15), "{code:04x}"),
            }
            assert_eq!(value.is_sign_negative(), code >> 15 == 1);
        }
    }

    #[test]
    fn every_small_float() {
        for code in 0..=255u8 {
            let c = usize::from(code);
            let magnitude = code & 0x7f;
            let finite = |value: f32, e, m, bias| assert_eq!(f64::from(value), by_definition(u32::from(code), e, m, bias), "{code:02x}");
            if magnitude == 0x7f {
                assert!(TABLES.e4m3fn[c].is_nan());
            } else {
                finite(TABLES.e4m3fn[c], 4, 3, 7);
            }
            match magnitude {
                0x7c => assert!(TABLES.e5m2[c].is_infinite()),
                0x7d..=0x7f => assert!(TABLES.e5m2[c].is_nan()),
                _ => finite(TABLES.e5m2[c], 5, 2, 15),
            }
            if code == 0x80 {
                assert!(TABLES.e4m3fnuz[c].is_nan() && TABLES.e5m2fnuz[c].is_nan());
            } else {
                finite(TABLES.e4m3fnuz[c], 4, 3, 8);
                finite(TABLES.e5m2fnuz[c], 5, 2, 16);
            }
            if code == 0xff {
                assert!(TABLES.e8m0fnu[c].is_nan());
            } else {
                assert_eq!(f64::from(TABLES.e8m0fnu[c]), 2f64.powi(i32::from(code) - 127));
            }
        }
        assert_eq!(TABLES.e2m1[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(TABLES.e2m1[8..16], [-0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]);
    }
}
