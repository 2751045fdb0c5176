//! Element types of tensor files.

/// Element type of a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the field's own names")]
pub enum Dtype {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
    /// bias 7, no infinity, 0x7f and 0xff are NaN
    F8E4M3Fn,
    /// bias 8, 0x80 is the only NaN, no negative zero
    F8E4M3Fnuz,
    /// bias 15, infinities and NaN as in IEEE 754
    F8E5M2,
    /// bias 16, 0x80 is the only NaN, no negative zero
    F8E5M2Fnuz,
    /// `2^(byte - 127)`, 0xff is NaN
    F8E8M0Fnu,
    /// two values in a byte, the first in the low half
    F4E2M1x2,
    /// two f16
    C32,
    /// two bf16
    CB32,
    /// two f32
    C64,
    /// two f64
    C128,
}

impl Dtype {
    /// Bytes of one stored element (a pair of values for the packed 4 bit type).
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Dtype::Bool
            | Dtype::U8
            | Dtype::I8
            | Dtype::F8E4M3Fn
            | Dtype::F8E4M3Fnuz
            | Dtype::F8E5M2
            | Dtype::F8E5M2Fnuz
            | Dtype::F8E8M0Fnu
            | Dtype::F4E2M1x2 => 1,
            Dtype::U16 | Dtype::I16 | Dtype::F16 | Dtype::BF16 => 2,
            Dtype::U32 | Dtype::I32 | Dtype::F32 | Dtype::C32 | Dtype::CB32 => 4,
            Dtype::U64 | Dtype::I64 | Dtype::F64 | Dtype::C64 => 8,
            Dtype::C128 => 16,
        }
    }

    /// Bytes that are swapped together when the byte order is foreign: a component of a complex number, else the element.
    #[must_use]
    pub fn swap_unit(self) -> u64 {
        if self.is_complex() {
            self.size() / 2
        } else {
            self.size()
        }
    }

    /// Whether an element is a pair of real and imaginary part.
    #[must_use]
    pub fn is_complex(self) -> bool {
        matches!(self, Dtype::C32 | Dtype::CB32 | Dtype::C64 | Dtype::C128)
    }

    /// Whether it is an integer or a boolean.
    #[must_use]
    pub fn is_integer(self) -> bool {
        use Dtype::{Bool, I16, I32, I64, I8, U16, U32, U64, U8};
        matches!(self, Bool | U8 | U16 | U32 | U64 | I8 | I16 | I32 | I64)
    }

    /// The type torch knows by `name` (without `torch.`). Integers of fewer than
    /// 8 bits keep their values in a byte; raw bits count as unsigned integers.
    #[must_use]
    pub fn from_torch(name: &str) -> Option<Dtype> {
        Some(match name {
            "bool" => Dtype::Bool,
            "uint8" | "uint1" | "uint2" | "uint3" | "uint4" | "uint5" | "uint6" | "uint7" | "bits8" | "bits1x8" | "bits2x4" | "bits4x2" => {
                Dtype::U8
            }
            "uint16" | "bits16" => Dtype::U16,
            "uint32" => Dtype::U32,
            "uint64" => Dtype::U64,
            "int8" | "int1" | "int2" | "int3" | "int4" | "int5" | "int6" | "int7" => Dtype::I8,
            "int16" | "short" => Dtype::I16,
            "int32" | "int" => Dtype::I32,
            "int64" | "long" => Dtype::I64,
            "float16" | "half" => Dtype::F16,
            "bfloat16" => Dtype::BF16,
            "float32" | "float" => Dtype::F32,
            "float64" | "double" => Dtype::F64,
            "float8_e4m3fn" => Dtype::F8E4M3Fn,
            "float8_e4m3fnuz" => Dtype::F8E4M3Fnuz,
            "float8_e5m2" => Dtype::F8E5M2,
            "float8_e5m2fnuz" => Dtype::F8E5M2Fnuz,
            "float8_e8m0fnu" => Dtype::F8E8M0Fnu,
            "float4_e2m1fn_x2" => Dtype::F4E2M1x2,
            "complex32" | "chalf" => Dtype::C32,
            "bcomplex32" => Dtype::CB32,
            "complex64" | "cfloat" => Dtype::C64,
            "complex128" | "cdouble" => Dtype::C128,
            _ => return None,
        })
    }

    /// The type of a storage class of torch: `FloatStorage`, `BFloat16Storage`, ...
    #[must_use]
    pub fn from_storage_class(name: &str) -> Option<Dtype> {
        Some(match name.strip_suffix("Storage")? {
            "Bool" => Dtype::Bool,
            "Byte" => Dtype::U8,
            "Char" => Dtype::I8,
            "Short" => Dtype::I16,
            "Int" => Dtype::I32,
            "Long" => Dtype::I64,
            "Half" => Dtype::F16,
            "BFloat16" => Dtype::BF16,
            "Float" => Dtype::F32,
            "Double" => Dtype::F64,
            "ComplexFloat" => Dtype::C64,
            "ComplexDouble" => Dtype::C128,
            _ => return None,
        })
    }

    /// The type of a numpy type code without its byte order: `f4`, `b1`, `c8`.
    #[must_use]
    pub fn from_numpy(code: &str) -> Option<Dtype> {
        Some(match code {
            "b1" => Dtype::Bool,
            "u1" => Dtype::U8,
            "u2" => Dtype::U16,
            "u4" => Dtype::U32,
            "u8" => Dtype::U64,
            "i1" => Dtype::I8,
            "i2" => Dtype::I16,
            "i4" => Dtype::I32,
            "i8" => Dtype::I64,
            "f2" => Dtype::F16,
            "f4" => Dtype::F32,
            "f8" => Dtype::F64,
            "c8" => Dtype::C64,
            "c16" => Dtype::C128,
            _ => return None,
        })
    }

    /// The type that a dtype text of dump.json means (`torch.bfloat16`, `BFloat16`, `mindspore.float8_e4m3fn`), for files
    /// that only say how many bytes an element has.
    #[must_use]
    pub fn from_dump_text(text: &str) -> Option<Dtype> {
        let name = text.rsplit('.').next().unwrap_or(text).to_ascii_lowercase();
        Dtype::from_torch(&name)
    }

    /// The plain name: `float32`, `bfloat16`, `complex64`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Bool => "bool",
            Dtype::U8 => "uint8",
            Dtype::U16 => "uint16",
            Dtype::U32 => "uint32",
            Dtype::U64 => "uint64",
            Dtype::I8 => "int8",
            Dtype::I16 => "int16",
            Dtype::I32 => "int32",
            Dtype::I64 => "int64",
            Dtype::F16 => "float16",
            Dtype::BF16 => "bfloat16",
            Dtype::F32 => "float32",
            Dtype::F64 => "float64",
            Dtype::F8E4M3Fn => "float8_e4m3fn",
            Dtype::F8E4M3Fnuz => "float8_e4m3fnuz",
            Dtype::F8E5M2 => "float8_e5m2",
            Dtype::F8E5M2Fnuz => "float8_e5m2fnuz",
            Dtype::F8E8M0Fnu => "float8_e8m0fnu",
            Dtype::F4E2M1x2 => "float4_e2m1fn_x2",
            Dtype::C32 => "complex32",
            Dtype::CB32 => "bcomplex32",
            Dtype::C64 => "complex64",
            Dtype::C128 => "complex128",
        }
    }

    /// The type a comparison sees: the narrow floats that numpy does not know count as float32 (half complex as complex64),
    /// so that bfloat16 against float32 is no difference of dtype.
    #[must_use]
    pub fn widened(self) -> Dtype {
        match self {
            Dtype::BF16 | Dtype::F8E4M3Fn | Dtype::F8E4M3Fnuz | Dtype::F8E5M2 | Dtype::F8E5M2Fnuz | Dtype::F8E8M0Fnu | Dtype::F4E2M1x2 => {
                Dtype::F32
            }
            Dtype::C32 | Dtype::CB32 => Dtype::C64,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["bool", "uint16", "int64", "bfloat16", "float8_e8m0fnu", "complex32", "float4_e2m1fn_x2"] {
            assert_eq!(Dtype::from_torch(name).unwrap().name(), name);
        }
        assert_eq!(Dtype::from_torch("quint8"), None);
    }

    #[test]
    fn texts_of_dumps() {
        assert_eq!(Dtype::from_dump_text("torch.bfloat16"), Some(Dtype::BF16));
        assert_eq!(Dtype::from_dump_text("BFloat16"), Some(Dtype::BF16));
        assert_eq!(Dtype::from_dump_text("Float32"), Some(Dtype::F32));
        assert_eq!(Dtype::from_dump_text("<class 'int'>"), None);
    }
}
