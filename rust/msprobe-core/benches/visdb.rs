//! Writing a result file of 450,000 nodes (1.1 GB): our page writer against SQLite's inserts and indexes, in seconds of
//! CPU time of the process (user and system), which is what a machine full of ranks runs out of.
//!
//! Both get the same rows and write the same tables; neither syncs to disk.

// The macros below make public functions without documentation.
#![allow(missing_docs)]

use std::path::Path;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use msprobe_core::name::NodeKind;
use msprobe_core::visdb::{Config, EncodedNodes, GraphKey, MatchedBy, NodeHead, NodeResult, Side, Task, Verdict, Writer};
use rustix::time::{clock_gettime, ClockId};
use tempfile::TempDir;

const LAYERS: u32 = 225;
const NODES_PER_LAYER: u32 = 1000;
const BATCH: usize = 512 * 1024;

/// CPU time of the whole process instead of wall time.
struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
    }

    fn end(&self, start: Duration) -> Duration {
        self.start().saturating_sub(start)
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// One node of the synthetic graph.
struct Node {
    name: String,
    parent: String,
    children: u32,
    kind: NodeKind,
}

/// Layers of modules with APIs, in post-order.
fn graph() -> Vec<Node> {
    let mut nodes = Vec::new();
    let root = "DefaultModel".to_owned();
    for layer in 0..LAYERS {
        let layer_name = format!("Module.module.module.decoder.layers.{layer}.TransformerLayer.forward.0");
        let mut modules = 0;
        let mut left = NODES_PER_LAYER - 1;
        while left > 0 {
            let apis = 9.min(left - 1);
            let module = format!("Module.module.module.decoder.layers.{layer}.self_attention.core.{modules}.RowParallelLinear.forward.0");
            for api in 0..apis {
                let name = format!("Functional.scaled_masked_softmax.{}.forward", layer * NODES_PER_LAYER + modules * 9 + api);
                nodes.push(Node { name, parent: module.clone(), children: 0, kind: NodeKind::Api });
            }
            nodes.push(Node { name: module, parent: layer_name.clone(), children: apis, kind: NodeKind::Module });
            modules += 1;
            left -= apis + 1;
        }
        nodes.push(Node { name: layer_name, parent: root.clone(), children: modules, kind: NodeKind::Module });
    }
    nodes.push(Node { name: root, parent: String::new(), children: LAYERS, kind: NodeKind::Module });
    nodes
}

/// The JSON of the parameters: about 1.5 and 0.5 KB.
fn parameters() -> (String, String) {
    let row = r#"{"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": "[4096, 1, 2048]", "Max": "4.28125", "Min": "-4.625", "Mean": "0.001123428345", "Norm": "2896.0", "requires_grad": "True", "Max diff": "0.0", "Min diff": "0.0", "Mean diff": "0.0", "L2norm diff": "0.0", "MaxRelativeErr": "0.0%", "MinRelativeErr": "0.0%", "MeanRelativeErr": "0.0%", "NormRelativeErr": "0.0%", "Requires_grad Consistent": "True", "Result": "pass", "Err_message": "[]"}"#;
    let input: Vec<String> = (0..3).map(|i| format!("\"Functional.scaled_masked_softmax.1.forward.input.{i}\": {row}")).collect();
    (format!("{{{}}}", input.join(", ")), format!("{{\"Functional.scaled_masked_softmax.1.forward.output.0\": {row}}}"))
}

fn link(node: &Node) -> String {
    format!("[\"DefaultModel\", \"{}\", \"{}\"]", node.parent, node.name)
}

fn bulk(folder: &Path, nodes: &[Node], (input, output): &(String, String)) {
    let mut writer = Writer::create(folder, "bulk.vis.db").expect("a fresh folder");
    writer.begin_part(0, 0).expect("the first part");
    for side in [Side::Target, Side::Golden] {
        let mut batch = EncodedNodes::new(&GraphKey { step: 0, rank: 0, side, compared: true, dump_data_dir: None });
        for (order, node) in (0..).zip(nodes) {
            let head = NodeHead {
                order,
                name: &node.name,
                kind: node.kind,
                up_node: &node.parent,
                children: node.children,
                matched_by: Some(MatchedBy::Name),
                ..NodeHead::default()
            };
            let mut row = batch.begin(&head);
            row.matched_node_link().extend_from_slice(link(node).as_bytes());
            row.input_data().extend_from_slice(input.as_bytes());
            row.output_data().extend_from_slice(output.as_bytes());
            row.end(NodeResult { precision_index: Some(Verdict::Pass), overflow_level: None });
            if batch.size() > BATCH {
                writer.append(&batch).expect("nodes in order");
                batch.clear();
            }
        }
        writer.append(&batch).expect("nodes in order");
        writer.append_stack(side, Some("[]")).expect("an open part");
    }
    writer.finish_part().expect("an open part");
    let config = Config { task: Task::Summary, micro_steps: 1, overflow_check: false, extra_columns: Vec::new() };
    drop(writer.complete(&config).expect("no open part"));
}

/// The tables and indexes of the reference, filled by prepared statements in one transaction.
fn sqlite(folder: &Path, nodes: &[Node], (input, output): &(String, String)) -> rusqlite::Result<()> {
    let path = folder.join("sqlite.db");
    let mut connection = rusqlite::Connection::open(&path)?;
    connection.execute_batch(
        "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
         CREATE TABLE tb_nodes (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL, node_order INTEGER NOT NULL, node_name TEXT NOT NULL,
             node_type TEXT NOT NULL, up_node TEXT, sub_nodes TEXT, precision_index INTEGER, overflow_level TEXT,
             micro_step_id INTEGER NOT NULL, matched_node_link TEXT, stack_id TEXT, parallel_merge_info TEXT,
             matched_distributed TEXT, modified INTEGER NOT NULL, input_data TEXT, output_data TEXT, data_source TEXT,
             dump_data_dir TEXT, step INTEGER NOT NULL, rank INTEGER NOT NULL, is_distributed INTEGER)",
    )?;
    let transaction = connection.transaction()?;
    let mut insert = transaction.prepare(
        "INSERT INTO tb_nodes VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', 0, NULL, 0, ?7, ?8, '', '{}', 0, ?9, ?10, ?11, NULL, 0, 0, 0)",
    )?;
    for side in [Side::Target, Side::Golden] {
        let source = side.as_str();
        let graph = format!("{source}_0_0");
        for (order, node) in (0u32..).zip(nodes) {
            let id = format!("{graph}_{}", node.name);
            let stack = format!("{graph}_0");
            let (kind, link) = (node.kind.as_str(), link(node));
            insert.execute((&id, &graph, order, &node.name, kind, &node.parent, &link, &stack, input, output, source))?;
        }
    }
    drop(insert);
    transaction.execute_batch(
        "CREATE INDEX index1 ON tb_nodes (step, rank, data_source, up_node, node_order);
         CREATE INDEX index2 ON tb_nodes (step, rank, data_source, node_name);
         CREATE INDEX index3 ON tb_nodes (step, rank, data_source, node_order);
         CREATE INDEX index4 ON tb_nodes (step, rank, node_order);
         CREATE INDEX index5 ON tb_nodes (step, rank, micro_step_id, node_order);
         CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link);
         CREATE INDEX index7 ON tb_nodes (is_distributed);",
    )?;
    transaction.commit()?;
    drop(connection);
    std::fs::remove_file(path).expect("the file just written");
    Ok(())
}

fn write_450k(criterion: &mut Criterion<CpuTime>) {
    let nodes = graph();
    let parameters = parameters();
    let folder = TempDir::new().expect("a temporary folder");
    let mut group = criterion.benchmark_group("write_450k_nodes");
    group.sample_size(10).throughput(Throughput::Elements(2 * nodes.len() as u64));
    group.bench_function("bulk", |b| b.iter(|| bulk(folder.path(), &nodes, &parameters)));
    group.bench_function("sqlite", |b| b.iter(|| sqlite(folder.path(), &nodes, &parameters).expect("SQLite writes")));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = write_450k
}
criterion_main!(benches);
