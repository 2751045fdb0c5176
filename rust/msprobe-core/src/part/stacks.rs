//! Numbers of the stacks of one graph, in order of first use.

use hashbrown::HashMap;
use std::borrow::Cow;

use crate::graph::{Graph, StackRef};

/// Numbers the different stacks of a graph along its order, by content.
pub(super) struct StackNumbers<'a> {
    number_of: HashMap<StackRef, u32>,
    /// Texts as they are stored, by number; `None` for a stack that is null.
    pub(super) texts: Vec<Option<Cow<'a, str>>>,
}

impl<'a> StackNumbers<'a> {
    pub(super) fn new(side: &super::PartSide<'a>) -> Self {
        let graph: &Graph<'_> = side.graph;
        let mut number_of = HashMap::new();
        let mut by_text: HashMap<Option<Cow<'_, str>>, u32> = HashMap::new();
        let mut texts = Vec::new();
        for &id in graph.order() {
            number_of.entry(graph[id].stack()).or_insert_with_key(|stack| {
                let text = stack.stored(&side.files.stack);
                *by_text.entry(text.clone()).or_insert_with(|| {
                    texts.push(text);
                    texts.len() as u32 - 1
                })
            });
        }
        StackNumbers { number_of, texts }
    }

    pub(super) fn number(&self, stack: StackRef) -> u32 {
        self.number_of[&stack]
    }
}
