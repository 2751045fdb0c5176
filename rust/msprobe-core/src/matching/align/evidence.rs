//! What the alignment knows of a node: its name without call numbers, its class, and the shapes of its tensors.

use std::cell::RefCell;
use std::hash::BuildHasher;

use bumpalo::Bump;
use hashbrown::DefaultHashBuilder;

use super::super::mapping::Side;
use super::super::shapes::{mix, Shapes};
use crate::graph::{Graph, NodeId};
use crate::name::{self, NodeKind};

/// What two nodes must have in common to be called alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// The whole name without call numbers, and the shapes of all tensors.
    Exact,
    /// The whole name.
    Path,
    /// Module: own name and class, and the shapes of all tensors. API: prefix and name.
    NearAndShapes,
    /// Module: own name, class, parameter shapes. API: prefix and name.
    Near,
    /// Module: class. API: name. And the shapes of all tensors.
    LooseAndShapes,
    /// Module: class, parameter shapes. API: name.
    Loose,
    /// Module: parameter shapes, or, without parameters, class. API: name.
    Core,
}

/// What modules without a partner are searched for by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// Their whole path, and their class.
    Path,
    /// The end of their path, and their class.
    End,
}

/// What a name tells, hashed. Every part holds the kind and the direction as well.
#[derive(Clone, Copy, Debug, Default)]
struct Named {
    /// Whole name without call number and, but for APIs, without prefix.
    path: u64,
    /// Own name and class.
    label: u64,
    /// Class, or name of the API.
    class: u64,
    /// Own name in its parent.
    own: u64,
    /// The end of the path, and the class.
    end: u64,
}

/// Parts of a path that its end holds.
const END: usize = 4;

/// What is known of the nodes of one side.
pub(super) struct Evidence<'a> {
    side: Side<'a>,
    named: Vec<Named>,
    /// Nodes below and with each node.
    sizes: Vec<u32>,
    /// Read when first asked for: where names alone decide, no entry is read at all.
    shapes: RefCell<Vec<Option<Shapes>>>,
    bump: RefCell<Bump>,
}

impl<'a> Evidence<'a> {
    /// `hasher` must be one for both sides.
    pub(super) fn new(side: Side<'a>, hasher: DefaultHashBuilder) -> Evidence<'a> {
        let graph = side.graph;
        let named = graph.nodes().iter().map(|node| Named::of(node.name(), node.kind(), hasher)).collect();
        let mut sizes = vec![1u32; graph.len()];
        for &node in graph.order() {
            if let Some(parent) = graph[node].parent() {
                sizes[parent.index()] += sizes[node.index()];
            }
        }
        let shapes = RefCell::new(vec![None; graph.len()]);
        Evidence { side, named, sizes, shapes, bump: RefCell::default() }
    }

    pub(super) fn graph(&self) -> &'a Graph<'a> {
        self.side.graph
    }

    pub(super) fn size(&self, node: NodeId) -> u32 {
        self.sizes[node.index()]
    }

    pub(super) fn is_api(&self, node: NodeId) -> bool {
        self.side.graph[node].kind() == NodeKind::Api
    }

    /// The name without call numbers.
    pub(super) fn path(&self, node: NodeId) -> u64 {
        self.named[node.index()].path
    }

    /// Equal for calls of one module, and for calls of one API below calls of one module; with all their shapes or without.
    pub(super) fn anchor_key(&self, node: NodeId, shapes: bool) -> u64 {
        let graph = self.side.graph;
        let above = graph[node].parent().filter(|_| self.is_api(node)).map(|parent| match graph[parent].kind() {
            NodeKind::Collection => graph.root(),
            _ => parent,
        });
        let own = self.key(node, if shapes { Likeness::Exact } else { Likeness::Path });
        above.map_or(own, |above| mix(own, self.named[above.index()].path))
    }

    /// Whether the node has data of its own.
    pub(super) fn has_data(&self, node: NodeId) -> bool {
        self.side.graph[node].entry().is_some()
    }

    pub(super) fn is_backward(&self, node: NodeId) -> bool {
        self.direction(node) == BACKWARD
    }

    /// The call in the other direction.
    pub(super) fn twin(&self, node: NodeId) -> Option<NodeId> {
        let twin = name::switch_direction(self.side.graph[node].name())?;
        self.side.graph.find(&twin)
    }

    /// What a node is searched for by, wherever it is.
    pub(super) fn search_key(&self, node: NodeId, search: Search) -> Option<u64> {
        let named = &self.named[node.index()];
        match (search, self.side.graph[node].kind()) {
            (Search::Path, NodeKind::Module) => Some(named.path),
            (Search::End, NodeKind::Module) => Some(named.end),
            _ => None,
        }
    }

    pub(super) fn class(&self, node: NodeId) -> u64 {
        self.named[node.index()].class
    }

    pub(super) fn own_name(&self, node: NodeId) -> u64 {
        self.named[node.index()].own
    }

    /// Forward, backward, gradients, or none of them.
    pub(super) fn direction(&self, node: NodeId) -> u64 {
        direction(self.side.graph[node].name())
    }

    /// Equal for nodes that are alike.
    pub(super) fn key(&self, node: NodeId, likeness: Likeness) -> u64 {
        let named = &self.named[node.index()];
        let all_shapes = |name: u64| {
            let shapes = self.shapes(node);
            mix(mix(mix(name, shapes.parameters), shapes.inputs), shapes.outputs)
        };
        match likeness {
            Likeness::Exact => all_shapes(named.path),
            Likeness::Path => named.path,
            Likeness::NearAndShapes => all_shapes(named.label),
            Likeness::Near => mix(named.label, self.shapes(node).parameters),
            Likeness::LooseAndShapes => all_shapes(named.class),
            Likeness::Loose => mix(named.class, self.shapes(node).parameters),
            Likeness::Core => match self.shapes(node).parameters {
                0 => named.class,
                parameters => mix(parameters, self.direction(node)),
            },
        }
    }

    pub(super) fn shapes(&self, node: NodeId) -> Shapes {
        if let Some(shapes) = self.shapes.borrow()[node.index()] {
            return shapes;
        }
        let shapes = self.read_shapes(node);
        self.shapes.borrow_mut()[node.index()] = Some(shapes);
        shapes
    }

    fn read_shapes(&self, node: NodeId) -> Shapes {
        let Some(entry) = self.side.graph[node].entry() else { return Shapes::default() };
        Shapes::read(self.side.files, entry, &mut self.bump.borrow_mut())
    }
}

const BACKWARD: u64 = 2;

/// 1 forward, 2 backward, 3 gradients of parameters, 0 none of them.
fn direction(full: &str) -> u64 {
    if name::is_parameters_grad(full) {
        return 3;
    }
    let found = name::module_call(full).map(|call| call.direction).or_else(|| name::api_direction(full).map(|(_, direction)| direction));
    match found {
        Some(name::Direction::Forward) => 1,
        Some(name::Direction::Backward) => BACKWARD,
        None => 0,
    }
}

impl Named {
    fn of(full: &str, kind: NodeKind, hasher: DefaultHashBuilder) -> Named {
        let turn = direction(full) * 2 + u64::from(kind == NodeKind::Api);
        let hash = |text: &str| mix(hasher.hash_one(text), turn);
        if kind == NodeKind::Api {
            let base = name::api_direction(full).map_or(full, |(base, _)| base);
            let base = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            let own = base.split_once('.').map_or(base, |(_, own)| own);
            return Named { path: hash(base), label: hash(base), class: hash(own), own: hash(own), end: hash(base) };
        }
        let base = match (name::parameters_grad_owner(full), name::module_call(full)) {
            (Some((owner, _)), _) => owner,
            (None, Some(call)) => call.base,
            (None, None) => full,
        };
        let Some((path, class)) = base.rsplit_once('.') else {
            return Named { path: hash(full), label: hash(full), class: hash(full), own: hash(full), end: hash(full) };
        };
        let path = path.split_once('.').map_or(path, |(_, path)| path);
        let own = name::last_part(path);
        let end = path.rmatch_indices('.').nth(END - 1).map_or(path, |(dot, _)| &path[dot + 1..]);
        let (own, class) = (hash(own), hash(class));
        Named { path: mix(hash(path), class), label: mix(own, class), class, own, end: mix(hash(end), class) }
    }
}
