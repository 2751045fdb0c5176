//! The walk along the execution order that finds where two ranks first part.
//!
//! `node_order` is the post-order of the tree, and children stand in the order in which they ran: so the APIs come in
//! execution order, forward and backward alike, micro step after micro step, and a module comes when it ends. A module *starts*
//! when its first descendant does; its parameters and its inputs are there from then on.
//!
//! A row is *beyond noise* if its relative error exceeds the tolerance of [`Noise`]. A candidate for the first difference is
//!
//! * a **parameter**: a module with a parameter beyond noise; its time is the start of the module;
//! * an **argument**: a node with a number or flag that differs, such as an epsilon;
//! * a **computation**: a node with an output beyond noise whose data inputs are within it, no descendant of which explains
//!   it; its time is its own. A parameter's gradient counts as an output of the module's backward;
//! * a computation too: the deepest module with inputs within noise inside which an input beyond noise turns up that no
//!   recorded node has made (an operation that the dump does not record);
//! * an **input**: an input beyond noise that no recorded node has made and no such module surrounds: other data were fed;
//! * a **structure**: a node that only the target has and whose output is such an input.
//!
//! The candidate of the smallest time wins. Which input comes from which output is told by their statistics: equal ones are
//! the same tensor.

use super::candidate::{Candidate, RowAt, What};
use super::mark_set::MarkSet;
use super::outcome::{Grown, Outcome};
use super::tolerance::Noise;
use crate::facts::{Break, Difference, NodeFacts, Phase, Role, RowFacts};
use crate::visdb::Task;
use hashbrown::HashMap;

/// An output must stand out this much from the inputs, in units of the tolerance, to count as made here. Less is noise
/// that grows on its way, and raises the tolerance from there on.
const JUMP: f32 = 3.0;
/// The same where the sides compute in different types: a normalisation over few elements may turn a rounding error into
/// another sign, which the statistics of its output hide and those of the next node show.
const JUMP_MIXED: f32 = 12.0;
/// Unexplained inputs that are kept until an enclosing module tells what they are.
const OPEN: usize = 4;

/// An input beyond noise that no recorded node has made.
#[derive(Clone, Debug)]
struct Unexplained {
    /// Without its mark.
    candidate: Candidate,
    mark: u64,
}

impl Unexplained {
    fn candidate(self) -> Candidate {
        Candidate { marks: vec![self.mark], ..self.candidate }
    }
}

/// What is known of a node before it comes: something of its children.
#[derive(Debug, Default)]
struct Pending {
    start: Option<u32>,
    /// Whether something below it is a candidate or beyond noise.
    parted: bool,
    open: Vec<Unexplained>,
    /// Gradients of the module's parameters beyond noise.
    gradients: Vec<Candidate>,
}

/// The walk under way.
#[derive(Debug)]
pub(super) struct Walk {
    noise: Noise,
    task: Task,
    pending: HashMap<u64, Pending>,
    /// Values beyond noise that recorded nodes made.
    made: MarkSet,
    /// Values that nodes without a partner made, with the node.
    made_unmatched: HashMap<u64, u32>,
    /// Forward calls and modules something of which is beyond noise.
    parted_forward: MarkSet,
    communications: u32,
    /// Memory for [`Judged::dirty`], used again.
    dirty: Vec<Dirty>,
    /// Memory for [`Candidate::marks`] of those that come to nothing, used again.
    marks: Vec<u64>,
    /// Memory for [`Pending::open`], used again.
    open: Vec<Unexplained>,
    outcome: Outcome,
}

/// A row beyond noise: its position, role, error, tolerance.
type Dirty = (u32, Role, f32, f32, Option<Break>);

/// The rows of a node, judged.
#[derive(Debug, Default)]
struct Judged {
    /// Largest excess (error by tolerance) of inputs, and that row's error and tolerance.
    input: Option<(f32, f32, f32)>,
    dirty: Vec<Dirty>,
    compared: u32,
    /// Norm of the largest input.
    scale: f32,
}

impl Walk {
    pub fn new(noise: Noise, task: Task) -> Self {
        Walk {
            noise,
            task,
            pending: HashMap::new(),
            made: MarkSet::default(),
            made_unmatched: HashMap::new(),
            parted_forward: MarkSet::default(),
            communications: 0,
            dirty: Vec::new(),
            marks: Vec::new(),
            open: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    /// Takes the next node.
    pub fn node(&mut self, node: &NodeFacts) {
        self.outcome.count(node);
        let mut below = self.pending.remove(&node.mark).unwrap_or_default();
        let start = below.start.unwrap_or(node.order);
        if node.matched && !node.is_collection && !node.is_root {
            self.judge_matched(node, start, &mut below);
        } else if !node.matched {
            self.note_unmatched(node, start);
        }
        if node.is_distributed {
            self.communications += 1;
        }
        if node.is_root {
            for candidate in below.open.drain(..).map(Unexplained::candidate).chain(below.gradients.drain(..)) {
                self.outcome.propose(candidate);
            }
            return;
        }
        let parent = self.pending.entry(node.parent).or_default();
        parent.start = Some(parent.start.map_or(start, |first| first.min(start)));
        parent.parted |= below.parted;
        let room = OPEN.saturating_sub(parent.open.len());
        parent.open.extend(below.open.drain(..).take(room));
        if below.open.capacity() > 0 {
            self.open = below.open;
        }
        parent.gradients.extend(below.gradients);
        parent.gradients.truncate(OPEN);
    }

    /// The next nodes are these: what is known of them is fetched from memory while others are looked at.
    pub fn expect(&self, nodes: &[NodeFacts]) {
        let rows = nodes.iter().flat_map(|node| &node.rows).filter(|row| matches!(row.role, Role::Input | Role::Output | Role::Gradient));
        self.made.expect(rows.map(|row| row.measured.mark));
        self.parted_forward.expect(nodes.iter().flat_map(|node| [node.mark, node.forward]));
    }

    /// The outcome when the last node has come; a file without a root leaves its top level open.
    pub fn end(mut self) -> Outcome {
        let left: Vec<Pending> = self.pending.drain().map(|(_, pending)| pending).collect();
        for candidate in left.into_iter().flat_map(|p| p.open.into_iter().map(Unexplained::candidate).chain(p.gradients)) {
            self.outcome.propose(candidate);
        }
        Outcome { level: self.noise.level(), ..self.outcome }
    }

    /// Relative error and tolerance of a node's worst output (or gradient), for the drift; an error of infinity: beyond any number.
    pub fn drift(&self, node: &NodeFacts) -> Option<(f32, f32)> {
        let mut worst: Option<(f32, f32)> = None;
        for row in node.rows.iter().filter(|row| matches!(row.role, Role::Output | Role::Gradient)) {
            let (error, tolerance) = match row.measured.difference {
                Difference::NotCompared => continue,
                Difference::Broken(_) => (f32::INFINITY, self.noise.tolerance(node, row)[0]),
                Difference::Relative(errors) => {
                    let which = usize::from(errors[0].is_nan());
                    (errors[which], self.noise.tolerance(node, row)[which])
                }
            };
            if worst.is_none_or(|(most, _)| error > most) {
                worst = Some((error, tolerance));
            }
        }
        worst
    }

    fn note_unmatched(&mut self, node: &NodeFacts, start: u32) {
        if self.task == Task::Structure {
            let row = RowAt { order: node.order, row: 0 };
            self.outcome.propose(self.candidate(What::Structure, node, start, row));
            return;
        }
        for row in node.rows.iter().filter(|row| row.role == Role::Output && row.measured.mark != 0) {
            self.made_unmatched.entry(row.measured.mark).or_insert(node.order);
        }
    }

    fn judge_matched(&mut self, node: &NodeFacts, start: u32, below: &mut Pending) {
        let judged = self.judge(node);
        self.judge_rows(node, start, below, &judged);
        self.dirty = judged.dirty;
    }

    fn judge_rows(&mut self, node: &NodeFacts, start: u32, below: &mut Pending, judged: &Judged) {
        self.outcome.counts.compared_rows += u64::from(judged.compared);
        self.outcome.counts.compared_nodes += u64::from(judged.compared > 0);
        if judged.dirty.is_empty() && below.open.is_empty() && below.gradients.is_empty() {
            return;
        }
        self.outcome.counts.beyond_nodes += u64::from(!judged.dirty.is_empty());
        let found = Found { node, start, judged };
        let parameters = self.parameters(&found, below);
        let inputs = self.inputs(&found, below, parameters);
        self.results(&found, below, parameters, inputs);
        if judged.dirty.is_empty() {
            return;
        }
        below.parted = true;
        if node.phase == Phase::Forward {
            self.parted_forward.insert(node.mark);
            self.parted_forward.insert(node.forward);
        }
    }

    /// Compares every row with its tolerance.
    fn judge(&mut self, node: &NodeFacts) -> Judged {
        self.noise.meet(node);
        let mut judged = Judged { dirty: std::mem::take(&mut self.dirty), ..Judged::default() };
        judged.dirty.clear();
        for row in node.rows.iter().filter(|row| row.role == Role::Input) {
            judged.scale = judged.scale.max(row.measured.scale);
        }
        for (at, row) in node.rows.iter().enumerate().filter(|(_, row)| row.is_compared()) {
            if node.is_uninitialised && row.role == Role::Output {
                continue;
            }
            judged.compared += 1;
            let (error, tolerance, broken) = self.worst(node, row, judged.scale);
            let excess = if broken.is_some() { f32::INFINITY } else { error / tolerance };
            if row.role == Role::Input && judged.input.is_none_or(|(most, ..)| excess > most) {
                judged.input = Some((excess, error, tolerance));
            }
            if excess > 1.0 {
                judged.dirty.push((at as u32, row.role, error, tolerance, broken));
            } else if error > 0.0 && self.outcome.nearest.is_none_or(|(_, e, t)| excess > e / t) {
                self.outcome.nearest = Some((node.order, error, tolerance));
            }
        }
        judged
    }

    /// The error that exceeds its tolerance most.
    fn worst(&self, node: &NodeFacts, row: &RowFacts, inputs: f32) -> (f32, f32, Option<Break>) {
        let tolerances = self.noise.tolerance(node, row);
        match row.measured.difference {
            Difference::NotCompared => (0.0, tolerances[0], None),
            Difference::Broken(reason) => (f32::INFINITY, tolerances[0], Some(reason)),
            Difference::Relative(errors) => {
                let own = row.measured.scale;
                let shrunk = node.cancels && row.role == Role::Output && own > 0.0 && inputs > own;
                let factor = if shrunk { (inputs / own).min(1e6) } else { 1.0 };
                let mut worst = (0.0, tolerances[0] * factor);
                for (error, tolerance) in errors.into_iter().zip(tolerances) {
                    let tolerance = tolerance * factor;
                    if error / tolerance > worst.0 / worst.1 {
                        worst = (error, tolerance);
                    }
                }
                (worst.0, worst.1, None)
            }
        }
    }

    /// Parameters and arguments that differ; whether there are any.
    fn parameters(&mut self, found: &Found<'_>, below: &mut Pending) -> bool {
        let mut any = false;
        for (what, role) in [(What::Parameter, Role::Parameter), (What::Argument, Role::Argument)] {
            let Some(candidate) = self.proposal(what, found, role) else { continue };
            any = true;
            // What the module's own APIs take in as an input is this parameter.
            below.open.clear();
            self.made.extend(&candidate.marks);
            self.outcome.propose(candidate);
        }
        any
    }

    /// Sorts inputs beyond noise by where they come from; whether all data inputs are within noise.
    fn inputs(&mut self, found: &Found<'_>, below: &mut Pending, explained: bool) -> bool {
        let mut clean = true;
        for &(at, role, error, tolerance, broken) in &found.judged.dirty {
            if role != Role::Input {
                continue;
            }
            clean = false;
            let mark = found.node.rows[at as usize].measured.mark;
            // The module's input is what its own children take in.
            let inside = below.open.len();
            below.open.retain(|open| open.mark != mark);
            let seen_inside = below.open.len() < inside;
            if self.made.contains(mark) && !seen_inside {
                continue;
            }
            let row = RowAt { order: found.node.order, row: at };
            let mut candidate = self.candidate(What::Input, found.node, found.start, row);
            candidate.error = error;
            candidate.tolerance = tolerance;
            candidate.broken = broken;
            if let Some(&order) = self.made_unmatched.get(&mark) {
                candidate.what = What::Structure;
                candidate.time = order;
                candidate.order = order;
                self.outcome.propose(Unexplained { candidate, mark }.candidate());
            } else if !explained {
                if below.open.capacity() == 0 {
                    below.open = std::mem::take(&mut self.open);
                }
                below.open.push(Unexplained { candidate, mark });
            }
        }
        clean
    }

    /// Outputs and gradients beyond noise, and what turned up inside although the inputs agree.
    fn results(&mut self, found: &Found<'_>, below: &mut Pending, explained: bool, clean: bool) {
        let node = found.node;
        let compared_input = found.judged.input.is_some();
        // Backward uses what forward saved, which the dump does not list among its inputs.
        let has_saved = matches!(node.phase, Phase::Backward | Phase::Gradient) && self.parted_forward.contains(node.forward);
        if clean && compared_input && !node.is_api && !below.open.is_empty() {
            let mut first = below.open.swap_remove(earliest(&below.open)).candidate();
            below.open.clear();
            first.what = What::Computation;
            first.order = node.order;
            first.inputs = found.judged.input.map(|(_, error, tolerance)| (error, tolerance));
            if !has_saved {
                self.outcome.propose(first);
            }
        }
        let gradients = std::mem::take(&mut below.gradients);
        if clean && !has_saved && !explained {
            for gradient in gradients {
                self.outcome.propose(gradient);
            }
        }
        let Some(mut candidate) = self.proposal_of_results(found) else { return };
        let mut came_before = false;
        if clean {
            // All are taken in, so without `all`, which would stop at the first new one.
            let new = candidate.marks.iter().filter(|mark| self.made.insert(**mark)).count();
            came_before = new == 0 && !candidate.marks.is_empty();
        } else {
            let is_input = |mark: u64| node.rows.iter().any(|row| row.role == Role::Input && row.measured.mark == mark);
            candidate.marks.retain(|mark| !is_input(*mark));
            self.made.extend(&candidate.marks);
        }
        if !clean || explained || came_before || has_saved || below.parted {
            self.marks = candidate.marks;
            return;
        }
        let outstanding = candidate.broken.is_some() || {
            let (input, output) = (found.judged.input.map_or(0.0, |i| i.0), candidate.error / candidate.tolerance);
            output > input * if self.noise.is_mixed() { JUMP_MIXED } else { JUMP }
        };
        let flips = candidate.broken == Some(Break::Value) && found.judged.input.is_some_and(|(_, error, _)| error > 0.0);
        if !outstanding || flips {
            self.grow(found, &candidate);
            self.marks = candidate.marks;
        } else if node.phase == Phase::Gradient {
            below.gradients.push(candidate);
        } else {
            self.outcome.propose(candidate);
        }
    }

    /// Noise left the tolerance without standing out: from here on it is this large.
    fn grow(&mut self, found: &Found<'_>, candidate: &Candidate) {
        let input = found.judged.input.map_or(0.0, |i| i.1);
        if self.outcome.grown.is_none() {
            self.outcome.grown = Some(Grown { order: found.node.order, input, output: candidate.error, tolerance: candidate.tolerance });
        }
        if candidate.broken.is_none() {
            self.noise.raise(candidate.error);
        }
    }

    /// The candidate for results (outputs, gradients) beyond noise: the worst row, with the marks of all.
    fn proposal_of_results(&mut self, found: &Found<'_>) -> Option<Candidate> {
        self.proposal(What::Computation, found, if found.node.phase == Phase::Gradient { Role::Gradient } else { Role::Output })
    }

    /// The candidate for rows of one role beyond noise.
    fn proposal(&mut self, what: What, found: &Found<'_>, role: Role) -> Option<Candidate> {
        let rows = || found.judged.dirty.iter().filter(|row| row.1 == role);
        let excess = |row: &Dirty| if row.4.is_some() { f32::INFINITY } else { row.2 / row.3 };
        let &(at, _, error, tolerance, broken) = rows().reduce(|a, b| if excess(b) > excess(a) { b } else { a })?;
        let time = match what {
            // It was there at the end of the backward pass, wherever it stands.
            What::Computation if found.node.is_early => u32::MAX,
            What::Computation => found.node.order,
            _ => found.start,
        };
        let mut candidate = self.candidate(what, found.node, time, RowAt { order: found.node.order, row: at });
        candidate.error = error;
        candidate.tolerance = tolerance;
        candidate.broken = broken;
        candidate.inputs = found.judged.input.map(|(_, error, tolerance)| (error, tolerance));
        candidate.marks = std::mem::take(&mut self.marks);
        candidate.marks.clear();
        candidate.marks.extend(rows().map(|row| found.node.rows[row.0 as usize].measured.mark).filter(|&mark| mark != 0));
        Some(candidate)
    }

    fn candidate(&self, what: What, node: &NodeFacts, time: u32, row: RowAt) -> Candidate {
        Candidate {
            what,
            time,
            order: node.order,
            row,
            error: 0.0,
            tolerance: 0.0,
            broken: None,
            inputs: None,
            is_distributed: node.is_distributed,
            communications: self.communications,
            micro_step: node.micro_step,
            marks: Vec::new(),
        }
    }
}

/// A node under judgement.
struct Found<'n> {
    node: &'n NodeFacts,
    start: u32,
    judged: &'n Judged,
}

fn earliest(open: &[Unexplained]) -> usize {
    (0..open.len()).min_by_key(|&at| open[at].candidate.key()).unwrap_or(0)
}
