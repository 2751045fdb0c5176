//! Verdicts of msProbe 26.2 for rows made by hand, reproduced to the letter (`tests/data/metrics/verdict_cases.json.gz`).

mod packed;

use bumpalo::Bump;
use msprobe_core::dump::json::Value;
use msprobe_core::metrics::Mode;
use msprobe_core::name::returns_uninitialised_memory;
use msprobe_core::verdict::{judge, Facts, JudgedRow, Measure, Measures, Rules, Verdict};
use serde_json::Value as Json;

/// Recorded cases with a relative error that is a bare number (their ids start with `summary_norm_`).
const BARE: usize = 3;

fn cases() -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/metrics/verdict_cases.json.gz");
    packed::json(path)["cases"].as_array().unwrap().clone()
}

/// A cell of a recorded row; an absent column is the empty text.
fn value<'a>(cell: &'a Json, bump: &'a Bump) -> Value<'a> {
    match cell {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) if n.is_f64() => Value::Float(n.as_f64().unwrap()),
        Json::Number(n) => Value::Int(bump.alloc_str(&n.to_string())),
        Json::String(s) => Value::Str(s),
        Json::Array(items) => Value::List(bump.alloc_slice_fill_iter(items.iter().map(|item| value(item, bump)))),
        Json::Object(members) => Value::Float(members["$f"].as_str().unwrap().parse().unwrap()),
    }
}

fn measure(cell: Option<&Json>) -> Measure {
    match cell? {
        Json::String(text) => text.strip_suffix('%')?.parse::<f64>().ok().map(|percent| percent / 100.0),
        Json::Number(number) => number.as_f64(),
        Json::Object(members) => members["$f"].as_str()?.parse().ok(),
        _ => None,
    }
}

fn facts<'a>(row: &'a Json, side: &str, bump: &'a Bump) -> Facts<'a> {
    static ABSENT: Json = Json::String(String::new());
    let get = |column: String| value(row.get(column.as_str()).unwrap_or(&ABSENT), bump);
    let Value::Str(name) = get(format!("{side} Name")) else { panic!("a name is a text") };
    let md5 = if side == "NPU" { "NPU MD5" } else { "BENCH MD5" };
    Facts {
        name,
        dtype: get(format!("{side} Dtype")),
        shape: get(format!("{side} Tensor Shape")),
        requires_grad: get(format!("{side} Requires_grad")),
        max: get(format!("{side} max")),
        min: get(format!("{side} min")),
        md5: get(md5.to_owned()),
    }
}

#[test]
fn verdicts_and_messages_equal_the_recorded_ones() {
    let cases = cases();
    assert_eq!(cases.len(), 375);
    // Relative errors that are bare numbers occur in hand-made tables only; a graph always writes percentages.
    let (bare, cases): (Vec<_>, Vec<_>) =
        cases.iter().partition(|case| case["rows"].as_array().unwrap().iter().any(|row| row["NormRelativeErr"].is_number()));
    assert_eq!(bare.len(), BARE);
    for case in cases {
        let bump = Bump::new();
        let mode = match case["mode"].as_str().unwrap() {
            "summary" => Mode::Statistics,
            "md5" => Mode::Md5,
            _ => Mode::Tensor,
        };
        let rules = Rules { mode, merged: case["parallel_merge"].as_bool().unwrap(), cross_framework: false };
        let rows: Vec<JudgedRow<'_>> = case["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let target = facts(row, "NPU", &bump);
                let measures = Measures {
                    norm_relative: measure(row.get("NormRelativeErr")),
                    one_thousandth: measure(row.get("One Thousandth Err Ratio")),
                    cosine: measure(row.get("Cosine")),
                };
                JudgedRow { is_output: target.name.contains(".output."), target, golden: Some(facts(row, "Bench", &bump)), measures }
            })
            .collect();
        let mut judged = Vec::new();
        let node = judge(rules, &rows, &mut judged);
        let id = &case["id"];
        assert_eq!(node.map(Verdict::as_str), case["verdict"].as_str(), "{id}");
        let expected: Vec<(String, Vec<String>)> = serde_json::from_value::<Vec<(String, String)>>(case["result"].clone())
            .unwrap()
            .into_iter()
            .map(|(verdict, messages)| (verdict, serde_json::from_str(&messages).unwrap()))
            .collect();
        let got: Vec<(String, Vec<String>)> =
            judged.iter().map(|row| (row.verdict.as_str().to_owned(), row.messages.iter().map(|m| (*m).to_owned()).collect())).collect();
        assert_eq!(got, expected, "{id}");
    }
}

#[test]
fn uninitialised_memory_is_known_by_the_api() {
    for case in cases() {
        let api = case["node"].as_str().unwrap().split('.').nth(1).unwrap_or_default().to_owned();
        let (Some(index), Some(verdict)) = (case["precision_index"].as_f64(), case["verdict"].as_str()) else { continue };
        let own = match verdict {
            "pass" => 0.0,
            "warning" => 0.5,
            _ => 1.0,
        };
        // Where the recorded index is not the verdict's own, the API must be one of the six.
        if index != own {
            assert!(returns_uninitialised_memory(&api), "{}", case["id"]);
        }
    }
}
