//! How far the two sides of one parameter row are apart.

use super::cells::Cells;
use super::dtype::{dtype, Dtype};
use super::marks;
use crate::visdb::Task;
use serde::{Deserialize, Serialize};

/// What a row is to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Data that flows in.
    Input,
    /// A number, a flag: how the computation is to be done.
    Argument,
    /// A parameter of a module.
    Parameter,
    /// What flows out.
    Output,
    /// The gradient of a parameter.
    Gradient,
}

/// Why a row differs without a number that says by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Break {
    /// NaN or infinity on one side only.
    NonFinite,
    /// Shapes differ.
    Shape,
    /// Checksums differ.
    Checksum,
    /// Integers, flags or texts differ, which have no noise.
    Value,
}

/// The difference of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Difference {
    /// Nothing could be compared.
    NotCompared,
    /// Relative errors of `Norm`, of the extremes, and of `Mean` against the root mean square; NaN where there is none. In
    /// a tensor comparison: of the Euclidean distance and of the largest absolute difference.
    Relative([f32; 3]),
    /// Different beyond any number.
    Broken(Break),
}

/// One row, measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub difference: Difference,
    /// Epsilon of the dtype, 0 without one; where the pair's dtypes differ, of the coarser one as far as it is known.
    pub epsilon: f32,
    /// Whether the verdict's messages say that the dtypes differ.
    pub dtypes_differ: bool,
    /// Norm (or largest magnitude) of the target, 0 if unknown.
    pub scale: f32,
    /// Stands for the target's value: equal values have equal marks. 0 if there is no value.
    pub mark: u64,
    /// Whether this is a number or flag rather than a tensor.
    pub is_scalar: bool,
    /// How many standard deviations the extreme of so many elements lies out.
    pub reach: f32,
    /// Whether the target's elements are numbers.
    pub extremes: Extremes,
    /// Whether golden holds NaN or infinity (other than a mask's) where the target's elements are numbers.
    pub golden_overflows: bool,
}

/// What the largest and the smallest element of a tensor tell of all of them. (Mean and norm may overflow where no element does.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extremes {
    /// All are finite, or nothing is known of them.
    Finite,
    /// Some are minus infinity, as in a mask, and none is worse.
    Masked,
    /// NaN or infinity.
    NonFinite,
}

impl Extremes {
    fn between(max: Option<f64>, min: Option<f64>) -> Self {
        let worst = |number: f64| match number {
            _ if number.is_finite() => Extremes::Finite,
            f64::NEG_INFINITY => Extremes::Masked,
            _ => Extremes::NonFinite,
        };
        [max, min].into_iter().flatten().map(worst).max().unwrap_or(Extremes::Finite)
    }
}

const NOT_NUMBER: [f32; 3] = [f32::NAN; 3];

/// Measures a row of a file of kind `task`.
pub(crate) fn measure(cells: &Cells<'_>, task: Task) -> Measured {
    let messages = cells.messages.text();
    let type_of = dtype(cells.dtype.text());
    let is_scalar = is_scalar(cells);
    let numbers = [0, 1, 2, 3].map(|i| cells.statistics[i].number());
    let scale = numbers[3].filter(|n| n.is_finite()).or(numbers[0]).map_or(0.0, |n| n.abs() as f32);
    let difference = match task {
        Task::Md5 => checksum(cells),
        Task::All if !is_scalar => tensor(cells, type_of, numbers),
        _ => statistics(cells, type_of, numbers),
    };
    let difference = match difference {
        Difference::NotCompared | Difference::Relative(_) if shape_differs(cells, messages) => Difference::Broken(Break::Shape),
        Difference::NotCompared if messages.contains("scalar parameters") && !is_device(cells) => Difference::Broken(Break::Value),
        other => other,
    };
    let dtypes_differ = messages.contains("The dtype of");
    let reach = if dtypes_differ { element_count(cells.shape.text()).map_or(1.0, expected_extreme) } else { 1.0 };
    let extremes = Extremes::between(numbers[0], numbers[1]);
    let golden_overflows = difference == Difference::Broken(Break::NonFinite)
        && extremes == Extremes::Finite
        && (task == Task::All && !is_scalar && numbers[0].is_some() || golden_overflows(cells, numbers));
    let epsilon = type_of.epsilon();
    Measured { difference, epsilon, dtypes_differ, scale, mark: mark(cells, numbers), is_scalar, reach, extremes, golden_overflows }
}

/// The largest of `count` normal deviates, in standard deviations, at least 1 (David and Nagaraja, *Order Statistics*,
/// 3rd ed., section 10.5).
fn expected_extreme(count: f64) -> f32 {
    (2.0 * count.max(1.0).ln()).sqrt().max(1.0) as f32
}

/// A Python number, flag or text, told from a tensor by its dtype or type.
fn is_scalar(cells: &Cells<'_>) -> bool {
    let kind = cells.kind.text();
    cells.dtype.text().starts_with("<class") || matches!(kind, "int" | "float" | "bool" | "str")
}

/// Device names differ between machines without meaning anything.
fn is_device(cells: &Cells<'_>) -> bool {
    let value = cells.value.text();
    ["npu", "cuda", "cpu", "meta", "Ascend", "GPU", "CPU"].iter().any(|device| value.starts_with(device))
}

fn shape_differs(cells: &Cells<'_>, messages: &str) -> bool {
    // An unpaired row carries the same message but has no golden number to differ from.
    cells.euclid.text() == "shape unmatched"
        || messages.contains("The shape of") && cells.differences.iter().any(|cell| cell.number().is_some())
}

fn checksum(cells: &Cells<'_>) -> Difference {
    match cells.result.text() {
        "pass" => Difference::Relative([0.0; 3]),
        "error" if cells.messages.text().contains("CRC-32") => {
            if is_device(cells) {
                Difference::NotCompared
            } else {
                Difference::Broken(Break::Checksum)
            }
        }
        _ => Difference::NotCompared,
    }
}

fn statistics(cells: &Cells<'_>, type_of: Dtype, target: [Option<f64>; 4]) -> Difference {
    let mut by = [0, 1, 2, 3].map(|i| cells.differences[i].number());
    for (n, difference) in target.into_iter().zip(&mut by) {
        if let (Some(n), Some(d)) = (n, *difference) {
            if is_limit(n) && is_limit(n - d) && (n < 0.0) == (n - d < 0.0) {
                *difference = Some(0.0);
            }
        }
    }
    let Some((max, max_by)) = target[0].zip(by[0]) else { return Difference::NotCompared };
    let min = target[1].zip(by[1]);
    match non_finite(cells.messages.text(), (max, max_by), min) {
        Some(true) => return Difference::Broken(Break::NonFinite),
        Some(false) => return Difference::Relative([0.0; 3]),
        None => {}
    }
    let smallest = match type_of {
        Dtype::Float { smallest, .. } => smallest,
        Dtype::Exact => {
            let same = max_by == 0.0 && min.is_none_or(|m| m.1 == 0.0) && by[3].is_none_or(|b| b == 0.0);
            return if same { Difference::Relative([0.0; 3]) } else { Difference::Broken(Break::Value) };
        }
        Dtype::Other => return Difference::NotCompared,
    };
    // The last few steps of a format's range are as coarse as they are small: a difference within them is rounding.
    let beyond = |by: f64, scale: f64| ((by.abs() - 8.0 * smallest).max(0.0) / scale) as f32;
    let mut errors = NOT_NUMBER;
    // One side of an attention mask is a huge constant or an infinity on both sides; it tells nothing, the other side does.
    let extremes = [Some((max, max_by)), min].into_iter().flatten().filter(|(n, by)| n.is_finite() && by.is_finite());
    let (mut reach, mut worst) = (0f64, 0f64);
    for (n, by) in extremes {
        reach = reach.max(n.abs()).max((n - by).abs());
        worst = worst.max(by.abs());
    }
    errors[1] = if worst == 0.0 { 0.0 } else { beyond(worst, reach) };
    let norm = target[3].zip(by[3]).filter(|(n, by)| n.is_finite() && by.is_finite());
    if let Some((n, norm_by)) = norm {
        let size = n.abs().max((n - norm_by).abs());
        errors[0] = if norm_by == 0.0 { 0.0 } else { beyond(norm_by, size) };
        let mean = target[2].zip(by[2]).filter(|(n, by)| n.is_finite() && by.is_finite());
        if let Some(((_, mean_by), count)) = mean.zip(element_count(cells.shape.text())) {
            // Positive and negative elements cancel in a mean, so its error is measured against their typical size.
            errors[2] = if mean_by == 0.0 { 0.0 } else { beyond(mean_by, size / count.sqrt()) };
        }
    }
    Difference::Relative(errors)
}

/// Whether a value is the largest or smallest number of a type: masks are filled with it, so it changes with the type.
fn is_limit(value: f64) -> bool {
    const LIMITS: [f64; 4] = [65_504.0, 3.389_531_389_251_535_5e38, 3.402_823_466_385_288_6e38, f64::MAX];
    // Most values are far below the smallest of them.
    value.abs() > 65_000.0 && LIMITS.iter().any(|limit| (value.abs() / limit - 1.0).abs() < 1e-6)
}

/// Whether exactly one side has NaN or infinity; `None` if both are finite (enough).
fn non_finite(messages: &str, max: (f64, f64), min: Option<(f64, f64)>) -> Option<bool> {
    if messages.contains("nan/inf/-inf") {
        return Some(true);
    }
    let mut undecided = false;
    for (n, by) in [Some(max), min].into_iter().flatten() {
        match (n.is_finite(), by.is_finite()) {
            (true, true) => {}
            // Golden is not finite, or (by infinite) only the target is.
            (true, false) => return Some(true),
            (false, _) if by.is_infinite() => return Some(true),
            (false, _) => undecided = true,
        }
    }
    // A mask: -inf on both sides at one end, numbers at the other.
    let one_end_finite = max.0.is_finite() || min.is_some_and(|m| m.0.is_finite());
    (undecided && !one_end_finite).then_some(false)
}

/// Whether golden's Max or Min is NaN or infinity, told by a difference from a number. Minus infinity is what masks are filled with.
fn golden_overflows(cells: &Cells<'_>, target: [Option<f64>; 4]) -> bool {
    let by = [0, 1].map(|i| target[i].filter(|n| n.is_finite()).and(cells.differences[i].number()));
    by.into_iter().flatten().any(|by| by.is_nan() || by == f64::NEG_INFINITY)
}

fn tensor(cells: &Cells<'_>, type_of: Dtype, target: [Option<f64>; 4]) -> Difference {
    let (euclid, largest) = (cells.euclid.number(), cells.max_abs.number());
    if cells.euclid.text() == "N/A" && cells.max_abs.text() == "N/A" {
        return Difference::Broken(Break::NonFinite);
    }
    let Some(largest) = largest else { return Difference::NotCompared };
    if type_of == Dtype::Exact {
        return if largest == 0.0 { Difference::Relative([0.0; 3]) } else { Difference::Broken(Break::Value) };
    }
    // A 0-d tensor that is NaN has no difference either; with an infinity on one side the difference is infinite.
    if !largest.is_finite() {
        return if largest.is_infinite() { Difference::Broken(Break::NonFinite) } else { Difference::NotCompared };
    }
    let against = |by: f64, scale: f64| if by == 0.0 { 0.0 } else { (by / scale.abs().max(by)) as f32 };
    let finite = |number: Option<f64>| number.filter(|n| n.is_finite());
    let reach = finite(target[0]).into_iter().chain(finite(target[1])).map(f64::abs).fold(0.0, f64::max);
    let mut errors = NOT_NUMBER;
    errors[1] = against(largest, reach);
    if let Some((euclid, norm)) = finite(euclid).zip(finite(target[3])) {
        errors[0] = against(euclid, norm);
    }
    Difference::Relative(errors)
}

/// Number of elements of a shape such as `[2, 12, 64]`; 1 for `[]`.
fn element_count(shape: &str) -> Option<f64> {
    let count = usual_element_count(shape.as_bytes()).or_else(|| {
        let inner = shape.trim().strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
        let mut count = 1.0;
        for side in inner.split(',').map(str::trim).filter(|side| !side.is_empty()) {
            count *= side.parse::<u64>().ok()? as f64;
        }
        Some(count)
    })?;
    (count > 0.0).then_some(count)
}

/// The same of a shape as Python writes a list: digits, one comma and one blank between them.
fn usual_element_count(shape: &[u8]) -> Option<f64> {
    let mut rest = shape.strip_prefix(b"[")?;
    let mut count = 1.0;
    loop {
        let mut side = 0u64;
        let mut digits = 0;
        while let [digit @ b'0'..=b'9', behind @ ..] = rest {
            side = 10 * side + u64::from(digit - b'0');
            digits += 1;
            rest = behind;
            if digits > 18 {
                return None;
            }
        }
        if digits == 0 {
            return None;
        }
        count *= side as f64;
        match rest {
            b"]" => return Some(count),
            [b',', b' ', behind @ ..] => rest = behind,
            _ => return None,
        }
    }
}

/// A number that stands for the statistics of a tensor: they stay the same through views and through modules that hand a
/// tensor on.
fn mark(cells: &Cells<'_>, numbers: [Option<f64>; 4]) -> u64 {
    if matches!(cells.statistics[0], super::cells::Cell::None) {
        return 0;
    }
    let mut mark = 0;
    for (cell, number) in cells.statistics.iter().zip(numbers) {
        mark = marks::joined(mark, number.map_or_else(|| marks::mark(cell.text()), f64::to_bits));
    }
    mark | 1
}

#[cfg(test)]
mod tests {
    use super::super::cells::for_each_row;
    use super::*;

    fn row(task: Task, members: &str) -> Measured {
        let text = format!("{{\"n\": {{\"type\": \"torch.Tensor\", {members}}}}}");
        let mut found = None;
        for_each_row(&text, |_, cells: &Cells<'_>| found = Some(measure(cells, task))).unwrap();
        found.unwrap()
    }

    fn float(statistics: [&str; 4], by: [&str; 4], messages: &str) -> Difference {
        let [max, min, mean, norm] = statistics;
        let [max_by, min_by, mean_by, norm_by] = by;
        let members = format!(
            "\"dtype\": \"torch.float32\", \"shape\": \"[4]\", \"Max\": \"{max}\", \"Min\": \"{min}\", \"Mean\": \"{mean}\", \"Norm\": \"{norm}\", \
             \"Max diff\": \"{max_by}\", \"Min diff\": \"{min_by}\", \"Mean diff\": \"{mean_by}\", \"L2norm diff\": \"{norm_by}\", \"Err_message\": \"{messages}\""
        );
        row(Task::Summary, &members).difference
    }

    #[test]
    fn errors_are_relative_to_the_tensor_not_to_the_statistic() {
        // Min and Mean are tiny beside the tensor; golden: Max 2, Min 0.001, Mean 0.0001, Norm 4, so RMS 2 of 4 elements.
        let found = float(["2.0", "0.003", "0.0101", "4.0"], ["0.0", "0.002", "0.01", "0.0"], "");
        assert_eq!(found, Difference::Relative([0.0, 0.001, 0.005]));
        let found = float(["2.0", "-1.0", "0.0", "5.0"], ["0.0", "0.0", "0.0", "1.0"], "");
        assert_eq!(found, Difference::Relative([0.2, 0.0, 0.0]));
    }

    #[test]
    fn nan_and_infinity_count_when_only_one_side_has_them() {
        let broken = Difference::Broken(Break::NonFinite);
        let message = "error: There is nan/inf/-inf in the maximum or minimum value of NPU.";
        assert_eq!(float(["nan", "nan", "nan", "nan"], ["Nan", "Nan", "Nan", "Nan"], message), broken);
        assert_eq!(float(["inf", "0.0", "inf", "inf"], ["inf\\t", "0.0", "inf\\t", "inf\\t"], ""), broken);
        // The golden side alone.
        assert_eq!(float(["1.0", "0.0", "0.5", "1.0"], ["-inf\\t", "0.0", "Nan", "Nan"], ""), broken);
        assert_eq!(float(["1.0", "0.0", "0.5", "1.0"], ["Nan", "Nan", "Nan", "Nan"], ""), broken);
        // Both sides.
        assert_eq!(float(["nan", "nan", "nan", "nan"], ["Nan", "Nan", "Nan", "Nan"], ""), Difference::Relative([0.0; 3]));
    }

    #[test]
    fn what_overflows_in_golden_alone_is_told_from_masks() {
        let golden_overflows = |[max, min]: [&str; 2], [max_by, min_by]: [&str; 2]| {
            let members = format!(
                "\"dtype\": \"torch.float32\", \"Max\": \"{max}\", \"Min\": \"{min}\", \"Max diff\": \"{max_by}\", \"Min diff\": \"{min_by}\""
            );
            row(Task::Summary, &members).golden_overflows
        };
        // 1 - nan, 1 - inf, 0 - inf; then 0 - -inf, a mask of golden.
        assert!(golden_overflows(["1.0", "0.0"], ["Nan", "Nan"]));
        assert!(golden_overflows(["1.0", "0.0"], ["-inf\\t", "0.0"]));
        assert!(golden_overflows(["1.0", "0.0"], ["-inf\\t", "-inf\\t"]));
        assert!(!golden_overflows(["1.0", "0.0"], ["0.0", "inf\\t"]));
        // The target's own, and that of both.
        assert!(!golden_overflows(["nan", "nan"], ["Nan", "Nan"]));
        assert!(!golden_overflows(["inf", "0.0"], ["inf\\t", "0.0"]));
        assert!(!golden_overflows(["1.0", "0.0"], ["0.5", "0.0"]));
        let tensors = |max: &str| {
            let members = format!("\"dtype\": \"torch.float32\", \"Max\": \"{max}\", \"EucDist\": \"N/A\", \"MaxAbsErr\": \"N/A\"");
            row(Task::All, &members).golden_overflows
        };
        assert_eq!((tensors("2.0"), tensors("nan")), (true, false));
    }

    #[test]
    fn a_mask_is_judged_by_its_finite_end() {
        let Difference::Relative(errors) = float(["1.0", "-inf", "-inf", "inf"], ["0.5", "Nan", "Nan", "Nan"], "") else { panic!() };
        assert_eq!(errors[1], 0.5);
    }

    #[test]
    fn integers_have_no_noise() {
        let members = |by: &str| {
            format!("\"dtype\": \"torch.int64\", \"shape\": \"[2]\", \"Max\": \"5\", \"Min\": \"1\", \"Norm\": \"null\", \"Max diff\": \"{by}\", \"Min diff\": \"0\"")
        };
        assert_eq!(row(Task::Summary, &members("0")).difference, Difference::Relative([0.0; 3]));
        assert_eq!(row(Task::Summary, &members("1")).difference, Difference::Broken(Break::Value));
    }

    #[test]
    fn subnormal_halves_are_rounding() {
        let members = |dtype: &str| {
            format!("\"dtype\": \"{dtype}\", \"shape\": \"[1]\", \"Max\": \"3e-07\", \"Min\": \"3e-07\", \"Mean\": \"3e-07\", \"Norm\": \"3e-07\", \
             \"Max diff\": \"1e-07\", \"Min diff\": \"1e-07\", \"Mean diff\": \"1e-07\", \"L2norm diff\": \"1e-07\"")
        };
        assert_eq!(row(Task::Summary, &members("torch.float16")).difference, Difference::Relative([0.0; 3]));
        let Difference::Relative(errors) = row(Task::Summary, &members("torch.float32")).difference else { panic!() };
        assert!((errors[0] - 1.0 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn tensors_are_measured_by_distance() {
        let members = "\"dtype\": \"torch.float32\", \"shape\": \"[4]\", \"Max\": \"2.0\", \"Min\": \"-4.0\", \"Norm\": \"5.0\", \"EucDist\": \"0.5\", \"MaxAbsErr\": \"0.4\"";
        let Difference::Relative(errors) = row(Task::All, members).difference else { panic!() };
        assert_eq!((errors[0], errors[1], errors[2].is_nan()), (0.1, 0.1, true));
        let members = "\"dtype\": \"torch.float32\", \"Max\": \"2.0\", \"EucDist\": \"N/A\", \"MaxAbsErr\": \"N/A\"";
        assert_eq!(row(Task::All, members).difference, Difference::Broken(Break::NonFinite));
        let members =
            "\"dtype\": \"torch.float32\", \"Max\": \"2.0\", \"EucDist\": \"shape unmatched\", \"MaxAbsErr\": \"shape unmatched\"";
        assert_eq!(row(Task::All, members).difference, Difference::Broken(Break::Shape));
        let members = "\"dtype\": \"torch.float32\", \"Max\": \"2.0\", \"EucDist\": \"unsupported\", \"MaxAbsErr\": \"unsupported\"";
        assert_eq!(row(Task::All, members).difference, Difference::NotCompared);
    }

    #[test]
    fn elements_of_a_shape() {
        for (shape, count) in [
            ("[2, 12, 64]", Some(1536.0)),
            ("[2,12, 64, ]", Some(1536.0)),
            ("(3,)", Some(3.0)),
            ("[]", Some(1.0)),
            ("[7]", Some(7.0)),
            ("[2, 0]", None),
            ("[2, x]", None),
            ("2", None),
            ("[18446744073709551615]", Some(18_446_744_073_709_551_615.0)),
            ("[18446744073709551616]", None),
        ] {
            assert_eq!(element_count(shape), count, "{shape}");
        }
    }

    #[test]
    fn checksums_are_equal_or_not() {
        let members = |result: &str| {
            format!("\"dtype\": \"torch.float32\", \"Max\": \"1.0\", \"Result\": \"{result}\", \"Err_message\": \"error: The CRC-32 value of NPU differs\"")
        };
        assert_eq!(row(Task::Md5, &members("error")).difference, Difference::Broken(Break::Checksum));
        assert_eq!(row(Task::Md5, &members("pass")).difference, Difference::Relative([0.0; 3]));
        assert_eq!(row(Task::Md5, &members("warning")).difference, Difference::NotCompared);
    }

    #[test]
    fn an_unpaired_row_is_not_compared() {
        let members = "\"dtype\": \"torch.float32\", \"shape\": \"[4]\", \"Max\": \"2.0\", \"Max diff\": \"N/A\", \"Err_message\": \"error: The shape of NPU and Bench are inconsistent.\"";
        assert_eq!(row(Task::Summary, members).difference, Difference::NotCompared);
    }
}
