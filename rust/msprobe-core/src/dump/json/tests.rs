//! What counts as JSON, what it means, and where the faults are.

use bumpalo::Bump;
use proptest::prelude::*;

use super::{parse, push_dumps, push_repr, push_str, Fault, Member, Scanner, Value};

/// Parses a whole text both ways: skipping and building must agree.
fn read<'a>(text: &'a str, bump: &'a Bump) -> Result<Value<'a>, Fault> {
    let mut skipping = Scanner::new(text, 0);
    let skipped = skipping.skip_value().and_then(|()| skipping.finish());
    let mut building = Scanner::new(text, 0);
    let built = parse(&mut building, bump).and_then(|value| building.finish().map(|()| value));
    assert_eq!(skipped.err(), built.err(), "{text:?}");
    built
}

fn fault(text: &str) -> (usize, &'static str) {
    let fault = read(text, &Bump::new()).expect_err(text);
    (fault.offset, fault.reason)
}

fn python(write: fn(&mut Vec<u8>, Value<'_>), text: &str) -> String {
    let mut out = Vec::new();
    write(&mut out, read(text, &Bump::new()).unwrap());
    String::from_utf8(out).unwrap()
}

#[test]
fn values_of_every_kind() {
    let bump = Bump::new();
    let text = " { \"a\" : [ 1 , -0, -1.5e3, true,\tfalse ,null ],\r\n\"b\":{}, \"\": \"x\\u00e9\\/\" } ";
    let expected = Value::Object(&[
        Member {
            key: "a",
            value: Value::List(&[
                Value::Int("1"),
                Value::Int("0"),
                Value::Float(-1500.0),
                Value::Bool(true),
                Value::Bool(false),
                Value::Null,
            ]),
        },
        Member { key: "b", value: Value::Object(&[]) },
        Member { key: "", value: Value::Str("xé/") },
    ]);
    assert_eq!(read(text, &bump), Ok(expected));
}

#[test]
fn numbers_keep_their_meaning() {
    let bump = Bump::new();
    let long = "123456789012345678901234567890";
    assert_eq!(read(long, &bump), Ok(Value::Int(long)));
    assert_eq!(read("1e999", &bump), Ok(Value::Float(f64::INFINITY)));
    assert_eq!(read("-1e999", &bump), Ok(Value::Float(f64::NEG_INFINITY)));
    assert_eq!(read("Infinity", &bump), Ok(Value::Float(f64::INFINITY)));
    assert_eq!(read("-Infinity", &bump), Ok(Value::Float(f64::NEG_INFINITY)));
    assert!(matches!(read("NaN", &bump), Ok(Value::Float(x)) if x.is_nan()));
    assert!(matches!(read("-0.0", &bump), Ok(Value::Float(x)) if x == 0.0 && x.is_sign_negative()));
    assert_eq!(read("1E5", &bump), Ok(Value::Float(1e5)));
}

#[test]
fn faults_are_placed() {
    for (text, offset, reason) in [
        ("", 0, "unexpected end of the file"),
        ("  ", 2, "unexpected end of the file"),
        ("{\"a\" 1}", 5, "expected : after a key"),
        ("{a: 1}", 1, "expected a key in double quotes"),
        ("{\"a\": 1,}", 8, "expected a key in double quotes"),
        ("{\"a\": 1 \"b\": 2}", 8, "expected , or }"),
        ("[1 2]", 3, "expected , or ]"),
        ("[1,]", 3, "expected a value"),
        ("[1}", 2, "expected , or ]"),
        ("{\"a\": 1]", 7, "expected , or }"),
        ("1 2", 2, "something follows the end of the JSON text"),
        ("\"a\nb\"", 2, "control character in a string"),
        ("\"aaaaaaaaaaaaaaaaaaaaaaaa\u{1f}\"", 25, "control character in a string"),
        ("\"\\x\"", 2, "unknown escape in a string"),
        ("\"\\u12g4\"", 5, "expected four hex digits after \\u"),
        ("\"\\u12\"", 5, "expected four hex digits after \\u"),
        ("01", 1, "a number must not start with 0"),
        ("-", 1, "unexpected end of the file"),
        ("-x", 1, "expected a digit"),
        ("1.", 2, "unexpected end of the file"),
        ("1.e1", 2, "expected a digit"),
        ("1e+", 3, "unexpected end of the file"),
        ("[1e+]", 4, "expected a digit"),
        (".5", 0, "expected a value"),
        ("+1", 0, "expected a value"),
        ("nul", 3, "unexpected end of the file"),
        ("nulL", 3, "unknown bare word"),
        ("True", 0, "expected a value"),
        ("-NaN", 1, "expected a digit"),
        ("-Inf", 4, "unexpected end of the file"),
        ("'a'", 0, "expected a value"),
        ("\0", 0, "expected a value"),
        ("\u{a0}1", 0, "expected a value"),
        ("[1] // no", 4, "something follows the end of the JSON text"),
    ] {
        assert_eq!(fault(text), (offset, reason), "{text:?}");
    }
}

#[test]
fn repeated_keys_keep_the_first_place_and_the_last_value() {
    let bump = Bump::new();
    let keys = |value: Value<'_>| match value {
        Value::Object(members) => members.iter().map(|m| format!("{}={:?}", m.key, m.value)).collect::<Vec<_>>().join(" "),
        other => panic!("{other:?}"),
    };
    let small = read(r#"{"a": 1, "b": 2, "\u0061": 3, "c": 4, "b": 5, "a": 6}"#, &bump).unwrap();
    assert_eq!(keys(small), r#"a=Int("6") b=Int("5") c=Int("4")"#);
    // Many members take another way; the same must come out.
    let text = |range: std::ops::Range<usize>| range.map(|i| format!("\"k{}\": {i}", i % 40)).collect::<Vec<_>>().join(",");
    let repeated = format!("{{{}}}", text(0..100));
    let large = read(&repeated, &bump).unwrap();
    let expected: Vec<String> = (0..40).map(|i| format!("k{i}=Int(\"{}\")", if i < 20 { 80 + i } else { 40 + i })).collect();
    assert_eq!(keys(large), expected.join(" "));
}

#[test]
fn nesting_costs_no_stack() {
    let depth = 1_000_000;
    let text = "[".repeat(depth) + &"]".repeat(depth);
    let bump = Bump::new();
    let value = read(&text, &bump).unwrap();
    let mut out = Vec::new();
    push_repr(&mut out, value);
    assert_eq!(out, text.as_bytes());
    assert_eq!(fault(&"[".repeat(depth)), (depth, "unexpected end of the file"));
    assert_eq!(fault(&"{\"\":[".repeat(depth)), (5 * depth, "unexpected end of the file"));
    assert_eq!(fault(&("[{\"\":".repeat(100) + "1" + &"}]".repeat(99) + "}}")), (700, "expected , or ]"));
}

#[test]
fn long_names_and_strange_names() {
    let bump = Bump::new();
    let name = "n".repeat(10 << 20);
    let text = format!("{{\"{name}\": 1, \"\\u0000%\\n'(.*)\": 2}}");
    let value = read(&text, &bump).unwrap();
    assert_eq!(value.get(&name), Some(Value::Int("1")));
    assert_eq!(value.get("\0%\n'(.*)"), Some(Value::Int("2")));
}

#[test]
fn python_texts() {
    let text = r#"[1, 2.0, "a", null, true, {"k": "it's", "n": [NaN, -Infinity, []], "e": {}}, 1e16]"#;
    assert_eq!(python(push_str, text), r#"[1, 2.0, 'a', None, True, {'k': "it's", 'n': [nan, -inf, []], 'e': {}}, 1e+16]"#);
    assert_eq!(python(push_dumps, text), r#"[1, 2.0, "a", null, true, {"k": "it's", "n": [NaN, -Infinity, []], "e": {}}, 1e+16]"#);
    assert_eq!(python(push_str, r#""it's\n""#), "it's\n");
    assert_eq!(python(push_repr, r#""it's\n""#), r#""it's\n""#);
    assert_eq!(python(push_dumps, r#""é""#), r#""\u00e9""#);
    assert_eq!(python(push_str, "false"), "False");
}

#[test]
fn truth_is_pythons() {
    let bump = Bump::new();
    for text in ["null", "false", "0", "-0", "0.0", "-0.0", "0e5", "\"\"", "[]", "{}"] {
        assert!(!read(text, &bump).unwrap().is_truthy(), "{text}");
    }
    for text in ["true", "1", "-1", "0.1", "NaN", "\" \"", "[null]", "{\"a\": null}", "00"] {
        assert!(read(text, &bump).map_or(text == "00", |value| value.is_truthy()), "{text}");
    }
}

/// Whether our value means the same as that of another JSON reader.
pub(crate) fn same(ours: Value<'_>, other: &serde_json::Value) -> bool {
    match (ours, other) {
        (Value::Null, serde_json::Value::Null) => true,
        (Value::Bool(a), serde_json::Value::Bool(b)) => a == *b,
        (Value::Int(digits), serde_json::Value::Number(number)) => digits == number.to_string() || digits.parse().ok() == number.as_f64(),
        (Value::Float(a), serde_json::Value::Number(number)) => Some(a) == number.as_f64(),
        (Value::Str(a), serde_json::Value::String(b)) => a == b,
        (Value::List(a), serde_json::Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, b)),
        (Value::Object(a), serde_json::Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, (key, b))| a.key == key && same(a.value, b))
        }
        _ => false,
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Into::into),
        any::<String>().prop_map(Into::into),
        "[ -~]{0,30}".prop_map(Into::into),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            proptest::collection::vec(("[a-c]{0,2}|.{0,5}", inner), 0..20)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Texts that are nearly JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\"a\""),
        Just("\"\\u00e9\""),
        Just("\"\\"),
        Just("\""),
        Just("1"),
        Just("0"),
        Just("-"),
        Just("."),
        Just("e"),
        Just("1.5"),
        Just("-2e-3"),
        Just("null"),
        Just("true"),
        Just("fals"),
        Just(" "),
        Just("\n"),
    ];
    proptest::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn reads_what_another_writer_writes(json in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) }.unwrap();
        let bump = Bump::new();
        let value = read(&text, &bump).unwrap();
        prop_assert!(same(value, &json), "{}", text);
        // And back: what we write as JSON is read by the other reader.
        let mut out = Vec::new();
        push_dumps(&mut out, value);
        prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap(), json);
    }

    #[test]
    fn accepts_what_another_reader_accepts(text in nearly_json()) {
        let bump = Bump::new();
        let ours = read(&text, &bump);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(json) => prop_assert!(ours.is_ok_and(|value| same(value, &json)), "{}", text),
            Err(_) => prop_assert!(ours.is_err(), "{}", text),
        }
    }

    #[test]
    fn cut_text_fails_at_its_end_or_before(json in any_json(), at in any::<prop::sample::Index>()) {
        // A container is incomplete wherever it is cut.
        let text = format!("[{json}]");
        let cut: String = text.chars().take(at.index(text.chars().count())).collect();
        let fault = read(&cut, &Bump::new()).expect_err("a cut text");
        prop_assert_eq!(fault, Fault { offset: cut.len(), reason: "unexpected end of the file" });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    /// A number with much behind it is looked at in one go, one near the end of the text byte by byte.
    #[test]
    fn a_number_is_the_same_whatever_is_behind_it(
        text in "(-?(0|[1-9][0-9]{0,34})(\\.[0-9]{0,34})?([eE][-+]?[0-9]{0,4})?|[-+.eE0-9I]{1,36})",
        before in 0usize..3,
        behind in "[,\\]} e.0-]",
    ) {
        let skipped = |text: &str| {
            let mut scanner = Scanner::new(text, before);
            (scanner.skip_value().err(), scanner.at())
        };
        let text = format!("{}{text}{behind},,", "[".repeat(before));
        prop_assert_eq!(skipped(&text), skipped(&format!("{text}{}", " ".repeat(40))));
    }
}
