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

    /// The level of that word.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        [Level::Medium, Level::High, Level::Critical].into_iter().find(|level| level.as_str() == text)
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

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::dump::{DumpFile, EntryId, Source};

    fn level_of(node: &str, entry: &str) -> Option<Level> {
        let text = format!(r#"{{"data": {{"{node}": {entry}}}}}"#);
        let file = DumpFile::new(Source::from_bytes("dump.json".as_ref(), text.into_bytes()).unwrap()).unwrap();
        let bump = Bump::new();
        level(node, &file.entry(EntryId(0), &bump).unwrap())
    }

    /// A tensor with this maximum and this norm.
    fn tensor(max: &str, norm: &str) -> String {
        format!(r#"{{"type": "torch.Tensor", "Max": {max}, "Min": 0.0, "Mean": 0.5, "Norm": {norm}}}"#)
    }

    fn call(inputs: &str, outputs: &str) -> Option<Level> {
        level_of("Torch.f.0.forward", &format!(r#"{{"input_args": [{inputs}], "input_kwargs": {{}}, "output": [{outputs}]}}"#))
    }

    #[test]
    fn the_four_rules() {
        let (fine, nan, inf) = (tensor("1.0", "2.0"), tensor("NaN", "2.0"), tensor("-Infinity", "2.0"));
        assert_eq!(call(&fine, &nan), Some(Level::Critical));
        assert_eq!(call(&inf, &nan), Some(Level::High));
        assert_eq!(call(&inf, &fine), Some(Level::Medium));
        assert_eq!(call(&fine, &fine), None);
        assert_eq!(call(&tensor("1", "1"), &tensor("1", "100.5")), Some(Level::High));
        assert_eq!(call(&tensor("1", "1.0"), &tensor("1", "100.0")), None);
        assert_eq!(call(&tensor("1", "0.0"), &tensor("1", "100.5")), Some(Level::High));
        assert_eq!(call(&tensor("1", "0"), &tensor("1", "50")), None);
    }

    #[test]
    fn norms_that_are_no_numbers_have_no_say() {
        for norm in [r#""1.0""#, "null", "NaN", "true", "[1.0]"] {
            assert_eq!(call(&tensor("1", norm), &tensor("1", "1e9")), None, "{norm}");
            assert_eq!(call(&tensor("1", "1"), &tensor("1", norm)), None, "{norm}");
        }
        assert_eq!(call(&tensor("1", "1"), &tensor("1", "Infinity")), Some(Level::High));
    }

    #[test]
    fn texts_count_as_numbers_do() {
        for text in [r#""NaN""#, r#""INF""#, r#""-inf""#, r#""Infinity""#, r#""-INFINITY""#] {
            assert_eq!(call(&tensor(text, "1"), &tensor("1", "1")), Some(Level::Medium), "{text}");
        }
        for text in [r#""nano""#, r#""1.0""#, "null", r#""--inf""#] {
            assert_eq!(call(&tensor(text, "1"), &tensor("1", "1")), None, "{text}");
        }
    }

    #[test]
    fn receive_buffers_are_not_looked_at_before_the_call() {
        let batch = |place: &str, op: &str| {
            let tensor = tensor("NaN", "1");
            let operation = format!(r#"{{"class_type": "torch.distributed.P2POp", "op": "{op}", "peer": 1, "tensor": {tensor}}}"#);
            level_of("Distributed.batch_isend_irecv.0.forward", &format!(r#"{{"{place}": [[{operation}]]}}"#))
        };
        assert_eq!(batch("input_args", "irecv"), None);
        assert_eq!(batch("input_args", "isend"), Some(Level::Medium));
        assert_eq!(batch("output", "irecv"), Some(Level::Critical));
    }

    #[test]
    fn a_masked_fill_may_fill_with_infinities() {
        let (fine, inf) = (tensor("1", "1"), tensor("-Infinity", "1"));
        let fill = |inputs: &str| {
            let entry = format!(r#"{{"input_args": [{inputs}], "input_kwargs": {{}}, "output": [{inf}]}}"#);
            level_of("Tensor.masked_fill_.0.forward", &entry)
        };
        assert_eq!(fill(&inf), None);
        assert_eq!(fill(&format!("{fine}, {inf}")), Some(Level::Medium));
    }

    #[test]
    fn gradients_and_parameters() {
        let (fine, nan) = (tensor("1", "1"), tensor("NaN", "1"));
        assert_eq!(level_of("Module.a.A.parameters_grad.0", &format!(r#"{{"w": [{nan}]}}"#)), Some(Level::High));
        assert_eq!(level_of("Module.a.A.parameters_grad", &format!(r#"{{"w": [{fine}]}}"#)), None);
        let module = |out: &str| level_of("Module.a.A.forward.0", &format!(r#"{{"parameters": {{"w": {nan}}}, "output": [{out}]}}"#));
        assert_eq!(module(&fine), Some(Level::Medium));
        assert_eq!(module(&nan), Some(Level::High));
    }

    #[test]
    fn odd_entries_have_no_level() {
        for entry in ["null", "[]", "1", r#""text""#, "{}", r#"{"input_args": null, "output": 3}"#] {
            assert_eq!(level_of("Torch.f.0.forward", entry), None, "{entry}");
        }
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = format!("{}{}{}", "[".repeat(5000), tensor("NaN", "1"), "]".repeat(5000));
        assert_eq!(call(&deep, &tensor("1", "1")), Some(Level::Medium));
    }
}
