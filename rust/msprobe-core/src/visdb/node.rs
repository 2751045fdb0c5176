//! Rows of `tb_nodes`, encoded to SQLite records by the workers that make them.
//!
//! An [`EncodedNodes`] is a chunk of consecutive nodes of one graph. The long texts are rendered straight into its buffer,
//! so the bulk of the bytes is written once here and copied once more, into its page, by the writer:
//!
//! ```
//! use msprobe_core::name::NodeKind;
//! use msprobe_core::visdb::{EncodedNodes, GraphKey, NodeHead, NodeResult, Side};
//!
//! let graph = GraphKey { step: 0, rank: 3, side: Side::Target, compared: true, dump_data_dir: None };
//! let mut batch = EncodedNodes::new(&graph);
//! let head = NodeHead { order: 0, name: "Torch.add.0.forward", kind: NodeKind::Api, up_node: "DefaultModel", ..NodeHead::default() };
//! let mut row = batch.begin(&head);
//! row.matched_node_link().extend_from_slice(b"[\"DefaultModel\", \"Torch.add.0.forward\"]");
//! row.input_data().extend_from_slice(b"{}");
//! row.end(NodeResult::default());
//! assert_eq!(batch.len(), 1);
//! ```

use std::ops::Range;

use super::bulk::record::{integer_serial, push_integer, put_varint, text_serial, MAX_VARINT};
use super::values::{MatchedBy, OverflowLevel, Side, Verdict};
use crate::name::NodeKind;

/// What all nodes of one graph share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphKey<'a> {
    /// Number of the step folder, 0 without one. Below 2^63.
    pub step: u64,
    /// Number of the rank folder, 0 without one. Below 2^63.
    pub rank: u64,
    /// Target or golden.
    pub side: Side,
    /// Whether this is a comparison, so that nodes without a partner count as unmatched.
    pub compared: bool,
    /// Folder of the tensor files; empty text and NULL are both legal and differ.
    pub dump_data_dir: Option<&'a str>,
}

/// What is known of a node before its parameters are rendered.
#[derive(Clone, Copy, Debug)]
pub struct NodeHead<'a> {
    /// Position in depth-first post-order, from 0, without gaps.
    pub order: u32,
    /// Name, unique within the graph.
    pub name: &'a str,
    /// Module, API or collection.
    pub kind: NodeKind,
    /// Name of the parent, empty for the root.
    pub up_node: &'a str,
    /// Number of direct children, all of which have come before (post-order).
    pub children: u32,
    /// Micro step, from 0.
    pub micro_step: u32,
    /// Number of its stack in the graph, from 0 in order of first use.
    pub stack: u32,
    /// Whether the name starts with `Distributed`.
    pub is_distributed: bool,
    /// How the partner was found; `None` when there is no partner.
    pub matched_by: Option<MatchedBy>,
}

impl Default for NodeHead<'_> {
    fn default() -> Self {
        NodeHead {
            order: 0,
            name: "",
            kind: NodeKind::Module,
            up_node: "",
            children: 0,
            micro_step: 0,
            stack: 0,
            is_distributed: false,
            matched_by: None,
        }
    }
}

/// What is known of a node after its parameters are rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeResult {
    /// Verdict; `None` when nothing was compared, and on the golden side.
    pub precision_index: Option<Verdict>,
    /// Overflow level.
    pub overflow_level: Option<OverflowLevel>,
}

/// One node as the writer needs it: where its record and its texts are, and the keys of the indexes.
#[derive(Clone, Debug)]
pub(crate) struct EncodedNode {
    pub payload: Range<usize>,
    pub name: Range<usize>,
    pub up_node: Range<usize>,
    pub order: u32,
    pub children: u32,
    pub micro_step: u32,
    pub is_distributed: bool,
    pub matched_by: Option<MatchedBy>,
    pub result: NodeResult,
}

/// Header of the longest possible record (22 columns of at most 5 bytes and the header's own length) plus the body of
/// `precision_index` and `overflow_level`, which are known last but stand in the middle.
const ROOM: usize = 1 + 5 * COLUMNS + 8 + 8;
const COLUMNS: usize = 22;

/// Consecutive nodes of one graph, encoded.
#[derive(Clone, Debug)]
pub struct EncodedNodes {
    step: u64,
    rank: u64,
    side: Side,
    compared: bool,
    dump_data_dir: Option<Box<str>>,
    /// `<data_source>_<step>_<rank>`
    graph_id: Box<str>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) nodes: Vec<EncodedNode>,
}

impl EncodedNodes {
    /// An empty batch for nodes of `graph`.
    #[must_use]
    pub fn new(graph: &GraphKey<'_>) -> Self {
        EncodedNodes {
            step: graph.step,
            rank: graph.rank,
            side: graph.side,
            compared: graph.compared,
            dump_data_dir: graph.dump_data_dir.map(Box::from),
            graph_id: graph_id(graph.side, graph.step, graph.rank).into(),
            bytes: Vec::new(),
            nodes: Vec::new(),
        }
    }

    /// The graph this batch belongs to.
    #[must_use]
    pub fn graph(&self) -> GraphKey<'_> {
        let dump_data_dir = self.dump_data_dir.as_deref();
        GraphKey { step: self.step, rank: self.rank, side: self.side, compared: self.compared, dump_data_dir }
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of encoded bytes; a good moment to hand a batch over is a few hundred kilobytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets the nodes and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.nodes.clear();
    }

    /// Starts the next node. A row that is dropped without [`NodeWriter::end`] leaves nothing behind.
    pub fn begin(&mut self, head: &NodeHead<'_>) -> NodeWriter<'_> {
        let start = self.bytes.len();
        self.bytes.resize(start + ROOM, 0);
        let body = start + ROOM;
        self.bytes.extend_from_slice(self.graph_id.as_bytes());
        self.bytes.push(b'_');
        let name = self.bytes.len()..self.bytes.len() + head.name.len();
        self.bytes.extend_from_slice(head.name.as_bytes());
        let id_len = self.bytes.len() - body;
        self.bytes.extend_from_slice(self.graph_id.as_bytes());
        push_integer(&mut self.bytes, i64::from(head.order));
        self.bytes.extend_from_slice(head.name.as_bytes());
        self.bytes.extend_from_slice(head.kind.as_str().as_bytes());
        let up_node = self.bytes.len()..self.bytes.len() + head.up_node.len();
        self.bytes.extend_from_slice(head.up_node.as_bytes());
        let node = EncodedNode {
            payload: start..start,
            name,
            up_node,
            order: head.order,
            children: head.children,
            micro_step: head.micro_step,
            is_distributed: head.is_distributed,
            matched_by: head.matched_by,
            result: NodeResult::default(),
        };
        let mut types = [0; COLUMNS];
        types[0] = text_serial(id_len);
        types[1] = text_serial(self.graph_id.len());
        types[2] = integer_type(i64::from(head.order));
        types[3] = text_serial(head.name.len());
        types[4] = text_serial(head.kind.as_str().len());
        types[5] = text_serial(head.up_node.len());
        let open_since = self.bytes.len();
        NodeWriter { batch: self, start, node, types, column: SUB_NODES, open_since, split: 0, stack: head.stack, done: false }
    }
}

/// `<data_source>_<step>_<rank>`, the `graph_id` and the beginning of every id.
pub(crate) fn graph_id(side: Side, step: u64, rank: u64) -> String {
    format!("{}_{step}_{rank}", side.as_str())
}

fn integer_type(value: i64) -> u64 {
    u64::from(integer_serial(value).0)
}

const SUB_NODES: usize = 6;
const PRECISION_INDEX: usize = 7;
const OVERFLOW_LEVEL: usize = 8;
const MICRO_STEP_ID: usize = 9;
const MATCHED_NODE_LINK: usize = 10;
const STACK_ID: usize = 11;
const PARALLEL_MERGE_INFO: usize = 12;
const MATCHED_DISTRIBUTED: usize = 13;
const MODIFIED: usize = 14;
const INPUT_DATA: usize = 15;
const OUTPUT_DATA: usize = 16;
const DATA_SOURCE: usize = 17;

/// One node being written: each method opens one text column, whose text is what the caller appends (UTF-8, normally
/// JSON) until the next call. Call them in the order in which they stand here; a column that is left out gets the text
/// that stands for "nothing" (given with each method). Only append: what lies before belongs to other columns.
#[derive(Debug)]
pub struct NodeWriter<'a> {
    batch: &'a mut EncodedNodes,
    start: usize,
    node: EncodedNode,
    types: [u64; COLUMNS],
    /// Column that is open, counted from 0 in the order of the schema.
    column: usize,
    open_since: usize,
    /// End of `sub_nodes`, where `precision_index` and `overflow_level` belong.
    split: usize,
    stack: u32,
    done: bool,
}

impl NodeWriter<'_> {
    /// JSON list of the names of the children in order; left out: empty text (a leaf).
    pub fn sub_nodes(&mut self) -> &mut Vec<u8> {
        self.open(SUB_NODES)
    }

    /// JSON list of names from the other graph's root to the partner; left out: `[]`.
    pub fn matched_node_link(&mut self) -> &mut Vec<u8> {
        self.open(MATCHED_NODE_LINK)
    }

    /// JSON object of the input rows; left out: `{}`.
    pub fn input_data(&mut self) -> &mut Vec<u8> {
        self.open(INPUT_DATA)
    }

    /// JSON object of the output rows; left out: `{}`.
    pub fn output_data(&mut self) -> &mut Vec<u8> {
        self.open(OUTPUT_DATA)
    }

    /// Completes the node.
    pub fn end(mut self, result: NodeResult) {
        self.open(DATA_SOURCE);
        self.finish_tail();
        self.insert_result(result);
        self.node.result = result;
        self.done = true;
    }

    /// Closes the open column and all that lie before `column`.
    fn open(&mut self, column: usize) -> &mut Vec<u8> {
        assert!(self.column <= column, "columns of a node are written in the order of the schema");
        while self.column < column {
            self.close();
        }
        &mut self.batch.bytes
    }

    /// Closes the open column and writes the columns up to the next one that a caller may fill.
    fn close(&mut self) {
        let nothing: &[u8] = match self.column {
            MATCHED_NODE_LINK => b"[]",
            INPUT_DATA | OUTPUT_DATA => b"{}",
            _ => b"",
        };
        let out = &mut self.batch.bytes;
        if out.len() == self.open_since {
            out.extend_from_slice(nothing);
        }
        self.types[self.column] = text_serial(out.len() - self.open_since);
        match self.column {
            SUB_NODES => {
                self.split = out.len();
                let micro_step = i64::from(self.node.micro_step);
                push_integer(out, micro_step);
                self.types[MICRO_STEP_ID] = integer_type(micro_step);
                self.column = MATCHED_NODE_LINK;
            }
            MATCHED_NODE_LINK => {
                let from = out.len();
                push_stack_id(out, &self.batch.graph_id, self.stack);
                self.types[STACK_ID] = text_serial(out.len() - from);
                self.column = PARALLEL_MERGE_INFO;
            }
            PARALLEL_MERGE_INFO => {
                out.extend_from_slice(b"{}");
                self.types[MATCHED_DISTRIBUTED] = text_serial(2);
                self.types[MODIFIED] = integer_type(0);
                self.column = INPUT_DATA;
            }
            _ => self.column += 1,
        }
        self.open_since = self.batch.bytes.len();
    }

    /// Writes `data_source` and everything behind it.
    fn finish_tail(&mut self) {
        let batch = &mut *self.batch;
        let source = batch.side.as_str();
        batch.bytes.extend_from_slice(source.as_bytes());
        self.types[DATA_SOURCE] = text_serial(source.len());
        if let Some(folder) = &batch.dump_data_dir {
            batch.bytes.extend_from_slice(folder.as_bytes());
            self.types[18] = text_serial(folder.len());
        }
        let numbers = [batch.step as i64, batch.rank as i64, i64::from(self.node.is_distributed)];
        for (column, number) in (19..).zip(numbers) {
            push_integer(&mut batch.bytes, number);
            self.types[column] = integer_type(number);
        }
    }

    /// Puts the verdict into its place and the header before the body.
    ///
    /// The columns before the verdict (names, no parameters) move to the front when the verdict needs bytes of its own,
    /// which only warnings and overflowing nodes do.
    fn insert_result(&mut self, result: NodeResult) {
        let mut verdict = [0; 16];
        let mut len = 0;
        self.types[PRECISION_INDEX] = match result.precision_index {
            None => 0,
            Some(Verdict::Pass) => integer_type(0),
            Some(Verdict::Error) => integer_type(1),
            Some(Verdict::Warning) => {
                verdict[..8].copy_from_slice(&0.5f64.to_be_bytes());
                len = 8;
                7
            }
        };
        if let Some(level) = result.overflow_level {
            let text = level.as_str().as_bytes();
            verdict[len..len + text.len()].copy_from_slice(text);
            len += text.len();
            self.types[OVERFLOW_LEVEL] = text_serial(text.len());
        }
        let out = &mut self.batch.bytes;
        let mut body = self.start + ROOM;
        if len > 0 {
            out.copy_within(body..self.split, body - len);
            out[self.split - len..self.split].copy_from_slice(&verdict[..len]);
            body -= len;
            self.node.name = self.node.name.start - len..self.node.name.end - len;
            self.node.up_node = self.node.up_node.start - len..self.node.up_node.end - len;
        }
        let mut header = [0; 1 + COLUMNS * MAX_VARINT];
        let mut header_len = 1;
        for serial in self.types {
            header_len += put_varint(&mut header[header_len..], serial);
        }
        header[0] = header_len as u8;
        out[body - header_len..body].copy_from_slice(&header[..header_len]);
        self.node.payload = body - header_len..out.len();
    }
}

impl Drop for NodeWriter<'_> {
    fn drop(&mut self) {
        if self.done {
            self.batch.nodes.push(self.node.clone());
        } else {
            self.batch.bytes.truncate(self.start);
        }
    }
}

/// Appends `<data_source>_<step>_<rank>_<k>`.
pub(crate) fn push_stack_id(out: &mut Vec<u8>, graph_id: &str, k: u32) {
    out.extend_from_slice(graph_id.as_bytes());
    out.push(b'_');
    push_decimal(out, k);
}

fn push_decimal(out: &mut Vec<u8>, value: u32) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
