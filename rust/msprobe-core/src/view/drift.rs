//! How far target and golden are apart along the execution order, read from the parameter rows.
//!
//! The number of a row is a relative error: `NormRelativeErr` in statistics mode, `EucDist` divided by the target's `Norm` in
//! tensor mode (`MaxRelativeErr` without a norm), 0 or 1 in md5 mode. The number of a node is the largest of its outputs.

use super::cache::{Found, Key};
use super::error::ViewError;
use super::file::VisFile;
use super::first::{self, First};
use super::outline::{Outline, NONE};
use super::{rows, Question};
use crate::facts::{for_each_row, Cell};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Stands for NaN and infinities: worse than any number, and finite in JSON.
const BEYOND: f32 = 1e30;
/// Largest relative error of the inputs, parameters and outputs of every target node; NaN where nothing was compared.
#[derive(Default)]
pub(crate) struct Drift {
    inputs: Vec<f32>,
    parameters: Vec<f32>,
    outputs: Vec<f32>,
    /// Where the two first part.
    pub(crate) first: Option<First>,
}

impl Drift {
    fn read(file: &VisFile, step: i64, rank: i64, outline: &Outline, progress: &AtomicU64) -> Result<Self, ViewError> {
        let tree = &outline.sides[0];
        let count = tree.len();
        let mut drift =
            Self { inputs: vec![f32::NAN; count], parameters: vec![f32::NAN; count], outputs: vec![f32::NAN; count], first: None };
        rows::scan_parameters(file, step, rank, |rowid, inputs, outputs| {
            progress.fetch_add(1, Ordering::Relaxed);
            let Some(node) = tree.at_rowid(rowid) else { return };
            if tree.counterpart[node as usize] == NONE {
                return;
            }
            let name = tree.name(node);
            let at = node as usize;
            let mut take = |text: &str, output: bool| {
                let [mut data, mut parameters] = [f32::NAN; 2];
                let read = for_each_row(text, |key, cells: &Cells<'_>| {
                    let Some(error) = cells.error() else { return };
                    let suffix = key.strip_prefix(name).unwrap_or(key).trim_start_matches('.');
                    let worst = if !output && suffix.starts_with("parameters") { &mut parameters } else { &mut data };
                    *worst = worst.max(error);
                });
                // A row text that cannot be read has no numbers; the node panel says so.
                if read.is_err() {
                    return;
                }
                if output {
                    drift.outputs[at] = data;
                } else {
                    drift.inputs[at] = data;
                    drift.parameters[at] = parameters;
                }
            };
            take(inputs, false);
            take(outputs, true);
        })?;
        Ok(drift)
    }

    /// Largest number of a node's outputs, else of its parameters.
    pub(crate) fn of(&self, node: u32) -> f32 {
        let node = node as usize;
        if self.outputs[node].is_nan() {
            self.parameters[node]
        } else {
            self.outputs[node]
        }
    }
}

/// The drift if it is there within `patience`.
pub(crate) fn find(
    question: &Question<'_>,
    file: &VisFile,
    step: i64,
    rank: i64,
    outline: &Arc<Outline>,
    patience: Duration,
) -> Result<Option<Arc<Drift>>, ViewError> {
    let key = Key { file: file.key.clone(), step, rank };
    let (root, shown, outline) = (question.viewer.root.clone(), file.shown.clone(), Arc::clone(outline));
    let work = move |progress: &AtomicU64| {
        let file = VisFile::open(&root, &shown)?;
        let mut drift = Drift::read(&file, step, rank, &outline, progress)?;
        drift.first = first::find(&file, step, rank);
        let bytes = drift.outputs.len() * 12;
        Ok((drift, bytes))
    };
    match question.viewer.drifts.get(&key, patience, work).map_err(|error| super::copied(&error))? {
        Found::Ready(drift) => Ok(Some(drift)),
        Found::Working(_) => Ok(None),
    }
}

/// `drift?path&step&rank&from&to&points&micro`: the worst node of each bucket of the execution order.
pub(crate) fn series(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Default, Serialize)]
    struct Series {
        total: usize,
        from: usize,
        to: usize,
        /// Execution order of the worst node of each bucket, then its row number, name, errors and status. 1e30: NaN or infinite.
        order: Vec<u32>,
        id: Vec<i64>,
        name: Vec<String>,
        output: Vec<f32>,
        input: Vec<Option<f32>>,
        status: Vec<u8>,
    }
    let file = question.file()?;
    let (step, rank) = question.graph(&file)?;
    let outline = question.outline(&file, step, rank)?;
    let drift = find(question, &file, step, rank, &outline, super::PATIENCE)?
        .ok_or_else(|| ViewError::Indexing { path: file.shown.clone(), done: 0 })?;
    let tree = &outline.sides[0];
    let micro = question.args.micro()?;
    let total = tree.len();
    let from = question.args.count("from", 0, total)?;
    let to = question.args.count("to", total, total)?.max(from);
    let points = question.args.count("points", 1_200, 4_000)?.max(1);
    let mut series = Series { total, from, to, ..Series::default() };
    let width = (to - from).div_ceil(points).max(1);
    for begin in (from..to).step_by(width) {
        let shown = |node: &u32| {
            let at = *node as usize;
            !drift.of(*node).is_nan() && micro.is_none_or(|micro| tree.micro[at] == micro)
        };
        let bucket = begin as u32..(begin + width).min(to) as u32;
        let Some(worst) = bucket.filter(shown).reduce(|best, node| if drift.of(node) > drift.of(best) { node } else { best }) else {
            continue;
        };
        let at = worst as usize;
        series.order.push(worst);
        series.id.push(tree.rowid[at]);
        series.name.push(tree.name(worst).to_owned());
        series.output.push(drift.of(worst));
        series.input.push((!drift.inputs[at].is_nan()).then_some(drift.inputs[at]));
        series.status.push(tree.status[at]);
    }
    super::json(&series)
}

/// What the outputs of one node look like: dtype and shape of the first tensor, largest relative error of all.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Glance {
    pub(crate) dtype: String,
    pub(crate) shape: String,
    pub(crate) error: Option<f32>,
}

/// Looks at the text of `output_data`; a text that cannot be read gives an empty glance.
pub(crate) fn glance(text: &str) -> Glance {
    let mut glance = Glance::default();
    let read = for_each_row(text, |_, cells: &Cells<'_>| {
        if glance.dtype.is_empty() {
            glance.dtype = cells.dtype.shown().chars().take(60).collect();
            glance.shape = cells.shape.shown().chars().take(60).collect();
        }
        if let Some(error) = cells.error() {
            glance.error = Some(glance.error.map_or(error, |worst| worst.max(error)));
        }
    });
    read.map_or_else(|_| Glance::default(), |()| glance)
}

/// The cells of one row that tell an error.
#[derive(Deserialize)]
struct Cells<'a> {
    #[serde(borrow, default)]
    dtype: Cell<'a>,
    #[serde(borrow, default)]
    shape: Cell<'a>,
    #[serde(borrow, default, rename = "Norm")]
    norm: Cell<'a>,
    #[serde(borrow, default, rename = "NormRelativeErr")]
    norm_error: Cell<'a>,
    #[serde(borrow, default, rename = "MaxRelativeErr")]
    max_error: Cell<'a>,
    #[serde(borrow, default, rename = "EucDist")]
    distance: Cell<'a>,
    #[serde(borrow, default)]
    md5: Cell<'a>,
    #[serde(borrow, default, rename = "Result")]
    result: Cell<'a>,
}

impl Cells<'_> {
    fn error(&self) -> Option<f32> {
        if let Some(distance) = fraction(&self.distance) {
            let norm = fraction(&self.norm).filter(|norm| *norm > 0.0);
            return match norm {
                Some(norm) => Some(bounded(distance / norm)),
                None if distance == 0.0 => Some(0.0),
                None => fraction(&self.max_error).map(bounded),
            };
        }
        if let Some(error) = fraction(&self.norm_error).or_else(|| fraction(&self.max_error)) {
            return Some(bounded(error));
        }
        if self.md5 == Cell::None {
            return None;
        }
        match self.result.text() {
            "pass" => Some(0.0),
            "error" | "warning" => Some(1.0),
            _ => None,
        }
    }
}

fn bounded(value: f64) -> f32 {
    if value.is_finite() {
        (value.abs() as f32).min(BEYOND)
    } else {
        BEYOND
    }
}

/// The number of a cell; a percent text as a fraction; "Nan" and infinities as infinity; `None` for anything else.
fn fraction(cell: &Cell<'_>) -> Option<f64> {
    let text = match cell {
        Cell::None => return None,
        Cell::Number(number) => return Some(*number),
        Cell::Text(text) => text.trim(),
    };
    let (text, scale) = text.strip_suffix('%').map_or((text, 1.0), |text| (text, 0.01));
    if ["nan", "inf", "-inf"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(f64::INFINITY);
    }
    let spelled = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    spelled.then(|| text.parse::<f64>().ok()).flatten().map(|value| value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(json: &str) -> Option<f32> {
        serde_json::from_str::<Cells<'_>>(json).unwrap().error()
    }

    #[test]
    fn statistics_use_the_norm_and_read_percent_texts() {
        assert_eq!(error(r#"{"MaxRelativeErr": "4.443570%", "NormRelativeErr": "0.531003%", "Result": "pass"}"#), Some(0.005_310_03));
        assert_eq!(error(r#"{"NormRelativeErr": "N/A", "MaxRelativeErr": "50.0%"}"#), Some(0.5));
        assert_eq!(error(r#"{"NormRelativeErr": "Nan"}"#), Some(BEYOND));
        assert_eq!(error(r#"{"NormRelativeErr": " ", "MaxRelativeErr": "N/A"}"#), None);
        assert_eq!(error(r#"{"NormRelativeErr": 0.25, "Max": null, "extra": [1, {"a": 2}]}"#), Some(0.25));
    }

    #[test]
    fn tensors_use_the_distance_relative_to_the_norm() {
        assert_eq!(error(r#"{"Norm": "4", "EucDist": "1.0", "MaxRelativeErr": "9"}"#), Some(0.25));
        assert_eq!(error(r#"{"Norm": "0", "EucDist": "0.0"}"#), Some(0.0));
        assert_eq!(error(r#"{"Norm": "0", "EucDist": "1", "MaxRelativeErr": "3.5"}"#), Some(3.5));
    }

    #[test]
    fn md5_is_all_or_nothing() {
        assert_eq!(error(r#"{"md5": "abc", "Result": "pass"}"#), Some(0.0));
        assert_eq!(error(r#"{"md5": "abc", "Result": "error"}"#), Some(1.0));
    }

    #[test]
    fn a_glance_takes_the_first_shape_and_the_worst_error() {
        let text = r#"{"a.output.0": {"dtype": "torch.float32", "shape": "[2]", "NormRelativeErr": "1.0%"},
                       "a.output.1": {"dtype": "torch.int64", "shape": "[3]", "NormRelativeErr": "2.0%"}}"#;
        assert_eq!(glance(text), Glance { dtype: "torch.float32".into(), shape: "[2]".into(), error: Some(0.02) });
        assert_eq!(glance("no json"), Glance::default());
    }
}
