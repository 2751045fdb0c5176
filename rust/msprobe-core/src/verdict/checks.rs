//! The checks, in the order in which they are evaluated.

use super::best::{largest, smallest};
use super::exempt::{scope, Scope};
use super::{Facts, JudgedRow, RowVerdict, Rules, Verdict};
use crate::dump::json::Value;
use crate::metrics::Mode;
use crate::name;

const NON_FINITE: &str = "error: There is nan/inf/-inf in the maximum or minimum value of NPU.";
const NORM_JUMP: &str = "error: The NormRelativeErr of output is greater than 0.5.";
const REQUIRES_GRAD: &str = "error: The Required_Grad of NPU and Bench are inconsistent";
const SCALAR: &str = "error: The scalar parameters of NPU and Bench are inconsistent.";
const DTYPE: &str = "error: The dtype of NPU and Bench are inconsistent.";
const SHAPE: &str = "error: The shape of NPU and Bench are inconsistent.";
const NORM_GROWTH: &str = "warning: The norm relative error of output is 10 times that of input.";
const RATIO_DROP: &str = "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.";
const COSINE_DROP: &str = "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1";
const MD5_UNMATCHED: &str = "warning: The parameter of NPU does not match the bench.";
const MD5_DIFFERS: &str = "error: The CRC-32 value of NPU differs from that of the bench.";

/// What the stored row shows on the golden side when nothing faces a target parameter.
const ABSENT: Value<'static> = Value::Str("Nan");
const NOBODY: Facts<'static> =
    Facts { name: "Nan", dtype: ABSENT, shape: ABSENT, requires_grad: ABSENT, max: ABSENT, min: ABSENT, md5: ABSENT };

/// Runs the checks of `rules` over `rows` and raises the verdicts in `out` (one per row).
pub(super) fn run(rules: Rules, rows: &[JudgedRow<'_>], out: &mut [RowVerdict]) {
    let api = rows.iter().find(|r| !r.is_output).and_then(|r| name::api_name(r.target.name));
    let scope = scope(if rules.merged { api.map(name::without_rank) } else { api });
    if scope == Scope::None || rules.mode == Mode::Structure {
        return;
    }
    let mut judged = Judged { rows, out, scope };
    if rules.mode == Mode::Md5 {
        judged.md5();
        return;
    }
    judged.each_row(NON_FINITE, |t, g| !is_non_finite(g.max) && !is_non_finite(g.min) && (is_non_finite(t.max) || is_non_finite(t.min)));
    match rules.mode {
        Mode::Statistics => judged.norm_jump(),
        _ => judged.ratio_drop(),
    }
    judged.each_row(REQUIRES_GRAD, |t, g| {
        has_golden(g) && t.requires_grad.is_truthy() && g.requires_grad.is_truthy() && t.requires_grad != g.requires_grad
    });
    if scope == Scope::All {
        judged.each_input(SCALAR, |t, g| {
            has_golden(g) && is_class(t.dtype) && is_class(g.dtype) && is_scalar_shape(t.shape) && !same_scalar(t.max, g.max)
        });
    }
    judged.each_row(DTYPE, |t, g| {
        has_golden(g)
            && t.name != "N/A"
            && !g.name.contains("qkv")
            && !g.name.contains("gate_up")
            && t.dtype.is_truthy()
            && g.dtype.is_truthy()
            && !same_dtype(rules.cross_framework, t.dtype, g.dtype)
    });
    if !(rules.merged && rules.mode == Mode::Statistics) {
        judged.each_row(SHAPE, |t, g| has_golden(g) && t.shape != Value::Null && g.shape != Value::Null && t.shape != g.shape);
    }
    match rules.mode {
        Mode::Statistics => judged.norm_growth(),
        _ => judged.cosine_drop(),
    }
}

/// The rows under judgement.
struct Judged<'r, 'a> {
    rows: &'r [JudgedRow<'a>],
    out: &'r mut [RowVerdict],
    scope: Scope,
}

impl<'a> Judged<'_, 'a> {
    fn raise(&mut self, index: usize, message: &'static str) {
        let level = if message.starts_with("error") { Verdict::Error } else { Verdict::Warning };
        let row = &mut self.out[index];
        row.verdict = row.verdict.max(level);
        row.messages.push(message);
    }

    fn each(&mut self, message: &'static str, wanted: impl Fn(&JudgedRow<'_>) -> bool, hit: impl Fn(&Facts<'a>, &Facts<'a>) -> bool) {
        for i in 0..self.rows.len() {
            let row = &self.rows[i];
            if wanted(row) && hit(&row.target, &row.golden.unwrap_or(NOBODY)) {
                self.raise(i, message);
            }
        }
    }

    fn each_row(&mut self, message: &'static str, hit: impl Fn(&Facts<'a>, &Facts<'a>) -> bool) {
        let outputs_only = self.scope == Scope::Outputs;
        self.each(message, |row| row.is_output || !outputs_only, hit);
    }

    fn each_input(&mut self, message: &'static str, hit: impl Fn(&Facts<'a>, &Facts<'a>) -> bool) {
        self.each(message, |row| !row.is_output, hit);
    }

    fn inputs(&self) -> impl Iterator<Item = &JudgedRow<'a>> {
        self.rows.iter().filter(|r| !r.is_output)
    }

    fn outputs(&self) -> impl Iterator<Item = &JudgedRow<'a>> {
        self.rows.iter().filter(|r| r.is_output)
    }

    /// Marks the first output when a rule over the whole node holds. Only nodes that are judged in full have such rules.
    fn first_output(&mut self, message: &'static str, holds: impl Fn(&Self) -> bool) {
        if self.scope != Scope::All {
            return;
        }
        if let Some(index) = self.rows.iter().position(|r| r.is_output) {
            if holds(self) {
                self.raise(index, message);
            }
        }
    }

    fn norm_jump(&mut self) {
        if self.scope != Scope::All || largest(self.inputs(), |r| r.measures.norm_relative).abs() >= 0.1 {
            return;
        }
        for i in 0..self.rows.len() {
            let row = &self.rows[i];
            if row.is_output && row.measures.norm_relative.is_some_and(|v| v.abs() > 0.5) {
                self.raise(i, NORM_JUMP);
            }
        }
    }

    fn norm_growth(&mut self) {
        self.first_output(NORM_GROWTH, |judged| {
            let inputs = largest(judged.inputs(), |r| r.measures.norm_relative).abs();
            let outputs = largest(judged.outputs(), |r| r.measures.norm_relative).abs();
            if inputs == 0.0 {
                outputs > 0.1
            } else {
                outputs / inputs > 10.0
            }
        });
    }

    fn ratio_drop(&mut self) {
        self.first_output(RATIO_DROP, |judged| {
            smallest(judged.inputs(), |r| r.measures.one_thousandth) > 0.9
                && smallest(judged.outputs(), |r| r.measures.one_thousandth) < 0.1
        });
    }

    fn cosine_drop(&mut self) {
        self.first_output(COSINE_DROP, |judged| {
            let inputs = smallest(judged.inputs(), |r| r.measures.cosine);
            inputs > 0.9 && inputs - smallest(judged.outputs(), |r| r.measures.cosine) > 0.1
        });
    }

    fn md5(&mut self) {
        let unknown = |v: Value<'_>| matches!(v, Value::Str("N/A" | "Nan" | ""));
        self.each_row(MD5_UNMATCHED, |t, g| t.md5 != g.md5 && (unknown(t.md5) || unknown(g.md5)));
        self.each_row(MD5_DIFFERS, |t, g| t.md5 != g.md5 && !unknown(t.md5) && !unknown(g.md5));
    }
}

fn has_golden(golden: &Facts<'_>) -> bool {
    !golden.name.is_empty() && golden.name != "N/A"
}

fn is_class(dtype: Value<'_>) -> bool {
    matches!(dtype, Value::Str(text) if text.contains("class"))
}

fn is_scalar_shape(shape: Value<'_>) -> bool {
    matches!(shape, Value::Str("[]") | Value::List([]))
}

fn is_non_finite(value: Value<'_>) -> bool {
    match value {
        Value::Float(x) => !x.is_finite(),
        Value::Str(text) => {
            let text = text.trim();
            ["nan", "inf", "-inf"].iter().any(|word| text.eq_ignore_ascii_case(word))
        }
        _ => false,
    }
}

/// Equality of two scalars as Python sees it (`3 == 3.0`, `true == 1`).
fn same_scalar(a: Value<'_>, b: Value<'_>) -> bool {
    match (a, b) {
        (Value::Int(i), Value::Float(x)) | (Value::Float(x), Value::Int(i)) => int_equals_float(i, x),
        (Value::Bool(flag), other) | (other, Value::Bool(flag)) if !matches!(other, Value::Bool(_)) => {
            same_scalar(Value::Int(if flag { "1" } else { "0" }), other)
        }
        (Value::List(x), Value::List(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same_scalar(*a, *b)),
        _ => a == b,
    }
}

fn int_equals_float(int: &str, float: f64) -> bool {
    // Exact: an f64 that is whole and below 2^127 converts to i128 without loss.
    match int.parse::<i128>() {
        Ok(i) => float.fract() == 0.0 && float.abs() < 1.7e38 && float as i128 == i,
        Err(_) => int.parse() == Ok(float),
    }
}

/// Whether two dtypes are the same; across frameworks `Float32` means `torch.float32`.
fn same_dtype(cross_framework: bool, a: Value<'_>, b: Value<'_>) -> bool {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) if cross_framework => bare_dtype(a).eq_ignore_ascii_case(bare_dtype(b)),
        _ => a == b,
    }
}

fn bare_dtype(dtype: &str) -> &str {
    dtype.strip_prefix("torch.").or_else(|| dtype.strip_prefix("mindspore.")).unwrap_or(dtype)
}
