//! Mapping files that cannot be used: one line each, naming the file and the line in it.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use msprobe_core::matching::mapping::{Error, Rules, LARGEST_MAPPING, MOST_PARTS};

fn parse(text: &str) -> Result<Rules, Error> {
    Rules::parse(Path::new("m.yaml"), text)
}

fn refusal(text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    let error = parse(text).err().unwrap_or_else(|| panic!("accepted: {shown}")).to_string();
    assert!(!error.contains('\n') && error.len() < 600, "{error}");
    error
}

fn rules(text: &str) -> Vec<(String, String, String, usize)> {
    let rules = parse(text).unwrap_or_else(|error| panic!("{error}"));
    rules.all().iter().map(|rule| (rule.class.clone(), rule.key.clone(), rule.value.clone(), rule.line)).collect()
}

fn rule(class: &str, key: &str, value: &str, line: usize) -> (String, String, String, usize) {
    (class.to_owned(), key.to_owned(), value.to_owned(), line)
}

#[test]
fn rules_with_their_lines() {
    let text =
        "\u{feff}# remark\n---\nTopLayer:\n  module: model\n\"Net\": # here too\n  a.b: 'c.d'\n  'e': f (any text)\nX: {g: h, i: j}\n...\n";
    let wanted = [
        rule("TopLayer", "module", "model", 4),
        rule("Net", "a.b", "c.d", 6),
        rule("Net", "e", "f ", 7),
        rule("X", "g", "h", 8),
        rule("X", "i", "j", 8),
    ];
    assert_eq!(rules(text), wanted);
    assert_eq!(rules("A:\r\n  b: c\r\n"), [rule("A", "b", "c", 2)]);
    assert_eq!(rules("A:\n  '0': \"1\"\n  !!str 5: d\n"), [rule("A", "0", "1", 2), rule("A", "5", "d", 3)]);
    assert_eq!(rules("{}"), []);
    assert_eq!(rules("A: {}\nB:\n  c: d\n"), [rule("B", "c", "d", 3)]);
}

#[test]
fn cell_is_the_top_layer_and_replaces_it() {
    assert_eq!(rules("Cell:\n  a: b\n"), [rule("TopLayer", "a", "b", 2)]);
    assert_eq!(rules("TopLayer:\n  x: y\nCell:\n  a: b\n"), [rule("TopLayer", "a", "b", 4)]);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, wanted) in [
        ("", "m.yaml: holds no rule; leave the file out to match by place"),
        ("# nothing\n\n", "m.yaml: holds no rule; leave the file out to match by place"),
        ("---\n", "m.yaml: holds no rule; leave the file out to match by place"),
        ("~", "m.yaml: holds no rule; leave the file out to match by place"),
        ("- a\n- b\n", "m.yaml:1: a list stands where `class:` and its rules should"),
        ("just text\n", "m.yaml:1: a single text stands where `class:` and its rules should"),
        ("A:\nB:\n  c: d\n", "m.yaml:1: nothing stands where the rules of \"A\" should: `child: golden child`, one a line"),
        ("A: text\n", "m.yaml:1: a single text stands where the rules of \"A\" should: `child: golden child`, one a line"),
        ("A:\n- b: c\n", "m.yaml:2: a list stands where the rules of \"A\" should: `child: golden child`, one a line"),
        ("A:\n  b:\n    c: d\n", "m.yaml:3: a mapping stands where the value of \"b\" should"),
        ("A:\n  b: [c]\n", "m.yaml:2: a list stands where the value of \"b\" should"),
        ("A:\n  b:\n", "m.yaml:2: the value of \"b\" is nothing in YAML, not a text: write \"\""),
        ("A:\n  0: b\n", "m.yaml:2: a child of the class is a number in YAML, not a text: write \"0\""),
        ("A:\n  a: b\n  c: yes\n", "m.yaml:3: the value of \"c\" is true or false in YAML, not a text: write \"yes\""),
        ("1.5:\n  a: b\n", "m.yaml:1: a class name is a number in YAML, not a text: write \"1.5\""),
        ("? [a]\n: b\n", "m.yaml:1: a list stands where a class name should"),
        ("A:\n  b: c\nA:\n  d: e\n", "m.yaml:3: class \"A\" stands here a second time, first in line 1"),
        ("A:\n  b: c\n  d: e\n  b: f\n", "m.yaml:4: key \"b\" of \"A\" stands here a second time, first in line 2"),
        ("A: &x\n  b: c\nB: *x\n", "m.yaml:1: anchors (&) are not read in a layer mapping; write the rules out"),
        ("A:\n  b: &x c\n", "m.yaml:2: anchors (&) are not read in a layer mapping; write the rules out"),
        ("A: !!map\n  b: c\n", "m.yaml:1: tags (!) are not read in a layer mapping"),
        ("A:\n  b: !!python/object c\n", "m.yaml:2: tags (!) are not read in a layer mapping"),
        ("A:\n  <<: {b: c}\n", "m.yaml:2: merge keys (<<) are not read in a layer mapping; write the rules out"),
        ("A:\n  b: c\n---\nA:\n  b: c\n", "m.yaml:3: a second YAML document; a layer mapping is one"),
    ] {
        assert_eq!(refusal(text), wanted, "{text:?}");
    }
}

#[test]
fn what_yaml_itself_refuses_is_said_with_its_line() {
    for (text, line) in [
        ("A:\n\tb: c\n", 2),
        ("A:\n  b: c\n   d: e\n", 3),
        ("A:\n  b: \"c\n", 2),
        ("A: {b: c\n", 2),
        ("A: *nobody\n", 1),
        ("A:\n  b: *x\n", 2),
        ("A:\n  b: c: d\n", 2),
        ("%YAML 9.9\nA\n", 2),
        ("A:\n  b: @c\n", 2),
        ("\u{0}", 1),
    ] {
        let error = refusal(text);
        assert!(error.starts_with(&format!("m.yaml:{line}: ")), "{text:?}: {error}");
    }
}

#[test]
fn bombs_are_refused_at_once() {
    let mut laughs = String::from("a: &a [lol, lol]\n");
    for level in 0..30 {
        let (this, before) = (char::from(b'b' + level % 24), char::from(b'a' + level % 24));
        let _ = writeln!(laughs, "{this}{level}: &{this} [*{before}, *{before}, *{before}]");
    }
    let megabyte = 1 << 20;
    let deep = "a.".repeat(MOST_PARTS);
    let started = Instant::now();
    for text in [
        laughs,
        "A: &x\n  b: *x\n".to_owned(),
        "&x A: *x\n".to_owned(),
        "[".repeat(megabyte),
        "{".repeat(megabyte),
        "A: ".to_owned() + &"[".repeat(megabyte),
        "A:\n  ? ".to_owned() + &"? ".repeat(megabyte / 2),
        "- ".repeat(megabyte / 2),
        format!("A:\n  {deep}a: b\n"),
        "\n".repeat(megabyte),
        "a".repeat(megabyte),
    ] {
        refusal(&text);
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn many_rules_are_read_in_no_time() {
    let mut text = String::new();
    for class in 0..1_000 {
        let _ = writeln!(text, "Class{class}:");
        for key in 0..50 {
            let _ = writeln!(text, "  layers.{key}.attention: blocks.{key}.self_attention");
        }
    }
    assert!(text.len() > 2 << 20 && (text.len() as u64) < LARGEST_MAPPING);
    assert_eq!(parse(&text).unwrap().all().len(), 50_000);
}

#[test]
fn files_that_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let refusal = |name: &str| {
        let error = Rules::open(&at(name)).unwrap_err().to_string();
        assert!(error.starts_with(at(name).to_str().unwrap()) && !error.contains('\n'), "{error}");
        error
    };
    assert!(refusal("missing.yaml").contains("no such file"));
    std::fs::write(at("rules.txt"), "A:\n  b: c\n").unwrap();
    assert!(refusal("rules.txt").ends_with(": a layer mapping is a .yaml file"));
    std::fs::create_dir(at("folder.yaml")).unwrap();
    assert!(refusal("folder.yaml").ends_with(": is not a regular file"));
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe.yaml"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(refusal("pipe.yaml").ends_with(": is not a regular file"));
    std::fs::write(at("latin.yaml"), b"A:\n  b: \xe9\n").unwrap();
    assert!(refusal("latin.yaml").ends_with(":2: not valid UTF-8"));
    let large = std::fs::File::create(at("large.yaml")).unwrap();
    large.set_len(100 << 20).unwrap();
    assert!(refusal("large.yaml").contains("larger than"));
    std::fs::write(at("good.yaml"), "A:\n  b: c\n").unwrap();
    assert_eq!(Rules::open(&at("good.yaml")).unwrap().all().len(), 1);
}
