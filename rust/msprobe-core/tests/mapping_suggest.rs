//! A proposed mapping against the one that somebody wrote by hand for the same two dumps.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use msprobe_core::dump::json::Value;
use msprobe_core::dump::RankFiles;
use msprobe_core::graph::Graph;
use msprobe_core::matching::mapping::{suggest, Rules};
use msprobe_core::matching::{match_by_mapping, Calls, Side};

type Pairs = BTreeSet<(String, String)>;

fn pairs(target: &RankFiles, golden: &RankFiles, rules: &Rules) -> Pairs {
    let ((target_graph, _), (golden_graph, _)) = (Graph::build(target).unwrap(), Graph::build(golden).unwrap());
    let (target, golden) = (Side { graph: &target_graph, files: target }, Side { graph: &golden_graph, files: golden });
    let matched = match_by_mapping(target, golden, rules, Calls::Mapped).matched;
    let name = |graph: &Graph<'_>, node| graph[node].name().to_owned();
    let pair = |&node| Some((name(&target_graph, node), name(&golden_graph, matched.golden_of(node)?)));
    target_graph.order().iter().filter(|&&node| node != target_graph.root()).filter_map(pair).collect()
}

/// Shapes of the parameters of a node, in any order.
fn parameter_shapes(files: &RankFiles, name: &str) -> Vec<String> {
    let bump = bumpalo::Bump::new();
    let Some(Value::Object(entry)) = files.dump.find(name).map(|entry| files.dump.entry(entry, &bump).unwrap()) else { return Vec::new() };
    let Some(Value::Object(parameters)) = entry.iter().find(|member| member.key == "parameters").map(|member| member.value) else {
        return Vec::new();
    };
    let mut shapes: Vec<String> = parameters.iter().map(|parameter| format!("{:?}", parameter.value.get("shape"))).collect();
    shapes.sort();
    shapes
}

/// Checks the proposal for a pair of dumps; returns it with the part of the pairs of the mapping `by_hand` that it makes as well.
fn check(target: &Path, golden: &Path, by_hand: &Path) -> (String, f64) {
    let (target, golden) = (RankFiles::open(target).unwrap(), RankFiles::open(golden).unwrap());
    let text = suggest(&target, &golden).to_string();
    let proposed = Rules::parse(Path::new("proposed.yaml"), &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let wanted = pairs(&target, &golden, &Rules::open(by_hand).unwrap());
    let found = pairs(&target, &golden, &proposed);
    for (node, partner) in found.difference(&wanted) {
        assert_eq!(parameter_shapes(&target, node), parameter_shapes(&golden, partner), "{node} {partner}\n{text}");
    }
    assert!(!wanted.is_empty());
    let missed: Vec<_> = wanted.difference(&found).take(5).collect();
    let part = 1.0 - wanted.difference(&found).count() as f64 / wanted.len() as f64;
    println!(
        "{}: {} of {} pairs, {} more {missed:?}",
        by_hand.display(),
        wanted.intersection(&found).count(),
        wanted.len(),
        found.difference(&wanted).count()
    );
    (text, part)
}

#[test]
fn renamed_modules_of_a_miniature() {
    let mini = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mini/c06_layer_mapping_yaml");
    let (text, part) = check(&mini.join("target/step0/rank0"), &mini.join("golden/step0/rank0"), &mini.join("mapping.yaml"));
    assert!(part >= 0.95, "{part}\n{text}");
}

#[test]
fn renamed_modules_of_real_models() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let dumps = std::env::var_os("MSPROBE_SHARED").map_or(beside, PathBuf::from).join("dumps");
    if !dumps.is_dir() {
        eprintln!("skipped: no folder with dumps (MSPROBE_SHARED)");
        return;
    }
    let (target, golden) = ("target/step0/rank0", "golden/step0/rank0");
    for (dump, from, to, mapping) in [
        ("renamed_modules_lm", target, golden, "mapping.yaml"),
        ("ms_vs_pt_L0", target, golden, "mapping.yaml"),
        ("ms_vs_pt_mix", target, golden, "mapping.yaml"),
        ("ms_vs_pt_mix", golden, target, "mapping_reverse.yaml"),
        ("ms_vs_pt_tensor", target, golden, "mapping.yaml"),
    ] {
        let folder = dumps.join(dump);
        let (text, part) = check(&folder.join(from), &folder.join(to), &folder.join(mapping));
        assert!(part >= 0.95, "{dump} {mapping}: {part}\n{text}");
    }
}

#[test]
fn what_has_the_same_names_needs_no_rule() {
    let mini = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mini/c06_layer_mapping_yaml/target/step0/rank0");
    let files = RankFiles::open(&mini).unwrap();
    let suggestion = suggest(&files, &files);
    assert_eq!(suggestion.rules, []);
    assert_eq!(Rules::parse(Path::new("m.yaml"), &suggestion.to_string()).unwrap().all(), []);
}
