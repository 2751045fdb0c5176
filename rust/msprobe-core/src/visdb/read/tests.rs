use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::name::NodeKind;

/// A file that msProbe 26.2 wrote; the README beside it tells what it holds.
fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/visdb").join(name)
}

fn graph(side: Side) -> GraphId {
    GraphId { step: 0, rank: 0, side }
}

fn nodes(reader: &Reader, graph: GraphId, detail: Detail) -> Vec<Node> {
    let mut nodes = Vec::new();
    reader
        .for_each_node(graph, detail, None, |node| {
            nodes.push(node.to_node());
            ControlFlow::Continue(())
        })
        .unwrap();
    nodes
}

fn message(path: &Path) -> String {
    Reader::open(path).unwrap_err().to_string()
}

#[test]
fn reads_a_graph_of_the_reference() {
    let reader = Reader::open(&recorded("build_overflow.vis.db")).unwrap();
    assert_eq!(reader.own_tables(), OwnTables::Absent);
    let config = reader.config().unwrap();
    assert_eq!(config.kind(), Some(Task::Build));
    assert_eq!((config.ranks, config.steps, config.overflow_check), (vec![0], vec![0], true));
    assert_eq!(reader.parts().unwrap(), [(0, 0)]);
    assert!(nodes(&reader, graph(Side::Golden), Detail::Tree).is_empty());
    let nodes = nodes(&reader, graph(Side::Target), Detail::Tree);
    assert!(nodes.iter().map(|n| n.order).eq(0..259));
    let levels = |level| nodes.iter().filter(|n| n.overflow_level.as_deref() == Some(level)).count();
    assert_eq!([levels("critical"), levels("high"), levels("medium")], [3, 144, 1]);
    assert_eq!(reader.root(graph(Side::Target)).unwrap().unwrap().name, "DefaultModel");
}

#[test]
fn reads_a_comparison_of_the_reference() {
    let reader = Reader::open(&recorded("compare_tensor.vis.db")).unwrap();
    assert_eq!(reader.config().unwrap().kind(), Some(Task::All));
    let target = nodes(&reader, graph(Side::Target), Detail::Parameters);
    let golden = nodes(&reader, graph(Side::Golden), Detail::Parameters);
    assert_eq!((target.len(), golden.len()), (85, 83));
    let count = |index| target.iter().filter(|n| n.precision_index == Some(index)).count();
    assert_eq!([count(0.0), count(0.5), count(1.0)], [74, 4, 1]);
    assert_eq!(target.iter().filter(|n| n.partner().is_none()).count(), 2);
    // Every tree relation holds in both directions.
    for node in &target {
        let mut children = Vec::new();
        reader
            .for_each_child(graph(Side::Target), &node.name, Detail::Tree, None, |child| {
                children.push(child.name.to_owned());
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(node.children().unwrap(), children);
        assert_eq!(reader.node(graph(Side::Target), &node.name, Detail::Parameters).unwrap().as_ref(), Some(node));
        let stack: String =
            reader.connection().query_row("SELECT stack_info FROM tb_stack WHERE id = ?1", [&node.stack_id], |row| row.get(0)).unwrap();
        assert!(stack.starts_with('['));
        assert!(node.input_data.starts_with('{') && node.output_data.starts_with('{'));
    }
    assert!(target.iter().any(|n| n.kind() == Some(NodeKind::Api) && n.is_leaf()));
}

#[test]
fn a_page_of_nodes_follows_the_one_before() {
    let reader = Reader::open(&recorded("compare_tensor.vis.db")).unwrap();
    let mut seen = Vec::new();
    loop {
        let before = seen.len();
        reader
            .for_each_node(graph(Side::Golden), Detail::Tree, seen.last().copied(), |node| {
                seen.push(node.order);
                if seen.len() == before + 10 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .unwrap();
        if seen.len() == before {
            break;
        }
    }
    assert!(seen.into_iter().eq(0..83));
}

#[test]
fn nothing_appears_beside_the_file() {
    let folder = TempDir::new().unwrap();
    // Every sign with a meaning in a URI.
    let path = folder.path().join("100% #1 ?mode=rw&结果.vis.db");
    fs::copy(recorded("compare_tensor.vis.db"), &path).unwrap();
    let before = fs::read(&path).unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(nodes(&reader, graph(Side::Target), Detail::Tree).len(), 85);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    drop(reader);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_is_no_result_file_is_named() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let whole = fs::read(recorded("compare_tensor.vis.db")).unwrap();
    assert!(message(folder.path()).contains("is a folder"));
    assert!(message(&folder.path().join("absent")).contains("no such file"));
    assert!(message(&write("empty", b"")).contains("is empty"));
    assert!(message(&write("text", &[b'x'; 5000])).contains("not a SQLite database"));
    assert!(message(&write("short", &whole[..99])).contains("not a SQLite database"));
    assert!(message(&write("cut", &whole[..whole.len() - 4096])).contains("is truncated"));
    let other = folder.path().join("other");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(message(&other).contains("has no table tb_nodes"));
    let view = folder.path().join("view");
    let sql = "CREATE VIEW tb_nodes AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT x AS id FROM r";
    Connection::open(&view).unwrap().execute_batch(sql).unwrap();
    assert!(message(&view).contains("has no table tb_nodes"));
}

/// A comparison in rollback mode that a test may change.
fn copy_of_a_comparison(folder: &TempDir) -> (PathBuf, Connection) {
    let path = folder.path().join("copy.vis.db");
    fs::copy(recorded("compare_tensor.vis.db"), &path).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    (path, connection)
}

#[test]
fn a_wrong_cell_is_named() {
    let folder = TempDir::new().unwrap();
    let (path, connection) = copy_of_a_comparison(&folder);
    connection.execute_batch("UPDATE tb_nodes SET up_node = x'ff' WHERE node_order = 3").unwrap();
    let reader = Reader::open(&path).unwrap();
    let error = reader.for_each_node(graph(Side::Target), Detail::Tree, None, |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("column up_node holds something else than a text"), "{error}");
}

#[test]
fn a_writer_is_waited_for_and_then_named() {
    let folder = TempDir::new().unwrap();
    let (path, connection) = copy_of_a_comparison(&folder);
    connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM tb_stack").unwrap();
    assert!(message(&path).contains("is being written by another process"));
}

#[test]
fn a_file_without_configuration_is_unfinished() {
    let folder = TempDir::new().unwrap();
    let (path, connection) = copy_of_a_comparison(&folder);
    connection.execute_batch("DELETE FROM tb_config").unwrap();
    let error = Reader::open(&path).unwrap().config().unwrap_err();
    assert!(error.to_string().contains("did not finish"), "{error}");
}

#[test]
fn a_later_version_of_our_tables_is_not_read() {
    let folder = TempDir::new().unwrap();
    let (path, connection) = copy_of_a_comparison(&folder);
    let sql = "CREATE TABLE msprobe_meta (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE msprobe_node (other);
               INSERT INTO msprobe_meta VALUES ('schema_version', '99')";
    connection.execute_batch(sql).unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.own_tables(), OwnTables::Newer(99));
    assert_eq!(nodes(&reader, graph(Side::Target), Detail::Tree).len(), 85);
}

#[test]
fn the_partner_is_the_last_of_a_list_of_names() {
    assert_eq!(partner_of(r#"["DefaultModel", "Module.a.A.forward.0"]"#).unwrap(), "Module.a.A.forward.0");
    assert_eq!(partner_of(r#"["\u5c42", "x\"y"]"#).unwrap(), "x\"y");
    assert_eq!(partner_of(r#"["\u5c42"] "#).unwrap(), "层");
    for none in ["", "[]", "null", "[1]", "[ ]", "{}", "[\"a"] {
        assert_eq!(partner_of(none), None, "{none}");
    }
}
