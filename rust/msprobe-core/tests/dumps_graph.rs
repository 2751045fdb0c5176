//! Trees, micro steps, stacks, default links and overflow levels of the dumps of real models, against what msProbe 26.2
//! wrote for them. Needs the folder with the dumps: `MSPROBE_SHARED`, or `shared` beside the project.

mod packed;
mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use msprobe_core::dump::RankFiles;
use msprobe_core::graph::Graph;
use msprobe_core::matching::match_by_place;
use msprobe_core::name;
use recorded::{add_levels, add_links, assert_same, only_names, our_tree, rank_folders, rows, trees, GraphKey, Tree};

/// Where we do better than the recorded result, in all variants of a dump: `(dump, rule, nodes)`, each looked at.
///
/// - `kept`: nodes that the reference loses;
/// - `stack`: backward nodes whose forward node stands behind them in the file;
/// - `gradients`: parameter gradients with the micro step of the backward call they hang below, recorded as 0;
/// - `micro step`: golden nodes, numbered by their own graph;
/// - `level`: overflow levels of parameter gradients, of tensors inside objects and of layers with abnormal parameters.
const REVIEWED: [(&str, &str, usize); 11] = [
    ("ckpt_nonreentrant", "kept", 3),
    ("inplace_relu", "kept", 10),
    // The output of the whole model is an object, whose tensors the reference does not see.
    ("llama_overflow", "level None -> critical", 2),
    ("llama_overflow", "level None -> high", 42),
    ("megatron_isend_pp2", "gradients", 96),
    ("megatron_tp2", "gradients", 108),
    ("ms_cnn_nan", "level None -> high", 12),
    // A weight or bias of these two layers holds an infinity or NaN, so the layer itself is not the cause.
    ("ms_cnn_nan", "level critical -> high", 4),
    // Unmatched reshapes, numbered after their collection's name.
    ("ms_vs_pt_mix", "micro step", 9),
    ("resnet18_L0", "kept", 119),
    ("resnet18_mix", "kept", 323),
];

fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("MSPROBE_SHARED").map_or(beside, PathBuf::from);
    folder.join("dumps").is_dir().then_some(folder)
}

/// One recorded run without merging ranks.
struct Run {
    dump: String,
    variant: String,
    target: PathBuf,
    golden: Option<PathBuf>,
    overflow: bool,
    default_match: bool,
}

fn runs(shared: &Path) -> Vec<Run> {
    let mut runs = Vec::new();
    for folder in std::fs::read_dir(shared.join("golden")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(commands) = std::fs::read_to_string(folder.join("command.txt")) else { continue };
        let dump = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let root = shared.join("dumps");
        let root = if dump.starts_with("megatron_") { root } else { root.join(&dump) };
        for line in commands.lines() {
            let Some((variant, command)) = line.split_once(": msprobe graph_visualize ") else { continue };
            let words: Vec<&str> = command.split_whitespace().collect();
            let has = |option: &str| words.contains(&option);
            let path = |option: &str| {
                let at = words.iter().position(|word| *word == option)?;
                Some(root.join(words[at + 1].strip_prefix("<ROOT>/").unwrap()))
            };
            if !has("--rank_size") && folder.join(format!("{variant}.json.gz")).is_file() {
                runs.push(Run {
                    dump: dump.clone(),
                    variant: variant.to_owned(),
                    target: path("-tp").unwrap(),
                    golden: path("-gp"),
                    overflow: has("-oc"),
                    default_match: !has("-fm") && !has("-lm"),
                });
            }
        }
    }
    runs
}

/// The folder of one graph: the only one, or the one whose names tell step and rank.
fn folder_of(input: &Path, step: i64, rank: i64) -> PathBuf {
    let folders = rank_folders(input);
    let several_steps = !input.file_name().unwrap().to_str().unwrap().starts_with("step");
    match folders.as_slice() {
        [(_, _, only)] => only.clone(),
        _ => folders.into_iter().find(|(s, r, _)| *r == rank && (!several_steps || *s == step)).unwrap().2,
    }
}

/// Counts what differs by a rule of ours, and takes it out of both trees.
fn take_out_the_better(run: &Run, source: &str, expected: &mut Tree, ours: &mut Tree, counts: &mut BTreeMap<(String, String), usize>) {
    let mut count = |rule: &str| *counts.entry((run.dump.clone(), rule.to_owned())).or_default() += 1;
    let names: BTreeSet<String> = expected.iter().map(|node| node.name.clone()).collect();
    ours.iter().filter(|node| !names.contains(&node.name)).for_each(|_| count("kept"));
    only_names(ours, &names);
    for (node, recorded) in ours.iter_mut().zip(expected) {
        if recorded.stack != node.stack && recorded.stack.as_ref().is_some_and(|stack| stack.contains("cannot find the forward node")) {
            count("stack");
            recorded.stack.clone_from(&node.stack);
        }
        if recorded.micro_step != node.micro_step && name::is_parameters_grad(&node.name) {
            count("gradients");
            assert_eq!(recorded.micro_step, 0);
            recorded.micro_step = node.micro_step;
        } else if recorded.micro_step != node.micro_step && source == "Bench" {
            count("micro step");
            recorded.micro_step = node.micro_step;
        }
        if recorded.level != node.level {
            let word = |level: &Option<String>| level.clone().unwrap_or_else(|| "None".to_owned());
            count(&format!("level {} -> {}", word(&recorded.level), word(&node.level)));
            recorded.level.clone_from(&node.level);
        }
    }
}

#[test]
fn every_recorded_tree() {
    let Some(shared) = shared() else {
        eprintln!("skipped: no folder with dumps (set MSPROBE_SHARED)");
        return;
    };
    let mut counts = BTreeMap::new();
    let mut graphs = 0;
    for run in runs(&shared) {
        let result = packed::json(shared.join("golden").join(&run.dump).join(format!("{}.json.gz", run.variant)));
        let mut expected = trees(&rows(&result, "tb_nodes"), &rows(&result, "tb_stack"));
        let targets: Vec<GraphKey> = expected.keys().filter(|key| key.2 == "NPU").cloned().collect();
        for (step, rank, _) in targets {
            let what = |source: &str| format!("{} {} {source} step {step} rank {rank}", run.dump, run.variant);
            let mut recorded_tree = |source: &str| expected.remove(&(step, rank, source.to_owned())).unwrap();
            let files = RankFiles::open(&folder_of(&run.target, step, rank)).unwrap();
            let (graph, _) = Graph::build(&files).unwrap();
            let (mut tree, mut ours) = (recorded_tree("NPU"), our_tree(&files, &graph));
            if run.overflow {
                add_levels(&mut ours, &files, &graph);
            }
            if let Some(golden) = &run.golden {
                let golden_files = RankFiles::open(&folder_of(golden, step, rank)).unwrap();
                let (golden_graph, _) = Graph::build(&golden_files).unwrap();
                let (mut golden_tree, mut golden_ours) = (recorded_tree("Bench"), our_tree(&golden_files, &golden_graph));
                if run.overflow {
                    add_levels(&mut golden_ours, &golden_files, &golden_graph);
                }
                if run.default_match {
                    let matched = match_by_place(&graph, &golden_graph);
                    add_links([&graph, &golden_graph], [&mut ours, &mut golden_ours], &matched);
                } else {
                    tree.iter_mut().chain(&mut golden_tree).for_each(|node| node.link = "[]".to_owned());
                }
                take_out_the_better(&run, "Bench", &mut golden_tree, &mut golden_ours, &mut counts);
                assert_same(&what("Bench"), &golden_tree, &golden_ours);
                graphs += 1;
            }
            take_out_the_better(&run, "NPU", &mut tree, &mut ours, &mut counts);
            assert_same(&what("NPU"), &tree, &ours);
            graphs += 1;
        }
        assert!(expected.is_empty(), "{} {}: {:?}", run.dump, run.variant, expected.keys());
    }
    let counts: Vec<(&str, &str, usize)> = counts.iter().map(|((dump, rule), count)| (dump.as_str(), rule.as_str(), *count)).collect();
    assert_eq!(counts, REVIEWED);
    assert_eq!(graphs, 248);
}
