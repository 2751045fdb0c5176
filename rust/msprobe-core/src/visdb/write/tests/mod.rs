//! Whole files, read back through SQLite.

mod twin;

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use tempfile::TempDir;

use super::*;
use crate::name::NodeKind;
use crate::visdb::node::{GraphKey, NodeHead, NodeResult};
use crate::visdb::values::{MatchedBy, OverflowLevel, Verdict};

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

/// Runs that end within a page, at its end, and behind it; with keys of which hundreds fill a page, and four.
#[test]
fn graphs_of_every_length_are_joined() {
    for (padding, lengths) in [(0, (0..8).chain(80..100).chain(310..360).collect::<Vec<u32>>()), (4_000, (0..20).collect())] {
        let folder = TempDir::new().unwrap();
        let mut writer = Writer::create(folder.path(), "compare_1.vis.db").unwrap();
        let mut names = Vec::new();
        for (rank, &nodes) in (0..).zip(&lengths) {
            writer.begin_part(0, rank).unwrap();
            let mut batch = EncodedNodes::new(&key(0, rank, Side::Target));
            for order in 0..nodes {
                let name = format!("{order}{}", "n".repeat(padding));
                batch.begin(&NodeHead { order, name: &name, ..NodeHead::default() }).end(NodeResult::default());
                names.push(format!("NPU_0_{rank}_{name}"));
                writer.append_stack(Side::Target, None).unwrap();
            }
            writer.append(&batch).unwrap();
            writer.finish_part().unwrap();
        }
        let path = writer.complete(&config()).unwrap().publish().unwrap();
        let connection = open(&path);
        assert_sound(&connection);
        let by_id = "SELECT id FROM tb_nodes INDEXED BY sqlite_autoindex_tb_nodes_1 ORDER BY id";
        let found: Vec<String> = connection.prepare(by_id).unwrap().query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
        names.sort();
        assert!(found == names);
    }
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
    row.end(NodeResult { precision_index: Some(Verdict::Warning), overflow_level: Some(OverflowLevel::Critical) });
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

#[test]
fn texts_of_megabytes_go_to_overflow_pages() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::create(folder.path(), "compare_1.vis.db").unwrap();
    writer.begin_part(0, 0).unwrap();
    let long = format!("Module.{}.forward.0", "层".repeat(350_000));
    // Around the lengths at which a payload leaves the page and at which a chain gets another page.
    let sizes = (15_900..16_500).step_by(7).chain((32_700..32_800).step_by(3)).chain([5_000_000]);
    let mut batch = EncodedNodes::new(&key(0, 0, Side::Target));
    let mut order = 0;
    for size in sizes.clone() {
        let name = format!("n{order}");
        let mut row = batch.begin(&NodeHead { order, name: &name, up_node: &long, ..NodeHead::default() });
        row.input_data().extend(std::iter::repeat_n(b'x', size));
        row.end(NodeResult::default());
        order += 1;
    }
    batch.begin(&NodeHead { order, name: &long, children: order, ..NodeHead::default() }).end(NodeResult::default());
    writer.append(&batch).unwrap();
    writer.finish_part().unwrap();
    let path = writer.complete(&config()).unwrap().publish().unwrap();
    let connection = open(&path);
    assert_sound(&connection);
    let mut statement = connection.prepare("SELECT length(input_data) FROM tb_nodes ORDER BY node_order").unwrap();
    let lengths: Vec<usize> = statement.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(lengths.into_iter().eq(sizes.chain([2])));
    let stored: String = connection.query_row("SELECT up_node FROM tb_nodes WHERE node_name = 'n3'", [], |r| r.get(0)).unwrap();
    assert!(stored == long);
}

#[test]
fn a_chain_of_twenty_thousand_modules_is_linear() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::create(folder.path(), "build_1.vis.db").unwrap();
    writer.begin_part(0, 0).unwrap();
    let depth = 20_000;
    let mut batch = EncodedNodes::new(&key(0, 0, Side::Target));
    for order in 0..=depth {
        let up_node = if order == depth { String::new() } else { format!("m{}", order + 1) };
        let name = format!("m{order}");
        let head = NodeHead { order, name: &name, up_node: &up_node, children: u32::from(order > 0), ..NodeHead::default() };
        batch.begin(&head).end(NodeResult::default());
    }
    writer.append(&batch).unwrap();
    let totals = writer.finish_part().unwrap();
    assert_eq!(totals.target.unmatched, depth + 1);
    let path = writer.complete(&config()).unwrap().publish().unwrap();
    assert!(path.metadata().unwrap().len() < 20_000_000);
    let connection = open(&path);
    assert_sound(&connection);
    let below: u32 = connection.query_row("SELECT unmatched FROM msprobe_node WHERE node_order = 20000", [], |r| r.get(0)).unwrap();
    assert_eq!(below, depth);
}

#[test]
fn a_part_taken_back_leaves_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, failing: bool| {
        let mut writer = Writer::create(folder.path(), name).unwrap();
        for rank in 0..3 {
            writer.begin_part(0, rank).unwrap();
            writer.append(&flat(&key(0, rank, Side::Target), 500, &"x".repeat(400))).unwrap();
            writer.append_stack(Side::Target, Some("[]")).unwrap();
            // Big enough that some of its pages are on disk already, one of the level above the leaves among them.
            if failing && rank == 1 {
                writer.append(&flat(&key(0, rank, Side::Golden), 9000, &"y".repeat(4_100))).unwrap();
                writer.append_stack(Side::Golden, Some("[]")).unwrap();
                writer.add_row(&schema::SURPLUS, &[0.into(), 1.into(), "n".into(), "r".into()]).unwrap();
                writer.rollback_part().unwrap();
                writer.add_row(&schema::SKIPPED, &[0.into(), 1.into(), "why".into()]).unwrap();
            } else if rank == 1 {
                writer.rollback_part().unwrap();
                writer.add_row(&schema::SKIPPED, &[0.into(), 1.into(), "why".into()]).unwrap();
            } else {
                writer.finish_part().unwrap();
            }
        }
        writer.complete(&config()).unwrap().publish().unwrap()
    };
    let (plain, failing) = (write("a.vis.db", false), write("b.vis.db", true));
    let connection = open(&failing);
    assert_sound(&connection);
    let ranks: String = connection.query_row("SELECT rank_list FROM tb_config", [], |r| r.get(0)).unwrap();
    assert_eq!(ranks, "[0, 2]");
    let skipped: (i64, i64, String) =
        connection.query_row("SELECT step, rank, reason FROM msprobe_skipped", [], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).unwrap();
    assert_eq!(skipped, (0, 1, "why".to_owned()));
    assert!(std::fs::read(plain).unwrap() == std::fs::read(failing).unwrap());
}

#[test]
fn rows_that_would_break_an_index_are_refused() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::create(folder.path(), "compare_1.vis.db").unwrap();
    let mut refuse = |nodes: &[(u32, &str, u32)], reason: &str| {
        writer.begin_part(0, 0).unwrap();
        let mut batch = EncodedNodes::new(&key(0, 0, Side::Target));
        for &(order, name, children) in nodes {
            batch.begin(&NodeHead { order, name, children, ..NodeHead::default() }).end(NodeResult::default());
        }
        let error = writer.append(&batch).and_then(|()| writer.finish_part()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        writer.rollback_part().unwrap();
    };
    refuse(&[(0, "a", 0), (1, "a", 0)], "two nodes are named \"a\"");
    refuse(&[(1, "a", 0)], "node_order 1 at position 0");
    refuse(&[(0, "a", 1)], "comes before its children");
    writer.begin_part(0, 1).unwrap();
    writer.finish_part().unwrap();
    assert!(writer.begin_part(0, 0).unwrap_err().to_string().contains("in the order of step and rank"));
}

#[test]
fn names_are_unique_and_nothing_is_left_over() {
    let folder = TempDir::new().unwrap();
    let writers: Vec<Writer> = (0..3).map(|_| Writer::create(folder.path(), "compare_7.vis.db").unwrap()).collect();
    for writer in writers {
        writer.complete(&config()).unwrap().publish().unwrap();
    }
    drop(Writer::create(folder.path(), "compare_7.vis.db").unwrap());
    drop(Writer::create(folder.path(), "compare_7.vis.db").unwrap().complete(&config()).unwrap());
    let mut names: Vec<String> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["compare_7.vis.db", "compare_7_1.vis.db", "compare_7_2.vis.db"]);
}

#[test]
fn group_may_read_and_others_may_not() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let writer = Writer::create(folder.path(), "build_1.vis.db").unwrap();
    let path = writer.complete(&config()).unwrap().publish().unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777 & !0o040, 0o600);
}

#[test]
fn sql_may_change_the_file_before_it_gets_its_name() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::create(folder.path(), "compare_1.vis.db").unwrap();
    writer.begin_part(0, 0).unwrap();
    writer.append(&flat(&key(0, 0, Side::Target), 2000, "{}")).unwrap();
    writer.finish_part().unwrap();
    let complete = writer.complete(&config()).unwrap();
    let connection = complete.connection().unwrap();
    let long = format!("{{\"{}\": 1}}", "p".repeat(20_000));
    connection.execute("UPDATE tb_nodes SET matched_distributed = ?1 WHERE node_order % 7 = 0", [&long]).unwrap();
    drop(connection);
    let path = complete.publish().unwrap();
    let connection = open(&path);
    assert_sound(&connection);
    let changed: i64 = connection.query_row("SELECT count(*) FROM tb_nodes WHERE matched_distributed = ?1", [&long], |r| r.get(0)).unwrap();
    assert_eq!(changed, 286);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_somebody_removed_is_not_made_anew() {
    let folder = TempDir::new().unwrap();
    let writer = Writer::create(folder.path(), "build_1.vis.db").unwrap();
    let complete = writer.complete(&config()).unwrap();
    std::fs::remove_file(complete.path()).unwrap();
    assert!(complete.connection().is_err());
    assert!(!complete.path().exists());
}

#[test]
fn subtrees_are_added_up() {
    let folder = TempDir::new().unwrap();
    let mut writer = Writer::create(folder.path(), "compare_1.vis.db").unwrap();
    writer.begin_part(0, 0).unwrap();
    let mut batch = EncodedNodes::new(&key(0, 0, Side::Target));
    let (by_name, none) = (Some(MatchedBy::Name), None);
    let (error, pass) = (Some(Verdict::Error), Some(Verdict::Pass));
    let rows = [
        ("a", "m", 0, by_name, error, Some(OverflowLevel::High)),
        ("b", "m", 0, by_name, pass, Some(OverflowLevel::Medium)),
        ("m", "r", 2, by_name, None, None),
        ("c", "r", 0, none, None, None),
        ("r", "", 2, by_name, None, None),
    ];
    for (order, (name, up_node, children, matched_by, precision_index, overflow_level)) in (0..).zip(rows) {
        let head = NodeHead { order, name, up_node, children, matched_by, ..NodeHead::default() };
        batch.begin(&head).end(NodeResult { precision_index, overflow_level });
    }
    writer.append(&batch).unwrap();
    let totals = writer.finish_part().unwrap().target;
    let path = writer.complete(&config()).unwrap().publish().unwrap();
    let connection = open(&path);
    let sql = "SELECT matched_by, error, warning, pass, not_compared, unmatched, worst_overflow FROM msprobe_node WHERE node_order = ?1";
    let stored = |order: i64| -> Option<(Option<String>, Counts)> {
        let row = |row: &rusqlite::Row<'_>| {
            let count = |column| row.get::<_, Option<u32>>(column).map(Option::unwrap_or_default);
            let worst_overflow = row.get::<_, Option<String>>(6)?.as_deref().and_then(OverflowLevel::from_text);
            let counts = Counts {
                error: count(1)?,
                warning: count(2)?,
                pass: count(3)?,
                not_compared: count(4)?,
                unmatched: count(5)?,
                worst_overflow,
            };
            Ok((row.get(0)?, counts))
        };
        connection.query_row(sql, [order], row).optional().unwrap()
    };
    let below = |order| stored(order).unwrap().1;
    let of_m = Counts { error: 1, pass: 1, worst_overflow: Some(OverflowLevel::High), ..Counts::default() };
    assert_eq!(below(2), of_m);
    assert_eq!(below(4), Counts { not_compared: 1, unmatched: 1, ..of_m });
    assert_eq!(totals, Counts { not_compared: 2, unmatched: 1, ..of_m });
    assert_eq!(stored(0), Some((Some("name".to_owned()), Counts::default())));
    assert_eq!(stored(3), None);
}
