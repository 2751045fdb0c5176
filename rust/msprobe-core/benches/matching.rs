//! Speed of matching: each matcher on two trees of one size, CPU seconds of this process.
//!
//! `cargo bench -p msprobe-core --bench matching [-- NODES...]`, 200 000 and 2 000 000 nodes unless told otherwise. Prints one JSON
//! document per line. The golden run has other call numbers of APIs; for the alignment it has other numbers of modules too, lacks
//! 5 % of the nodes, has 5 % foreign ones and other classes for 5 % of the modules.

use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use msprobe_core::dump::RankFiles;
use msprobe_core::graph::Graph;
use msprobe_core::matching::mapping::Rules;
use msprobe_core::matching::{match_by_alignment, match_by_mapping, match_by_place, match_fuzzy, Calls, NodeMatch, Side};

/// Calls of APIs in a module.
const CALLS: usize = 12;
/// Modules in a layer.
const MODULES: usize = 6;
/// Layers in a model; then the next micro step starts.
const LAYERS: usize = 96;

/// How a run differs from the first one.
#[derive(Clone, Copy, PartialEq)]
enum Run {
    First,
    Recounted,
    Changed,
}

struct Files {
    run: Run,
    dump: BufWriter<File>,
    construct: BufWriter<File>,
    nodes: usize,
    state: u64,
}

impl Files {
    /// Writes a rank of about `nodes` nodes.
    fn write(dir: &Path, run: Run, nodes: usize) {
        let create = |name: &str| BufWriter::new(File::create(dir.join(name)).expect("a file"));
        let mut files = Files { run, dump: create("dump.json"), construct: create("construct.json"), nodes: 0, state: 7 };
        write!(files.dump, r#"{{"task": "statistics", "framework": "pytorch", "dump_data_dir": null, "data": {{"#).expect("written");
        write!(files.construct, "{{").expect("written");
        std::fs::write(dir.join("stack.json"), "{}").expect("written");
        let (first_step, mut calls) = match run {
            Run::First => (0, 0),
            Run::Recounted => (0, 7),
            Run::Changed => (7, 7),
        };
        for step in first_step.. {
            let model = format!("Module.model.Model.forward.{step}");
            for layer in 0..LAYERS {
                let name = format!("Module.model.layers.{layer}.Layer.forward.{step}");
                for module in 0..MODULES {
                    let class = if run == Run::Changed && files.one_in_20() { "Renamed" } else { "Block" };
                    let inner = format!("Module.model.layers.{layer}.part{module}.{class}.forward.{step}");
                    for call in 0..CALLS {
                        files.node(&format!("Torch.op{call}.{calls}.forward"), Some(&inner), call + 1);
                        calls += 1;
                    }
                    files.node(&inner, Some(&name), 64 + module);
                }
                files.node(&name, Some(&model), 32);
                if files.nodes >= nodes {
                    files.node(&model, None, 16);
                    write!(files.dump, "}}}}").expect("written");
                    write!(files.construct, "}}").expect("written");
                    return;
                }
            }
            files.node(&model, None, 16);
        }
    }

    fn one_in_20(&mut self) -> bool {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33).is_multiple_of(20)
    }

    fn node(&mut self, name: &str, parent: Option<&str>, length: usize) {
        if self.run == Run::Changed {
            if name.starts_with("Torch") && self.one_in_20() {
                return;
            }
            if self.one_in_20() {
                let foreign = format!("Torch.foreign.{}.forward", self.nodes);
                self.put(&foreign, parent, 9_999);
            }
        }
        self.put(name, parent, length);
    }

    fn put(&mut self, name: &str, parent: Option<&str>, length: usize) {
        let comma = if self.nodes == 0 { "" } else { ", " };
        let tensor = format!(r#"{{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, {length}], "Max": 1.5, "Min": -0.5}}"#);
        write!(self.dump, r#"{comma}"{name}": {{"input_args": [{tensor}], "output": [{tensor}]}}"#).expect("written");
        let mut above = String::from("null");
        if let Some(parent) = parent {
            above.clear();
            write!(above, "\"{parent}\"").expect("text");
        }
        write!(self.construct, r#"{comma}"{name}": {above}"#).expect("written");
        self.nodes += 1;
    }
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Least CPU time of a few runs.
fn measure(nodes: usize, matcher: &str, run: impl Fn() -> NodeMatch) {
    let mut least = f64::INFINITY;
    let mut pairs = 0;
    for _ in 0..3 {
        let started = cpu_seconds();
        pairs = black_box(run()).len();
        least = least.min(cpu_seconds() - started);
    }
    println!(r#"{{"nodes": {nodes}, "matcher": "{matcher}", "cpu_seconds": {least:.4}, "matched": {pairs}}}"#);
}

fn main() {
    let given: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![200_000, 2_000_000] } else { given };
    let rules = "Layer:\n  part1: part1\nModel:\n  layers: layers\n";
    let rules = Rules::parse(Path::new("rules.yaml"), rules).expect("rules");
    for nodes in sizes {
        let dirs = [Run::First, Run::Recounted, Run::Changed].map(|run| {
            let dir = tempfile::tempdir().expect("a temporary folder");
            Files::write(dir.path(), run, nodes);
            dir
        });
        let files = dirs.each_ref().map(|dir| RankFiles::open(dir.path()).expect("a dump"));
        let graphs = files.each_ref().map(|files| Graph::build(files).expect("a tree").0);
        let [first, recounted, changed] = std::array::from_fn(|at| Side { graph: &graphs[at], files: &files[at] });
        let nodes = first.graph.len();
        measure(nodes, "default", || match_by_place(first.graph, first.graph));
        measure(nodes, "fuzzy", || match_fuzzy(first.graph, recounted.graph));
        measure(nodes, "mapping", || match_by_mapping(first, recounted, &rules, Calls::Mapped).matched);
        measure(nodes, "alignment", || match_by_alignment(first, changed));
    }
}
