//! Which rows an entry has, and which fields a row.

use bumpalo::Bump;

use super::{collect_rows, Field, RowKind};
use crate::dump::json::{parse, Scanner};
use crate::dump::push_stored;

const TENSOR: &str = r#"{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": 1.0, "Min": -1.0, "Mean": 0.5, "Norm": 2.0, "requires_grad": false}"#;

/// One row as a text: name, class, keyword, fields.
fn rows(node: &str, entry: &str) -> Vec<String> {
    let bump = Bump::new();
    let entry = parse(&mut Scanner::new(entry, 0), &bump).unwrap();
    let rows = collect_rows(node, entry, &bump);
    let texts = rows
        .iter()
        .map(|row| {
            let mut text = format!("{} {:?}", row.name, row.class).into_bytes();
            if let Some(keyword) = row.keyword {
                text.extend_from_slice(format!(" [{keyword}]").as_bytes());
            }
            if row.kind == RowKind::Null {
                text.extend_from_slice(b" null");
            } else {
                for (key, value) in &row.fields {
                    text.extend_from_slice(format!(" {}=", key.text()).as_bytes());
                    push_stored(&mut text, *value);
                }
            }
            String::from_utf8(text).unwrap()
        })
        .collect();
    texts
}

fn names(node: &str, entry: &str) -> Vec<String> {
    rows(node, entry).iter().map(|row| row.split(' ').next().unwrap().to_owned()).collect()
}

/// The fields of the only row of an entry with one input.
fn fields(value: &str) -> String {
    let rows = rows("Torch.f.0.forward", &format!(r#"{{"input_args": [{value}]}}"#));
    assert_eq!(rows.len(), 1);
    rows[0].strip_prefix("Torch.f.0.forward.input.0 Input ").unwrap().to_owned()
}

#[test]
fn the_example_of_the_specification() {
    let entry = format!(
        r#"{{"input_args": [null, {{"type": "int", "value": 5}}, [{TENSOR}], 7, []], "input_kwargs": {{"src": {{"type": "int", "value": 3}}}}, "output": [{TENSOR}]}}"#
    );
    let tensor = r#"type="torch.Tensor" dtype="torch.float32" shape="[2, 3]" Max="1.0" Min="-1.0" Mean="0.5" Norm="2.0" requires_grad="False" data_name="-1" md5="00000000""#;
    assert_eq!(
        rows("Torch.f.0.forward", &entry),
        [
            "Torch.f.0.forward.input.0 Input null".to_owned(),
            r#"Torch.f.0.forward.input.1 Input type="int" value="5" data_name="-1" requires_grad="null" Max="5" Min="5" Mean="5" Norm="5" dtype="<class int>" shape="[]" md5="CRC""#.replace("CRC", &crc("5")),
            format!("Torch.f.0.forward.input.2.0 Input {tensor}"),
            r#"Torch.f.0.forward.input.src Input [src] type="int" value="3" data_name="-1" requires_grad="null" Max="3" Min="3" Mean="3" Norm="3" dtype="int" shape="[]" md5="3""#.to_owned(),
            format!("Torch.f.0.forward.output.0 Output {tensor}"),
        ]
    );
}

fn crc(text: &str) -> String {
    // The bitwise definition, as a second source.
    let crc = text
        .bytes()
        .fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }));
    format!("{:08x}", !crc)
}

#[test]
fn groups_come_in_their_own_order_and_others_not_at_all() {
    let entry = format!(
        r#"{{"parameters": {{"weight": {TENSOR}}}, "output": {{"y": {TENSOR}}}, "is_recompute": true, "extra": [{TENSOR}], "input": [{TENSOR}], "input_kwargs": {{"k": [{TENSOR}, null]}}, "input_args": {TENSOR}}}"#
    );
    let found: Vec<String> = rows("Module.a.A.forward.0", &entry).iter().map(|row| row.split(" type").next().unwrap().to_owned()).collect();
    assert_eq!(
        found,
        [
            "Module.a.A.forward.0.input Input",
            "Module.a.A.forward.0.input.k.0 Input [k.0]",
            "Module.a.A.forward.0.input.k.1 Input [k.1] null",
            "Module.a.A.forward.0.input.0 Input",
            "Module.a.A.forward.0.output.y Output",
            "Module.a.A.forward.0.parameters.weight Parameters [weight]",
        ]
    );
}

#[test]
fn classes_follow_the_place_never_the_name() {
    let entry = format!(r#"{{"input": [{TENSOR}], "output": [{TENSOR}], "parameters": {{"weight": {TENSOR}}}}}"#);
    for node in
        ["Module.bert.output.dense.Linear.forward.0", "Module.net.input.proj.Linear.forward.0", "Module.a.input.output.b.B.forward.0"]
    {
        let classes: Vec<String> = rows(node, &entry).iter().map(|row| row.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(classes, ["Input", "Output", "Parameters"], "{node}");
    }
    // An output that is one object and no list is an output too.
    let one = rows("Torch.f.0.forward", &format!(r#"{{"output": {TENSOR}}}"#));
    assert!(one[0].starts_with("Torch.f.0.forward.output Output type="));
}

#[test]
fn values_without_rows() {
    for value in ["false", "true", "0", "1", "0.0", "2.5", "\"\"", "\"x\"", "[]", "{}", "[[], {}, [1]]"] {
        assert!(rows("Torch.f.0.forward", &format!(r#"{{"input_args": [{value}]}}"#)).is_empty(), "{value}");
    }
    for entry in ["null", "[]", "5", "{}", r#"{"input_args": 0}"#] {
        assert!(rows("Torch.f.0.forward", entry).is_empty(), "{entry}");
    }
    assert_eq!(rows("Torch.f.0.forward", r#"{"output": null}"#), ["Torch.f.0.forward.output Output null"]);
}

#[test]
fn gradients_leave_list_indexes_out() {
    let entry = format!(r#"{{"weight": [{TENSOR}], "bias": [null, {{"type": "int", "value": 1}}]}}"#);
    assert_eq!(
        names("Module.fc.Linear.parameters_grad.0", &entry),
        ["Module.fc.Linear.parameters_grad.0.weight", "Module.fc.Linear.parameters_grad.0.bias"]
    );
    let found = rows("Module.fc.Linear.parameters_grad", &entry);
    assert!(found[0].starts_with("Module.fc.Linear.parameters_grad.weight ParametersGrad [weight] type="));
    // Of two rows of the same name the last counts.
    assert!(found[1].contains("bias ParametersGrad [bias] type=\"int\""));
    // The part may also stand below, or within a key.
    let nested = format!(
        r#"{{"input_kwargs": {{"a.parameters_grad": [[{TENSOR}]], "b": {{"parameters_grad": [{TENSOR}]}}, "xparameters_grad": [{TENSOR}]}}}}"#
    );
    assert_eq!(
        names("Torch.f.0.forward", &nested),
        [
            "Torch.f.0.forward.input.a.parameters_grad",
            "Torch.f.0.forward.input.b.parameters_grad",
            "Torch.f.0.forward.input.xparameters_grad.0"
        ]
    );
}

#[test]
fn a_debug_entry_is_walked_as_a_whole() {
    let entry = format!(r#"{{"a": {TENSOR}, "output": [{TENSOR}]}}"#);
    let found: Vec<String> = rows("x.debug", &entry).iter().map(|row| row.split(" type").next().unwrap().to_owned()).collect();
    assert_eq!(found, ["x.debug.a Input", "x.debug.output.0 Input"]);
    assert_eq!(names("x.debug", &format!("[[{TENSOR}]]")), ["x.debug.0.0"]);
}

#[test]
fn point_to_point_operations() {
    let operation =
        |tensor: &str| format!(r#"{{"class_type": "torch.distributed.P2POp", "op": "isend", "peer": 1, "tag": 0, "tensor": {tensor}}}"#);
    let found = fields(&operation(r#"{"type": "torch.Tensor", "dtype": "d", "shape": [], "op": "x"}"#));
    assert_eq!(
        found,
        r#"type="torch.Tensor" dtype="d" shape="[]" op="isend" data_name="-1" requires_grad="null" Max="null" Min="null" Mean="null" Norm="null" md5="00000000" class_type="torch.distributed.P2POp" peer="1" tag="0" group_id="null""#
    );
    assert_eq!(fields(&operation("null")), "null");
    assert_eq!(fields(&operation("[1]")), "null");
}

#[test]
fn types_without_dtype() {
    let shape = |value: &str| {
        let all = fields(&format!(r#"{{"type": "slice", "value": {value}}}"#));
        all.split("shape=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    for (value, expected) in [
        ("[null, 3, null]", "(3,)"),
        ("[]", "(0,)"),
        ("5", "()"),
        ("null", "()"),
        ("[[1, 2, 3], [4, 5, 6]]", "(2, 3)"),
        ("[[1], [2, 3]]", "(2,)"),
        ("[[[1]], [[2]]]", "(2, 1, 1)"),
        ("[[], []]", "(2, 0)"),
    ] {
        assert_eq!(shape(value), expected, "{value}");
    }
    let tail = |value: &str| fields(value).split(" Max").nth(1).unwrap().to_owned();
    assert_eq!(
        tail(r#"{"type": "torch.Size", "value": [2, 3]}"#).split(" md5").next().unwrap(),
        r#"="null" Min="null" Mean="null" Norm="null" dtype="torch.Size" shape="[2, 3]""#
    );
    assert_eq!(
        tail(r#"{"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g"}"#),
        r#"="[0, 1]" Min="[0, 1]" Mean="[0, 1]" Norm="[0, 1]" dtype="torch.ProcessGroup" shape="[]" md5="[0, 1]""#
    );
    for (value, class) in
        [("null", "nullType"), ("true", "bool"), ("1", "int"), ("1.0", "float"), ("\"s\"", "str"), ("[1]", "list"), ("{\"a\": 1}", "dict")]
    {
        assert!(
            fields(&format!(r#"{{"type": "x", "value": {value}}}"#)).contains(&format!("dtype=\"<class {class}>\" shape=\"[]\"")),
            "{value}"
        );
    }
    assert!(fields(r#"{"type": "torch.memory_format", "format": "c"}"#).contains("dtype=\"<class nullType>\""));
    // An empty dtype is filled in where it stands.
    assert!(fields(r#"{"dtype": "", "type": "x", "value": 1}"#).starts_with("dtype=\"<class int>\" type=\"x\""));
}

#[test]
fn truth_values_stay_truth_values_as_statistics() {
    let bump = Bump::new();
    let entry = parse(&mut Scanner::new(r#"{"input_args": [{"type": "bool", "value": true}]}"#, 0), &bump).unwrap();
    let row = &collect_rows("Torch.f.0.forward", entry, &bump)[0];
    assert_eq!(row.get(Field::Value), crate::dump::json::Value::Str("True"));
    assert_eq!(row.statistics(), [crate::dump::json::Value::Bool(true); 4]);
}

#[test]
fn data_names_name_the_row() {
    let with = |data_name: &str| {
        names("Torch.f.0.forward", &format!(r#"{{"input_args": [{{"type": "t", "data_name": {data_name}}}]}}"#)).remove(0)
    };
    assert_eq!(with("\"a.input.0.pt\""), "a.input.0");
    assert_eq!(with("\"whole\""), "whole");
    for empty in ["null", "\"\"", "\"-1\""] {
        assert_eq!(with(empty), "Torch.f.0.forward.input.0", "{empty}");
    }
    let file = |data_name: &str| fields(&format!(r#"{{"data_name": {data_name}, "type": "t"}}"#)).split(' ').next().unwrap().to_owned();
    assert_eq!((file("null"), file("\"\"")), ("data_name=\"-1\"".to_owned(), "data_name=\"-1\"".to_owned()));
}

#[test]
fn fields_of_the_reference_are_not_taken_from_the_dump() {
    assert!(!fields(r#"{"type": "t", "state": "x", "full_op_name": "y", "md5": ""}"#).contains("state"));
    assert!(fields(r#"{"type": "t", "md5": "", "value": "a"}"#).contains(&format!("md5=\"{}\"", crc("a"))));
}

#[test]
fn repeated_names_keep_the_first_place_and_the_last_row() {
    for count in [6, 200] {
        let inputs: Vec<String> = (0..count).map(|i| format!(r#"{{"type": "t", "n": {i}, "data_name": "f{}.pt"}}"#, i % 4)).collect();
        let entry = format!(r#"{{"input_args": [{0}], "output": [{0}]}}"#, inputs.join(","));
        let found: Vec<String> =
            rows("Torch.f.0.forward", &entry).iter().map(|row| row.split(" data_name").next().unwrap().to_owned()).collect();
        // The last of `count` rows with the same remainder.
        let last = |remainder: usize| (0..count).rev().find(|i| i % 4 == remainder).unwrap();
        let expected: Vec<String> = ["Input", "Output"]
            .iter()
            .flat_map(|class| (0..4).map(move |i| format!("f{i} {class} type=\"t\" n=\"{}\"", last(i))))
            .collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn nesting_beyond_the_limit_makes_one_marker_row() {
    let nested = |depth: usize| format!(r#"{{"input_args": {}{TENSOR}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let found = rows("Torch.f.0.forward", &nested(400));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("type=\"torch.Tensor\""));
    for depth in [401, 100_000] {
        let found = rows("Torch.f.0.forward", &nested(depth));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("value=\"not read: nested deeper than 400 levels\""), "{}", found[0]);
        let name = format!("Torch.f.0.forward.input{}", ".0".repeat(400));
        assert_eq!(found[0].split(' ').next().unwrap(), name);
    }
}
