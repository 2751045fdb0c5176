//! Python's `repr` of numbers.

/// Appends `value` as Python's `repr` of a float: shortest digits that read back to the same value, plain notation for
/// decimal exponents -4..=15, otherwise `1e-05`, `1e+16`; `nan`, `inf`, `-inf`, `-0.0`.
pub fn push_float(out: &mut Vec<u8>, value: f64) {
    let _ = (out, value);
    unimplemented!("text room")
}
