//! One node, from its entry to its row.

use bumpalo::Bump;

use super::columns::{push_row, Shown};
use super::compare::{compare_rows, Numbers, RowResult};
use super::stacks::StackNumbers;
use super::tensors::{log_lines, Asked, TensorFolders, TensorRow};
use super::{told, Error, Hooks, Part, PartSide};
use crate::dump::rows::{collect_rows, Row, RowClass};
use crate::facts::NodeFacts;
use crate::graph::{Graph, NodeId};
use crate::matching::{pair_rows, How, LinkWriter, Pairs};
use crate::metrics::tensor::Batch;
use crate::metrics::Mode;
use crate::name::{self, NodeKind};
use crate::overflow;
use crate::text::json;
use crate::verdict::{Rules, Verdict};
use crate::visdb::{EncodedNodes, GraphKey, MatchedBy, NodeHead, NodeResult, OverflowLevel, Side, Task};

/// One graph of a part, ready to be rendered; shared by the workers.
pub(super) struct Scene<'a> {
    part: &'a Part<'a>,
    side: Side,
    own: &'a PartSide<'a>,
    /// The other graph, in a comparison.
    other: Option<&'a Graph<'a>>,
    stacks: &'a StackNumbers<'a>,
    md5_shown: bool,
    tensors: Option<TensorFolders>,
    /// What is compared, if somebody follows.
    followed: Option<Task>,
}

/// What a worker keeps from node to node.
#[derive(Default)]
pub(super) struct Scratch {
    bump: Bump,
    results: Vec<RowResult>,
    pairs: Pairs,
    links: LinkWriter,
    batch: Batch,
}

/// A golden parameter that no target parameter faces.
pub(super) struct Surplus {
    pub node: NodeId,
    pub row: String,
}

/// What is said of nodes beside their rows.
#[derive(Default)]
pub(super) struct Beside {
    pub surplus: Vec<Surplus>,
    pub tensors: Vec<TensorRow>,
    pub log: Vec<String>,
    /// Pairs of tensor files that could not be compared.
    pub tensors_not_compared: u64,
}

/// What the node's row says, for those who count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub verdict: Option<Verdict>,
    pub level: Option<OverflowLevel>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(part: &'a Part<'a>, side: Side, stacks: &'a StackNumbers<'a>, followed: Option<Task>) -> Self {
        let golden = part.golden.as_ref();
        let (own, other) = match side {
            Side::Target => (&part.target, golden.map(|g| g.side.graph)),
            Side::Golden => (golden.map_or(&part.target, |g| &g.side), Some(part.target.graph)),
        };
        let md5_shown = match golden {
            Some(golden) => golden.mode == Mode::Md5,
            None => own.files.dump.has_md5(),
        };
        let tensors = golden.filter(|golden| golden.mode == Mode::Tensor && side == Side::Target);
        let tensors = tensors.map(|golden| TensorFolders::beside(own.files.dir(), golden.side.files.dir()));
        Scene { part, side, own, other, stacks, md5_shown, tensors, followed }
    }

    pub(super) fn graph(&self) -> &'a Graph<'a> {
        self.own.graph
    }

    pub(super) fn key(&self) -> GraphKey<'a> {
        GraphKey {
            step: self.part.step,
            rank: self.part.rank,
            side: self.side,
            compared: self.part.golden.is_some(),
            dump_data_dir: self.own.dump_data_dir,
        }
    }

    /// What the caller hangs in.
    pub(super) fn hooks(&self) -> Hooks<'a> {
        self.part.hooks
    }

    /// Step and rank.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.part.step, self.part.rank)
    }

    /// The node that `id` faces, and how that was found.
    fn partner(&self, id: NodeId) -> Option<(NodeId, How)> {
        let matched = self.part.golden.as_ref()?.matched;
        match self.side {
            Side::Target => Some((matched.golden_of(id)?, matched.how(id)?)),
            Side::Golden => matched.target_of(id).and_then(|target| Some((target, matched.how(target)?))),
        }
    }

    /// Whether somebody wants to know what the nodes tell.
    pub(super) fn is_followed(&self) -> bool {
        self.followed.is_some()
    }

    /// What a node tells without its rows and its verdict.
    pub(super) fn facts(&self, id: NodeId) -> NodeFacts {
        let graph = self.own.graph;
        let node = &graph[id];
        let mut facts = NodeFacts {
            order: node.position(),
            is_api: node.kind() == NodeKind::Api,
            is_collection: node.kind() == NodeKind::Collection,
            micro_step: node.micro_step() as u32,
            is_distributed: name::is_distributed(node.name()),
            ..NodeFacts::new(node.name(), node.parent().map_or("", |parent| graph[parent].name()))
        };
        if let (Some((partner, _)), Some(other)) = (self.partner(id), self.other) {
            facts.face(node.name(), other[partner].name());
        }
        facts
    }

    /// Whether nodes cost as much as their tensors.
    pub(super) fn reads_tensors(&self) -> bool {
        self.tensors.is_some()
    }

    /// Appends the row of a node whose verdict is its own.
    pub(super) fn push_node(
        &self,
        id: NodeId,
        scratch: &mut Scratch,
        batch: &mut EncodedNodes,
        beside: &mut Beside,
        facts: &mut Vec<NodeFacts>,
    ) -> Result<Outcome, Error> {
        let Scratch { bump, results, pairs, links, batch: asked } = scratch;
        bump.reset();
        let graph = self.own.graph;
        let node = &graph[id];
        let partner = self.partner(id);
        let entry = node.entry().map(|entry| self.own.files.dump.entry(entry, bump)).transpose()?;
        let rows = entry.map(|entry| collect_rows(node.name(), entry, bump));
        let rows: &[Row<'_>] = rows.as_deref().unwrap_or_default();
        let mut outcome = Outcome::default();
        if let Some(entry) = entry.as_ref().filter(|_| self.part.overflow_check) {
            outcome.level = overflow::level(node.name(), entry);
        }
        results.clear();
        let mut golden_rows = None;
        let mode =
            self.compare(id, partner.map(|(id, _)| id), rows, &mut golden_rows, bump, pairs, results, asked, beside, &mut outcome)?;

        let mut writer = batch.begin(&self.head(id, partner.map(|(_, how)| how)));
        self.push_children(id, writer.sub_nodes());
        if let (Some((partner, _)), Some(other)) = (partner, self.other) {
            links.push(other, partner, writer.matched_node_link());
        }
        let columns = if self.tensors.is_some() { self.part.hooks.columns() } else { &[] };
        let shown = Shown { md5: self.md5_shown, batched_p2p: node.name().contains("batch_isend_irecv"), columns };
        let compared = |index: usize| mode.and_then(|mode| results.get(index).map(|result| (mode, result)));
        let each = || rows.iter().enumerate().map(|(index, row)| (row, compared(index)));
        push_rows(writer.input_data(), shown, each().filter(|(row, _)| row.class != RowClass::Output));
        push_rows(writer.output_data(), shown, each().filter(|(row, _)| row.class == RowClass::Output));
        writer.end(result(outcome));
        if let Some(task) = self.followed {
            let mut told = self.facts(id);
            told.verdict = told::verdict(outcome.verdict);
            told.overflow = outcome.level;
            for outputs in [false, true] {
                for (row, compared) in each().filter(|(row, _)| (row.class == RowClass::Output) == outputs) {
                    told::push_row(&mut told, node.name(), row, outputs, compared.map(|(_, result)| result), task);
                }
            }
            if told.may_widen() {
                told.widen(golden_rows.as_deref().map_or(0.0, told::coarsest));
            }
            facts.push(told);
        }
        Ok(outcome)
    }

    /// Appends the row of a collection, which has the worst verdict of its members.
    pub(super) fn push_collection(&self, id: NodeId, links: &mut LinkWriter, outcome: Outcome, batch: &mut EncodedNodes) {
        let partner = self.partner(id);
        let mut writer = batch.begin(&self.head(id, partner.map(|(_, how)| how)));
        self.push_children(id, writer.sub_nodes());
        if let (Some((partner, _)), Some(other)) = (partner, self.other) {
            links.push(other, partner, writer.matched_node_link());
        }
        writer.end(result(outcome));
    }

    fn head(&self, id: NodeId, how: Option<How>) -> NodeHead<'a> {
        let graph = self.own.graph;
        let node = &graph[id];
        NodeHead {
            order: node.position(),
            name: node.name(),
            kind: node.kind(),
            up_node: node.parent().map_or("", |parent| graph[parent].name()),
            children: graph.children(id).len() as u32,
            micro_step: node.micro_step() as u32,
            stack: self.stacks.number(node.stack()),
            is_distributed: name::is_distributed(node.name()),
            matched_by: how.map(stored_way),
        }
    }

    fn push_children(&self, id: NodeId, out: &mut Vec<u8>) {
        let children = self.own.graph.children(id);
        for (index, &child) in children.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"[" } else { b", " });
            json::push_string(out, self.own.graph[child].name());
        }
        if !children.is_empty() {
            out.push(b']');
        }
    }

    /// Compares the rows of a target node with those of its partner. Returns the mode when the rows get columns.
    #[allow(clippy::too_many_arguments)]
    fn compare<'b>(
        &self,
        id: NodeId,
        partner: Option<NodeId>,
        rows: &[Row<'b>],
        golden_rows: &mut Option<bumpalo::collections::Vec<'b, Row<'b>>>,
        bump: &'b Bump,
        pairs: &mut Pairs,
        results: &mut Vec<RowResult>,
        batch: &mut Batch,
        beside: &mut Beside,
        outcome: &mut Outcome,
    ) -> Result<Option<Mode>, Error>
    where
        'a: 'b,
    {
        let (Side::Target, Some(golden), Some(partner)) = (self.side, &self.part.golden, partner) else { return Ok(None) };
        if golden.mode == Mode::Structure {
            return Ok(None);
        }
        let name = golden.side.graph[partner].name();
        let entry = golden.side.graph[partner].entry().map(|entry| golden.side.files.dump.entry(entry, bump)).transpose()?;
        *golden_rows = entry.map(|entry| collect_rows(name, entry, bump));
        let golden_rows: &[Row<'_>] = golden_rows.as_deref().unwrap_or_default();
        pair_rows(rows, golden_rows, pairs);
        // An input and an output may have the same name; one row of our table stands for both.
        let mut seen = hashbrown::HashSet::new();
        let names = pairs.surplus().iter().map(|&index| golden_rows[index].name).filter(|name| seen.insert(*name));
        beside.surplus.extend(names.map(|name| Surplus { node: id, row: name.to_owned() }));
        let rules = Rules { mode: golden.mode, merged: false, cross_framework: golden.cross_framework };
        let asked = self.part.hooks.algorithms.filter(|_| self.tensors.is_some()).map(|algorithms| Asked::new(algorithms, batch));
        outcome.verdict = compare_rows(rules, self.tensors.as_ref(), asked, rows, golden_rows, pairs, results);
        for ((row, result), partner) in rows.iter().zip(&*results).zip(pairs.golden_of()) {
            if let Numbers::Tensor(found) = &result.numbers {
                beside.tensors.extend(TensorRow::new(id, row, found));
                beside.tensors_not_compared += u64::from(partner.is_some() && found.extra.is_none() && found.reason.is_some());
                if self.part.hooks.tensor_log.is_some() {
                    beside.log.extend(log_lines(row.name, found, self.part.hooks.columns()));
                }
            }
        }
        if outcome.verdict.is_some() && name::is_uninitialised_memory(self.own.graph[id].name()) {
            outcome.verdict = Some(Verdict::Pass);
        }
        Ok(Some(golden.mode))
    }

    /// Whether the verdict of `id` comes from its members.
    pub(super) fn is_collection(&self, id: NodeId) -> bool {
        self.own.graph[id].kind() == NodeKind::Collection
    }
}

fn push_rows<'r>(out: &mut Vec<u8>, shown: Shown<'_>, rows: impl Iterator<Item = (&'r Row<'r>, Option<(Mode, &'r RowResult)>)>) {
    let start = out.len();
    for (row, compared) in rows {
        out.extend_from_slice(if out.len() == start { b"{" } else { b", " });
        push_row(out, row, shown, compared);
    }
    if out.len() > start {
        out.push(b'}');
    }
}

fn result(outcome: Outcome) -> NodeResult {
    NodeResult { precision_index: outcome.verdict, overflow_level: outcome.level }
}

fn stored_way(how: How) -> MatchedBy {
    match how {
        How::SamePlace | How::SameName => MatchedBy::Name,
        How::Fuzzy => MatchedBy::Fuzzy,
        How::Mapping => MatchedBy::Mapping,
        How::Alignment => MatchedBy::Alignment,
    }
}
