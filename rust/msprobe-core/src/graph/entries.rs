//! Which entry of dump.json belongs to which node, and entries that construct.json does not know.
//!
//! An entry without a construct key becomes a child of the root, at its end, unless it holds parameter gradients
//! ([`super::parameters_grad`]).

use std::borrow::Cow;

use super::draft::Draft;
use super::node::NodeId;
use super::notes::Notes;
use crate::dump::EntryId;
use crate::name::{self, NodeKind, ROOT};

/// Gives every node its entry; returns the entries that belong to no node, in the order of the file.
pub(super) fn assign(draft: &mut Draft<'_>) -> Vec<EntryId> {
    let (dump, construct) = (&draft.files.dump, &draft.files.construct);
    let mut homeless = Vec::new();
    // Both files follow the run: mostly the key after the last one is next, or the module around it, which ends here.
    let mut next = 0;
    let mut last = NodeId::ROOT;
    for entry in dump.ids() {
        let name = dump.name(entry);
        if name == ROOT {
            continue; // the root has no data, whatever the file says
        }
        let around = draft.node(last).parent().filter(|&parent| draft.node(parent).name() == name);
        let node = around.or_else(|| {
            let guess = (next < construct.len() && construct.link(next).name == name).then_some(next);
            let Some(key) = guess.or_else(|| construct.find(name)) else { return draft.names.find_other(&draft.nodes, name) };
            next = key + 1;
            draft.names.node_of_key(key)
        });
        match node {
            Some(node) => {
                draft.nodes[node.index()].entry = entry.0;
                last = node;
            }
            None => homeless.push(entry),
        }
    }
    homeless
}

/// Puts the entries without a node under the root.
pub(super) fn attach(draft: &mut Draft<'_>, homeless: &[EntryId], notes: &mut Notes) {
    let dump = &draft.files.dump;
    for &entry in homeless {
        let name = dump.name(entry);
        if name::parameters_grad_owner(name).is_none() {
            notes.without_construct.add(name);
            add(draft, NodeId::ROOT, name, NodeKind::of(name), entry);
        }
    }
}

/// Adds a node with its entry at the end of the parent's children.
pub(super) fn add<'a>(draft: &mut Draft<'a>, parent: NodeId, name: &'a str, kind: NodeKind, entry: EntryId) {
    let node = draft.add(Cow::Borrowed(name), kind);
    draft.nodes[node.index()].entry = entry.0;
    draft.append(parent, node);
}
