//! The tables of a result file.
//!
//! `tb_*` are those of msProbe 26.2, to the letter; `msprobe_*` are ours. A reader takes ours as absent, older or newer.

/// Version of our own tables. Rises when a reader of the old version would misread the new one; a further table or
/// column does not need it.
pub const SCHEMA_VERSION: u32 = 1;

pub(crate) const CONFIG_SQL: &str = "CREATE TABLE tb_config (
    id TEXT PRIMARY KEY,
    graph_type TEXT NOT NULL,
    task TEXT,
    tool_tip TEXT,
    micro_steps INTEGER,
    overflow_check INTEGER,
    node_colors TEXT NOT NULL,
    rank_list TEXT NOT NULL,
    step_list TEXT NOT NULL
)";

pub(crate) const NODES_SQL: &str = "CREATE TABLE tb_nodes (
    id TEXT PRIMARY KEY,
    graph_id TEXT NOT NULL,
    node_order INTEGER NOT NULL,
    node_name TEXT NOT NULL,
    node_type TEXT NOT NULL,
    up_node TEXT,
    sub_nodes TEXT,
    precision_index INTEGER,
    overflow_level TEXT,
    micro_step_id INTEGER NOT NULL,
    matched_node_link TEXT,
    stack_id TEXT,
    parallel_merge_info TEXT,
    matched_distributed TEXT,
    modified INTEGER NOT NULL,
    input_data TEXT,
    output_data TEXT,
    data_source TEXT,
    dump_data_dir TEXT,
    step INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    is_distributed INTEGER
)";

pub(crate) const STACK_SQL: &str = "CREATE TABLE tb_stack (
    id TEXT PRIMARY KEY,
    stack_info TEXT
)";

/// Indexes on `tb_nodes`, made by the writer at the end of every part: those of msProbe without `index5` (micro steps), which serves no
/// statement of either viewer, and two of them only for the few rows that anybody looks up by them.
pub(crate) const INDEXES: [(&str, &str); 6] = [
    ("index1", "CREATE INDEX index1 ON tb_nodes (step, rank, data_source, up_node, node_order)"),
    ("index2", "CREATE INDEX index2 ON tb_nodes (step, rank, data_source, node_name)"),
    ("index3", "CREATE INDEX index3 ON tb_nodes (step, rank, data_source, node_order)"),
    ("index4", "CREATE INDEX index4 ON tb_nodes (step, rank, node_order)"),
    ("index6", "CREATE INDEX index6 ON tb_nodes (step, rank, modified) WHERE modified = 1"),
    ("index7", "CREATE INDEX index7 ON tb_nodes (is_distributed) WHERE is_distributed = 1"),
];

/// A table of ours. Give it to [`super::Writer::add_row`]; it is created in every file that was given a row, and a table
/// that readers rely on is created empty.
#[derive(Debug)]
pub struct Table {
    /// Its name, starting with `msprobe_`.
    pub name: &'static str,
    /// Its `CREATE TABLE` statement. With `WITHOUT ROWID` the columns of the primary key stand first and in key order;
    /// other UNIQUE and PRIMARY KEY clauses are not supported.
    pub sql: &'static str,
    /// Number of columns of the primary key of a table `WITHOUT ROWID`, 0 for a table with rowids. The rows of a keyed
    /// table are sorted within each part, so a key that does not belong to the whole file starts with step and rank.
    pub key: usize,
}

/// Facts about the file: `schema_version` and `tool_version`, which the writer adds, `created`, `options` (JSON),
/// `inputs` (JSON).
pub static META: Table =
    Table { name: "msprobe_meta", sql: "CREATE TABLE msprobe_meta (key TEXT NOT NULL PRIMARY KEY, value TEXT) WITHOUT ROWID", key: 1 };

/// Ranks that were left out, and why, with the file; no rank when a whole step was.
pub static SKIPPED: Table = Table {
    name: "msprobe_skipped",
    sql: "CREATE TABLE msprobe_skipped (step INTEGER NOT NULL, rank INTEGER, reason TEXT NOT NULL)",
    key: 0,
};

/// Golden parameters without a partner: node and full row name.
pub static SURPLUS: Table = Table {
    name: "msprobe_surplus",
    sql: "CREATE TABLE msprobe_surplus (step INTEGER NOT NULL, rank INTEGER NOT NULL, node_name TEXT NOT NULL, row_name TEXT NOT NULL, \
          PRIMARY KEY (step, rank, node_name, row_name)) WITHOUT ROWID",
    key: 4,
};

/// What the tensors of a compared pair show beyond the columns of the reference: a row per pair that was looked at, named
/// by the target's node and by the column (`input` or `output`) and key under which the node shows its row.
pub static TENSOR: Table = Table {
    name: "msprobe_tensor",
    sql: "CREATE TABLE msprobe_tensor (step INTEGER NOT NULL, rank INTEGER NOT NULL, node_name TEXT NOT NULL, place TEXT NOT NULL, \
          row_name TEXT NOT NULL, largest_at TEXT, equal REAL NOT NULL, target_nan INTEGER NOT NULL, golden_nan INTEGER NOT NULL, \
          target_inf INTEGER NOT NULL, golden_inf INTEGER NOT NULL, ulp REAL NOT NULL, \
          PRIMARY KEY (step, rank, node_name, place, row_name)) WITHOUT ROWID",
    key: 5,
};

/// Where each rank first parts. `kind` is `first_difference`, `first_verdict`, `first_overflow`, `golden_overflow`, `nearest_miss`,
/// or with `position` from 0 `runner_up`, `flows_into`; `detail` is the object of that name in the answer (`docs/report.schema.json`). Of
/// `runner_ups` it is their number: all are there, not only those that are shown.
pub static DIVERGENCE: Table = Table {
    name: "msprobe_divergence",
    sql: "CREATE TABLE msprobe_divergence (step INTEGER NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, position INTEGER NOT NULL, \
          node_name TEXT, node_order INTEGER, detail TEXT NOT NULL, PRIMARY KEY (step, rank, kind, position)) WITHOUT ROWID",
    key: 4,
};

/// Relative error of results along the execution order, `half` is `forward` or `backward`. Three JSON lists of one length:
/// the order of the worst of each `nodes_per_point` nodes, its error (null: beyond any number), and what counts as noise there.
pub static DRIFT: Table = Table {
    name: "msprobe_drift",
    sql: "CREATE TABLE msprobe_drift (step INTEGER NOT NULL, rank INTEGER NOT NULL, half TEXT NOT NULL, nodes_per_point INTEGER NOT NULL, \
          node_order TEXT NOT NULL, error TEXT NOT NULL, noise TEXT NOT NULL, PRIMARY KEY (step, rank, half)) WITHOUT ROWID",
    key: 3,
};

/// How each node was matched, and how the nodes below it fared (the node itself left out). Nodes without a partner and
/// without children have no row.
pub(crate) const NODE_SQL: &str = "CREATE TABLE msprobe_node (step INTEGER NOT NULL, rank INTEGER NOT NULL, data_source TEXT NOT NULL, \
    node_order INTEGER NOT NULL, matched_by TEXT, error INTEGER, warning INTEGER, pass INTEGER, not_compared INTEGER, \
    unmatched INTEGER, worst_overflow TEXT, PRIMARY KEY (step, rank, data_source, node_order)) WITHOUT ROWID";

/// Changes made by hand, the last of which can be taken back; numbers rise.
pub(crate) const EDIT_SQL: &str = "CREATE TABLE IF NOT EXISTS msprobe_edit (edit INTEGER PRIMARY KEY, \
    step INTEGER NOT NULL, rank INTEGER NOT NULL, what TEXT NOT NULL, subject TEXT NOT NULL)";

/// What the nodes of each change were before it.
pub(crate) const BEFORE_SQL: &str = "CREATE TABLE IF NOT EXISTS msprobe_before (edit INTEGER NOT NULL, data_source TEXT NOT NULL, \
    node_name TEXT NOT NULL, precision_index, matched_node_link TEXT, input_data TEXT, output_data TEXT, modified INTEGER NOT NULL, \
    matched_by TEXT, PRIMARY KEY (edit, data_source, node_name)) WITHOUT ROWID";
