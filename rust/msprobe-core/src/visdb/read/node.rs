//! A stored node.

use std::borrow::Cow;

use rusqlite::types::ValueRef;
use rusqlite::Row;

use crate::name::NodeKind;

/// Columns in the order in which [`Node::from_row`] takes them.
pub(super) const COLUMNS: &str = "id, node_order, node_name, node_type, up_node, sub_nodes, precision_index, overflow_level, \
    micro_step_id, matched_node_link, stack_id, parallel_merge_info, matched_distributed, modified, is_distributed, dump_data_dir";

/// [`COLUMNS`] and the parameters.
pub(super) const ALL_COLUMNS: &str = "id, node_order, node_name, node_type, up_node, sub_nodes, precision_index, overflow_level, \
    micro_step_id, matched_node_link, stack_id, parallel_merge_info, matched_distributed, modified, is_distributed, dump_data_dir, \
    input_data, output_data";

/// A row of `tb_nodes`; texts are borrowed from SQLite while rows are streamed ([`NodeRef`]) and owned otherwise.
///
/// A NULL in a column of JSON text is given as the empty text, which means the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<S = String> {
    /// `<data_source>_<step>_<rank>_<node_name>`
    pub id: S,
    /// Position in depth-first post-order, from 0.
    pub order: i64,
    /// Name, unique within the graph.
    pub name: S,
    /// `0` module, `1` API, `9` collection; see [`Node::kind`].
    pub node_type: S,
    /// Name of the parent; empty for the root.
    pub up_node: S,
    /// JSON list of the names of the children; empty for a leaf.
    pub sub_nodes: S,
    /// 0 pass, 0.5 warning, 1 error (other files: any number); `None` when nothing was compared.
    pub precision_index: Option<f64>,
    /// `medium`, `high` or `critical`.
    pub overflow_level: Option<S>,
    /// Micro step, from 0.
    pub micro_step: i64,
    /// JSON list of names down to the partner; `[]` or empty when there is none.
    pub matched_node_link: S,
    /// Key of its stack.
    pub stack_id: S,
    /// JSON list of texts after a merge of ranks, else empty.
    pub parallel_merge_info: S,
    /// JSON object of communication partners.
    pub matched_distributed: S,
    /// Whether its match was changed by hand.
    pub modified: bool,
    /// Whether the name starts with `Distributed`.
    pub is_distributed: bool,
    /// Folder of the tensor files.
    pub dump_data_dir: Option<S>,
    /// JSON object of input rows; empty when the parameters were not asked for.
    pub input_data: S,
    /// JSON object of output rows; empty when the parameters were not asked for.
    pub output_data: S,
}

/// A node whose texts are borrowed.
pub type NodeRef<'a> = Node<&'a str>;

impl<S: AsRef<str>> Node<S> {
    /// Module, API or collection; `None` for a type that the reference does not write.
    pub fn kind(&self) -> Option<NodeKind> {
        [NodeKind::Module, NodeKind::Api, NodeKind::Collection].into_iter().find(|kind| kind.as_str() == self.node_type.as_ref())
    }

    /// Whether it has no children.
    pub fn is_leaf(&self) -> bool {
        matches!(self.sub_nodes.as_ref(), "" | "[]")
    }

    /// Names of the children, in order; `None` when the column is not valid.
    pub fn children(&self) -> Option<Vec<Cow<'_, str>>> {
        names(self.sub_nodes.as_ref())
    }

    /// Name of the partner on the other side.
    pub fn partner(&self) -> Option<Cow<'_, str>> {
        names(self.matched_node_link.as_ref())?.pop()
    }
}

impl NodeRef<'_> {
    /// The node with texts of its own.
    #[must_use]
    pub fn to_node(&self) -> Node {
        Node {
            id: self.id.to_owned(),
            order: self.order,
            name: self.name.to_owned(),
            node_type: self.node_type.to_owned(),
            up_node: self.up_node.to_owned(),
            sub_nodes: self.sub_nodes.to_owned(),
            precision_index: self.precision_index,
            overflow_level: self.overflow_level.map(str::to_owned),
            micro_step: self.micro_step,
            matched_node_link: self.matched_node_link.to_owned(),
            stack_id: self.stack_id.to_owned(),
            parallel_merge_info: self.parallel_merge_info.to_owned(),
            matched_distributed: self.matched_distributed.to_owned(),
            modified: self.modified,
            is_distributed: self.is_distributed,
            dump_data_dir: self.dump_data_dir.map(str::to_owned),
            input_data: self.input_data.to_owned(),
            output_data: self.output_data.to_owned(),
        }
    }
}

impl<'a> NodeRef<'a> {
    /// Reads a row of [`COLUMNS`] or [`ALL_COLUMNS`].
    pub(super) fn from_row(row: &'a Row<'_>, with_parameters: bool) -> Result<Self, BadCell> {
        Ok(Node {
            id: text(row, 0)?,
            order: integer(row, 1)?,
            name: text(row, 2)?,
            node_type: text(row, 3)?,
            up_node: text(row, 4)?,
            sub_nodes: text(row, 5)?,
            precision_index: real(row, 6)?,
            overflow_level: text_or_null(row, 7)?,
            micro_step: integer(row, 8)?,
            matched_node_link: text(row, 9)?,
            stack_id: text(row, 10)?,
            parallel_merge_info: text(row, 11)?,
            matched_distributed: text(row, 12)?,
            modified: integer(row, 13)? != 0,
            is_distributed: integer(row, 14)? != 0,
            dump_data_dir: text_or_null(row, 15)?,
            input_data: if with_parameters { text(row, 16)? } else { "" },
            output_data: if with_parameters { text(row, 17)? } else { "" },
        })
    }
}

/// Name of the partner that a `matched_node_link` leads to.
pub(crate) fn partner_of(link: &str) -> Option<Cow<'_, str>> {
    // A link holds the whole way down. Its end alone is read where that needs no unescaping.
    let end = link.strip_suffix("\"]").and_then(|names| names.rsplit_once('"'));
    match end {
        Some((before, name)) if !before.ends_with('\\') && !name.contains('\\') => Some(Cow::Borrowed(name)),
        _ => names(link)?.pop(),
    }
}

/// A JSON list of texts; the empty text is an empty list.
fn names(json: &str) -> Option<Vec<Cow<'_, str>>> {
    if json.is_empty() {
        return Some(Vec::new());
    }
    serde_json::from_str::<Vec<Borrowed<'_>>>(json).ok().map(|names| names.into_iter().map(|n| n.0).collect())
}

/// A text without a copy unless it has escapes.
#[derive(serde::Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

/// A cell that holds something else than its column is for.
#[derive(Debug)]
pub(super) enum BadCell {
    /// Position of the column and what was expected.
    Kind(usize, &'static str),
    /// SQLite failed.
    Sqlite(rusqlite::Error),
}

fn cell<'a>(row: &'a Row<'_>, column: usize) -> Result<ValueRef<'a>, BadCell> {
    row.get_ref(column).map_err(BadCell::Sqlite)
}

pub(super) fn text_or_null<'a>(row: &'a Row<'_>, column: usize) -> Result<Option<&'a str>, BadCell> {
    match cell(row, column)? {
        ValueRef::Null => Ok(None),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).map(Some).map_err(|_| BadCell::Kind(column, "UTF-8 text")),
        _ => Err(BadCell::Kind(column, "a text")),
    }
}

pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, BadCell> {
    text_or_null(row, column).map(Option::unwrap_or_default)
}

/// An integer; NULL is 0.
pub(super) fn integer(row: &Row<'_>, column: usize) -> Result<i64, BadCell> {
    match cell(row, column)? {
        ValueRef::Null => Ok(0),
        ValueRef::Integer(value) => Ok(value),
        _ => Err(BadCell::Kind(column, "an integer")),
    }
}

fn real(row: &Row<'_>, column: usize) -> Result<Option<f64>, BadCell> {
    match cell(row, column)? {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(value) => Ok(Some(value as f64)),
        ValueRef::Real(value) => Ok(Some(value)),
        _ => Err(BadCell::Kind(column, "a number")),
    }
}
