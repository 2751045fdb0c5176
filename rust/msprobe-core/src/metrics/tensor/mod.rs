//! Metrics of real data: two tensor files, six numbers.
//!
//! Lives here: the numbers, their rounding, the reference's message for each pair and our reasons. May not: know nodes.

mod algorithms;
mod decode;
mod kernel;
mod scalar;

use crate::tensor::{Container, Error, Reason, Tensor, TensorFolder, Walk};
use kernel::{Found, Pair, Real};

pub use algorithms::{Algorithms, Answer, Array, Batch};
pub use kernel::Kernels;

/// Names of the six numbers, in the order of the rows and of [`TensorComparison::cells`].
pub const COLUMNS: [&str; 6] =
    ["Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"];

/// `data_name` of a row without tensor file.
pub const NO_FILE: &str = "-1";

/// One number of a comparison, or the word that stands for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// A number; may be infinite.
    Number(f64),
    /// `unsupported`
    Unsupported,
    /// `shape unmatched`
    ShapeUnmatched,
    /// `N/A`
    NotApplicable,
    /// `Nan`
    Nan,
}

impl Cell {
    /// The word, or the number.
    pub fn word(self) -> Result<&'static str, f64> {
        match self {
            Cell::Number(number) => Err(number),
            Cell::Unsupported => Ok("unsupported"),
            Cell::ShapeUnmatched => Ok("shape unmatched"),
            Cell::NotApplicable => Ok("N/A"),
            Cell::Nan => Ok("Nan"),
        }
    }
}

/// Numbers the reference does not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    /// Index of a largest |n-b| in the target's shape; `None` when all elements are equal.
    pub largest_at: Option<Vec<u64>>,
    /// Share of elements of equal bits, 0 to 1.
    pub equal: f64,
    /// NaN on the target and golden side.
    pub nan: [u64; 2],
    /// Infinities on the target and golden side.
    pub infinite: [u64; 2],
    /// Largest |n-b| in units in the last place of the coarser element type, at the larger of the two magnitudes. At most
    /// 0.5 means that golden rounded to the target's type is the target. Integers count in ones.
    pub ulp: f64,
}

/// The result for one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorComparison {
    /// The six numbers in the order of [`COLUMNS`].
    pub cells: [Cell; 6],
    /// The reference's message of the pair, as its log has it.
    pub message: String,
    /// Why the pair could not be compared, or not in full. `None` for rows that never have data.
    pub reason: Option<String>,
    /// Further numbers where the elements were looked at.
    pub extra: Option<Extra>,
    /// Answers of the user's algorithms; empty where they were not asked.
    pub answers: Vec<Answer>,
}

impl TensorComparison {
    fn refused(cell: Cell, message: &str, reason: Option<String>) -> TensorComparison {
        TensorComparison { cells: [cell; 6], message: message.to_owned(), reason, extra: None, answers: Vec::new() }
    }
}

/// Where one side of a pair is.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Folder of the dump.
    pub folder: &'a TensorFolder,
    /// The row's `data_name`; `-1` where there is none.
    pub data_name: &'a str,
    /// The row's dtype text.
    pub dtype: Option<&'a str>,
}

/// Compares one pair of rows. Never fails: what cannot be compared has words for numbers and a reason.
#[must_use]
pub fn compare_pair(target: Side, golden: Side) -> TensorComparison {
    compare_pair_and(target, golden, |_, _, _| {})
}

/// As [`compare_pair`]; `then` sees the two tensors of a pair that has numbers, and what was found.
#[must_use]
pub fn compare_pair_and(target: Side, golden: Side, then: impl FnOnce(&Tensor, &Tensor, &TensorComparison)) -> TensorComparison {
    match (target.data_name, golden.data_name) {
        (NO_FILE, NO_FILE) => return TensorComparison::refused(Cell::Unsupported, "NPU does not have data file.", None),
        (NO_FILE, _) => {
            let reason = Some("the target has no tensor file".to_owned());
            return TensorComparison::refused(Cell::Unsupported, "NPU does not have data file.", reason);
        }
        (_, NO_FILE) => {
            let reason = Some("golden has no tensor file".to_owned());
            return TensorComparison::refused(Cell::Unsupported, "Bench does not have data file.", reason);
        }
        (n, b) if (n == "N/A") != (b == "N/A") => {
            return TensorComparison::refused(Cell::Unsupported, "Bench api/module unmatched.", None);
        }
        _ => {}
    }
    let unreadable = |reason| {
        let message = format!("Dump file: {} or {} not found or read failed.", target.data_name, golden.data_name);
        TensorComparison::refused(Cell::Unsupported, &message, Some(reason))
    };
    let n = target.folder.load(target.data_name, target.dtype);
    let b = golden.folder.load(golden.data_name, golden.dtype);
    match (n, b) {
        (Ok(n), Ok(b)) => match compare_tensors(&n, &b) {
            Ok(found) => {
                if matches!(found.cells[2], Cell::Number(_) | Cell::Nan) {
                    then(&n, &b, &found);
                }
                found
            }
            Err(reason) => unreadable(reason.to_string()),
        },
        (Err(n), Err(b)) => unreadable(format!("{}; {}", not_read("target", &target, &n), not_read("golden", &golden, &b))),
        (Err(n), Ok(_)) => unreadable(not_read("target", &target, &n)),
        (Ok(_), Err(b)) => unreadable(not_read("golden", &golden, &b)),
    }
}

fn not_read(side: &str, at: &Side, error: &Error) -> String {
    format!("{side} file {}: {}", at.data_name, error.reason)
}

/// Compares two tensors. Fails only when a file cannot be read any more.
pub fn compare_tensors(target: &Tensor, golden: &Tensor) -> Result<TensorComparison, Reason> {
    let found = compare_with(Kernels::best(), target, golden)?;
    target.storage.check()?;
    golden.storage.check()?;
    Ok(found)
}

/// As [`compare_tensors`], with the kernels of a given instruction set. The result is the same with all of them.
pub fn compare_with(kernels: Kernels, target: &Tensor, golden: &Tensor) -> Result<TensorComparison, Reason> {
    let shapes = [target.values().squeezed(), golden.values().squeezed()];
    if shapes[0].contains(&0) {
        let reason = Some("the target has no elements".to_owned());
        return Ok(TensorComparison::refused(Cell::Unsupported, "This is empty data, can not compare.", reason));
    }
    if shapes[0] != shapes[1] {
        let reason = Some(format!("shape {:?} vs {:?}", target.layout.shape, golden.layout.shape));
        return Ok(TensorComparison::refused(Cell::ShapeUnmatched, "Shape of NPU and bench tensor do not match. Skipped.", reason));
    }
    let coarser = [target, golden].into_iter().filter_map(|t| kernel::precision(t.dtype)).min_by_key(|(bits, _)| *bits);
    let pair = Pair { sides: [target, golden], walk: Walk::together(target, golden)?, smallest: coarser.map_or(1.0, |(_, least)| least) };
    let single = [target, golden].into_iter().all(is_single);
    let found = kernel::pass(kernels, single, &pair)?;
    let extra = Some(extra(single, &found, &pair, coarser.map(|(bits, _)| bits))?);
    if shapes[0].is_empty() {
        return Ok(TensorComparison { extra, ..one_element(target, golden, single)? });
    }
    if found.unlike {
        let message = "The position of inf or nan in NPU and bench Tensor do not match.";
        let reason = Some("NaN or infinity is not at the same places on both sides".to_owned());
        return Ok(TensorComparison { extra, ..TensorComparison::refused(Cell::NotApplicable, message, reason) });
    }
    let mut message = String::new();
    if type_seen(target) != type_seen(golden) {
        message.push_str("Dtype of NPU and bench tensor do not match.");
    }
    let repeat = pair.walk.repeat as f64;
    let [nn, bb, nb, dd] = found.sums.map(|sum| sum * repeat);
    let cosine = cosine(nn.sqrt(), bb.sqrt(), nb, &mut message);
    let ratio = |count: u64| Cell::Number(twelve(count as f64 / pair.walk.elements as f64));
    let cells = [
        cosine,
        Cell::Number(dd.sqrt()),
        Cell::Number(twelve(found.max_abs)),
        Cell::Number(twelve(found.max_rel)),
        ratio(found.below[0]),
        ratio(found.below[1]),
    ];
    Ok(TensorComparison { cells, message, reason: None, extra, answers: Vec::new() })
}

/// Whether the relative error of this side's elements is taken in `f32`. Big endian arrays are not a native float type for
/// numpy and count with the integers.
fn is_single(tensor: &Tensor) -> bool {
    decode::is_single(tensor.dtype) && !big_endian(tensor)
}

fn big_endian(tensor: &Tensor) -> bool {
    tensor.swapped && tensor.container == Container::Npy
}

/// The type as the dtype check sees it.
fn type_seen(tensor: &Tensor) -> (crate::tensor::Dtype, bool) {
    (tensor.dtype.widened(), big_endian(tensor))
}

fn cosine(an: f64, bn: f64, dot: f64, message: &mut String) -> Cell {
    match (an <= f64::EPSILON, bn <= f64::EPSILON) {
        (true, true) => Cell::Number(1.0),
        (true, false) => {
            message.push_str("Cannot compare by Cosine Similarity, All the data is Zero in npu dump data.");
            Cell::Nan
        }
        (false, true) => {
            message.push_str("Cannot compare by Cosine Similarity, All the data is Zero in Bench dump data.");
            Cell::Nan
        }
        (false, false) => {
            let cosine = dot / (an * bn);
            if cosine.is_nan() {
                message.push_str("Cannot compare by Cosine Similarity, the dump data has NaN.");
                return Cell::Nan;
            }
            let rounded = twelve(cosine);
            Cell::Number(if rounded > 0.9999 { decimals(rounded, 6) } else { rounded })
        }
    }
}

fn one_element(target: &Tensor, golden: &Tensor, single: bool) -> Result<TensorComparison, Reason> {
    const ONLY: &str = "This is type of 0-d tensor, can not calculate";
    let mut message = format!("{ONLY} 'Cosine', 'EucDist', 'One Thousandth Err Ratio' and 'Five Thousandths Err Ratio'. {ONLY}{ONLY}");
    let mut cell = |value: f64, name: &str| {
        if value.is_nan() {
            message.push_str("Cannot compare by ");
            message.push_str(name);
            message.push_str(", the data contains nan/inf/-inf in dump data.");
            return Cell::Nan;
        }
        Cell::Number(twelve(value))
    };
    let absolute = cell(scalar::difference(target, golden)?, "MaxAbsError");
    let (n, b) = (scalar::value(target)?, scalar::value(golden)?);
    let relative = if single { f64::from(f32::relative(n as f32, b as f32)) } else { f64::relative(n, b) };
    let relative = cell(relative, "MaxRelativeError");
    message.push_str(ONLY);
    message.push_str(ONLY);
    let no = Cell::Unsupported;
    let reason = Some("a single element has no Cosine, EucDist and ratios".to_owned());
    Ok(TensorComparison { cells: [no, no, absolute, relative, no, no], message, reason, extra: None, answers: Vec::new() })
}

fn extra(single: bool, found: &Found, pair: &Pair, bits: Option<i32>) -> Result<Extra, Reason> {
    let [target, golden] = pair.sides;
    let largest_at = if found.max_abs > 0.0 {
        let mut rest = pair.walk.logical_index(kernel::locate(single, pair, found)?);
        let shape = target.values().shape;
        let mut index = vec![0; shape.len()];
        for (place, size) in index.iter_mut().zip(&shape).rev() {
            *place = rest % size;
            rest /= size;
        }
        Some(index)
    } else {
        None
    };
    let whole = target.dtype.is_integer() && golden.dtype.is_integer();
    let repeat = pair.walk.repeat;
    Ok(Extra {
        largest_at,
        equal: found.equal as f64 / pair.walk.elements as f64,
        nan: found.nan.map(|n| n * repeat),
        infinite: found.infinite.map(|n| n * repeat),
        ulp: if whole { found.max_abs } else { found.max_binade * 0.5 * 2f64.powi(bits.unwrap_or(0)) },
    })
}

/// `value` printed with `digits` decimals, correctly rounded, and read back.
fn decimals(value: f64, digits: usize) -> f64 {
    // From 2^53 on there are no decimals to round (and up to 308 digits to print).
    if !value.is_finite() || value.abs() >= 9_007_199_254_740_992.0 {
        return value;
    }
    format!("{value:.digits$}").parse().unwrap_or(value)
}

/// Twelve decimals, the precision of all numbers but `EucDist`.
fn twelve(value: f64) -> f64 {
    decimals(value, 12)
}
