//! Whatever a result file looks like: its pages and SQLite tell the same of it.

use super::direct::Direct;
use super::file::{Place, VisFile};
use super::golden::GoldenCount;
use super::rank::GoldenNodes;
use super::scan::{for_each_node, through_sqlite};
use crate::visdb::schema::{CONFIG_SQL, INDEXES, NODES_SQL, STACK_SQL};
use crate::visdb::Side;
use proptest::prelude::*;
use rusqlite::{params, Connection};
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Nodes of one side of one rank.
const NODES: i64 = 60;
const PLACES: [Place; 3] = [Place { step: 0, rank: 0 }, Place { step: 0, rank: 1 }, Place { step: 7, rank: 1 }];

/// How a file is laid out.
#[derive(Clone, Debug)]
struct Shape {
    page_size: u32,
    reserved: u8,
    auto_vacuum: u8,
    write_ahead: bool,
    /// Ranks and sides take turns instead of coming one after the other.
    mixed: bool,
    /// Bytes that some nodes have more than others.
    long: usize,
    schema: usize,
    vacuum: bool,
}

/// What another writer may have made of the table: a text of [`NODES_SQL`] and what stands in its place.
const SCHEMAS: [(&str, &str); 9] = [
    ("", ""),
    ("is_distributed INTEGER\n)", "is_distributed INTEGER\n) WITHOUT ROWID"),
    ("is_distributed INTEGER\n)", "is_distributed INTEGER, note TEXT\n)"),
    ("precision_index INTEGER", "precision_index REAL"),
    ("step INTEGER NOT NULL", "step TEXT NOT NULL"),
    ("overflow_level TEXT", "overflow_level TEXT COLLATE NOCASE"),
    ("id TEXT PRIMARY KEY", "id TEXT"),
    ("is_distributed INTEGER\n)", "is_distributed INTEGER\n) STRICT"),
    ("data_source TEXT", "data_source TEXT COLLATE NOCASE"),
];

fn shape() -> impl Strategy<Value = Shape> {
    let page_size = prop_oneof![Just(512u32), Just(1024), Just(4096), Just(65_536)];
    let long = prop_oneof![Just(0usize), Just(400), Just(5_000), Just(90_000)];
    let schema = prop_oneof![3 => Just(0), 2 => 0..SCHEMAS.len()];
    let mixed = prop_oneof![5 => Just(false), 1 => Just(true)];
    (page_size, prop_oneof![Just(0u8), 1u8..32], 0u8..3, proptest::bool::weighted(0.1), mixed, long, schema, any::<bool>()).prop_map(
        |(page_size, reserved, auto_vacuum, write_ahead, mixed, long, schema, vacuum)| Shape {
            page_size,
            reserved,
            auto_vacuum,
            write_ahead,
            mixed,
            long,
            schema,
            vacuum,
        },
    )
}

/// What somebody may have done to a finished file.
const CHANGES: [&str; 32] = [
    "DELETE FROM tb_nodes WHERE node_order = 17",
    "DELETE FROM tb_nodes WHERE node_order < 5 AND rank = 1",
    "DELETE FROM tb_nodes WHERE data_source = 'Bench'",
    "UPDATE tb_nodes SET rank = 3 WHERE rank = 1 AND node_order % 7 = 3",
    "UPDATE tb_nodes SET step = 3 WHERE step = 7",
    "UPDATE tb_nodes SET node_order = node_order + 1000",
    "UPDATE tb_nodes SET node_order = 59 - node_order",
    "UPDATE tb_nodes SET node_order = 3 WHERE node_order = 4",
    "UPDATE tb_nodes SET node_order = -1 WHERE node_order = 0",
    "UPDATE tb_nodes SET node_order = node_order + 9223372036854775747",
    "UPDATE tb_nodes SET node_order = node_order + 4294967290",
    "UPDATE tb_nodes SET node_order = 2.5 WHERE node_order = 2",
    "UPDATE tb_nodes SET node_order = 'x' WHERE node_order = 59",
    "UPDATE tb_nodes SET rowid = rowid + 100000 WHERE node_order = 59",
    "UPDATE tb_nodes SET rowid = -rowid",
    "UPDATE tb_nodes SET rowid = rowid + 9223372036854000000",
    "UPDATE tb_nodes SET rowid = rowid + 20 WHERE node_order > 30 AND rank = 1 AND step = 7 AND data_source = 'Bench'",
    "INSERT INTO tb_nodes SELECT id || '+', graph_id, node_order, node_name || '+', node_type, up_node, sub_nodes, precision_index, overflow_level, micro_step_id, matched_node_link, stack_id, parallel_merge_info, matched_distributed, modified, input_data, output_data, data_source, dump_data_dir, step, rank, is_distributed FROM tb_nodes WHERE node_order = 30",
    "UPDATE tb_nodes SET matched_node_link = '[]' WHERE node_order % 3 = 1",
    "UPDATE tb_nodes SET matched_node_link = NULL, modified = 1 WHERE node_order % 4 = 1",
    "UPDATE tb_nodes SET matched_node_link = CAST('[]' AS BLOB) WHERE node_order % 4 = 1",
    "UPDATE tb_nodes SET up_node = 5 WHERE node_order = 5",
    "UPDATE tb_nodes SET precision_index = 1e999 WHERE node_order = 5",
    "UPDATE tb_nodes SET precision_index = 'no number' WHERE node_order = 50",
    "UPDATE tb_nodes SET node_name = x'610062' WHERE node_order = 6",
    "UPDATE tb_nodes SET node_name = 'a' || char(0) || 'b' WHERE node_order = 6",
    "UPDATE tb_nodes SET data_source = 'npu' WHERE data_source = 'NPU' AND node_order % 9 = 2",
    "UPDATE tb_nodes SET data_source = CAST('NPU' AS BLOB) WHERE data_source = 'NPU' AND node_order = 9",
    "UPDATE tb_nodes SET micro_step_id = 5000000000, is_distributed = NULL, modified = 7 WHERE node_order = 8",
    "UPDATE tb_nodes SET input_data = NULL, output_data = CAST(output_data AS BLOB) WHERE node_order = 8",
    "DROP INDEX index6; CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link)",
    "DROP INDEX index6; CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link) WHERE modified = 0",
];

/// An empty database whose pages set bytes aside, as encrypted ones do.
fn created(path: &Path, shape: &Shape) -> Connection {
    let conn = Connection::open(path).unwrap();
    let (size, vacuum) = (shape.page_size, shape.auto_vacuum);
    conn.execute_batch(&format!(
        "PRAGMA synchronous = OFF; PRAGMA page_size = {size}; PRAGMA auto_vacuum = {vacuum}; PRAGMA user_version = 1"
    ))
    .unwrap();
    drop(conn);
    let mut bytes = fs::read(path).unwrap();
    assert_eq!(bytes.len(), size as usize);
    bytes[20] = shape.reserved;
    bytes[105..107].copy_from_slice(&((size - u32::from(shape.reserved)) as u16).to_be_bytes());
    fs::write(path, bytes).unwrap();
    let conn = Connection::open(path).unwrap();
    conn.execute_batch("PRAGMA synchronous = OFF").unwrap();
    conn
}

/// Writes a comparison. Returns where the pages of the nodes begin and end, unless they were rearranged.
fn written(path: &Path, shape: &Shape) -> (Connection, Range<usize>) {
    let size = || fs::metadata(path).unwrap().len() as usize;
    let conn = created(path, shape);
    let (usual, other) = SCHEMAS[shape.schema];
    let nodes = NODES_SQL.replace(usual, other);
    let nodes = if usual.is_empty() { NODES_SQL } else { &nodes };
    if shape.write_ahead {
        conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    }
    conn.execute_batch(&format!("{nodes}; {STACK_SQL}; {CONFIG_SQL}")).unwrap();
    let start = size();
    conn.execute_batch("BEGIN").unwrap();
    conn.execute("INSERT INTO tb_config VALUES ('1', 'compare', 'summary', NULL, 1, 0, 'null', '[0, 1]', '[0, 7]')", []).unwrap();
    let sql = "INSERT INTO tb_nodes (id, graph_id, node_order, node_name, node_type, up_node, sub_nodes, precision_index, overflow_level, \
               micro_step_id, matched_node_link, stack_id, parallel_merge_info, matched_distributed, modified, input_data, output_data, \
               data_source, dump_data_dir, step, rank, is_distributed) \
               VALUES (?1, '', ?2, ?3, '1', ?4, '', ?5, NULL, 0, ?6, ?11, '', '{}', 0, ?7, ?7, ?8, NULL, ?10, ?9, 0)";
    let mut insert = conn.prepare(sql).unwrap();
    let mut add = |place: Place, side: Side, order: i64| {
        let name = format!("Torch.add.{order}.forward");
        let up = if order + 1 == NODES { "" } else { "DefaultModel" };
        let link = if order % 7 == 0 { "[]".to_owned() } else { format!("[\"DefaultModel\", \"{name}\"]") };
        let rows = format!(
            "{{\"{name}.input.0\": {{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": \"[{order}]\", \"Max\": \"{order}.5\", \
             \"Min\": \"0.25\", \"Mean\": \"1e-05\", \"Norm\": \"7.5\", \"Max diff\": \"0.0{order}\", \"Min diff\": \"N/A\"}}}}"
        );
        let id = format!("{}_{}_{}_{name}", side.as_str(), place.step, place.rank);
        let stack = "s".repeat(if order % 10 == 3 { shape.long } else { 0 });
        // Strictly typed columns hold integers.
        let index = if shape.schema == 7 { 1.0 } else { (order % 3) as f64 / 2.0 };
        insert.execute(params![id, order, name, up, index, link, rows, side.as_str(), place.rank, place.step, stack]).unwrap();
    };
    let sides = PLACES.iter().flat_map(|place| [Side::Target, Side::Golden].map(|side| (*place, side)));
    if shape.mixed {
        (0..NODES).for_each(|order| sides.clone().for_each(|(place, side)| add(place, side, order)));
    } else {
        sides.for_each(|(place, side)| (0..NODES).for_each(|order| add(place, side, order)));
    }
    drop(insert);
    conn.execute_batch("COMMIT").unwrap();
    let end = size();
    for (_, sql) in INDEXES {
        conn.execute_batch(sql).unwrap();
    }
    if shape.vacuum {
        conn.execute_batch("VACUUM").unwrap();
    }
    (conn, start..end)
}

type Nodes = Result<Vec<String>, String>;
type Answer = (Nodes, Result<GoldenNodes, String>);

/// What a place of the file is said to hold, by its pages and by SQLite; nothing where the file is refused.
fn both(path: &Path, place: Place) -> Option<(Answer, Answer, bool)> {
    let file = VisFile::open(path).ok()?;
    let told = |error: super::error::Error| error.to_string();
    let mut nodes = Vec::new();
    let read = for_each_node(&file, place, 2, |node| nodes.push(format!("{node:?}"))).map(|()| nodes).map_err(told);
    let golden = GoldenCount::new(&file, place).and_then(GoldenCount::count).map_err(told);
    let by_pages = (read, golden);
    let mut nodes = Vec::new();
    let read = through_sqlite(&file, place, |node| nodes.push(format!("{node:?}"))).map(|()| nodes).map_err(told);
    let all = "SELECT count(*) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench'";
    let unmatched = format!("{all} AND coalesce(up_node, '') <> '' AND coalesce(matched_node_link, '') IN ('', '[]')");
    let count = |sql: &str| file.conn.query_row(sql, (place.step, place.rank), |row| row.get::<_, i64>(0)).map(|count| count as u64);
    let golden = count(all).and_then(|all| Ok(GoldenNodes { all, unmatched: count(&unmatched)? }));
    let direct = Direct::find(&file, place, Side::Target);
    let directly =
        direct.is_ok_and(|direct| direct.is_some_and(|direct| direct.nodes(&mut direct.walk(), 0, i64::MAX, |_, _| Some(true)).is_ok()));
    Some((by_pages, (read, golden.map_err(|error| told(file.fail()(error)))), directly))
}

#[test]
fn a_plain_file_is_read_by_its_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.vis.db");
    let shape =
        Shape { page_size: 4096, reserved: 9, auto_vacuum: 1, write_ahead: false, mixed: false, long: 5_000, schema: 0, vacuum: true };
    drop(written(&path, &shape));
    for place in PLACES {
        let (by_pages, by_sqlite, directly) = both(&path, place).unwrap();
        assert!(directly);
        assert_eq!(by_pages, by_sqlite);
        assert_eq!(by_pages.0.unwrap().len(), NODES as usize);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn pages_and_sqlite_tell_the_same(
        shape in shape(),
        changes in proptest::collection::vec(proptest::sample::select(&CHANGES[..]), 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vis.db");
        let (conn, _) = written(&path, &shape);
        for change in changes {
            // Some are against the constraints of some tables.
            let _ = conn.execute_batch(change);
        }
        for place in PLACES {
            let Some((by_pages, by_sqlite, _)) = both(&path, place) else { continue };
            match (&by_pages.0, &by_sqlite.0) {
                (Err(_), Err(_)) => {}
                // Orders beyond all bounds are refused before the first node, and some that two nodes share.
                (Err(error), Ok(_)) if error.contains("node_order") => {}
                (nodes, others) => prop_assert!(nodes == others, "{}", first_difference(nodes, others, place)),
            }
            prop_assert_eq!(&by_pages.1, &by_sqlite.1, "{:?}", place);
        }
    }

    #[test]
    fn damage_never_gives_another_answer(shape in shape(), places in proptest::collection::vec((any::<u32>(), any::<u8>()), 1..40), cut in any::<u32>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vis.db");
        // Damage of the indexes, which SQLite does not see either, is left alone.
        let shape = Shape { write_ahead: false, auto_vacuum: 0, vacuum: false, ..shape };
        let (_, nodes) = written(&path, &shape);
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        for (at, byte) in places {
            damaged[nodes.start + at as usize % nodes.len()] = byte;
            fs::write(&path, &damaged).unwrap();
            agree(&path)?;
        }
        fs::write(&path, &whole[..cut as usize % whole.len()]).unwrap();
        agree(&path)?;
    }
}

/// Where neither way sees the damage, both must see the same.
fn agree(path: &Path) -> Result<(), TestCaseError> {
    for place in PLACES {
        let Some((by_pages, by_sqlite, _)) = both(path, place) else { continue };
        if let (Ok(nodes), Ok(others)) = (&by_pages.0, &by_sqlite.0) {
            prop_assert!(nodes == others, "{}", first_difference(&by_pages.0, &by_sqlite.0, place));
        }
        if let (Ok(counted), Ok(others)) = (&by_pages.1, &by_sqlite.1) {
            prop_assert_eq!(counted, others, "{:?}", place);
        }
    }
    Ok(())
}

/// The first of the nodes that are not the same, by pages and by SQLite.
fn first_difference(nodes: &Nodes, others: &Nodes, place: Place) -> String {
    let (Ok(nodes), Ok(others)) = (nodes, others) else {
        return format!("{place:?}: {:?} / {:?}", nodes.as_ref().err(), others.as_ref().err());
    };
    let at = nodes.iter().zip(others).take_while(|(node, other)| node == other).count();
    format!("{place:?}: {} of {} / {} of {}", nodes.get(at).map_or("", |n| n), nodes.len(), others.get(at).map_or("", |n| n), others.len())
}
