//! The nodes of one target graph with what lies below them, read once.

use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::visdb::{Detail, GraphId, Reader, Result, Side};

/// How a node fared, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    NotCompared,
    Pass,
    Warning,
    Error,
    Unmatched,
}

#[derive(Debug)]
pub(super) struct Node {
    pub name: String,
    pub status: Status,
    /// Name of the partner, where it is another one.
    pub partner: Option<String>,
    pub overflow: Option<&'static str>,
    pub children: Vec<u32>,
    pub parent: Option<u32>,
    /// Nodes in its subtree, itself included.
    pub size: u32,
    /// Below it: errors, warnings, unmatched nodes.
    pub below: [u32; 3],
}

impl Node {
    /// Whether nothing in its subtree is worth a look.
    pub(super) fn agrees(&self) -> bool {
        self.below == [0; 3] && !matches!(self.status, Status::Warning | Status::Error | Status::Unmatched) && self.overflow.is_none()
    }
}

/// One target graph, and the golden nodes that nothing faces.
#[derive(Debug)]
pub(super) struct Forest {
    pub nodes: Vec<Node>,
    /// Nodes without a parent in the file: the root, and what does not reach it.
    pub roots: Vec<u32>,
    /// The first golden nodes without a partner.
    pub golden_only: Vec<String>,
    pub golden_only_total: u64,
}

/// Golden nodes without a partner that are named.
const MOST_GOLDEN: usize = 500;

impl Forest {
    pub(super) fn read(reader: &Reader, step: u64, rank: u64, compared: bool) -> Result<Forest> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut parents: Vec<String> = Vec::new();
        reader.for_each_node(GraphId { step, rank, side: Side::Target }, Detail::Tree, None, |node| {
            let partner = node.partner();
            let status = match (compared, &partner, node.precision_index) {
                (false, ..) | (true, Some(_), None) => Status::NotCompared,
                (true, None, _) => Status::Unmatched,
                (true, Some(_), Some(index)) if index >= 0.6 => Status::Error,
                (true, Some(_), Some(index)) if index >= 0.3 => Status::Warning,
                (true, Some(_), Some(_)) => Status::Pass,
            };
            let overflow = node.overflow_level.and_then(|level| ["medium", "high", "critical"].into_iter().find(|known| *known == level));
            let partner = partner.filter(|partner| partner != node.name).map(std::borrow::Cow::into_owned);
            let name = node.name.to_owned();
            nodes.push(Node { name, status, partner, overflow, children: Vec::new(), parent: None, size: 1, below: [0; 3] });
            parents.push(node.up_node.to_owned());
            ControlFlow::Continue(())
        })?;
        let mut forest = Forest { nodes, roots: Vec::new(), golden_only: Vec::new(), golden_only_total: 0 };
        forest.link(&parents);
        if compared {
            reader.for_each_node(GraphId { step, rank, side: Side::Golden }, Detail::Tree, None, |node| {
                if node.partner().is_none() {
                    forest.golden_only_total += 1;
                    if forest.golden_only.len() < MOST_GOLDEN {
                        forest.golden_only.push(node.name.to_owned());
                    }
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(forest)
    }

    /// Finds parents and adds up what lies below.
    fn link(&mut self, parents: &[String]) {
        let places: HashMap<&str, u32> = self.nodes.iter().enumerate().map(|(at, node)| (node.name.as_str(), at as u32)).collect();
        // Children come before their parent in a sound file; a link the other way could close a circle.
        let above: Vec<Option<u32>> =
            parents.iter().enumerate().map(|(at, parent)| places.get(parent.as_str()).copied().filter(|&p| p as usize > at)).collect();
        for (at, parent) in above.into_iter().enumerate() {
            self.nodes[at].parent = parent;
            let Some(parent) = parent else {
                self.roots.push(at as u32);
                continue;
            };
            let node = &self.nodes[at];
            let mut below = node.below;
            match node.status {
                Status::Error => below[0] += 1,
                Status::Warning => below[1] += 1,
                Status::Unmatched => below[2] += 1,
                Status::NotCompared | Status::Pass => {}
            }
            let size = node.size;
            let parent = &mut self.nodes[parent as usize];
            parent.size += size;
            parent.children.push(at as u32);
            for (sum, count) in parent.below.iter_mut().zip(below) {
                *sum += count;
            }
        }
    }
}
