//! The marks `conj` and `neg` of torch's lazy views, applied to raw elements.

use super::error::Reason;
use super::Dtype;

/// Turns the sign of every imaginary part.
pub(super) fn conjugate(dtype: Dtype, elements: &mut [u8]) {
    let width = dtype.size() as usize;
    for element in elements.chunks_exact_mut(width) {
        element[width - 1] ^= 0x80;
    }
}

/// Turns the sign of every number. Only types that torch marks so can be turned.
pub(super) fn negate(dtype: Dtype, elements: &mut [u8]) -> Result<(), Reason> {
    match dtype {
        Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64 | Dtype::C32 | Dtype::CB32 | Dtype::C64 | Dtype::C128 => {
            for part in elements.chunks_exact_mut(dtype.swap_unit() as usize) {
                if let Some(last) = part.last_mut() {
                    *last ^= 0x80;
                }
            }
            Ok(())
        }
        other => Err(Reason::Dtype(format!("{} with a neg mark", other.name()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_turn() {
        let mut complex: Vec<u8> = [1.5f32, -2.0, 0.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        conjugate(Dtype::C64, &mut complex);
        let expected: Vec<u8> = [1.5f32, 2.0, 0.0, -3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(complex, expected);
        negate(Dtype::C64, &mut complex).unwrap();
        let expected: Vec<u8> = [-1.5f32, -2.0, -0.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(complex, expected);
        let mut half = 0x3c00u16.to_le_bytes();
        negate(Dtype::F16, &mut half).unwrap();
        assert_eq!(u16::from_le_bytes(half), 0xbc00);
        assert!(negate(Dtype::I32, &mut [0; 4]).is_err());
    }
}
