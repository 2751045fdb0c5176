//! Whole files, read back through SQLite.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::*;
use crate::name::NodeKind;
use crate::visdb::node::{GraphKey, MatchedBy, NodeHead, NodeResult, OverflowLevel, PrecisionIndex};

fn config() -> Config {
    Config { task: Task::Summary, micro_steps: 1, overflow_check: false, extra_columns: Vec::new() }
}

fn open(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// Every check SQLite has.
fn assert_sound(connection: &Connection) {
    for check in ["integrity_check", "quick_check"] {
        let mut statement = connection.prepare(&format!("PRAGMA {check}")).unwrap();
        let answers: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(answers, ["ok"], "{check}");
    }
}

fn key(step: u64, rank: u64, side: Side) -> GraphKey<'static> {
    GraphKey { step, rank, side, compared: true, dump_data_dir: None }
}

/// A root with `leaves` children.
fn flat(key: &GraphKey<'_>, leaves: u32, data: &str) -> EncodedNodes {
    let mut batch = EncodedNodes::new(key);
    for order in 0..leaves {
        let name = format!("Torch.add.{order}.forward");
        let head = NodeHead { order, name: &name, kind: NodeKind::Api, up_node: "DefaultModel", ..NodeHead::default() };
        let mut row = batch.begin(&head);
        row.input_data().extend_from_slice(data.as_bytes());
        row.end(NodeResult::default());
    }
    let head = NodeHead { order: leaves, name: "DefaultModel", children: leaves, ..NodeHead::default() };
    batch.begin(&head).end(NodeResult::default());
    batch
}

#[test]
fn a_file_without_parts_is_sound() {
    let folder = TempDir::new().unwrap();
    let writer = Writer::create(folder.path(), "build_1.vis.db").unwrap();
    let path = writer.complete(&config()).unwrap().publish().unwrap();
    assert_eq!(path, folder.path().join("build_1.vis.db"));
    let connection = open(&path);
    assert_sound(&connection);
    let rows: i64 = connection.query_row("SELECT count(*) FROM tb_nodes", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 0);
}

#[test]
fn many_parts_are_sound() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::create(folder.path(), "compare_1.vis.db").unwrap();
    for (step, rank) in [(0, 0), (0, 1), (0, 10), (1, 2), (10, 0)] {
        writer.begin_part(step, rank).unwrap();
        for side in [Side::Target, Side::Golden] {
            writer.append(&flat(&key(step, rank, side), 3000, &"x".repeat(300))).unwrap();
            writer.append_stack(side, Some("[]")).unwrap();
        }
        writer.finish_part().unwrap();
    }
    let path = writer.complete(&config()).unwrap().publish().unwrap();
    let connection = open(&path);
    assert_sound(&connection);
    let rows: i64 = connection.query_row("SELECT count(*) FROM tb_nodes", [], |r| r.get(0)).unwrap();
    assert_eq!(rows, 5 * 2 * 3001);
}

#[test]
fn a_row_has_the_types_of_the_reference() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::create(folder.path(), "compare_1.vis.db").unwrap();
    writer.begin_part(0, 3).unwrap();
    let mut batch = EncodedNodes::new(&GraphKey { dump_data_dir: Some(""), ..key(0, 3, Side::Target) });
    let head = NodeHead {
        order: 0,
        name: "Module.层.L.forward.0",
        kind: NodeKind::Module,
        children: 0,
        micro_step: 2,
        stack: 17,
        matched_by: Some(MatchedBy::Name),
        ..NodeHead::default()
    };
    let mut row = batch.begin(&head);
    row.matched_node_link().extend_from_slice(b"[\"a\"]");
    row.output_data().extend_from_slice(b"{\"o\": {}}");
    row.end(NodeResult { precision_index: Some(PrecisionIndex::Warning), overflow_level: Some(OverflowLevel::Critical) });
    writer.append(&batch).unwrap();
    writer.finish_part().unwrap();
    let path = writer.complete(&config()).unwrap().publish().unwrap();
    let connection = open(&path);
    assert_sound(&connection);
    let text = |t: &str| Value::Text(t.to_owned());
    let row: Vec<Value> = connection.query_row("SELECT * FROM tb_nodes", [], |r| (0..22).map(|i| r.get(i)).collect()).unwrap();
    let expected = [
        text("NPU_0_3_Module.层.L.forward.0"),
        text("NPU_0_3"),
        Value::Integer(0),
        text("Module.层.L.forward.0"),
        text("0"),
        text(""),
        text(""),
        Value::Real(0.5),
        text("critical"),
        Value::Integer(2),
        text("[\"a\"]"),
        text("NPU_0_3_17"),
        text(""),
        text("{}"),
        Value::Integer(0),
        text("{}"),
        text("{\"o\": {}}"),
        text("NPU"),
        text(""),
        Value::Integer(0),
        Value::Integer(3),
        Value::Integer(0),
    ];
    assert_eq!(row, expected);
}
