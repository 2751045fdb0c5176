//! Tensors of one element: only two numbers exist, and the difference is taken in the elements' own type, as numpy does.

#![allow(clippy::many_single_char_names, reason = "n and b, x + yi and u + vi are the letters of the formulas")]

use super::decode::half;
use crate::tensor::{swap, Dtype, Reason, Scratch, Tensor, Walk};

/// One element in its own type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Own {
    Unsigned(u64),
    Signed(i64),
    Real(f64),
    Complex(f64, f64),
}

/// The type two elements are subtracted in: kind and bits of a component.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Common {
    Unsigned(u32),
    Signed(u32),
    Real(u32),
    Complex(u32),
}

/// |n - b| in the common type of both, as f64. NaN where numpy gives NaN.
pub fn difference(target: &Tensor, golden: &Tensor) -> Result<f64, Reason> {
    let (mut n, b) = (element(target)?, element(golden)?);
    let (mut kind_n, mut kind_b) = (kind(target.dtype.widened()), kind(golden.dtype.widened()));
    if target.dtype == Dtype::Bool {
        n = Own::Real(real(n));
        (kind_n, kind_b) = (Common::Real(64), Common::Real(64));
    } else if golden.dtype == Dtype::Bool {
        kind_b = kind_n;
    }
    Ok(match common(kind_n, kind_b) {
        Common::Unsigned(bits) => {
            let mask = u64::MAX >> (64 - bits);
            (integer(n).wrapping_sub(integer(b)) as u64 & mask) as f64
        }
        Common::Signed(bits) => {
            let shift = 64 - bits;
            let wrapped = (integer(n).wrapping_sub(integer(b)) << shift) >> shift;
            let least = i64::MIN >> shift;
            (if wrapped == least { wrapped } else { wrapped.abs() }) as f64
        }
        Common::Real(bits) => rounded(rounded(real(n), bits) - rounded(real(b), bits), bits).abs(),
        Common::Complex(bits) => {
            let (Own::Complex(x, y), Own::Complex(u, v)) = (complex(n), complex(b)) else { return Ok(f64::NAN) };
            if bits == 32 {
                f64::from((x as f32 - u as f32).hypot(y as f32 - v as f32))
            } else {
                (x - u).hypot(y - v)
            }
        }
    })
}

/// The element as f64, of a complex one the real part.
pub fn value(tensor: &Tensor) -> Result<f64, Reason> {
    Ok(real(element(tensor)?))
}

fn kind(dtype: Dtype) -> Common {
    match dtype {
        Dtype::Bool | Dtype::U8 => Common::Unsigned(8),
        Dtype::U16 => Common::Unsigned(16),
        Dtype::U32 => Common::Unsigned(32),
        Dtype::U64 => Common::Unsigned(64),
        Dtype::I8 => Common::Signed(8),
        Dtype::I16 => Common::Signed(16),
        Dtype::I32 => Common::Signed(32),
        Dtype::I64 => Common::Signed(64),
        Dtype::F16 => Common::Real(16),
        Dtype::F64 => Common::Real(64),
        Dtype::C64 => Common::Complex(32),
        Dtype::C128 => Common::Complex(64),
        _ => Common::Real(32),
    }
}

/// numpy's promotion of two types.
fn common(a: Common, b: Common) -> Common {
    use Common::{Complex, Real, Signed, Unsigned};
    // The float that holds an integer type: 8 bits fit half, 16 fit single, more need double.
    let float_for = |bits: u32| (bits * 2).clamp(16, 64);
    match (a, b) {
        (Unsigned(x), Unsigned(y)) => Unsigned(x.max(y)),
        (Signed(x), Signed(y)) => Signed(x.max(y)),
        (Unsigned(u), Signed(s)) | (Signed(s), Unsigned(u)) => {
            if u < s {
                Signed(s)
            } else if u < 64 {
                Signed(u * 2)
            } else {
                Real(64)
            }
        }
        (Real(x), Real(y)) => Real(x.max(y)),
        (Real(x), Signed(y) | Unsigned(y)) | (Signed(y) | Unsigned(y), Real(x)) => Real(x.max(float_for(y))),
        (Complex(x), Complex(y) | Real(y)) | (Real(y), Complex(x)) => Complex(x.max(y)),
        (Complex(x), Signed(y) | Unsigned(y)) | (Signed(y) | Unsigned(y), Complex(x)) => Complex(x.max(float_for(y))),
    }
}

fn real(value: Own) -> f64 {
    match value {
        Own::Unsigned(n) => n as f64,
        Own::Signed(n) => n as f64,
        Own::Real(x) | Own::Complex(x, _) => x,
    }
}

fn complex(value: Own) -> Own {
    match value {
        Own::Complex(..) => value,
        other => Own::Complex(real(other), 0.0),
    }
}

/// The bits of an integer; two's complement makes signed and unsigned subtraction one.
fn integer(value: Own) -> i64 {
    match value {
        Own::Unsigned(n) => n as i64,
        Own::Signed(n) => n,
        Own::Real(x) | Own::Complex(x, _) => x as i64,
    }
}

/// Rounds to a float of that many bits. The sum of two halves is exact in f64, so one rounding is what half arithmetic does.
fn rounded(value: f64, bits: u32) -> f64 {
    match bits {
        16 => to_half(value),
        32 => f64::from(value as f32),
        _ => value,
    }
}

/// Nearest half, ties to even.
fn to_half(value: f64) -> f64 {
    if !value.is_finite() || value == 0.0 {
        return value;
    }
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-14);
    let unit = 2f64.powi(exponent - 10);
    let nearest = (value / unit).round_ties_even() * unit;
    if nearest.abs() > 65504.0 {
        return f64::INFINITY.copysign(value);
    }
    nearest
}

fn element(tensor: &Tensor) -> Result<Own, Reason> {
    let mut scratch = Scratch::default();
    let walk = Walk::row_major(tensor)?;
    let mut raw = walk.raw(0, tensor, 0, 1, &mut scratch)?.to_vec();
    if tensor.swapped {
        swap(&mut raw, tensor.dtype.swap_unit() as usize);
    }
    let bits = raw.iter().rev().fold(0u128, |n, byte| n << 8 | u128::from(*byte));
    let decoded = |dtype, raw: &[u8]| {
        let mut out = [0f64];
        super::decode::decode(dtype, raw, &mut out);
        out[0]
    };
    let sign = if tensor.negated { -1.0 } else { 1.0 };
    let imaginary = if tensor.conjugated { -sign } else { sign };
    Ok(match tensor.dtype {
        Dtype::Bool => Own::Unsigned(u64::from(bits != 0)),
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => Own::Unsigned(bits as u64),
        Dtype::I8 => Own::Signed(i64::from(bits as i8)),
        Dtype::I16 => Own::Signed(i64::from(bits as i16)),
        Dtype::I32 => Own::Signed(i64::from(bits as i32)),
        Dtype::I64 => Own::Signed(bits as i64),
        Dtype::C32 => Own::Complex(sign * f64::from(half(bits as u16)), imaginary * f64::from(half((bits >> 16) as u16))),
        Dtype::CB32 => Own::Complex(sign * decoded(Dtype::BF16, &raw[..2]), imaginary * decoded(Dtype::BF16, &raw[2..])),
        Dtype::C64 => Own::Complex(sign * decoded(Dtype::F32, &raw[..4]), imaginary * decoded(Dtype::F32, &raw[4..])),
        Dtype::C128 => Own::Complex(sign * decoded(Dtype::F64, &raw[..8]), imaginary * decoded(Dtype::F64, &raw[8..])),
        other => Own::Real(sign * decoded(other, &raw)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_numpys() {
        use Common::{Complex, Real, Signed, Unsigned};
        assert_eq!(common(Unsigned(8), Signed(8)), Signed(16));
        assert_eq!(common(Unsigned(64), Signed(8)), Real(64));
        assert_eq!(common(Unsigned(8), Signed(64)), Signed(64));
        assert_eq!(common(Real(16), Signed(8)), Real(16));
        assert_eq!(common(Real(16), Signed(16)), Real(32));
        assert_eq!(common(Real(32), Signed(64)), Real(64));
        assert_eq!(common(Complex(32), Signed(32)), Complex(64));
        assert_eq!(common(Complex(32), Real(64)), Complex(64));
    }

    #[test]
    fn halves_round_to_even() {
        assert_eq!(to_half(2049.0), 2048.0);
        assert_eq!(to_half(2051.0), 2052.0);
        assert_eq!(to_half(65519.9), 65504.0);
        assert_eq!(to_half(65520.0), f64::INFINITY);
        assert_eq!(to_half(-120_000.0), f64::NEG_INFINITY);
        assert_eq!(to_half(2f64.powi(-25)), 0.0);
        assert_eq!(to_half(2f64.powi(-25) * 1.5), 2f64.powi(-24));
    }
}
