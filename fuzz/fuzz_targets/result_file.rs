//! A result file. The first byte says what the rest is: a whole file as it stands, or cells of any type and content for the
//! tables of a sound file. Every question to the reader ends with an answer or an error of one line, and so does that for the
//! first difference, which reads pages without SQLite and rows without a general JSON reader: both are held to the slow way
//! (by assertions in the engine).

#![no_main]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use msprobe_core::report::{report, Options};
use msprobe_core::visdb::{Detail, Error, GraphId, Reader, Side};
use rusqlite::types::Value;
use rusqlite::Connection;

/// Columns of `tb_config`, `tb_nodes` and `tb_stack`.
const TABLES: [(&str, usize); 3] = [("tb_config", 9), ("tb_nodes", 22), ("tb_stack", 2)];

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, content)) = bytes.split_first() else { return };
    let path = place();
    if kind & 1 == 0 {
        std::fs::write(&path, content).expect("a file");
    } else {
        fill(&path, content).expect("a filled file");
    }
    if let Err(error) = report(&path, &Options::default()) {
        let text = error.to_string();
        assert!(!text.contains('\n') && text.len() < 4000, "{text:?}");
    }
    for result in [ask(&path), Reader::open(&path).and_then(|reader| reader.config().map(|_| ()))] {
        if let Err(error) = result {
            let text = error.to_string();
            assert!(!text.contains('\n') && text.len() < 2000, "{text:?}");
        }
    }
});

/// One file per process, in memory where the system has such a place.
fn place() -> PathBuf {
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    folder.join(format!("msprobe-fuzz-{}.vis.db", std::process::id()))
}

/// An empty file with the tables of msProbe, without the constraints on their cells.
fn empty() -> &'static [u8] {
    static EMPTY: OnceLock<Vec<u8>> = OnceLock::new();
    EMPTY.get_or_init(|| {
        let path = place();
        let _ = std::fs::remove_file(&path);
        let connection = Connection::open(&path).expect("a file");
        connection
            .execute_batch(
                "CREATE TABLE tb_config (id, graph_type, task, tool_tip, micro_steps, overflow_check, node_colors, rank_list, step_list);
                 CREATE TABLE tb_nodes (id, graph_id, node_order, node_name, node_type, up_node, sub_nodes, precision_index,
                     overflow_level, micro_step_id, matched_node_link, stack_id, parallel_merge_info, matched_distributed, modified,
                     input_data, output_data, data_source, dump_data_dir, step, rank, is_distributed);
                 CREATE TABLE tb_stack (id, stack_info);
                 CREATE INDEX index1 ON tb_nodes (step, rank, data_source, up_node, node_order);
                 CREATE INDEX index2 ON tb_nodes (step, rank, data_source, node_name);
                 CREATE INDEX index3 ON tb_nodes (step, rank, data_source, node_order);",
            )
            .expect("tables");
        drop(connection);
        std::fs::read(&path).expect("the file")
    })
}

/// Rows are separated by the byte 0xff, their cells by 0xfe; the first byte of a row chooses its table, that of a cell its type.
fn fill(path: &Path, content: &[u8]) -> rusqlite::Result<()> {
    std::fs::write(path, empty()).expect("a file");
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    for row in content.split(|byte| *byte == 0xff) {
        let Some((table, cells)) = row.split_first() else { continue };
        let (table, columns) = TABLES[usize::from(*table) % TABLES.len()];
        let mut cells = cells.split(|byte| *byte == 0xfe).map(cell);
        let values: Vec<Value> = (0..columns).map(|_| cells.next().unwrap_or(Value::Null)).collect();
        let places = vec!["?"; columns].join(", ");
        connection.prepare_cached(&format!("INSERT INTO {table} VALUES ({places})"))?.execute(rusqlite::params_from_iter(values))?;
    }
    connection.execute_batch("COMMIT")
}

fn cell(bytes: &[u8]) -> Value {
    let Some((kind, content)) = bytes.split_first() else { return Value::Null };
    let number = || content.iter().fold(0_i64, |number, byte| number.wrapping_mul(256).wrapping_add(i64::from(*byte)));
    match kind {
        b'i' => Value::Integer(number()),
        b'r' => Value::Real(f64::from_bits(number().cast_unsigned())),
        b'b' => Value::Blob(content.to_vec()),
        _ => Value::Text(String::from_utf8_lossy(content).into_owned()),
    }
}

fn ask(path: &Path) -> Result<(), Error> {
    let reader = Reader::open(path)?;
    for (step, rank) in reader.parts()?.into_iter().take(8) {
        for side in [Side::Target, Side::Golden] {
            let graph = GraphId { step, rank, side };
            let mut names = Vec::new();
            reader.for_each_node(graph, Detail::Parameters, None, |node| {
                names.push(node.name.to_owned());
                if names.len() < 32 {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
            for name in &names {
                reader.node(graph, name, Detail::Tree)?;
                reader.for_each_child(graph, name, Detail::Tree, None, |_| ControlFlow::Continue(()))?;
            }
            reader.root(graph)?;
        }
    }
    Ok(())
}
