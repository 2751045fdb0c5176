use std::ops::ControlFlow;

use proptest::prelude::*;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{params_from_iter, Connection};

use super::{column, NodePages, Unusual, COLUMNS, COLUMN_COUNT};
use crate::visdb::schema::{CONFIG_SQL, NODES_SQL, STACK_SQL};

type Row = (i64, Vec<Value>);

/// A file with these texts as `output_data` of its nodes, which every third row is deleted from.
fn written(path: &std::path::Path, page_size: usize, texts: &[String]) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(&format!("PRAGMA page_size = {page_size}; {NODES_SQL}; {STACK_SQL}; {CONFIG_SQL}")).unwrap();
    // Without the constraints, so that cells may be anything.
    connection.execute_batch("CREATE TABLE other (text); BEGIN").unwrap();
    let marks = vec!["?"; COLUMN_COUNT].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO tb_nodes VALUES ({marks})")).unwrap();
    for (at, text) in texts.iter().enumerate() {
        let number = 1i64 << (at % 63);
        let mut cells = vec![Value::Null; COLUMN_COUNT];
        for (name, kind) in COLUMNS {
            cells[column(name)] = if kind == "TEXT" { Value::Text(format!("{name}{at}")) } else { Value::Integer(number) };
        }
        cells[column("precision_index")] = [Value::Null, Value::Real(0.5), Value::Integer(1), Value::Integer(0)][at % 4].clone();
        cells[column("rank")] = Value::Integer(-number - 1);
        cells[column("sub_nodes")] = Value::Blob(vec![7; at % 5]);
        cells[column("output_data")] = Value::Text(text.clone());
        insert.execute(params_from_iter(cells)).unwrap();
        // Pages of another table in between.
        connection.execute("INSERT INTO other VALUES (?1)", [text]).unwrap();
    }
    drop(insert);
    connection.execute_batch("DELETE FROM tb_nodes WHERE rowid % 3 = 1; COMMIT").unwrap();
    connection
}

fn through_sqlite(connection: &Connection, from: i64, to: i64) -> Vec<Row> {
    let mut statement = connection.prepare("SELECT rowid, * FROM tb_nodes WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid").unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, (0..COLUMN_COUNT).map(|at| row.get(at + 1)).collect::<Result<_, _>>()?));
    statement.query_map([from, to], row).unwrap().collect::<Result<_, _>>().unwrap()
}

fn through_pages(pages: &NodePages, from: i64, to: i64) -> Result<Vec<Row>, Unusual> {
    let mut rows = Vec::new();
    let cell = |value: ValueRef<'_>| match value {
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        other => other.into(),
    };
    pages.walk().for_each(from, to, |row, record| {
        rows.push((row, (0..COLUMN_COUNT).map(|at| cell(record.value(at))).collect()));
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

fn text(length: usize) -> String {
    (0..length).map(|at| char::from(b'a' + (at % 26) as u8)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_those_that_sqlite_reads(
        page_size in prop_oneof![Just(512usize), Just(1024), Just(4096), Just(65_536)],
        lengths in proptest::collection::vec(prop_oneof![4 => 0usize..300, 2 => 300usize..5_000, 1 => 5_000usize..200_000], 1..60),
        from in -3i64..70,
        to in -3i64..70,
        gone_on in any::<u64>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vis.db");
        let texts: Vec<String> = lengths.into_iter().map(text).collect();
        let connection = written(&path, page_size, &texts);
        let pages = NodePages::open(&path, &connection).unwrap().unwrap();
        for (from, to) in [(i64::MIN, i64::MAX), (from, to)] {
            prop_assert_eq!(through_pages(&pages, from, to), Ok(through_sqlite(&connection, from, to)));
        }
        // Whatever is wrong with a byte: an answer or none, and in time.
        let mut bytes = std::fs::read(&path).unwrap();
        let mut random = gone_on | 1;
        for _ in 0..20 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = 100 + random as usize % (bytes.len() - 100);
            bytes[at] = (random >> 40) as u8;
            let damaged = folder.path().join("y.vis.db");
            std::fs::write(&damaged, &bytes).unwrap();
            let Ok(connection) = crate::visdb::read::connect(&damaged) else { continue };
            if let Ok(Some(pages)) = NodePages::open(&damaged, &connection) {
                let _ = through_pages(&pages, i64::MIN, i64::MAX);
            }
        }
    }
}

#[test]
fn a_thousand_rows_of_a_deep_tree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vis.db");
    let texts: Vec<String> = (0..3_000).map(|at| text(at % 700)).collect();
    let connection = written(&path, 512, &texts);
    let pages = NodePages::open(&path, &connection).unwrap().unwrap();
    for from in (0..3_000).step_by(271) {
        assert_eq!(through_pages(&pages, from, from + 271), Ok(through_sqlite(&connection, from, from + 271)));
    }
}

#[test]
fn the_reading_stops_when_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vis.db");
    let connection = written(&path, 512, &vec![text(100); 50]);
    let pages = NodePages::open(&path, &connection).unwrap().unwrap();
    let mut seen = Vec::new();
    let read = pages.walk().for_each(10, 40, |row, record| {
        assert!(matches!(record.value(column("output_data")), ValueRef::Text(found) if found.len() == 100));
        seen.push(row);
        if row == 20 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!((read, seen), (Ok(()), vec![11, 12, 14, 15, 17, 18, 20]));
}

#[test]
fn what_is_unusual_is_left_to_sqlite() {
    let remade = |usual: &str, other: &str| {
        let sql = if usual.is_empty() { NODES_SQL.to_owned() } else { NODES_SQL.replace(usual, other) };
        format!("DROP TABLE tb_nodes; {sql}")
    };
    for (what, usual) in [
        ("", true),
        ("DROP TABLE tb_nodes; CREATE TABLE tb_nodes (id, node_order)", false),
        ("ALTER TABLE tb_nodes ADD COLUMN more TEXT", false),
        ("ALTER TABLE tb_nodes ADD COLUMN more TEXT AS (id)", false),
        ("ALTER TABLE tb_nodes RENAME COLUMN id TO name", false),
        ("PRAGMA journal_mode = WAL; INSERT INTO other VALUES (1)", false),
        (&remade("", ""), true),
        (&remade("is_distributed INTEGER\n)", "is_distributed INTEGER\n) WITHOUT ROWID"), false),
        (&remade("id TEXT PRIMARY KEY", "id TEXT").replace("modified INTEGER NOT NULL", "modified INTEGER PRIMARY KEY"), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vis.db");
        let connection = written(&path, 4096, &vec![text(100); 5]);
        connection.execute_batch(what).unwrap();
        assert_eq!(NodePages::open(&path, &connection).unwrap().is_some(), usual, "{what}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vis.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&format!("PRAGMA encoding = 'UTF-16'; {NODES_SQL}")).unwrap();
    assert!(NodePages::open(&path, &connection).unwrap().is_none());
}

#[test]
fn a_tree_that_leads_around_in_circles_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vis.db");
    let connection = written(&path, 512, &vec![text(400); 200]);
    let root: usize = connection.query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'tb_nodes'", [], |row| row.get(0)).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // Its last child is itself.
    let at = (root - 1) * 512 + 8;
    bytes[at..at + 4].copy_from_slice(&(root as u32).to_be_bytes());
    std::fs::write(&path, bytes).unwrap();
    let pages = NodePages::open(&path, &connection).unwrap().unwrap();
    assert_eq!(through_pages(&pages, i64::MAX - 10, i64::MAX), Err(Unusual));
}

#[test]
fn a_tree_of_empty_pages_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vis.db");
    let connection = written(&path, 512, &vec![text(400); 200]);
    let root: usize = connection.query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'tb_nodes'", [], |row| row.get(0)).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // Eighteen pages, each of which leads to the next one 200 times, and the last to a leaf without rows: 200^18 ways.
    let below = (20..).filter(|number| *number != root).take(18);
    let ways: Vec<usize> = std::iter::once(root).chain(below).collect();
    for (at, number) in ways.iter().enumerate() {
        let page = &mut bytes[(number - 1) * 512..number * 512];
        page.fill(0);
        let Some(child) = ways.get(at + 1) else {
            page[0] = 13;
            continue;
        };
        page[0] = 5;
        page[4] = 200;
        page[8..12].copy_from_slice(&(*child as u32).to_be_bytes());
        // All cells are one: the child's number, and as its key the largest number.
        (0..200).for_each(|cell| page[12 + 2 * cell..][..2].copy_from_slice(&490u16.to_be_bytes()));
        page[490..494].copy_from_slice(&(*child as u32).to_be_bytes());
        page[494..503].copy_from_slice(&[0xbf, 255, 255, 255, 255, 255, 255, 255, 255]);
    }
    std::fs::write(&path, bytes).unwrap();
    let pages = NodePages::open(&path, &connection).unwrap().unwrap();
    assert_eq!(through_pages(&pages, 0, i64::MAX - 1), Err(Unusual));
}

#[test]
fn what_is_no_number_is_null() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vis.db");
    let connection = written(&path, 4096, &vec![text(100); 3]);
    connection.execute("UPDATE tb_nodes SET precision_index = 1.2345678", []).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let number = 1.234_567_8_f64.to_be_bytes();
    let at = bytes.windows(8).position(|window| window == number).unwrap();
    std::fs::write(&path, [&bytes[..at], &f64::NAN.to_be_bytes(), &bytes[at + 8..]].concat()).unwrap();
    let connection = Connection::open(&path).unwrap();
    let pages = NodePages::open(&path, &connection).unwrap().unwrap();
    let rows = through_pages(&pages, i64::MIN, i64::MAX).unwrap();
    assert!(rows.iter().any(|row| row.1[column("precision_index")] == Value::Null));
    assert_eq!(rows, through_sqlite(&connection, i64::MIN, i64::MAX));
}

#[test]
fn a_file_that_changes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vis.db");
    let connection = written(&path, 4096, &vec![text(100); 5]);
    let pages = NodePages::open(&path, &connection).unwrap().unwrap();
    pages.check_unchanged().unwrap();
    connection.execute("INSERT INTO other VALUES (randomblob(50000))", []).unwrap();
    let error = pages.check_unchanged().unwrap_err().to_string();
    assert_eq!(error, format!("{}: was changed while it was read; try again", path.display()));
}
