//! Trees that no sane run records: cycles, self parents, endless chains, very many siblings, random parents. Every node must be
//! in the graph once, below the root.

use std::fmt::Write;
use std::time::{Duration, Instant};

use msprobe_core::dump::RankFiles;
use msprobe_core::graph::{Graph, Notes};
use msprobe_core::matching::{match_by_place, LinkWriter};
use proptest::prelude::*;

fn open(framework: &str, construct: &str, data: &str, stack: &str) -> RankFiles {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("construct.json", construct);
    write("dump.json", &format!(r#"{{"task": "statistics", "framework": "{framework}", "data": {{{data}}}}}"#));
    write("stack.json", stack);
    RankFiles::open(folder.path()).unwrap()
}

/// Whether the graph is one tree over all its nodes, as parents, children and order tell it.
fn assert_is_a_tree(graph: &Graph<'_>) {
    assert_eq!(graph.order().len(), graph.len());
    assert_eq!(graph.order().last(), Some(&graph.root()));
    let mut seen = vec![false; graph.len()];
    for (position, &id) in graph.order().iter().enumerate() {
        assert!(!std::mem::replace(&mut seen[id.index()], true), "{} twice", graph[id].name());
        assert_eq!(graph[id].position() as usize, position);
        assert_eq!(graph.find(graph[id].name()), Some(id));
        assert!((0..graph.micro_steps()).contains(&graph[id].micro_step()));
        for &child in graph.children(id) {
            assert_eq!(graph[child].parent(), Some(id));
            assert!(graph[child].position() < graph[id].position());
            assert_eq!(graph[child].depth(), graph[id].depth() + 1);
        }
    }
    let children: usize = graph.nodes().iter().map(|node| graph.children(graph.find(node.name()).unwrap()).len()).sum();
    assert_eq!(children, graph.len() - 1);
}

/// Names from few parts, so that twins, recomputed layers, gradients and clashes are common.
fn name() -> impl Strategy<Value = String> {
    let direction = prop::sample::select(vec!["forward", "backward"]);
    let path = prop::sample::select(vec!["a.A", "a.b.B", "a.b.c.C", "0.a.A", "feed_forward.F", "backward.B"]);
    prop_oneof![
        6 => (path, direction.clone(), 0..4u8).prop_map(|(path, direction, call)| format!("Module.{path}.{direction}.{call}")),
        3 => (direction, 0..5u8).prop_map(|(direction, call)| format!("Torch.add.{call}.{direction}")),
        1 => prop::sample::select(vec!["optimizer", "DefaultModel", "Apis_Between_Modules.0", "", ".", "Module", "a.backward.x", "Module.a.A.parameters_grad"])
            .prop_map(str::to_owned),
    ]
}

/// A parent as the file holds it: null, the empty text, or a name.
fn parent() -> impl Strategy<Value = String> {
    prop_oneof![2 => Just("null".to_owned()), 8 => name().prop_map(|name| format!("{name:?}"))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_files_give_one_tree_over_all_names(
        links in prop::collection::vec((name(), parent(), -1..4i8), 1..60),
        data in prop::collection::vec(prop_oneof![3 => name(), 1 => name().prop_map(|name| format!("{name}.parameters_grad.0"))], 0..30),
        stacks in prop::collection::vec(name(), 0..20),
        record in prop::sample::select(vec![None, Some("null"), Some("2")]),
    ) {
        let recompute = r#"["File /torch/utils/checkpoint.py, line 1, in recompute_fn, x"]"#;
        let mut construct: Vec<String> = links.iter().map(|(name, parent, step)| match record {
            None => format!("{name:?}: {parent}"),
            Some(_) => format!("{name:?}: [{parent}, {step}]"),
        }).collect();
        construct.extend(record.map(|number| format!(r#""megatron_micro_step_number": {number}"#)));
        let data: Vec<String> = data.iter().map(|name| format!("{name:?}: {{}}")).collect();
        let stacks: Vec<String> = stacks.iter().map(|name| format!("{name:?}: {recompute}")).collect();
        let files = open("pytorch", &format!("{{{}}}", construct.join(", ")), &data.join(", "), &format!("{{{}}}", stacks.join(", ")));
        let (graph, _) = Graph::build(&files).unwrap();
        assert_is_a_tree(&graph);
        for link in (0..files.construct.len()).map(|i| files.construct.link(i)) {
            prop_assert!(graph.find(link.name).is_some());
        }
        for entry in files.dump.ids() {
            let node = graph.find(files.dump.name(entry)).unwrap();
            prop_assert!(node == graph.root() || graph[node].entry() == Some(entry));
        }
        let matched = match_by_place(&graph, &graph);
        prop_assert_eq!(matched.len(), graph.len());
        for &id in graph.order() {
            prop_assert_eq!(matched.golden_of(id), Some(id));
        }
    }
}

fn build_in_time(construct: &str, data: &str) -> (usize, Notes) {
    let files = open("pytorch", construct, data, "{}");
    let start = Instant::now();
    let (graph, notes) = Graph::build(&files).unwrap();
    let matched = match_by_place(&graph, &graph);
    // Far above what a linear build needs and far below a quadratic one.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(matched.len(), graph.len());
    assert_is_a_tree(&graph);
    (graph.len(), notes)
}

/// `{"<name 0>": <parent 0>, ...}`
fn construct(count: usize, link: impl Fn(usize) -> (String, String)) -> String {
    let mut text = "{".to_owned();
    for i in 0..count {
        let (name, parent) = link(i);
        let comma = if i == 0 { "" } else { ", " };
        write!(text, "{comma}\"{name}\": {parent}").unwrap();
    }
    text + "}"
}

fn module(i: usize) -> String {
    format!("Module.m{i}.M.forward.0")
}

#[test]
fn a_chain_of_20_000_modules() {
    let above = |i: usize| if i == 0 { "null".to_owned() } else { format!("\"{}\"", module(i - 1)) };
    assert_eq!(build_in_time(&construct(20_000, |i| (module(i), above(i))), ""), (20_001, Notes::default()));
    // The same from the inside out, as recorders write it.
    assert_eq!(build_in_time(&construct(20_000, |i| (module(19_999 - i), above(19_999 - i))), ""), (20_001, Notes::default()));
}

#[test]
fn siblings_by_the_200_000() {
    let flat = construct(200_000, |i| (module(i), "null".to_owned()));
    assert_eq!(build_in_time(&flat, "").0, 200_001);
    // One run of APIs, and 100,000 runs of two between modules.
    let apis = construct(200_000, |i| (format!("Torch.add.{i}.forward"), "null".to_owned()));
    assert_eq!(build_in_time(&apis, "").0, 200_002);
    let mixed =
        construct(
            300_000,
            |i| if i % 3 == 0 { (module(i), "null".to_owned()) } else { (format!("Torch.add.{i}.forward"), "null".to_owned()) },
        );
    assert_eq!(build_in_time(&mixed, "").0, 400_001);
}

#[test]
fn a_cycle_of_100_000_and_as_many_of_two() {
    let ring = construct(100_000, |i| (module(i), format!("\"{}\"", module((i + 1) % 100_000))));
    let (count, notes) = build_in_time(&ring, "");
    assert_eq!((count, notes.cycles.count), (100_001, 1));
    assert_eq!(notes.cycles.first, [module(0)]);
    let pairs = construct(100_000, |i| (module(i), format!("\"{}\"", module(i ^ 1))));
    let (count, notes) = build_in_time(&pairs, "");
    assert_eq!((count, notes.cycles.count), (100_001, 50_000));
    assert_eq!(notes.cycles.first, [module(0), module(2), module(4)]);
}

#[test]
fn self_parents_and_parents_that_are_never_recorded() {
    let own = construct(100_000, |i| (module(i), format!("\"{}\"", module(i))));
    let (count, notes) = build_in_time(&own, "");
    assert_eq!((count, notes.hanging.count), (100_001, 100_000));
    let unknown = construct(100_000, |i| (module(i), format!("\"Module.x{i}.X.forward.0\"")));
    let (count, notes) = build_in_time(&unknown, "");
    assert_eq!((count, notes.hanging.count), (200_001, 100_000));
}

#[test]
fn recomputed_layers_are_moved_below_the_end_of_a_chain_in_time() {
    // 20,000 layers that ran again, both ways; their ordinary calls all lie below a chain of 20,000 modules.
    const COUNT: usize = 20_000;
    let deep = |i: usize| format!("Cell.d.D{i}");
    let layer = |i: usize, call: &str| format!("Cell.net.block.layer{i}.L.{call}");
    let text = construct(COUNT * 4, |i| {
        let at = i / 4;
        match i % 4 {
            0 if at == 0 => (deep(0), "null".to_owned()),
            0 => (deep(at), format!("\"{}\"", deep(at - 1))),
            1 => (layer(at, "forward.0"), format!("\"{}\"", deep(COUNT - 1))),
            2 => (layer(at, "forward.1"), "null".to_owned()),
            _ => (layer(at, "backward.1"), "null".to_owned()),
        }
    });
    let files = open("mindspore", &text, "", "{}");
    let start = Instant::now();
    let (graph, _) = Graph::build(&files).unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_is_a_tree(&graph);
    assert_eq!(graph.children(graph.root()).len(), 1);
    let end = graph.find(&deep(COUNT - 1)).unwrap();
    assert_eq!(graph.children(end).len(), 3 * COUNT);
    assert_eq!(graph[graph.children(end)[2 * COUNT]].name(), layer(COUNT / 2, "forward.1"));
}

#[test]
fn gradients_find_the_last_backward_call() {
    let calls = construct(9, |i| (format!("Module.a.A.backward.{}", [1, 9, 10, 2, 100, 99, 3, 0, 4][i]), "null".to_owned()));
    let files = open("pytorch", &calls, r#""Module.a.A.parameters_grad": {}, "Module.b.B.parameters_grad.1": {}"#, "{}");
    let (graph, notes) = Graph::build(&files).unwrap();
    let above = |name: &str| graph[graph[graph.find(name).unwrap()].parent().unwrap()].name();
    assert_eq!(above("Module.a.A.parameters_grad"), "Module.a.A.backward.100");
    assert_eq!(above("Module.b.B.parameters_grad.1"), "DefaultModel");
    assert_eq!(notes.gradients_without_backward.count, 1);
    let forward = construct(3, |i| (format!("Module.b.B.forward.{}", [1, 12, 2][i]), "null".to_owned()));
    let files = open("pytorch", &forward, r#""Module.b.B.parameters_grad.1": {}"#, "{}");
    let (graph, _) = Graph::build(&files).unwrap();
    assert_eq!(graph[graph[graph.find("Module.b.B.parameters_grad.1").unwrap()].parent().unwrap()].name(), "Module.b.B.forward.12");
}

#[test]
fn a_collection_never_takes_the_name_of_a_node() {
    let text =
        construct(3, |i| (["Torch.add.0.forward", "Torch.add.1.forward", "Apis_Between_Modules.0"][i].to_owned(), "null".to_owned()));
    let files = open("pytorch", &text, r#""Apis_Between_Modules.1": {}"#, "{}");
    let (graph, _) = Graph::build(&files).unwrap();
    assert_is_a_tree(&graph);
    let apis = graph[graph.find("Torch.add.0.forward").unwrap()].parent().unwrap();
    assert_eq!(graph[apis].name(), "Apis_Between_Modules.2");
}

#[test]
fn links_below_depth_512_are_short() {
    let above = |i: usize| if i == 0 { "null".to_owned() } else { format!("\"{}\"", module(i - 1)) };
    let files = open("pytorch", &construct(600, |i| (module(i), above(i))), "", "{}");
    let (graph, _) = Graph::build(&files).unwrap();
    let mut writer = LinkWriter::default();
    let mut link = |node| {
        let mut text = Vec::new();
        writer.push(&graph, node, &mut text);
        serde_json::from_slice::<Vec<String>>(&text).unwrap()
    };
    assert_eq!(link(graph.root()), ["DefaultModel"]);
    let node = |depth: usize| graph.find(&module(depth - 1)).unwrap();
    let whole = link(node(512));
    assert_eq!((whole.len(), whole[0].as_str(), whole[512].as_str()), (513, "DefaultModel", module(511).as_str()));
    assert_eq!(link(node(513)), [module(511), module(512)]);
    assert_eq!(link(node(600)), [module(598), module(599)]);
    assert_eq!(link(node(1)), ["DefaultModel".to_owned(), module(0)]);
}
