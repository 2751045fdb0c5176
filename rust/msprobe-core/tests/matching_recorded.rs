//! Fuzzy match and layer mapping against the links that msProbe 26.2 wrote. Where we mean to do better, the expectation is
//! written by hand below. The dumps of real models need the folder that holds them: `MSPROBE_SHARED`, or `shared` beside the
//! project.

mod packed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use msprobe_core::dump::RankFiles;
use msprobe_core::graph::{Graph, NodeId};
use msprobe_core::matching::mapping::{self, Rules};
use msprobe_core::matching::{link_path, match_by_mapping, match_by_place, match_fuzzy, Calls, NodeMatch, Side};
use msprobe_core::name::NodeKind;
use serde_json::Value;

/// Side (`NPU`, `Bench`) and name of a node, and the names from the root down to its partner.
type Links = BTreeMap<(String, String), Vec<String>>;

/// What a command asks for.
struct Options {
    fuzzy: bool,
    /// `-lm`; an empty path without a file.
    mapping: Option<PathBuf>,
}

impl Options {
    fn of(words: &[&str], folder: &Path) -> Options {
        let mapping = words.iter().position(|word| *word == "-lm").map(|at| {
            let file = words.get(at + 1).filter(|word| !word.starts_with('-'));
            file.map_or_else(PathBuf::new, |file| folder.join(file.trim_start_matches("<ROOT>/")))
        });
        Options { fuzzy: words.contains(&"-fm"), mapping }
    }
}

fn ours(options: &Options, target: &Path, golden: &Path) -> Result<Links, mapping::Error> {
    let (target_files, golden_files) = (RankFiles::open(target).unwrap(), RankFiles::open(golden).unwrap());
    let (target, _) = Graph::build(&target_files).unwrap();
    let (golden, _) = Graph::build(&golden_files).unwrap();
    let matched = match &options.mapping {
        Some(file) => {
            let rules = if file.as_os_str().is_empty() { Rules::default() } else { Rules::open(file)? };
            let cross_framework = target_files.dump.framework() != golden_files.dump.framework();
            let calls = if options.fuzzy { Calls::Counted { cross_framework } } else { Calls::Mapped };
            let side = |graph, files| Side { graph, files };
            match_by_mapping(side(&target, &target_files), side(&golden, &golden_files), &rules, calls).matched
        }
        None if options.fuzzy => match_fuzzy(&target, &golden),
        None => match_by_place(&target, &golden),
    };
    Ok(links(&target, &golden, &matched))
}

fn links(target: &Graph<'_>, golden: &Graph<'_>, matched: &NodeMatch) -> Links {
    let mut links = Links::new();
    let mut path = Vec::new();
    let mut add = |side: &str, graph: &Graph<'_>, other: &Graph<'_>, node: NodeId, partner: Option<NodeId>| {
        path.clear();
        if let Some(partner) = partner {
            link_path(other, partner, &mut path);
        }
        let names = path.iter().map(|&above| other[above].name().to_owned()).collect();
        links.insert((side.to_owned(), graph[node].name().to_owned()), names);
    };
    for &node in target.order() {
        add("NPU", target, golden, node, matched.golden_of(node));
    }
    for &node in golden.order() {
        add("Bench", golden, target, node, matched.target_of(node));
    }
    links
}

fn recorded<'a>(rows: impl Iterator<Item = &'a Value>) -> Links {
    let text = |row: &Value, column: &str| row[column].as_str().unwrap().to_owned();
    let link = |row: &Value| serde_json::from_str(row["matched_node_link"].as_str().unwrap()).unwrap();
    rows.map(|row| ((text(row, "data_source"), text(row, "node_name")), link(row))).collect()
}

/// Nodes that only our graph holds are left out, as the reference loses them.
fn assert_same(what: &str, expected: &Links, ours: &Links) {
    for (node, link) in expected {
        assert_eq!(Some(link), ours.get(node), "{what}: {node:?}");
    }
}

/// Writes what we want over what was recorded. Fails if there is nothing to overwrite.
struct Wanted<'a>(&'a mut Links);

impl Wanted<'_> {
    fn set(&mut self, side: &str, node: &str, recorded: &[&str], wanted: &[&str]) {
        let link = self.0.get_mut(&(side.to_owned(), node.to_owned())).unwrap_or_else(|| panic!("{node}"));
        assert_eq!(link, recorded, "{node}");
        *link = wanted.iter().map(|&name| name.to_owned()).collect();
    }
}

fn mini() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mini")
}

fn read_mini(case: &str) -> Links {
    recorded(rows_of(&packed::json(mini().join(case).join("expected.json.gz"))).iter())
}

/// The expectation of a case: as recorded, or by hand.
fn expected(case: &str) -> Links {
    let mut links = read_mini(case);
    let mut wanted = Wanted(&mut links);
    let root = "DefaultModel";
    match case {
        // An empty stack.json has nothing to do with the mapping: as in the same case with stacks.
        "c09_layer_mapping_empty_stack" => return read_mini("c06_layer_mapping_yaml"),
        // stack.json is not looked at: the first add of the module faces the first one.
        "c10_layer_mapping_old_stack" => {
            let a = "Module.a.A.forward.0";
            wanted.set("NPU", "Torch.add.0.forward", &[root, a, "Torch.add.4.forward"], &[root, a, "Torch.add.3.forward"]);
            wanted.set("NPU", "Torch.add.1.forward", &[root, a, "Torch.add.3.forward"], &[root, a, "Torch.add.4.forward"]);
            wanted.set("Bench", "Torch.add.3.forward", &[root, a, "Torch.add.1.forward"], &[root, a, "Torch.add.0.forward"]);
            wanted.set("Bench", "Torch.add.4.forward", &[root, a, "Torch.add.0.forward"], &[root, a, "Torch.add.1.forward"]);
        }
        // Numbered gradients lie where the unnumbered ones do.
        "c13_layer_mapping_parameters_grad" => {
            let (b, c) = ("Module.a.b.B", "Module.a.c.C");
            let name = |module: &str, end: &str| format!("{module}.{end}");
            let (node, partner) = (name(b, "parameters_grad.0"), name(c, "parameters_grad.0"));
            wanted.set("NPU", &node, &[], &[root, &name(c, "backward.0"), &partner]);
            wanted.set("Bench", &partner, &[], &[root, &name(b, "backward.0"), &node]);
        }
        // The golden node keeps the first of two target nodes.
        "c25_layer_mapping_two_to_one" => {
            let a = "Module.a.A.forward.0";
            wanted.set("Bench", "Module.a.z.Z.forward.0", &[root, a, "Module.a.y.Y.forward.0"], &[root, a, "Module.a.x.X.forward.0"]);
        }
        // The mapping is followed although APIs are counted.
        "c26_fuzzy_wins_over_layer_mapping" => {
            let (a, x, z) = ("Module.a.A.forward.0", "Module.a.x.X.forward.0", "Module.a.z.Z.forward.0");
            wanted.set("NPU", x, &[], &[root, a, z]);
            wanted.set("Bench", z, &[], &[root, a, x]);
        }
        _ => {}
    }
    links
}

#[test]
fn miniature_dumps() {
    let mut looked_at = 0;
    for entry in std::fs::read_dir(mini()).unwrap() {
        let folder = entry.unwrap().path();
        let case = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !case.starts_with('c') || !folder.join("target/step0/rank0").is_dir() {
            continue;
        }
        let command = std::fs::read_to_string(folder.join("command.txt")).unwrap();
        let options = Options::of(&command.split_whitespace().collect::<Vec<_>>(), &folder);
        if !command.contains("-tp target/step0/rank0") {
            // Several ranks or steps: a name is not one node, and there is no option to look at.
            assert!(!options.fuzzy && options.mapping.is_none(), "{case}");
            continue;
        }
        let ours = ours(&options, &folder.join("target/step0/rank0"), &folder.join("golden/step0/rank0"));
        if case == "c08_layer_mapping_bad_yaml" {
            let error = ours.unwrap_err().to_string();
            assert!(error.ends_with("mapping.yaml:1: a list stands where `class:` and its rules should"), "{error}");
        } else {
            assert_same(&case, &expected(&case), &ours.unwrap());
        }
        looked_at += 1;
    }
    assert!(looked_at >= 23, "{looked_at}");
}

fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("MSPROBE_SHARED").map_or(beside, PathBuf::from);
    folder.join("dumps").is_dir().then_some(folder)
}

fn rows_of(result: &Value) -> Vec<Value> {
    let table = &result["tables"]["tb_nodes"];
    let columns: Vec<&str> = table["columns"].as_array().unwrap().iter().map(|column| column.as_str().unwrap()).collect();
    let row = |row: &Value| columns.iter().zip(row.as_array().unwrap()).map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    table["rows"].as_array().unwrap().iter().map(|r| Value::Object(row(r))).collect()
}

/// Recorded runs with numbered gradients in a mapping, which the reference cannot place (all but those without a rule): how many
/// modules with them we place. On the MindSpore side they have no number.
const NUMBERED_GRADIENTS: [(&str, usize); 8] = [
    ("renamed_modules_lm/compare_lm", 9),
    ("ms_vs_pt_L0/compare_lm", 15),
    ("ms_vs_pt_L0/compare_lm_fm", 15),
    ("ms_vs_pt_mix/compare_lm", 15),
    ("ms_vs_pt_mix/compare_lm_fm", 15),
    ("ms_vs_pt_mix/compare_lm_oc", 15),
    ("ms_vs_pt_tensor/compare_lm", 9),
    ("ms_vs_pt_tensor/compare_lm_oc", 9),
];

#[test]
fn dumps_of_real_models() {
    let Some(shared) = shared() else {
        eprintln!("skipped: no folder with dumps (MSPROBE_SHARED)");
        return;
    };
    let mut looked_at = 0;
    for folder in std::fs::read_dir(shared.join("golden")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(commands) = std::fs::read_to_string(folder.join("command.txt")) else { continue };
        let dump = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let root = shared.join("dumps").join(&dump);
        for line in commands.lines() {
            let Some((variant, command)) = line.split_once(": msprobe graph_visualize ") else { continue };
            let words: Vec<&str> = command.split_whitespace().collect();
            let options = Options::of(&words, &root);
            let merges = words.contains(&"--rank_size");
            if merges || (!options.fuzzy && options.mapping.is_none()) {
                continue;
            }
            let input = |option: &str| {
                let at = words.iter().position(|word| *word == option).unwrap();
                root.join(words[at + 1].trim_start_matches("<ROOT>/"))
            };
            let what = format!("{dump}/{variant}");
            // With both options the mapping is followed, which the reference does not. Modules are wanted to match as without -fm. So
            // are APIs, and by counting some backward calls match that the mapping looks for below another module.
            let both = options.fuzzy && options.mapping.is_some();
            let recorded_as = if both { "compare_lm" } else { variant };
            let result = folder.join(format!("{recorded_as}.json.gz"));
            if !result.is_file() {
                continue;
            }
            let rows = rows_of(&packed::json(&result));
            let (target, golden) = (input("-tp"), input("-gp"));
            let ranks: Vec<String> = if target.join("dump.json").is_file() {
                vec![String::new()]
            } else {
                std::fs::read_dir(&target).unwrap().map(|rank| rank.unwrap().file_name().into_string().unwrap()).collect()
            };
            for rank in &ranks {
                let number: i64 = rank.trim_start_matches("rank").parse().unwrap_or(0);
                let mut expected = recorded(rows.iter().filter(|row| row["rank"] == number));
                let ours = ours(&options, &target.join(rank), &golden.join(rank)).unwrap();
                if options.mapping.is_some() {
                    let is_api = |(_, name): &(String, String)| NodeKind::of(name) == NodeKind::Api;
                    expected.retain(|node, link| !(both && is_api(node) && link.is_empty()));
                    let gradients = |(_, name): &(String, String)| name.rsplit('.').take(2).any(|part| part == "parameters_grad");
                    let before = expected.len();
                    expected.retain(|node, link| !(gradients(node) && link.is_empty() && !ours[node].is_empty()));
                    let placed = before - expected.len();
                    let wanted = NUMBERED_GRADIENTS.iter().find(|(run, _)| *run == what).map_or(0, |(_, count)| 2 * count);
                    assert_eq!(placed, wanted, "{what}");
                }
                assert_same(&what, &expected, &ours);
            }
            looked_at += 1;
        }
    }
    assert!(looked_at >= 30, "{looked_at}");
}
