//! Rows, texts and checksums against what msProbe 26.2 made of the same values (`tests/data/metrics`).

mod packed;

use bumpalo::Bump;
use msprobe_core::dump::json::{parse, push_str, Scanner, Value};
use msprobe_core::dump::{collect_rows, push_stored, Field, Row, RowClass};
use serde_json::Value as Json;

fn vectors(name: &str) -> Json {
    let path = format!("{}/../../tests/data/metrics/{name}_cases.json.gz", env!("CARGO_MANIFEST_DIR"));
    packed::json(path)
}

fn read<'a>(text: &'a str, bump: &'a Bump) -> Value<'a> {
    parse(&mut Scanner::new(text, 0), bump).unwrap()
}

/// JSON text of a recorded value; `{"$f": ..}` stands for a number that JSON cannot write.
fn json_text(recorded: &Json) -> String {
    match recorded.get("$f").and_then(Json::as_str) {
        Some("nan") => "NaN".to_owned(),
        Some("inf") => "Infinity".to_owned(),
        Some("-inf") => "-Infinity".to_owned(),
        _ => recorded.to_string(),
    }
}

fn python_text(value: Value<'_>) -> String {
    let mut out = Vec::new();
    push_str(&mut out, value);
    String::from_utf8(out).unwrap()
}

#[test]
fn stored_texts() {
    let mut checked = 0;
    for case in vectors("format")["cases"].as_array().unwrap() {
        if case["in"].get("$tuple").is_some() {
            continue; // no JSON file holds a tuple
        }
        let (text, bump) = (json_text(&case["in"]), Bump::new());
        let mut out = Vec::new();
        push_stored(&mut out, read(&text, &bump));
        assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), case["out"].as_str().unwrap(), "{text}");
        checked += 1;
    }
    assert_eq!(checked, 55);
}

#[test]
fn checksums() {
    let mut checked = 0;
    for case in vectors("md5")["cases"].as_array().unwrap() {
        if case["kind"] != "param_crc" {
            continue;
        }
        let op = case["op"].as_str().unwrap();
        // The last part of the name decides about ranks, so the value is put under it.
        let name = case["name"].as_str().unwrap_or("Torch.a.0.forward.input.0");
        let (node, key) = name.split_once(".input.").unwrap();
        let (entry, bump) = (format!("{{\"input_kwargs\": {{\"{key}\": {op}}}}}"), Bump::new());
        let rows = collect_rows(node, read(&entry, &bump), &bump);
        assert_eq!((rows[0].name, rows[0].md5()), (name, case["md5"].as_str().unwrap()), "{op}");
        if let Some(text) = case["python_str"].as_str() {
            assert_eq!(python_text(read(op, &bump).get("value").unwrap()), text, "{op}");
        }
        checked += 1;
    }
    assert_eq!(checked, 35);
}

/// The cell in which the reference shows a value of a row.
fn cell(value: Value<'_>, statistic: bool) -> Json {
    match value {
        Value::Null if statistic => "None".into(),
        Value::Float(x) if x.is_nan() => "Nan".into(),
        Value::Float(x) if x.is_infinite() => format!("{}\t", python_text(value)).into(),
        Value::Null => Json::Null,
        Value::Bool(b) => b.into(),
        Value::Str(text) => text.into(),
        other => serde_json::from_str(&python_text(other)).unwrap(),
    }
}

/// All of two lists of names, in alphabetical order.
fn sorted(names: Vec<&str>, more: Vec<&str>) -> String {
    let mut all = [names, more].concat();
    all.sort_unstable();
    all.join("\n")
}

/// Rows in the order in which the reference compares them.
fn in_order<'r, 'a>(rows: &'r [Row<'a>]) -> Vec<&'r Row<'a>> {
    let classes = [RowClass::Input, RowClass::Parameters, RowClass::Output, RowClass::ParametersGrad];
    classes.iter().flat_map(|class| rows.iter().filter(move |row| row.class == *class)).collect()
}

#[test]
fn rows_of_recorded_pairs() {
    let (mut cases, mut compared) = (0, 0);
    for case in vectors("pairing")["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let bump = Bump::new();
        // Where a part of the name is `input` or `output`, and for an `output` that is no list, the reference files rows wrongly; we go
        // by the place of the row.
        let misfiled = id.starts_with("attr_name_trap") || id == "params_grad_under_output" || id == "none_output";
        for (side, first, statistics, md5) in [("npu", 0, 16, 8), ("bench", 1, 20, 9)] {
            let node = case[format!("{side}_node")].as_str().unwrap();
            let rows = collect_rows(node, read(case[format!("{side}_op")].as_str().unwrap(), &bump), &bump);
            let names =
                |output: bool| rows.iter().filter(|row| (row.class == RowClass::Output) == output).map(|row| row.name).collect::<Vec<_>>();
            let recorded = |column: &str| {
                let key = if side == "npu" { format!("{column}_names") } else { format!("bench_{column}_names") };
                case[key].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>()
            };
            if misfiled {
                assert_eq!(sorted(names(false), names(true)), sorted(recorded("input"), recorded("output")), "{id}");
                continue;
            }
            assert_eq!(names(false), recorded("input"), "{id} {side}");
            assert_eq!(names(true), recorded("output"), "{id} {side}");
            let Some(table) = case["modes"]["summary"].get("rows").and_then(Json::as_array) else { continue };
            // Cells of this side, pair by pair; a row that has no partner says so by its name.
            let present = |table: &'_ [Json]| table.iter().filter(|row| row[first] != "Nan").cloned().collect::<Vec<_>>();
            let cells = present(table);
            let sums = present(case["modes"]["md5"]["rows"].as_array().unwrap());
            let ordered = in_order(&rows);
            if side == "npu" {
                assert_eq!(ordered.len(), cells.len(), "{id}");
            }
            for (number, (row, cells)) in ordered.iter().zip(&cells).enumerate() {
                if side == "bench" && cells[first] != row.name {
                    break; // golden rows without a target row are not in the table, and what follows is of the next class
                }
                let ours: Vec<Json> =
                    [Field::Dtype, Field::Shape, Field::RequiresGrad].iter().map(|field| cell(row.get(*field), false)).collect();
                let theirs: Vec<Json> = [2, 4, 6].iter().map(|column| cells[first + column].clone()).collect();
                assert_eq!((row.name, ours), (cells[first].as_str().unwrap(), theirs), "{id} {side} {number}");
                let ours: Vec<Json> = row.statistics().iter().map(|value| cell(*value, true)).collect();
                assert_eq!(ours, cells.as_array().unwrap()[statistics..statistics + 4], "{id} {side} {number}");
                assert_eq!(cell(row.get(Field::Md5), false), sums[number][md5], "{id} {side} {number}");
                compared += 1;
            }
        }
        cases += 1;
    }
    assert!(cases == 54 && compared > 150, "{cases} cases, {compared} rows");
}
