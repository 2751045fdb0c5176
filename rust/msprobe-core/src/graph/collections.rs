//! `Apis_Between_Modules`: runs of APIs between the modules of the top level.
//!
//! Each maximal run of two or more consecutive APIs among the root's children is replaced by one collection named
//! `Apis_Between_Modules.<k>`, k = 0, 1, 2 ..., whose children they become. A run of one stays. Only the root level is
//! treated.

use std::borrow::Cow;
use std::ops::Range;

use super::draft::Draft;
use super::node::NodeId;
use crate::name::NodeKind;

/// Gathers the runs; returns the ids of the collections.
pub(super) fn gather(draft: &mut Draft<'_>) -> Range<u32> {
    let first = draft.nodes.len() as u32;
    let top_level = draft.take_children(NodeId::ROOT);
    let mut number = 0;
    let mut rest = top_level.as_slice();
    while !rest.is_empty() {
        let apis = rest.iter().take_while(|&&node| draft.node(node).kind() == NodeKind::Api).count();
        let (run, behind) = rest.split_at(apis.max(1));
        let parent = if run.len() == 1 { NodeId::ROOT } else { add_collection(draft, &mut number) };
        for &node in run {
            draft.append(parent, node);
        }
        rest = behind;
    }
    first..draft.nodes.len() as u32
}

/// Adds an empty collection under the root. A number whose name a dump already uses is passed over.
fn add_collection(draft: &mut Draft<'_>, number: &mut usize) -> NodeId {
    loop {
        let name = format!("Apis_Between_Modules.{number}");
        *number += 1;
        if draft.find(&name).is_none() && draft.files.dump.find(&name).is_none() {
            let collection = draft.add(Cow::Owned(name), NodeKind::Collection);
            draft.append(NodeId::ROOT, collection);
            return collection;
        }
    }
}
