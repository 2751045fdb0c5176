//! Layers that activation checkpointing ran again, moved from the top level to where they belong.
//!
//! *Candidates* are children of the root of module kind, with a nested name, whose twin in the other direction is a child
//! of the root too (or which are such a twin); in PyTorch dumps their stack must show the recomputation. The *ordinary
//! layers* of the same module path, forward calls with a parent below the root, wait in a queue in order of creation.
//! Each candidate takes the next of its queue (forward and backward candidates count apart) and becomes the last child of
//! that layer's parent, turned to backward. No such node, or one below the candidate itself: it stays.

use hashbrown::{HashMap, HashSet};

use super::draft::Draft;
use super::node::{Node, NodeId};
use super::topmost::Topmost;
use crate::dump::{StackFile, StackId};
use crate::name::{self, Direction, NodeKind};

/// Moves the recomputed layers.
pub(super) fn relocate(draft: &mut Draft<'_>) {
    let moves = Plan::candidates(draft).map_or_else(Vec::new, |plan| plan.moves(draft));
    if moves.is_empty() {
        return;
    }
    // One pass over the top level instead of a search for each move.
    let leaving: HashSet<NodeId> = moves.iter().map(|(node, _)| *node).collect();
    for node in draft.take_children(NodeId::ROOT) {
        if !leaving.contains(&node) {
            draft.append(NodeId::ROOT, node);
        }
    }
    for (node, parent) in moves {
        draft.append(parent, node);
    }
}

/// The recomputed layers found at the top level.
struct Plan {
    candidates: Vec<Candidate>,
}

struct Candidate {
    node: NodeId,
    direction: Direction,
}

impl Candidate {
    /// Module path and class of the layer.
    fn layer<'d>(&self, draft: &'d Draft<'_>) -> &'d str {
        name::without_last_parts(draft.node(self.node).name(), 2)
    }
}

impl Plan {
    fn candidates(draft: &Draft<'_>) -> Option<Plan> {
        let is_pytorch = draft.files.dump.framework().is_none_or(|framework| framework == "pytorch");
        let mut stacks = RecomputeStacks { stacks: &draft.files.stack, known: HashMap::new() };
        let mut announced = HashSet::new();
        let mut candidates = Vec::new();
        for node in draft.children(NodeId::ROOT).filter(|&node| draft.node(node).kind() == NodeKind::Module) {
            let full = draft.node(node).name();
            let direction = match name::part_from_end(full, 1) {
                Some("forward") => Direction::Forward,
                _ => Direction::Backward,
            };
            let was_announced = announced.contains(&node);
            let twin = if was_announced { None } else { twin_at_top_level(draft, full, direction) };
            if !(was_announced || twin.is_some()) || (is_pytorch && !stacks.of_name(full)) {
                continue;
            }
            announced.extend(twin);
            candidates.push(Candidate { node, direction });
        }
        (!candidates.is_empty()).then_some(Plan { candidates })
    }

    /// Where each candidate goes, in order.
    fn moves(&self, draft: &Draft<'_>) -> Vec<(NodeId, NodeId)> {
        let mut queues: HashMap<&str, Queue> = self.candidates.iter().map(|candidate| (candidate.layer(draft), Queue::default())).collect();
        for (id, node) in draft.nodes.iter().enumerate() {
            if let Some(queue) = ordinary_layer(node).and_then(|layer| queues.get_mut(layer)) {
                queue.layers.push(NodeId(id as u32));
            }
        }
        let mut topmost = Topmost::find(&draft.nodes);
        let mut moves = Vec::new();
        for candidate in &self.candidates {
            let Some(layer) = queues.get_mut(candidate.layer(draft)).and_then(|queue| queue.take(candidate.direction)) else { continue };
            let Some(parent) = draft.node(layer).parent().and_then(|parent| in_backward(draft, parent)) else { continue };
            if topmost.current(parent) != candidate.node {
                topmost.moved_below(candidate.node, parent);
                moves.push((candidate.node, parent));
            }
        }
        moves
    }
}

/// The same call in the other direction, if its name is nested and it is a child of the root.
fn twin_at_top_level(draft: &Draft<'_>, full: &str, direction: Direction) -> Option<NodeId> {
    if !name::looks_nested(full) {
        return None;
    }
    let twin = format!("{}.{}.{}", name::without_last_parts(full, 2), direction.opposite().as_str(), name::last_part(full));
    draft.find(&twin).filter(|&twin| draft.node(twin).parent() == Some(NodeId::ROOT))
}

/// The module path of a forward call that has a parent other than the root.
fn ordinary_layer<'d>(node: &'d Node<'_>) -> Option<&'d str> {
    let below_the_top = node.kind() == NodeKind::Module && node.parent().is_some_and(|parent| parent != NodeId::ROOT);
    let call = name::module_call(node.name()).filter(|call| below_the_top && call.direction == Direction::Forward)?;
    Some(call.base)
}

/// The backward call of a forward node; a node of another form stands for itself.
fn in_backward(draft: &Draft<'_>, node: NodeId) -> Option<NodeId> {
    match name::module_call(draft.node(node).name()) {
        Some(call) if call.direction == Direction::Forward => draft.find(&format!("{}.backward.{}", call.base, call.number)),
        _ => Some(node),
    }
}

/// Ordinary layers of one module path. Both directions take from the start, each at its own pace.
#[derive(Default)]
struct Queue {
    layers: Vec<NodeId>,
    taken_forward: usize,
    taken_backward: usize,
}

impl Queue {
    fn take(&mut self, direction: Direction) -> Option<NodeId> {
        let taken = match direction {
            Direction::Forward => &mut self.taken_forward,
            Direction::Backward => &mut self.taken_backward,
        };
        let layer = self.layers.get(*taken).copied()?;
        *taken += 1;
        Some(layer)
    }
}

/// Which stacks show a recomputation. Nodes share stacks, so each is read once.
struct RecomputeStacks<'a> {
    stacks: &'a StackFile,
    known: HashMap<StackId, bool>,
}

impl RecomputeStacks<'_> {
    /// For a node; a backward call is judged by its forward call of the same number.
    fn of_name(&mut self, full: &str) -> bool {
        let backward = name::module_call(full).is_some_and(|call| call.direction == Direction::Backward);
        let stack = match name::forward_twin(full).filter(|_| backward) {
            Some(forward) => self.stacks.find(&forward),
            None => self.stacks.find(full),
        };
        let Some(stack) = stack else { return false };
        *self.known.entry(stack).or_insert_with(|| shows_recomputation(self.stacks.lines(stack)))
    }
}

/// Whether the frames of a stack belong to a recomputation: PyTorch's `recompute_fn` (not reentrant), or a backward
/// function that autograd called one or two frames further out (reentrant; Megatron's own form of it).
fn shows_recomputation<S: AsRef<str>>(lines: impl Iterator<Item = S>) -> bool {
    // How many frames ago a backward function was seen.
    let mut since_backward = usize::MAX;
    for line in lines {
        let Some((file, function)) = file_and_function(line.as_ref()) else { continue };
        if function == "recompute_fn" && file.ends_with("torch/utils/checkpoint.py") {
            return true;
        }
        if since_backward < 2 && file.ends_with("torch/autograd/function.py") {
            return true;
        }
        since_backward = since_backward.saturating_add(1);
        if function == "backward" || (function == "checkpoint_function_backward" && file.contains("megatron")) {
            since_backward = 0;
        }
    }
    false
}

/// File and function of a line `File <file>, line <n>, in <function>, ...`; `None` if the line has another form.
fn file_and_function(line: &str) -> Option<(String, &str)> {
    let (file, _) = line.split_once(", line ")?;
    let (_, rest) = line.split_once(", in ")?;
    let function = rest.split(',').next().unwrap_or(rest).trim();
    Some((file.replace("File ", "").trim().to_owned(), function))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKPOINT: &str = "File /usr/lib/python3/site-packages/torch/utils/checkpoint.py, line 1110, in recompute_fn, \n fn(*args)";
    const AUTOGRAD: &str =
        "File /usr/lib/python3/site-packages/torch/autograd/function.py, line 301, in apply, \n return user_fn(self, *args)";

    fn shows(lines: &[&str]) -> bool {
        shows_recomputation(lines.iter())
    }

    #[test]
    fn three_kinds_of_recomputation() {
        assert!(shows(&["File /app/train.py, line 1, in main, x", CHECKPOINT]));
        let backward = "File /site-packages/torch/utils/checkpoint.py, line 1, in backward, \n x";
        assert!(shows(&[backward, AUTOGRAD]));
        assert!(shows(&[backward, "File a.py, line 3, in between, x", AUTOGRAD]));
        assert!(shows(&["File /megatron/core/random.py, line 1, in checkpoint_function_backward, x", AUTOGRAD]));
    }

    #[test]
    fn other_stacks_are_none() {
        assert!(!shows(&[]));
        assert!(!shows(&[AUTOGRAD]));
        assert!(!shows(&["File /app/checkpoint.py, line 1, in recompute_fn, x"]));
        assert!(!shows(&["File /other/random.py, line 1, in checkpoint_function_backward, x", AUTOGRAD]));
        let frame = "File a.py, line 3, in between, x";
        assert!(!shows(&["File a.py, line 1, in backward, x", frame, frame, AUTOGRAD]));
        assert!(!shows(&[AUTOGRAD, "File a.py, line 1, in backward, x"]));
    }

    #[test]
    fn unreadable_lines_do_not_count_as_frames() {
        assert!(shows(&["File a.py, line 1, in backward, x", "no frame", "nor this", "File b.py, line 1, in b, x", AUTOGRAD]));
        assert_eq!(file_and_function("  File  a.py , line 7, in f , code"), Some(("a.py".to_owned(), "f")));
        assert_eq!(file_and_function("a.py, line 7"), None);
        assert_eq!(file_and_function("a.py, in f"), None);
    }
}
