//! Recorded pairs of arrays and the reference's numbers for them.

mod packed;

use msprobe_core::metrics::tensor::{compare_tensors, Cell, COLUMNS};
use msprobe_core::tensor::{Container, Dtype, Layout, Storage, Tensor};
use serde_json::Value;
use std::sync::Arc;

fn data(name: &str) -> Value {
    let path = format!("{}/../../tests/data/metrics/{name}.json.gz", env!("CARGO_MANIFEST_DIR"));
    packed::json(path)
}

fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap(),
    }
}

/// The counter based generator of the recorded rules.
fn unit(seed: u64, index: u64) -> f64 {
    let mut z = seed.wrapping_add((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 * 2f64.powi(-53)
}

fn generate(rule: &Value) -> Vec<f64> {
    let n = rule["n"].as_u64().unwrap();
    let field = |name: &str| rule[name].as_f64().unwrap();
    let mut values: Vec<f64> = match rule["rule"].as_str().unwrap() {
        "uniform" => {
            let (seed, lo, hi) = (rule["seed"].as_u64().unwrap(), field("lo"), field("hi"));
            (0..n).map(|i| lo + (hi - lo) * unit(seed, i)).collect()
        }
        "perturb" => {
            let (seed, eps, mul) = (rule["seed"].as_u64().unwrap(), field("eps"), field("mul"));
            let base = generate(&rule["base"]);
            base.iter().zip(0..).map(|(v, i)| v * mul + eps * (2.0 * unit(seed, i) - 1.0)).collect()
        }
        "arange" => (0..n).map(|i| field("start") + field("step") * i as f64).collect(),
        "const" => vec![field("value"); n as usize],
        other => panic!("rule {other}"),
    };
    if rule["floor"] == true {
        for v in &mut values {
            *v = v.floor();
        }
    }
    for place in rule["set"].as_array().into_iter().flatten() {
        values[place[0].as_u64().unwrap() as usize] = number(&place[1]);
    }
    values
}

/// Rounds to a float format by exhaustive choice of the nearest of its values, ties to even code.
fn narrow(value: f64, exponent_bits: u32, mantissa_bits: u32, bias: i32, largest_finite: u32, nan: u32, inf: Option<u32>) -> u32 {
    // The recorder's library converts through float32.
    let value = f64::from(value as f32);
    let sign = u32::from(value.is_sign_negative()) << (exponent_bits + mantissa_bits);
    if value.is_nan() {
        return nan | sign;
    }
    let magnitude = value.abs();
    let of = |code: u32| {
        let (e, m) = ((code >> mantissa_bits) as i32, f64::from(code & ((1 << mantissa_bits) - 1)));
        let scale = f64::from(1u32 << mantissa_bits);
        if e == 0 {
            m / scale * 2f64.powi(1 - bias)
        } else {
            (1.0 + m / scale) * 2f64.powi(e - bias)
        }
    };
    let mut below = 0;
    let mut above = largest_finite + 1;
    while above - below > 1 {
        let middle = u32::midpoint(below, above);
        if of(middle) <= magnitude {
            below = middle;
        } else {
            above = middle;
        }
    }
    let (low, high) = (magnitude - of(below), of(below + 1) - magnitude);
    let code = if high < low || (high == low && below % 2 == 1) { below + 1 } else { below };
    sign | if code > largest_finite { inf.unwrap_or(nan) } else { code }
}

/// Bytes of the array a case describes.
fn encode(dtype: Dtype, side: &Value, big_integers: Option<&Vec<Value>>) -> Vec<u8> {
    if let Some(bits) = side["bits"].as_array() {
        let codes = bits.iter().map(|b| u32::from_str_radix(b.as_str().unwrap(), 16).unwrap());
        return codes.flat_map(|c| c.to_le_bytes()[..dtype.size() as usize].to_vec()).collect();
    }
    if let (true, Some(values)) = (dtype.is_integer(), big_integers) {
        let whole = values.iter().map(|v| v.as_i64().map(i128::from).or(v.as_u64().map(i128::from)).unwrap_or_else(|| number(v) as i128));
        return whole.flat_map(|v| v.to_le_bytes()[..dtype.size() as usize].to_vec()).collect();
    }
    if let (true, Some(values)) = (dtype.is_complex(), big_integers) {
        let parts = values.iter().flat_map(|v| v.as_array().unwrap().iter().map(number).collect::<Vec<_>>());
        return match dtype {
            Dtype::C64 => parts.flat_map(|v| (v as f32).to_le_bytes()).collect(),
            _ => parts.flat_map(f64::to_le_bytes).collect(),
        };
    }
    let values: Vec<f64> = big_integers
        .map_or_else(|| if side["rule"].is_object() { generate(&side["rule"]) } else { vec![] }, |v| v.iter().map(number).collect());
    values
        .into_iter()
        .flat_map(|v| match dtype {
            Dtype::F64 => v.to_le_bytes().to_vec(),
            Dtype::F32 => (v as f32).to_le_bytes().to_vec(),
            Dtype::F16 => (narrow(v, 5, 10, 15, 0x7bff, 0x7e00, Some(0x7c00)) as u16).to_le_bytes().to_vec(),
            Dtype::BF16 => (narrow(v, 8, 7, 127, 0x7f7f, 0x7fc0, Some(0x7f80)) as u16).to_le_bytes().to_vec(),
            Dtype::F8E4M3Fn => vec![narrow(v, 4, 3, 7, 0x7e, 0x7f, None) as u8],
            Dtype::F8E5M2 => vec![narrow(v, 5, 2, 15, 0x7b, 0x7f, Some(0x7c)) as u8],
            Dtype::F8E8M0Fnu => vec![(v.log2().round() + 127.0) as u8],
            other if other.is_integer() => (v as i128).to_le_bytes()[..other.size() as usize].to_vec(),
            other => panic!("{}", other.name()),
        })
        .collect()
}

fn tensor(side: &Value, container: Container) -> Tensor {
    let dtype = Dtype::from_torch(side["dtype"].as_str().unwrap()).unwrap();
    let bytes = encode(dtype, side, side["values"].as_array());
    let layout = Layout::row_major(side["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()).unwrap();
    let count = layout.elements().unwrap();
    assert_eq!(bytes.len() as u64, count * dtype.size());
    let storage = Arc::new(Storage::from_bytes(bytes));
    Tensor { dtype, layout, container, swapped: false, conjugated: false, negated: false, storage, start: 0, count }
}

/// Equality of numbers: exact, but `EucDist` to 1e-12 relative, and one unit of the last kept decimal where sums are inexact.
fn agrees(column: &str, want: &Value, got: Cell, order_free: bool) -> bool {
    match (want["text"].as_str(), got.word()) {
        (Some(want), Ok(got)) => want == got,
        (None, Err(got)) => {
            let want: f64 = want["num"].as_str().unwrap().parse().unwrap();
            let slack = match column {
                "EucDist" => 1e-12 * want.abs(),
                "Cosine" if !order_free && want > 0.9999 => 1.000_001e-6,
                _ if !order_free => 1.000_001e-12,
                _ => 0.0,
            };
            want == got || (want - got).abs() <= slack
        }
        _ => false,
    }
}

#[test]
fn every_recorded_case() {
    let file = data("tensor_cases");
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 216);
    let mut wrong = Vec::new();
    for case in cases {
        let [target, golden] = match case["container"].as_str().unwrap() {
            "pt" => [Container::Pt, Container::Pt],
            "npy" => [Container::Npy, Container::Npy],
            _ => [Container::Npy, Container::Pt],
        };
        let got = compare_tensors(&tensor(&case["npu"], target), &tensor(&case["bench"], golden)).unwrap();
        let order_free = case["order_free"] == true;
        for (column, cell) in COLUMNS.iter().zip(got.cells) {
            if !agrees(column, &case["expect"][column], cell, order_free) {
                wrong.push(format!("{} {column}: {} but {cell:?}", case["id"], case["expect"][column]));
            }
        }
        if got.message != case["message"].as_str().unwrap() {
            wrong.push(format!("{} message: {} but {:?}", case["id"], case["message"], got.message));
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}
