//! One part while it is being written: what its indexes need of each node, kept until the part is complete.

use std::io;

use super::rollup::Counts;
use super::Indexes;
use crate::text::message::quoted;
use crate::visdb::bulk::index::Run;
use crate::visdb::bulk::output::Output;
use crate::visdb::bulk::record::{integer_serial, push_integer, push_record, push_varint, text_serial, Cell};
use crate::visdb::node::{graph_id, EncodedNode};
use crate::visdb::sort::Texts;
use crate::visdb::values::{MatchedBy, Side};

/// A node that waits for its parent.
#[derive(Debug)]
struct Waiting {
    counts: Counts,
    /// Position of the parent's name in [`Graph::parents`].
    parent: u32,
}

/// One graph of the part.
#[derive(Debug)]
pub(super) struct Graph {
    compared: bool,
    /// Rowid of the first node; the others follow without a gap.
    first_rowid: i64,
    names: Texts,
    /// Names of parents; one for all children of a node when they come in post-order.
    parents: Texts,
    parent_of: Vec<u32>,
    distributed: Vec<u32>,
    matched_by: Vec<Option<MatchedBy>>,
    /// Order and subtree (itself left out) of every node with children.
    subtrees: Vec<(u32, Counts)>,
    waiting: Vec<Waiting>,
}

impl Graph {
    pub(super) fn new(compared: bool, first_rowid: i64) -> Self {
        Graph {
            compared,
            first_rowid,
            names: Texts::default(),
            parents: Texts::default(),
            parent_of: Vec::new(),
            distributed: Vec::new(),
            matched_by: Vec::new(),
            subtrees: Vec::new(),
            waiting: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Rowid that the next node must get.
    pub(super) fn next_rowid(&self) -> i64 {
        self.first_rowid + self.len() as i64
    }

    fn rowid(&self, order: u32) -> i64 {
        self.first_rowid + i64::from(order)
    }

    /// Notes a node; the error is a reason.
    pub(super) fn push(&mut self, node: &EncodedNode, bytes: &[u8]) -> Result<(), String> {
        let name = &bytes[node.name.clone()];
        if node.order as usize != self.names.len() {
            return Err(format!(
                "node {} has node_order {} at position {}",
                quoted(&String::from_utf8_lossy(name)),
                node.order,
                self.names.len()
            ));
        }
        let mut below = Counts::default();
        let Some(first_child) = self.waiting.len().checked_sub(node.children as usize) else {
            return Err(format!("node {} comes before its children", quoted(&String::from_utf8_lossy(name))));
        };
        for child in self.waiting.drain(first_child..) {
            below.add(&child.counts);
        }
        if node.children > 0 {
            self.subtrees.push((node.order, below));
        }
        below.add(&Counts::of(node));
        let up_node = &bytes[node.up_node.clone()];
        let parent = match self.waiting.last() {
            Some(sibling) if self.parents.get(sibling.parent as usize) == up_node => sibling.parent,
            _ => {
                self.parents.push(up_node);
                self.parents.len() as u32 - 1
            }
        };
        self.waiting.push(Waiting { counts: below, parent });
        self.parent_of.push(parent);
        self.names.push(name);
        self.matched_by.push(node.matched_by);
        if node.is_distributed {
            self.distributed.push(node.order);
        }
        Ok(())
    }

    /// All nodes added up.
    pub(super) fn totals(&self) -> Counts {
        let mut totals = Counts::default();
        self.waiting.iter().for_each(|w| totals.add(&w.counts));
        totals
    }

    /// Positions by name; the error is a reason.
    pub(super) fn by_name(&self) -> Result<Vec<u32>, String> {
        let order = self.names.sorted();
        for pair in order.windows(2) {
            let name = self.names.get(pair[0] as usize);
            if name == self.names.get(pair[1] as usize) {
                return Err(format!("two nodes are named {}", quoted(&String::from_utf8_lossy(name))));
            }
        }
        Ok(order)
    }

    /// Positions by the parent's name, then by position.
    fn by_parent(&self) -> Vec<u32> {
        let sorted = self.parents.sorted();
        // Equal names that were noted twice share one place.
        let mut place = vec![0u32; sorted.len()];
        let mut places = 0;
        for (i, &parent) in sorted.iter().enumerate() {
            if i > 0 && self.parents.get(parent as usize) != self.parents.get(sorted[i - 1] as usize) {
                places += 1;
            }
            place[parent as usize] = places;
        }
        // Counting sort: where the children of each place begin.
        let mut next = vec![0u32; places as usize + 2];
        for &parent in &self.parent_of {
            next[place[parent as usize] as usize + 1] += 1;
        }
        for i in 1..next.len() {
            next[i] += next[i - 1];
        }
        let mut order = vec![0u32; self.parent_of.len()];
        for (position, &parent) in (0..).zip(&self.parent_of) {
            let slot = &mut next[place[parent as usize] as usize];
            order[*slot as usize] = position;
            *slot += 1;
        }
        order
    }
}

/// Beginning of an index record: the columns that all entries share.
#[derive(Clone, Debug, Default)]
struct Prefix {
    types: Vec<u8>,
    body: Vec<u8>,
}

impl Prefix {
    fn number(mut self, value: u64) -> Self {
        self.types.push(integer_serial(value as i64).0);
        push_integer(&mut self.body, value as i64);
        self
    }

    fn text(mut self, text: &str) -> Self {
        push_varint(&mut self.types, text_serial(text.len()));
        self.body.extend_from_slice(text.as_bytes());
        self
    }

    /// The entry `prefix, numbers.., rowid`.
    fn with_numbers(&self, entry: &mut Vec<u8>, numbers: &[i64]) {
        entry.clear();
        entry.push((1 + self.types.len() + numbers.len()) as u8);
        entry.extend_from_slice(&self.types);
        entry.extend(numbers.iter().map(|&n| integer_serial(n).0));
        entry.extend_from_slice(&self.body);
        for &number in numbers {
            push_integer(entry, number);
        }
    }

    /// The entry `prefix, lead + text, numbers.., rowid`.
    fn with_text(&self, entry: &mut Vec<u8>, lead: &[u8], text: &[u8], numbers: &[i64]) {
        entry.clear();
        entry.push(0);
        entry.extend_from_slice(&self.types);
        push_varint(entry, text_serial(lead.len() + text.len()));
        entry.extend(numbers.iter().map(|&n| integer_serial(n).0));
        entry[0] = entry.len() as u8;
        entry.extend_from_slice(&self.body);
        entry.extend_from_slice(lead);
        entry.extend_from_slice(text);
        for &number in numbers {
            push_integer(entry, number);
        }
    }
}

/// Appends the entries of a complete part to the indexes. `graphs` holds target and golden (each may be absent) with
/// their positions by name.
pub(super) fn append_entries(
    (step, rank): (u64, u64),
    graphs: &[(Side, &Graph, Vec<u32>)],
    indexes: &mut Indexes,
    output: &mut Output,
) -> io::Result<()> {
    let prefix = Prefix::default().number(step).number(rank);
    let mut entry = Vec::new();
    // `Bench` sorts before `NPU`, the target is written first.
    for (side, graph, by_name) in graphs.iter().rev() {
        append_of_side((step, rank), *side, graph, by_name, indexes, output)?;
    }
    // Keys without a side: both graphs interleave.
    let longest = graphs.iter().map(|g| g.1.len()).max().unwrap_or(0) as u32;
    for order in 0..longest {
        for (_, graph, _) in graphs.iter().filter(|g| (order as usize) < g.1.len()) {
            prefix.with_numbers(&mut entry, &[i64::from(order), graph.rowid(order)]);
            indexes.by_order.append(&entry, output)?;
        }
    }
    for (_, graph, _) in graphs {
        for &order in &graph.distributed {
            Prefix::default().with_numbers(&mut entry, &[1, graph.rowid(order)]);
            indexes.distributed.append(&entry, output)?;
        }
    }
    Ok(())
}

/// Index entries that tell the sides apart, and the rows of `msprobe_node`.
fn append_of_side(
    (step, rank): (u64, u64),
    side: Side,
    graph: &Graph,
    by_name: &[u32],
    indexes: &mut Indexes,
    output: &mut Output,
) -> io::Result<()> {
    let prefix = Prefix::default().number(step).number(rank).text(side.as_str());
    let mut entry = Vec::new();
    for position in graph.by_parent() {
        let up_node = graph.parents.get(graph.parent_of[position as usize] as usize);
        prefix.with_text(&mut entry, b"", up_node, &[i64::from(position), graph.rowid(position)]);
        indexes.by_parent.append(&entry, output)?;
    }
    let id = graph_id(side, step, rank) + "_";
    let mut by_id = Run::new();
    for &position in by_name {
        let name = graph.names.get(position as usize);
        prefix.with_text(&mut entry, b"", name, &[graph.rowid(position)]);
        indexes.by_name.append(&entry, output)?;
        Prefix::default().with_text(&mut entry, id.as_bytes(), name, &[graph.rowid(position)]);
        by_id.append(&entry, output)?;
    }
    indexes.by_id.push((id, by_id.close(output)?));
    for order in 0..graph.len() as u32 {
        prefix.with_numbers(&mut entry, &[i64::from(order), graph.rowid(order)]);
        indexes.by_side_and_order.append(&entry, output)?;
    }
    let mut subtrees = graph.subtrees.iter().peekable();
    for (order, matched_by) in (0..).zip(&graph.matched_by) {
        let subtree = subtrees.next_if(|s| s.0 == order).map(|s| s.1);
        // A single graph has nothing to count but overflows.
        let subtree = subtree.filter(|counts| graph.compared || counts.worst_overflow.is_some());
        if matched_by.is_none() && subtree.is_none() {
            continue;
        }
        entry.clear();
        let mut cells = [Cell::Null; 11];
        cells[0] = Cell::Integer(step as i64);
        cells[1] = Cell::Integer(rank as i64);
        cells[2] = side.as_str().into();
        cells[3] = Cell::Integer(i64::from(order));
        cells[4] = matched_by.map(MatchedBy::as_str).into();
        if let Some(counts) = subtree {
            cells[5..].copy_from_slice(&counts.cells());
            if !graph.compared {
                cells[5..10].fill(Cell::Null);
            }
        }
        push_record(&mut entry, &cells);
        indexes.facts.append(&entry, output)?;
    }
    Ok(())
}
