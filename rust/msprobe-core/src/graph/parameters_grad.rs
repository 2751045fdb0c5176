//! Gradients of a module's parameters, which dump.json has but construct.json does not.
//!
//! An entry `<module>.parameters_grad` or `<module>.parameters_grad.<n>` without a node becomes the last child of the
//! backward call of that module with the largest number; of its forward call with the largest number if there is no
//! backward call; else of the root. Modules in order of first appearance, entries of one module in order.

use std::ops::Range;

use hashbrown::HashMap;

use super::draft::Draft;
use super::entries;
use super::node::NodeId;
use super::notes::Notes;
use crate::dump::EntryId;
use crate::name::{self, Direction, NodeKind};

/// The entries of one module, and its last calls.
#[derive(Default)]
struct Owner {
    entries: Vec<EntryId>,
    backward: Option<(u64, NodeId)>,
    forward: Option<(u64, NodeId)>,
}

/// Adds the nodes; returns their ids.
pub(super) fn attach(draft: &mut Draft<'_>, homeless: &[EntryId], notes: &mut Notes) -> Range<u32> {
    let dump = &draft.files.dump;
    let mut owners: Vec<Owner> = Vec::new();
    let mut owner_of: HashMap<&str, usize> = HashMap::new();
    for &entry in homeless {
        if let Some((module, _)) = name::parameters_grad_owner(dump.name(entry)) {
            let at = *owner_of.entry(module).or_insert_with(|| {
                owners.push(Owner::default());
                owners.len() - 1
            });
            owners[at].entries.push(entry);
        }
    }
    let first = draft.nodes.len() as u32;
    if owners.is_empty() {
        return first..first;
    }
    for (id, node) in draft.nodes.iter().enumerate() {
        let Some(call) = name::module_call(node.name()) else { continue };
        let Some(&at) = owner_of.get(call.base) else { continue };
        // Numbers beyond 64 bits count as equal; the last of them wins.
        let this = Some((call.number.parse().unwrap_or(u64::MAX), NodeId(id as u32)));
        let last = match call.direction {
            Direction::Backward => &mut owners[at].backward,
            Direction::Forward => &mut owners[at].forward,
        };
        *last = this.max(*last);
    }
    for owner in &owners {
        let parent = owner.backward.or(owner.forward).map_or(NodeId::ROOT, |(_, node)| node);
        for &entry in &owner.entries {
            let name = dump.name(entry);
            if owner.backward.is_none() {
                notes.gradients_without_backward.add(name);
            }
            entries::add(draft, parent, name, NodeKind::Module, entry);
        }
    }
    first..draft.nodes.len() as u32
}
