//! The table of matched nodes.

use crate::graph::{Graph, NodeId};

/// How the partner of a node was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Same name and the same names above it.
    SamePlace,
    /// Same name, in another place.
    SameName,
    /// By the fuzzy match: a module by its name, an API by counting its calls.
    Fuzzy,
    /// By a layer mapping.
    Mapping,
    /// By aligning the two trees.
    Alignment,
}

/// Matched target nodes by the way in which their partner was found, the root not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways([usize; How::ALL.len()]);

impl Ways {
    /// Those found in the way `how`.
    #[must_use]
    pub fn of(&self, how: How) -> usize {
        self.0[how as usize]
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }
}

impl How {
    /// Every way.
    pub const ALL: [How; 5] = [How::SamePlace, How::SameName, How::Fuzzy, How::Mapping, How::Alignment];
}

/// Matched nodes of a target and a golden graph, both ways.
///
/// Several target nodes may face one golden node; that node then faces the first of them.
#[derive(Clone, Debug)]
pub struct NodeMatch {
    golden_of: Vec<NodeId>,
    target_of: Vec<NodeId>,
    how: Vec<How>,
    pairs: usize,
    golden_pairs: usize,
    shared: Shared,
}

/// Target nodes whose golden node already faced another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: Option<NodeId>,
}

/// "No partner", where an `Option` would double the size of the tables.
const NOBODY: NodeId = NodeId(u32::MAX);

impl NodeMatch {
    /// An empty table for two graphs.
    #[must_use]
    pub fn new(target: &Graph<'_>, golden: &Graph<'_>) -> NodeMatch {
        NodeMatch {
            golden_of: vec![NOBODY; target.len()],
            target_of: vec![NOBODY; golden.len()],
            how: vec![How::SamePlace; target.len()],
            pairs: 0,
            golden_pairs: 0,
            shared: Shared::default(),
        }
    }

    /// Matches two nodes. A golden node that faces another target node keeps it; a target node takes the new partner.
    pub fn pair(&mut self, target: NodeId, golden: NodeId, how: How) {
        self.pairs += usize::from(self.golden_of[target.index()] == NOBODY);
        self.golden_of[target.index()] = golden;
        self.how[target.index()] = how;
        let back = &mut self.target_of[golden.index()];
        if *back == NOBODY {
            *back = target;
            self.golden_pairs += 1;
        } else if *back != target {
            self.shared.count += 1;
            self.shared.first.get_or_insert(target);
        }
    }

    /// Matches two nodes that were found in the way `how`, unless they are seen to be the same anyway: one name, and the nodes
    /// above them face each other. Parents must be matched before their children.
    pub fn pair_seen(&mut self, target: &Graph<'_>, golden: &Graph<'_>, node: NodeId, partner: NodeId, how: How) {
        let faces_above = match (target[node].parent(), golden[partner].parent()) {
            (Some(above), Some(golden_above)) => self.golden_of(above) == Some(golden_above),
            (None, None) => true,
            _ => false,
        };
        let same_place = faces_above && target[node].name() == golden[partner].name();
        self.pair(node, partner, if same_place { How::SamePlace } else { how });
    }

    /// The golden node that faces a target node.
    #[must_use]
    pub fn golden_of(&self, target: NodeId) -> Option<NodeId> {
        Some(self.golden_of[target.index()]).filter(|&golden| golden != NOBODY)
    }

    /// The target node that faces a golden node.
    #[must_use]
    pub fn target_of(&self, golden: NodeId) -> Option<NodeId> {
        Some(self.target_of[golden.index()]).filter(|&target| target != NOBODY)
    }

    /// How the partner of a target node was found; `None` for an unmatched node.
    #[must_use]
    pub fn how(&self, target: NodeId) -> Option<How> {
        self.golden_of(target).map(|_| self.how[target.index()])
    }

    /// Number of matched target nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs
    }

    /// Number of golden nodes that some target node faces.
    #[must_use]
    pub fn golden_len(&self) -> usize {
        self.golden_pairs
    }

    /// How the partners of the target nodes were found, the root not counted.
    #[must_use]
    pub fn ways(&self) -> Ways {
        let mut ways = Ways::default();
        let matched = self.golden_of.iter().zip(&self.how).skip(1).filter(|(&golden, _)| golden != NOBODY);
        matched.for_each(|(_, &how)| ways.0[how as usize] += 1);
        ways
    }

    /// Whether no node is matched but, at most, the two roots: the dumps have nothing in common.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs <= usize::from(self.golden_of[0] != NOBODY)
    }

    /// Target nodes whose golden node already faced another one, and faces that.
    #[must_use]
    pub fn shared(&self) -> Shared {
        self.shared
    }
}
