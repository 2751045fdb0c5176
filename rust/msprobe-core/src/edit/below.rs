//! The counts of what lies below a node follow a change: `msprobe_node` of files that we wrote.

use std::collections::{BTreeMap, HashMap};

use super::error::Error;
use crate::visdb::{Amender, GraphId, Node, Side};

/// What a node counts as for those above it, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// Place in the counts: error, warning, pass, not compared, unmatched.
    class: usize,
    /// Name of its parent.
    pub(super) parent: String,
    /// Its place in post-order.
    order: i64,
}

impl Counted {
    pub(super) fn of(node: &Node) -> Self {
        let class = match (node.precision_index, node.partner()) {
            (Some(index), _) if index >= 0.6 => 0,
            (Some(index), _) if index >= 0.3 => 1,
            (Some(_), _) => 2,
            (None, Some(_)) => 3,
            (None, None) => 4,
        };
        Counted { class, parent: node.up_node.clone(), order: node.order }
    }
}

/// Adds the difference between what `touched` nodes were and what they are to all nodes above them.
pub(super) fn follow(amender: &Amender, step: u64, rank: u64, touched: &HashMap<(Side, String), Counted>) -> Result<(), Error> {
    if !amender.has_facts() {
        return Ok(());
    }
    for side in [Side::Target, Side::Golden] {
        let graph = GraphId { step, rank, side };
        // What each node hands to its parent, in post-order: children come before their parent, so that one walk is enough and
        // its length does not depend on the depth of each node.
        let mut waiting: BTreeMap<i64, (String, [i64; 5])> = BTreeMap::new();
        for ((_, name), before) in touched.iter().filter(|((of, _), _)| *of == side) {
            let Some(node) = amender.head(graph, name)? else { continue };
            let now = Counted::of(&node);
            if now.class != before.class {
                let change = &mut waiting.entry(before.order).or_insert_with(|| (before.parent.clone(), [0; 5])).1;
                change[before.class] -= 1;
                change[now.class] += 1;
            }
        }
        while let Some((order, (parent, change))) = waiting.pop_first() {
            if change == [0; 5] {
                continue;
            }
            let Some(above) = amender.head(graph, &parent)? else { continue };
            amender.add_below(graph, above.order, change)?;
            // In a sound file the parent comes later; anything else would be a cycle.
            if above.order > order {
                let sum = &mut waiting.entry(above.order).or_insert_with(|| (above.up_node.clone(), [0; 5])).1;
                for (sum, change) in sum.iter_mut().zip(change) {
                    *sum += change;
                }
            }
        }
    }
    Ok(())
}
