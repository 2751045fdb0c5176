//! Random graphs, written by us and by SQLite: the same rows, and every index gives the same answers.

use proptest::prelude::*;
use rusqlite::params;

use super::*;

/// A random node; its place in the tree follows from `adopts`.
#[derive(Clone, Debug)]
struct Seed {
    name: String,
    /// How many of the nodes that wait for a parent it takes, at most.
    adopts: u32,
    micro_step: u32,
    data: String,
    filler: usize,
    precision: Option<Verdict>,
    overflow: Option<OverflowLevel>,
    distributed: bool,
}

fn seeds() -> impl Strategy<Value = Vec<Seed>> {
    let precision = prop_oneof![Just(None), Just(Some(Verdict::Pass)), Just(Some(Verdict::Warning)), Just(Some(Verdict::Error))];
    let overflow = prop_oneof![4 => Just(None), 1 => Just(Some(OverflowLevel::Medium)), 1 => Just(Some(OverflowLevel::Critical))];
    let filler = prop_oneof![8 => 0usize..200, 2 => 0usize..5000, 1 => 15_000usize..40_000];
    let seed = ("[a-c\u{0}%'\"层\\.]{0,12}", 0u32..4, 0u32..200, "[ -~]{0,40}", filler, precision, overflow, any::<bool>());
    let seed = seed.prop_map(|(name, adopts, micro_step, data, filler, precision, overflow, distributed)| Seed {
        name,
        adopts,
        micro_step,
        data,
        filler,
        precision,
        overflow,
        distributed,
    });
    proptest::collection::vec(seed, 0..400)
}

/// A node with its place.
struct Placed {
    name: String,
    up_node: String,
    children: u32,
    seed: Seed,
}

fn place(seeds: Vec<Seed>) -> Vec<Placed> {
    let mut placed: Vec<Placed> = Vec::new();
    let mut waiting: Vec<usize> = Vec::new();
    for (position, seed) in seeds.into_iter().enumerate() {
        // The number makes it unique, and comes last so that names share beginnings.
        let name = format!("{}{position}", seed.name);
        let children = waiting.len().min(seed.adopts as usize);
        for child in waiting.drain(waiting.len() - children..) {
            placed[child].up_node.clone_from(&name);
        }
        waiting.push(position);
        placed.push(Placed { name, up_node: String::new(), children: children as u32, seed });
    }
    placed
}

fn data(seed: &Seed) -> String {
    format!("{}{}", seed.data, "f".repeat(seed.filler))
}

fn encode(key: &GraphKey<'_>, nodes: &[Placed]) -> EncodedNodes {
    let mut batch = EncodedNodes::new(key);
    for (order, node) in (0..).zip(nodes) {
        let head = NodeHead {
            order,
            name: &node.name,
            kind: NodeKind::Module,
            up_node: &node.up_node,
            children: node.children,
            micro_step: node.seed.micro_step,
            stack: order,
            is_distributed: node.seed.distributed,
            matched_by: None,
        };
        // An abandoned row leaves nothing.
        batch.begin(&head).input_data().extend_from_slice(b"abandoned");
        let mut row = batch.begin(&head);
        row.sub_nodes().extend_from_slice(node.seed.data.as_bytes());
        row.input_data().extend_from_slice(data(&node.seed).as_bytes());
        row.output_data().extend_from_slice(b"out");
        row.end(NodeResult { precision_index: node.seed.precision, overflow_level: node.seed.overflow });
    }
    batch
}

/// The same rows by SQL.
fn insert(twin: &Connection, key: &GraphKey<'_>, nodes: &[Placed]) {
    let sql = "INSERT INTO tb_nodes VALUES (?1, ?2, ?3, ?4, '0', ?5, ?6, ?7, ?8, ?9, '[]', ?10, '', '{}', 0, ?11, 'out', ?12, NULL, ?13, ?14, ?15)";
    let mut statement = twin.prepare(sql).unwrap();
    let source = key.side.as_str();
    let graph = format!("{source}_{}_{}", key.step, key.rank);
    for (order, node) in (0..).zip(nodes) {
        let precision = node.seed.precision.map(|p| match p {
            Verdict::Pass => 0.0,
            Verdict::Warning => 0.5,
            Verdict::Error => 1.0,
        });
        let input = if data(&node.seed).is_empty() { "{}".to_owned() } else { data(&node.seed) };
        let row = params![
            format!("{graph}_{}", node.name),
            graph,
            order,
            node.name,
            node.up_node,
            node.seed.data,
            precision,
            node.seed.overflow.map(OverflowLevel::as_str),
            node.seed.micro_step,
            format!("{graph}_{order}"),
            input,
            source,
            key.step as i64,
            key.rank as i64,
            node.seed.distributed,
        ];
        statement.execute(row).unwrap();
    }
}

fn rows(connection: &Connection, sql: &str) -> Vec<Vec<Value>> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    statement.query_map([], |row| (0..columns).map(|i| row.get(i)).collect()).unwrap().map(Result::unwrap).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_file_equals_its_twin(parts in proptest::collection::vec((0u64..3, 0u64..300, seeds(), seeds()), 0..4)) {
        let mut parts = parts;
        parts.sort_by_key(|p| (p.0, p.1));
        parts.dedup_by_key(|p| (p.0, p.1));
        let folder = TempDir::new().unwrap();
        let mut writer = Writer::create(folder.path(), "compare_1.vis.db").unwrap();
        let twin = Connection::open_in_memory().unwrap();
        twin.execute_batch(schema::NODES_SQL).unwrap();
        for (_, sql) in schema::INDEXES {
            twin.execute_batch(sql).unwrap();
        }
        for (step, rank, target, golden) in parts {
            writer.begin_part(step, rank).unwrap();
            for (side, seeds) in [(Side::Target, target), (Side::Golden, golden)] {
                let nodes = place(seeds);
                writer.append(&encode(&key(step, rank, side), &nodes)).unwrap();
                insert(&twin, &key(step, rank, side), &nodes);
                for _ in &nodes {
                    writer.append_stack(side, Some("[]")).unwrap();
                }
            }
            writer.finish_part().unwrap();
        }
        let path = writer.complete(&config()).unwrap().publish().unwrap();
        let file = open(&path);
        assert_sound(&file);
        prop_assert!(rows(&file, "SELECT rowid, * FROM tb_nodes") == rows(&twin, "SELECT rowid, * FROM tb_nodes"));
        for (index, sql) in schema::INDEXES.into_iter().chain([("sqlite_autoindex_tb_nodes_1", "(id)")]) {
            let (_, columns) = sql.split_once('(').unwrap();
            let (columns, only) = columns.split_once(')').unwrap();
            let ordered = format!("SELECT rowid, {columns} FROM tb_nodes INDEXED BY {index} {only} ORDER BY {columns}, rowid");
            prop_assert!(rows(&file, &ordered) == rows(&twin, &ordered), "{}", index);
        }
        let lost = "SELECT count(*) FROM tb_nodes LEFT JOIN tb_stack ON tb_stack.id = stack_id WHERE tb_stack.id IS NULL";
        prop_assert_eq!(rows(&file, lost), [[Value::Integer(0)]]);
    }
}
