//! What a dtype tells of rounding.

use std::borrow::Cow;

/// What is known of a dtype from its name, of any framework.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Dtype {
    /// Rounded numbers: distance from 1 to the next one, and the smallest positive one.
    Float { epsilon: f32, smallest: f64 },
    /// Integers and booleans, which have no noise.
    Exact,
    /// A text, a shape, a process group.
    Other,
}

/// Reads a dtype such as `torch.bfloat16`, `Float32`, `<class float>`.
pub(crate) fn dtype(name: &str) -> Dtype {
    let float = |bits: i32, smallest: i32| Dtype::Float { epsilon: 2f32.powi(1 - bits), smallest: 2f64.powi(smallest) };
    match name {
        // Most are one of these two.
        "torch.float32" => return float(24, -149),
        "torch.bfloat16" => return float(8, -133),
        _ => {}
    }
    let name = name.strip_prefix("torch.").or_else(|| name.strip_prefix("mindspore.")).unwrap_or(name);
    let lower: Cow<'_, str> =
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) { name.to_ascii_lowercase().into() } else { name.into() };
    match &*lower {
        "bfloat16" => float(8, -133),
        "float16" | "half" | "complex32" => float(11, -24),
        "float32" | "float" | "complex64" | "hfloat32" | "tf32" | "<class float>" | "<class complex>" => float(24, -149),
        "float64" | "double" | "complex128" => float(53, -1074),
        "float8_e5m2" | "float8_e5m2fnuz" => float(3, -16),
        "hifloat8" => float(3, -22),
        "float8_e4m3" | "float8_e4m3fn" | "float8_e4m3fnuz" => float(4, -9),
        "float8_e8m0fnu" => float(1, -127),
        _ if lower.contains("float8") => float(3, -16),
        _ if lower.contains("float4") => float(2, -1),
        "bool" | "<class bool>" | "<class int>" | "int" | "long" | "short" => Dtype::Exact,
        _ if lower.starts_with("int") || lower.starts_with("uint") || lower.starts_with("qint") => Dtype::Exact,
        _ => Dtype::Other,
    }
}

impl Dtype {
    pub fn epsilon(self) -> f32 {
        match self {
            Dtype::Float { epsilon, .. } => epsilon,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilons_are_those_of_the_formats() {
        assert_eq!(dtype("torch.float32").epsilon(), f32::EPSILON);
        assert_eq!(dtype("Float32").epsilon(), f32::EPSILON);
        assert_eq!(dtype("torch.bfloat16").epsilon(), 1.0 / 128.0);
        assert_eq!(dtype("torch.float16").epsilon(), 1.0 / 1024.0);
        assert_eq!(f64::from(dtype("torch.float64").epsilon()), f64::EPSILON);
        assert_eq!(dtype("torch.float8_e4m3fn").epsilon(), 0.125);
        assert_eq!(dtype("Int64"), Dtype::Exact);
        assert_eq!(dtype("<class bool>"), Dtype::Exact);
        assert_eq!(dtype("torch.Size"), Dtype::Other);
    }
}
