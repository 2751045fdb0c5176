//! The level of one entry.
//!
//! A tensor is abnormal if its `Max`, `Min` or `Mean` is NaN or infinite (as a number or as text; `Norm` does not count).
//! The first rule that fits decides:
//!
//! | abnormal input | abnormal output | level |
//! |---|---|---|
//! | no | yes | critical |
//! | yes | yes | high |
//! | yes | no | medium |
//! | no | no | high if the largest output norm is more than 100 times the largest input norm (more than 100, if that is 0) |
//!
//! Inputs are positional, keyword and gradient inputs; `parameters` count as inputs for being abnormal but have no say in
//! the norms. An abnormal parameter gradient is high. Places that hold no value yet when they are passed in are not looked
//! at ([`super::places`]), and APIs that return uninitialised memory have no level.

use super::findings::{Findings, Side};
use super::places::Places;
use crate::dump::json::Value;
use crate::name;

/// How bad an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Abnormal inputs, normal outputs.
    Medium,
    /// Abnormal inputs and outputs, or a jump of the norm.
    High,
    /// Normal inputs, abnormal outputs.
    Critical,
}

impl Level {
    /// The word stored in the result.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Medium => "medium",
            Level::High => "high",
            Level::Critical => "critical",
        }
    }
}

/// Outputs whose largest norm is more than this many times the largest input norm have jumped.
const NORM_JUMP: f64 = 100.0;

/// The level of the entry `entry` of node `node_name`; `None` if nothing is wrong.
#[must_use]
pub fn level(node_name: &str, entry: &Value<'_>) -> Option<Level> {
    let Value::Object(members) = entry else { return None };
    if name::is_parameters_grad(node_name) {
        let mut gradients = Findings::new(Side::Output);
        gradients.add(entry);
        return gradients.abnormal.then_some(Level::High);
    }
    let places = Places::of_api(node_name)?;
    let mut inputs = Findings::new(Side::Input);
    let mut parameters = Findings::new(Side::Input);
    let mut outputs = Findings::new(Side::Output);
    for member in *members {
        match (member.key, member.value) {
            ("input_args" | "input", Value::List(items)) => inputs.add_items(items, places.inputs),
            ("input_kwargs", Value::Object(keywords)) => {
                for keyword in keywords.iter().filter(|keyword| !places.keywords.contains(&keyword.key)) {
                    inputs.add(&keyword.value);
                }
            }
            ("output", Value::List(items)) => outputs.add_items(items, places.outputs),
            ("input_args" | "input" | "input_kwargs", other) => inputs.add(&other),
            ("output", other) => outputs.add(&other),
            ("parameters", other) => parameters.add(&other),
            _ => {}
        }
    }
    match (inputs.abnormal || parameters.abnormal, outputs.abnormal) {
        (false, true) => Some(Level::Critical),
        (true, true) => Some(Level::High),
        (true, false) => Some(Level::Medium),
        (false, false) => norm_jumps(inputs.largest_norm?, outputs.largest_norm?).then_some(Level::High),
    }
}

fn norm_jumps(input: f64, output: f64) -> bool {
    if input == 0.0 {
        output > NORM_JUMP
    } else {
        output / input > NORM_JUMP
    }
}
