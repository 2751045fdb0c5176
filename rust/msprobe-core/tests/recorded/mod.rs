//! Results recorded from msProbe 26.2, and our tree in the same form, for comparing the two.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bumpalo::Bump;
use msprobe_core::dump::RankFiles;
use msprobe_core::graph::{Graph, NodeId};
use msprobe_core::matching::{LinkWriter, NodeMatch};
use msprobe_core::{name, overflow};
use serde_json::Value;

/// What one node of a result says about the tree. JSON-typed columns hold their exact text.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeNode {
    pub name: String,
    pub kind: String,
    pub up: String,
    pub sub: String,
    pub micro_step: i64,
    pub is_distributed: i64,
    pub stack: Option<String>,
    pub link: String,
    pub level: Option<String>,
}

/// The nodes of one graph in their order.
pub type Tree = Vec<TreeNode>;

/// Step, rank and source (`NPU`, `Bench`) of a graph.
pub type GraphKey = (i64, i64, String);

/// The rows of a table of a recorded result, as objects.
pub fn rows(result: &Value, table: &str) -> Vec<Value> {
    let table = &result["tables"][table];
    let columns: Vec<&str> = table["columns"].as_array().unwrap().iter().map(|column| column.as_str().unwrap()).collect();
    let row = |row: &Value| columns.iter().zip(row.as_array().unwrap()).map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    table["rows"].as_array().unwrap().iter().map(|r| Value::Object(row(r))).collect()
}

/// The graphs in recorded rows of `tb_nodes` and `tb_stack`.
pub fn trees(nodes: &[Value], stacks: &[Value]) -> BTreeMap<GraphKey, Tree> {
    let stack_of: BTreeMap<&str, Option<&str>> = stacks.iter().map(|row| (text(row, "id"), row["stack_info"].as_str())).collect();
    let mut trees: BTreeMap<GraphKey, Vec<(i64, TreeNode)>> = BTreeMap::new();
    for row in nodes {
        let node = TreeNode {
            name: text(row, "node_name").to_owned(),
            kind: text(row, "node_type").to_owned(),
            up: text(row, "up_node").to_owned(),
            sub: text(row, "sub_nodes").to_owned(),
            micro_step: number(row, "micro_step_id"),
            is_distributed: number(row, "is_distributed"),
            stack: stack_of[text(row, "stack_id")].map(str::to_owned),
            link: text(row, "matched_node_link").to_owned(),
            level: row["overflow_level"].as_str().map(str::to_owned),
        };
        let key = (number(row, "step"), number(row, "rank"), text(row, "data_source").to_owned());
        trees.entry(key).or_default().push((number(row, "node_order"), node));
    }
    let sorted = |mut tree: Vec<(i64, TreeNode)>| {
        tree.sort_by_key(|(order, _)| *order);
        assert!(tree.iter().enumerate().all(|(at, (order, _))| at as i64 == *order));
        tree.into_iter().map(|(_, node)| node).collect()
    };
    trees.into_iter().map(|(key, tree)| (key, sorted(tree))).collect()
}

fn text<'a>(row: &'a Value, column: &str) -> &'a str {
    row[column].as_str().unwrap_or_else(|| panic!("{column} of {row}"))
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("{column} of {row}"))
}

/// Our tree in the recorded form, without links and levels.
pub fn our_tree(files: &RankFiles, graph: &Graph<'_>) -> Tree {
    let node = |&id: &NodeId| {
        let node = &graph[id];
        let children: Vec<&str> = graph.children(id).iter().map(|&child| graph[child].name()).collect();
        TreeNode {
            name: node.name().to_owned(),
            kind: node.kind().as_str().to_owned(),
            up: node.parent().map_or(String::new(), |parent| graph[parent].name().to_owned()),
            sub: if children.is_empty() { String::new() } else { json_list(&children) },
            micro_step: node.micro_step(),
            is_distributed: i64::from(name::is_distributed(node.name())),
            stack: node.stack().stored(&files.stack).map(std::borrow::Cow::into_owned),
            link: "[]".to_owned(),
            level: None,
        }
    };
    graph.order().iter().map(node).collect()
}

/// A list of texts as the result stores it.
pub fn json_list(texts: &[&str]) -> String {
    let mut out = b"[".to_vec();
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        msprobe_core::text::json::push_string(&mut out, text);
    }
    out.push(b']');
    String::from_utf8(out).unwrap()
}

/// Writes the levels into a tree.
pub fn add_levels(tree: &mut Tree, files: &RankFiles, graph: &Graph<'_>) {
    let mut bump = Bump::new();
    for (node, &id) in tree.iter_mut().zip(graph.order()) {
        bump.reset();
        if let Some(entry) = graph[id].entry() {
            let entry = files.dump.entry(entry, &bump).unwrap();
            node.level = overflow::level(&node.name, &entry).map(|level| level.as_str().to_owned());
        }
    }
}

/// Writes the links into the trees of the target and the golden graph.
pub fn add_links(graphs: [&Graph<'_>; 2], trees: [&mut Tree; 2], matched: &NodeMatch) {
    let [target, golden] = graphs;
    let [target_tree, golden_tree] = trees;
    let mut writer = LinkWriter::default();
    for (node, &id) in target_tree.iter_mut().zip(target.order()) {
        if let Some(partner) = matched.golden_of(id) {
            node.link = link(&mut writer, golden, partner);
        }
    }
    let mut writer = LinkWriter::default();
    for (node, &id) in golden_tree.iter_mut().zip(golden.order()) {
        if let Some(partner) = matched.target_of(id) {
            node.link = link(&mut writer, target, partner);
        }
    }
}

fn link(writer: &mut LinkWriter, graph: &Graph<'_>, node: NodeId) -> String {
    let mut out = Vec::new();
    writer.push(graph, node, &mut out);
    String::from_utf8(out).unwrap()
}

/// The rank folders below `input`, with the step and the rank that their names tell (0 where they tell none).
pub fn rank_folders(input: &Path) -> Vec<(i64, i64, PathBuf)> {
    let mut found = Vec::new();
    let mut waiting = vec![input.to_owned()];
    while let Some(folder) = waiting.pop() {
        if folder.join("dump.json").is_file() {
            let told = |path: Option<&Path>, word: &str| {
                let name = path.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
                name.strip_prefix(word).and_then(|digits| digits.parse().ok()).unwrap_or(0)
            };
            found.push((told(folder.parent(), "step"), told(Some(&folder), "rank"), folder));
            continue;
        }
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            }
        }
    }
    found
}

/// Takes all other nodes out of a tree, also where they are named as children.
pub fn only_names(tree: &mut Tree, names: &BTreeSet<String>) {
    tree.retain(|node| names.contains(&node.name));
    for node in tree.iter_mut().filter(|node| !node.sub.is_empty()) {
        let children: Vec<String> = serde_json::from_str(&node.sub).unwrap();
        let left: Vec<&str> = children.iter().filter(|child| names.contains(*child)).map(String::as_str).collect();
        node.sub = if left.is_empty() { String::new() } else { json_list(&left) };
    }
}

/// Fails with the first lines in which two trees differ.
pub fn assert_same(what: &str, expected: &[TreeNode], ours: &[TreeNode]) {
    for (at, (e, o)) in expected.iter().zip(ours).enumerate() {
        assert!(e == o, "{what}: node {at}\nexpected {e:#?}\nours     {o:#?}");
    }
    let names = |tree: &[TreeNode]| tree.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(expected), names(ours), "{what}");
}
