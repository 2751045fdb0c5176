//! The fuzzy match: modules by name wherever they are, calls of APIs by counting.
//!
//! A node that is no API faces the golden node of its name, whatever lies above it. Below two nodes that face each other
//! the k-th call of an API faces the k-th call of the same API; call numbers play no role. An API whose parent faces
//! nobody stays alone.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::nodes::{How, NodeMatch};
use super::walk::breadth_first;
use crate::graph::{Graph, NodeId};
use crate::name::NodeKind;

/// Whether `Torch` of `Torch.add` tells APIs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    /// It does: `Torch.add` and `Tensor.add` are counted apart.
    Counts,
    /// It does not, as each framework has its own: only `add` counts.
    Ignored,
}

/// Matches modules by name and APIs by counting.
#[must_use]
pub fn match_fuzzy(target: &Graph<'_>, golden: &Graph<'_>) -> NodeMatch {
    match_counting(target, golden, Prefix::Counts, |node| Some((golden.find(target[node].name())?, How::Fuzzy)))
}

/// Matches everything but APIs by `partner_of`, and APIs by counting.
pub(super) fn match_counting(
    target: &Graph<'_>,
    golden: &Graph<'_>,
    prefix: Prefix,
    partner_of: impl Fn(NodeId) -> Option<(NodeId, How)>,
) -> NodeMatch {
    let mut matched = NodeMatch::new(target, golden);
    let mut calls = Calls { prefix, ..Calls::default() };
    for node in breadth_first(target) {
        if target[node].kind() == NodeKind::Api {
            continue;
        }
        if let Some((partner, how)) = partner_of(node) {
            matched.pair_seen(target, golden, node, partner, how);
            calls.pair(target, golden, node, partner, &mut matched);
        }
    }
    matched
}

/// Pairs the calls below two nodes; kept from node to node to save its memory.
struct Calls {
    prefix: Prefix,
    target: Vec<NodeId>,
    golden: Vec<NodeId>,
    name: String,
    other_name: String,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls { prefix: Prefix::Counts, target: Vec::new(), golden: Vec::new(), name: String::new(), other_name: String::new() }
    }
}

impl Calls {
    fn pair(&mut self, target: &Graph<'_>, golden: &Graph<'_>, parent: NodeId, golden_parent: NodeId, matched: &mut NodeMatch) {
        let apis = |graph: &Graph<'_>, parent: NodeId, out: &mut Vec<NodeId>| {
            out.clear();
            out.extend(graph.children(parent).iter().copied().filter(|&child| graph[child].kind() == NodeKind::Api));
        };
        apis(target, parent, &mut self.target);
        apis(golden, golden_parent, &mut self.golden);
        // As long as both sides call the same things in the same order, the place is the count.
        let both = self.target.len().min(self.golden.len());
        let mut alike = 0;
        while alike < both && self.same_api(target[self.target[alike]].name(), golden[self.golden[alike]].name()) {
            matched.pair_seen(target, golden, self.target[alike], self.golden[alike], How::Fuzzy);
            alike += 1;
        }
        if alike == both {
            return;
        }
        let mut waiting: HashMap<String, VecDeque<NodeId>> = HashMap::new();
        for &call in &self.golden[alike..] {
            reduce(golden[call].name(), self.prefix, &mut self.name);
            waiting.entry_ref(self.name.as_str()).or_default().push_back(call);
        }
        for &call in &self.target[alike..] {
            reduce(target[call].name(), self.prefix, &mut self.name);
            if let Some(partner) = waiting.get_mut(self.name.as_str()).and_then(VecDeque::pop_front) {
                matched.pair_seen(target, golden, call, partner, How::Fuzzy);
            }
        }
    }

    fn same_api(&mut self, target: &str, golden: &str) -> bool {
        if target == golden {
            return true;
        }
        reduce(target, self.prefix, &mut self.name);
        reduce(golden, self.prefix, &mut self.other_name);
        self.name == self.other_name
    }
}

/// The name without call numbers: every `.<digits>.` becomes a dot (left to right, so that of two numbers in a row the
/// second stays), then every `_rank<digits>` goes.
fn reduce(name: &str, prefix: Prefix, out: &mut String) {
    out.clear();
    let mut rest = match prefix {
        Prefix::Counts => name,
        Prefix::Ignored => name.split_once('.').map_or(name, |(_, rest)| rest),
    };
    while let Some(dot) = rest.find('.') {
        out.push_str(&rest[..=dot]);
        rest = &rest[dot + 1..];
        let digits = digits_at_start(rest);
        if digits > 0 && rest.as_bytes().get(digits) == Some(&b'.') {
            rest = &rest[digits + 1..];
            // The dot behind the number is used up: what follows does not start a number of its own.
            let end = rest.find('.').unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    if out.contains("_rank") {
        *out = without_ranks(out);
    }
}

fn without_ranks(name: &str) -> String {
    let mut pieces = name.split("_rank");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = digits_at_start(piece);
        if digits == 0 {
            out.push_str("_rank");
        }
        out.push_str(&piece[digits..]);
    }
    out
}

fn digits_at_start(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(name: &str, prefix: Prefix) -> String {
        let mut out = String::from("left over");
        reduce(name, prefix, &mut out);
        out
    }

    #[test]
    fn numbers_between_dots_go() {
        for (name, wanted) in [
            ("Torch.add.0.forward", "Torch.add.forward"),
            ("Torch.f.1.2.forward", "Torch.f.2.forward"),
            ("Torch.f.1.2.3.forward", "Torch.f.2.forward"),
            ("Torch.f.1.2.3.4.forward", "Torch.f.2.4.forward"),
            ("Torch.add.0", "Torch.add.0"),
            ("0.add.forward", "0.add.forward"),
            ("Torch.conv2d.12.backward", "Torch.conv2d.backward"),
            ("Torch..1..x", "Torch...x"),
            ("", ""),
        ] {
            assert_eq!(reduced(name, Prefix::Counts), wanted, "{name}");
        }
    }

    #[test]
    fn ranks_of_merged_graphs_go() {
        assert_eq!(reduced("Distributed.send.0.forward_rank3", Prefix::Counts), "Distributed.send.forward");
        assert_eq!(reduced("a_rank1_rank22b_rankx", Prefix::Counts), "ab_rankx");
    }

    #[test]
    fn the_prefix_may_be_ignored() {
        assert_eq!(reduced("Functional.add.3.forward", Prefix::Ignored), "add.forward");
        assert_eq!(reduced("Functional", Prefix::Ignored), "Functional");
    }
}
