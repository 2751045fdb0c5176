//! Differences of the four statistics of a pair: `Max`, `Min`, `Mean`, `Norm`.
//!
//! For a target value n and a golden value b: difference = n - b (integers stay integers when both are), relative
//! error = |(n - b) / b * 100| percent. Both are `N/A` when a value is no number, both `Nan` when the difference is NaN;
//! the relative error is `N/A` when b is zero.

use crate::dump::json::Value;
use crate::text::{decimal, python};

/// One cell of a comparison column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// A single blank: nothing faces this parameter.
    Blank,
    /// `N/A`: not computable.
    NotApplicable,
    /// `Nan`
    Nan,
    /// A whole number.
    Int(i128),
    /// A float. Infinities carry the trailing tab that the reference gives them.
    Float(f64),
    /// A percentage, shown with at most six decimals in plain notation.
    Percent(f64),
}

impl Cell {
    /// Appends the text stored in the file.
    pub fn push_text(self, out: &mut Vec<u8>) {
        match self {
            Cell::Blank => out.push(b' '),
            Cell::NotApplicable => out.extend_from_slice(b"N/A"),
            Cell::Nan => out.extend_from_slice(b"Nan"),
            Cell::Int(value) => {
                use std::io::Write;
                let _ = write!(out, "{value}");
            }
            Cell::Float(value) => {
                python::push_float(out, value);
                if value.is_infinite() {
                    out.push(b'\t');
                }
            }
            Cell::Percent(value) => decimal::push_percent(out, value),
        }
    }

    /// The relative error as a fraction of one; `None` for cells that hold none.
    #[must_use]
    pub fn fraction(self) -> Option<f64> {
        match self {
            Cell::Percent(value) => Some(value / 100.0),
            _ => None,
        }
    }
}

/// Difference and relative error of one statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// `Max diff` and its like.
    pub absolute: Cell,
    /// `MaxRelativeErr` and its like.
    pub relative: Cell,
}

/// The differences of Max, Min, Mean and Norm, in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Differences(pub [Difference; 4]);

impl Differences {
    /// The cells of a parameter that nothing faces.
    pub const BLANK: Differences = Differences([Difference { absolute: Cell::Blank, relative: Cell::Blank }; 4]);

    /// Relative error of the norm as a fraction; `None` when it could not be computed.
    #[must_use]
    pub fn norm_fraction(&self) -> Option<f64> {
        self.0[3].relative.fraction()
    }
}

/// A value of a dump as a number.
#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn of(value: Value<'_>) -> Option<Number> {
        match value {
            // Integers beyond 128 bits have no exact difference here; as floats they keep 53 bits.
            Value::Int(text) => text.parse().map(Number::Int).ok().or_else(|| text.parse().map(Number::Float).ok()),
            Value::Float(x) => Some(Number::Float(x)),
            _ => None,
        }
    }

    fn to_f64(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Float(x) => x,
        }
    }
}

/// Difference and relative error of a target value and a golden value.
#[must_use]
pub fn difference(target: Value<'_>, golden: Value<'_>) -> Difference {
    let (Some(n), Some(b)) = (Number::of(target), Number::of(golden)) else {
        return Difference { absolute: Cell::NotApplicable, relative: Cell::NotApplicable };
    };
    if let (Number::Int(n), Number::Int(b)) = (n, b) {
        if let Some(diff) = n.checked_sub(b) {
            let relative = if b == 0 { Cell::NotApplicable } else { Cell::Percent((divide(diff, b) * 100.0).abs()) };
            return Difference { absolute: Cell::Int(diff), relative };
        }
    }
    let (n, b) = (n.to_f64(), b.to_f64());
    let diff = n - b;
    if diff.is_nan() {
        return Difference { absolute: Cell::Nan, relative: Cell::Nan };
    }
    let relative = if b == 0.0 { Cell::NotApplicable } else { Cell::Percent((diff / b * 100.0).abs()) };
    Difference { absolute: Cell::Float(diff), relative }
}

/// Correctly rounded quotient of two integers, as Python's `/` gives it.
fn divide(a: i128, b: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    let (ua, ub) = (a.unsigned_abs(), b.unsigned_abs());
    if ua <= EXACT && ub <= EXACT {
        return a as f64 / b as f64;
    }
    // Long division to 55 significant bits and a sticky bit; converting that to f64 rounds once, correctly.
    let mut quotient = ua / ub;
    let mut rest = ua % ub;
    let mut exponent = 0i32;
    while quotient < 1 << 55 && rest != 0 {
        // rest < ub, so doubling may need one bit more than u128 has when ub is huge.
        let carry = rest >> 127;
        rest <<= 1;
        let bit = u128::from(carry == 1 || rest >= ub);
        if bit == 1 {
            rest = rest.wrapping_sub(ub);
        }
        quotient = quotient << 1 | bit;
        exponent -= 1;
    }
    let sticky = quotient | u128::from(rest != 0);
    let magnitude = sticky as f64 * 2f64.powi(exponent);
    if (a < 0) == (b < 0) {
        magnitude
    } else {
        -magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(cell: Cell) -> String {
        let mut out = Vec::new();
        cell.push_text(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn divides_large_integers_like_python() {
        // Second source: fractions worked out by hand (2^60+1)/(2^60) rounds to 1, 10^30/3 is known to 17 digits.
        assert_eq!(divide((1 << 60) + 1, 1 << 60), 1.0);
        assert_eq!(divide(10i128.pow(30), 3), 3.333_333_333_333_333e29);
        assert_eq!(divide(-(1 << 70), 1 << 69), -2.0);
    }

    #[test]
    fn whole_numbers_stay_whole() {
        let d = difference(Value::Int("9007199254740993"), Value::Int("1"));
        assert_eq!(text(d.absolute), "9007199254740992");
        assert_eq!(text(difference(Value::Int("2"), Value::Float(4.0)).absolute), "-2.0");
    }

    #[test]
    fn infinities_and_nan() {
        let d = difference(Value::Float(f64::INFINITY), Value::Float(1.0));
        assert_eq!((text(d.absolute), text(d.relative)), ("inf\t".into(), "inf%".into()));
        let d = difference(Value::Float(f64::INFINITY), Value::Float(f64::INFINITY));
        assert_eq!((text(d.absolute), text(d.relative)), ("Nan".into(), "Nan".into()));
        let d = difference(Value::Float(1.0), Value::Float(f64::INFINITY));
        assert_eq!((text(d.absolute), text(d.relative)), ("-inf\t".into(), "nan%".into()));
    }
}
