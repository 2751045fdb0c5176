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
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
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
                // A row text that cannot be read has no numbers; the node panel says so.
                let Ok(Rows(cells)) = serde_json::from_str::<Rows<'_>>(text) else { return };
                for (key, cells) in cells {
                    let Some(error) = cells.error() else { continue };
                    let suffix = key.strip_prefix(name).unwrap_or(&key).trim_start_matches('.');
                    let parameter = !output && suffix.starts_with("parameters");
                    let column = match (output, parameter) {
                        (true, _) => &mut drift.outputs,
                        (false, true) => &mut drift.parameters,
                        (false, false) => &mut drift.inputs,
                    };
                    column[at] = column[at].max(error);
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
    let Ok(Rows(rows)) = serde_json::from_str::<Rows<'_>>(text) else { return Glance::default() };
    let mut glance = Glance::default();
    for (_, cells) in &rows {
        if glance.dtype.is_empty() {
            glance.dtype = cells.dtype.as_deref().unwrap_or("").chars().take(60).collect();
            glance.shape = cells.shape.as_deref().unwrap_or("").chars().take(60).collect();
        }
        if let Some(error) = cells.error() {
            glance.error = Some(glance.error.map_or(error, |worst| worst.max(error)));
        }
    }
    glance
}

/// The cells of one row that tell an error.
#[derive(Deserialize)]
struct Cells<'a> {
    #[serde(borrow, default)]
    dtype: Option<Cell<'a>>,
    #[serde(borrow, default)]
    shape: Option<Cell<'a>>,
    #[serde(borrow, default, rename = "Norm")]
    norm: Option<Cell<'a>>,
    #[serde(borrow, default, rename = "NormRelativeErr")]
    norm_error: Option<Cell<'a>>,
    #[serde(borrow, default, rename = "MaxRelativeErr")]
    max_error: Option<Cell<'a>>,
    #[serde(borrow, default, rename = "EucDist")]
    distance: Option<Cell<'a>>,
    #[serde(borrow, default)]
    md5: Option<Cell<'a>>,
    #[serde(borrow, default, rename = "Result")]
    result: Option<Cell<'a>>,
}

impl Cells<'_> {
    fn error(&self) -> Option<f32> {
        if let Some(distance) = self.distance.as_ref().and_then(Cell::number) {
            let norm = self.norm.as_ref().and_then(Cell::number).filter(|norm| *norm > 0.0);
            return match norm {
                Some(norm) => Some(bounded(distance / norm)),
                None if distance == 0.0 => Some(0.0),
                None => self.max_error.as_ref().and_then(Cell::number).map(bounded),
            };
        }
        if let Some(error) = self.norm_error.as_ref().and_then(Cell::number) {
            return Some(bounded(error));
        }
        if let Some(error) = self.max_error.as_ref().and_then(Cell::number) {
            return Some(bounded(error));
        }
        self.md5.as_ref()?;
        match self.result.as_deref()? {
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

/// A cell: a text as comparisons write it, or a bare number as the reference's manual matching does.
struct Cell<'a>(Cow<'a, str>);

impl Cell<'_> {
    /// The number; a percent text as a fraction; "Nan" and infinities as infinity; `None` for anything else.
    fn number(&self) -> Option<f64> {
        let text = self.0.trim();
        let (text, scale) = text.strip_suffix('%').map_or((text, 1.0), |text| (text, 0.01));
        match text.to_ascii_lowercase().as_str() {
            "nan" | "inf" | "-inf" => Some(f64::INFINITY),
            _ if text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') => {
                text.parse::<f64>().ok().map(|value| value * scale)
            }
            _ => None,
        }
    }
}

impl std::ops::Deref for Cell<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Cell<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyText;
        impl<'de> Visitor<'de> for AnyText {
            type Value = Cell<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cell(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cell(Cow::Owned(text.to_owned())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Cell(Cow::Owned(number.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Cell(Cow::Owned(number.to_string())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Cell(Cow::Owned(number.to_string())))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Cell(Cow::Borrowed(if value { "True" } else { "False" })))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Cell(Cow::Borrowed("")))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
                Ok(Cell(Cow::Borrowed("")))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(Cell(Cow::Borrowed("")))
            }
        }
        deserializer.deserialize_any(AnyText)
    }
}

/// All rows of one side of a node, in the order of the file.
struct Rows<'a>(Vec<(Cow<'a, str>, Cells<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Rows<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AllRows;
        impl<'de> Visitor<'de> for AllRows {
            type Value = Rows<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of rows")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut rows = Vec::new();
                while let Some(key) = map.next_key::<Cell<'de>>()? {
                    rows.push((key.0, map.next_value()?));
                }
                Ok(Rows(rows))
            }
        }
        deserializer.deserialize_map(AllRows)
    }
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
