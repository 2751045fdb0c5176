//! The tree of construct.json, and the order in which the other rules follow.
//!
//! For every `(child, parent)` in file order: the parent as [`backward_parent`] sees it, the root if there is none; both
//! nodes are created when first named, the parent before the child; the child goes to the end of the parent's children.
//! So children stand in the order of the file, and a parent that is never a key hangs in the air until
//! [`unreachable`] attaches it.

use super::draft::Draft;
use super::node::NodeId;
use super::notes::Notes;
use super::{backward_parent, collections, entries, micro_step, order, parameters_grad, recompute, stacks, unreachable, Error, Graph};
use crate::dump::RankFiles;
use crate::name::ROOT;

pub(super) fn build(files: &RankFiles) -> Result<(Graph<'_>, Notes), Error> {
    // Every key may name a parent that is no key, and there may be a collection for every second key.
    let most = files.construct.len().saturating_mul(3).saturating_add(files.dump.len());
    if most > Graph::MAX_NODES {
        return Err(Error::TooManyNodes { count: most });
    }
    let mut notes = Notes::default();
    let mut draft = Draft::new(files);
    tree(&mut draft);
    recompute::relocate(&mut draft);
    let collections = collections::gather(&mut draft);
    let top_level = draft.children(NodeId::ROOT).count();
    unreachable::attach(&mut draft, &mut notes);
    let homeless = entries::assign(&mut draft);
    let gradients = parameters_grad::attach(&mut draft, &homeless, &mut notes);
    entries::attach(&mut draft, &homeless, &mut notes);
    stacks::resolve(&mut draft, &collections, &gradients);
    micro_step::recorded(&mut draft, &collections);
    let mut graph = order::finish(draft);
    micro_step::number(&mut graph, files.construct.record(), top_level, &gradients);
    Ok((graph, notes))
}

fn tree(draft: &mut Draft<'_>) {
    let construct = &draft.files.construct;
    let mut last = Last { parent: NodeId::ROOT, child: NodeId::ROOT };
    for key in 0..construct.len() {
        let link = construct.link(key);
        if link.name == ROOT {
            continue;
        }
        let parent = match backward_parent::parent_of(construct, &link) {
            None => NodeId::ROOT,
            Some(name) => last.node_of(draft, name),
        };
        let child = draft.node_of_key(key, link.name);
        if child != parent {
            draft.append(parent, child);
        }
        last = Last { parent, child };
    }
}

/// Where the file has arrived. Most parents are found here, without a look-up.
struct Last {
    parent: NodeId,
    child: NodeId,
}

impl Last {
    /// The node of a parent's name, mostly that of the neighbour before: its parent, itself, or its parent's parent.
    fn node_of<'a>(&self, draft: &mut Draft<'a>, name: &'a str) -> NodeId {
        let above = draft.node(self.parent).parent().unwrap_or(NodeId::ROOT);
        let near = [self.parent, self.child, above].into_iter().find(|&near| draft.node(near).name() == name);
        near.unwrap_or_else(|| draft.node_of_name(name))
    }
}
