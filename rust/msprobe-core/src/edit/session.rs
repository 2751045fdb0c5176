//! One change under way: its pairs, what was touched, and what follows from it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use bumpalo::Bump;

use super::below::Counted;
use super::error::Error;
use super::rows::Stored;
use super::{Done, MOST_NOTES};
use crate::matching::MAX_LINK_DEPTH;
use crate::metrics::Mode;
use crate::name::{self, ROOT};
use crate::part::{compare_stored, Compared, TensorFolders};
use crate::text::json;
use crate::verdict::{Rules, Verdict};
use crate::visdb::amend::Before;
use crate::visdb::{Amender, GraphId, MatchColumns, MatchedBy, Node, Side, Task};

/// Type of a collection of APIs, whose verdict is the worst of its members.
const COLLECTION: &str = "9";

/// A change, from its first pair to [`Session::finish`].
pub(super) struct Session {
    file: PathBuf,
    amender: Amender,
    step: u64,
    rank: u64,
    mode: Mode,
    /// Number of the record that keeps what nodes were before; none while undoing.
    edit: Option<i64>,
    /// Nodes that were written, with what they counted as before.
    touched: HashMap<(Side, String), Counted>,
    /// The last parent a link was made for, and the link down to it.
    link_start: (Option<(Side, String)>, String),
    /// The last pair of folders that tensors were read from.
    folders: Option<(PathBuf, PathBuf, TensorFolders)>,
    pub(super) done: Done,
}

impl Session {
    pub(super) fn open(file: &Path, step: u64, rank: u64) -> Result<Self, Error> {
        let amender = super::open(file)?;
        let mode = match amender.config()?.kind() {
            Some(Task::Summary) => Mode::Statistics,
            Some(Task::Md5) => Mode::Md5,
            Some(Task::All) => Mode::Tensor,
            Some(Task::Structure) => Mode::Structure,
            Some(Task::Build) | None => return Err(Error::SingleGraph(file.to_owned())),
        };
        Ok(Session {
            file: file.to_owned(),
            amender,
            step,
            rank,
            mode,
            edit: None,
            touched: HashMap::new(),
            link_start: (None, String::new()),
            folders: None,
            done: Done::default(),
        })
    }

    /// Begins the record that undoing goes by.
    pub(super) fn begin(&mut self, what: &str, subject: &str) -> Result<(), Error> {
        self.edit = Some(self.amender.begin_edit(self.step, self.rank, what, subject)?);
        Ok(())
    }

    pub(super) fn graph(&self, side: Side) -> GraphId {
        GraphId { step: self.step, rank: self.rank, side }
    }

    // ------------------------------------------------------------------ matching

    /// Matches two nodes, and their calls of the other direction where both sides have them.
    pub(super) fn match_calls(&mut self, target: &str, golden: &str, descendants: bool) -> Result<(), Error> {
        self.check_alike(target, golden)?;
        self.pair(target, golden)?;
        let mut begun = vec![(target.to_owned(), golden.to_owned())];
        if let (Some(target), Some(golden)) = (name::switch_direction(target), name::switch_direction(golden)) {
            if self.check_alike(&target, &golden).is_ok() {
                self.pair(&target, &golden)?;
                begun.push((target, golden));
            }
        }
        if descendants {
            self.match_below(begun)?;
        }
        if self.done.matched == 0 {
            return Err(unlike(target, golden, "they face each other already"));
        }
        Ok(())
    }

    /// Matches what lies below each of `pairs` by name: children of one short name and type pair in order, so far as they have no
    /// partner.
    fn match_below(&mut self, pairs: Vec<(String, String)>) -> Result<(), Error> {
        let mut open = pairs;
        // A damaged file can have cycles.
        let mut seen = HashSet::new();
        while let Some((target, golden)) = open.pop() {
            if !seen.insert(target.clone()) {
                continue;
            }
            let mut waiting: HashMap<(String, String), VecDeque<String>> = HashMap::new();
            let mut below = HashSet::new();
            for child in self.amender.children(self.graph(Side::Golden), &golden)? {
                if child.partner.is_none() {
                    let key = (name::short_name(&child.name, child.node_type == "0").to_owned(), child.node_type);
                    waiting.entry(key).or_default().push_back(child.name.clone());
                }
                below.insert(child.name);
            }
            for child in self.amender.children(self.graph(Side::Target), &target)? {
                if let Some(partner) = child.partner {
                    if below.contains(&partner) {
                        open.push((child.name, partner));
                    }
                    continue;
                }
                let key = (name::short_name(&child.name, child.node_type == "0").to_owned(), child.node_type);
                if let Some(partner) = waiting.get_mut(&key).and_then(VecDeque::pop_front) {
                    self.pair(&child.name, &partner)?;
                    open.push((child.name, partner));
                }
            }
        }
        Ok(())
    }

    /// Refuses two nodes that do not go together.
    pub(super) fn check_alike(&self, target: &str, golden: &str) -> Result<(), Error> {
        let of = |side, name: &str| -> Result<Node, Error> {
            self.amender.head(self.graph(side), name)?.ok_or_else(|| self.no_node(side, name))
        };
        let (t, g) = (of(Side::Target, target)?, of(Side::Golden, golden)?);
        if (target == ROOT || t.up_node.is_empty()) != (golden == ROOT || g.up_node.is_empty()) {
            return Err(unlike(target, golden, "the root goes with the root only"));
        }
        if t.node_type != g.node_type {
            return Err(unlike(target, golden, "one is a module and the other is none, or they are different kinds of nodes"));
        }
        Ok(())
    }

    fn no_node(&self, side: Side, name: &str) -> Error {
        let side = if side == Side::Target { "target" } else { "golden side" };
        Error::NoNode { side, step: self.step, rank: self.rank, name: name.to_owned() }
    }

    /// Makes two nodes face each other; whoever faced them before does not any more.
    pub(super) fn pair(&mut self, target: &str, golden: &str) -> Result<(), Error> {
        let t = self.node(Side::Target, target)?;
        let g = self.node(Side::Golden, golden)?;
        let (was, had) = (t.partner().map(Cow::into_owned), g.partner().map(Cow::into_owned));
        if was.as_deref() == Some(golden) && had.as_deref() == Some(target) {
            return Ok(());
        }
        // First of all what can fail, so that a refused pair has changed nothing.
        let (stored, compared, surplus) = self.compare(&t, &g)?;
        if let Some(other) = was.filter(|other| other != golden) {
            self.note(format!("{target} does not face {other} any more"));
            if self.faces(Side::Golden, &other, target)? {
                self.release(Side::Golden, &other)?;
            }
            self.done.unmatched += 1;
        }
        if let Some(other) = had.filter(|other| other != target) {
            self.note(format!("{golden} does not face {other} any more"));
            if self.faces(Side::Target, &other, golden)? {
                self.release(Side::Target, &other)?;
            }
            self.done.unmatched += 1;
        }
        let [input_data, output_data] = stored.texts(&compared.columns);
        let columns = MatchColumns {
            precision_index: compared.verdict.map(index),
            matched_node_link: self.link(Side::Golden, &g)?,
            input_data,
            output_data,
            modified: true,
        };
        self.write(Side::Target, &t, &columns, Some(MatchedBy::Hand.as_str()))?;
        let columns = MatchColumns {
            precision_index: None,
            matched_node_link: self.link(Side::Target, &t)?,
            input_data: g.input_data.clone(),
            output_data: g.output_data.clone(),
            modified: true,
        };
        self.write(Side::Golden, &g, &columns, Some(MatchedBy::Hand.as_str()))?;
        self.keep_facts(target, &surplus, &compared)?;
        self.done.matched += 1;
        Ok(())
    }

    /// Writes what comparing a target node showed beside its rows.
    fn keep_facts(&self, target: &str, surplus: &[String], compared: &Compared) -> Result<(), Error> {
        let surplus: Vec<&str> = surplus.iter().map(String::as_str).collect();
        self.amender.set_surplus(self.step, self.rank, target, &surplus)?;
        let tensors: Vec<_> = compared.tensors.iter().map(|fact| (fact.place, fact.row.as_str(), &fact.extra)).collect();
        self.amender.set_tensor_facts(self.step, self.rank, target, &tensors)?;
        Ok(())
    }

    /// Makes the tensors of two nodes readable.
    fn open_tensors(&mut self, t: &Node, g: &Node) -> Result<(), Error> {
        let [target, golden] = [t, g].map(|node| PathBuf::from(node.dump_data_dir.as_deref().unwrap_or("")));
        if self.folders.as_ref().is_some_and(|(t, g, _)| *t == target && *g == golden) {
            return Ok(());
        }
        for (side, folder) in [("target", &target), ("golden", &golden)] {
            if !folder.is_dir() {
                let reason = if folder.as_os_str().is_empty() {
                    format!("the file does not say where the {side} tensors are")
                } else {
                    format!("the {side} tensors are not in {} any more, so that nothing can be computed", folder.display())
                };
                return Err(unlike(&t.name, &g.name, &reason));
            }
        }
        let folders = TensorFolders::at(&target, &golden);
        self.folders = Some((target, golden, folders));
        Ok(())
    }

    /// The target's rows, what comparing them gave, and the golden rows that nothing faces.
    fn compare(&mut self, t: &Node, g: &Node) -> Result<(Stored, Compared, Vec<String>), Error> {
        let mut target = Stored::read(&t.name, &t.input_data, &t.output_data)?;
        target.strip();
        let mut golden = Stored::read(&g.name, &g.input_data, &g.output_data)?;
        golden.strip();
        let bump = Bump::new();
        let golden_rows = golden.rows(&g.name, &bump);
        // The dtypes of two frameworks are compared by meaning; those of one are spelled alike, so that it makes no difference.
        let merged = !matches!(t.parallel_merge_info.as_str(), "" | "[]");
        let rules = Rules { mode: self.mode, merged, cross_framework: true };
        let target_rows = target.rows(&t.name, &bump);
        let reads = self.mode == Mode::Tensor && target_rows.iter().any(|row| !matches!(row.data_name(), "" | "-1"));
        if reads {
            self.open_tensors(t, g)?;
        }
        // A node without tensors needs no folder, and its rows say so.
        let nowhere = TensorFolders::at(Path::new(""), Path::new(""));
        let folders = (self.mode == Mode::Tensor).then(|| self.folders.as_ref().filter(|_| reads).map_or(&nowhere, |(_, _, open)| open));
        let mut compared = compare_stored(rules, folders, &target_rows, &golden_rows);
        if compared.verdict.is_some() && name::is_uninitialised_memory(&t.name) {
            compared.verdict = Some(Verdict::Pass);
        }
        let surplus = compared.surplus.iter().map(|&row| golden_rows[row].name.to_owned()).collect();
        drop(target_rows);
        Ok((target, compared, surplus))
    }

    // ------------------------------------------------------------------ taking back

    /// Takes the match of two nodes back, and that of their calls of the other direction.
    pub(super) fn unmatch_calls(&mut self, target: &str, golden: &str, descendants: bool) -> Result<(), Error> {
        if !self.faces(Side::Target, target, golden)? {
            return Err(Error::NotMatched { target: target.to_owned(), golden: golden.to_owned() });
        }
        let mut pairs = vec![(target.to_owned(), golden.to_owned())];
        if let (Some(target), Some(golden)) = (name::switch_direction(target), name::switch_direction(golden)) {
            if self.faces(Side::Target, &target, &golden)? {
                pairs.push((target, golden));
            }
        }
        let mut seen = HashSet::new();
        while let Some((target, golden)) = pairs.pop() {
            if !seen.insert(target.clone()) {
                continue;
            }
            if descendants {
                let below: HashSet<String> =
                    self.amender.children(self.graph(Side::Golden), &golden)?.into_iter().map(|child| child.name).collect();
                for child in self.amender.children(self.graph(Side::Target), &target)? {
                    if let Some(partner) = child.partner.filter(|partner| below.contains(partner)) {
                        pairs.push((child.name, partner));
                    }
                }
            }
            self.part(&target, &golden)?;
        }
        Ok(())
    }

    /// Makes two nodes that face each other face nobody.
    fn part(&mut self, target: &str, golden: &str) -> Result<(), Error> {
        self.release(Side::Target, target)?;
        if self.faces(Side::Golden, golden, target)? {
            self.release(Side::Golden, golden)?;
        }
        self.done.unmatched += 1;
        Ok(())
    }

    /// Makes a node face nobody, if it faces anybody.
    pub(super) fn release_named(&mut self, side: Side, name: &str) -> Result<(), Error> {
        let node = self.node(side, name)?;
        let Some(partner) = node.partner().map(Cow::into_owned) else { return Ok(()) };
        let (target, golden) = if side == Side::Target { (name, partner.as_str()) } else { (partner.as_str(), name) };
        if self.faces(Side::Target, target, golden)? {
            self.part(target, golden)
        } else {
            self.release(side, name)
        }
    }

    fn release(&mut self, side: Side, name: &str) -> Result<(), Error> {
        let node = self.node(side, name)?;
        let [input_data, output_data] = if side == Side::Target {
            let mut stored = Stored::read(name, &node.input_data, &node.output_data)?;
            stored.strip();
            self.keep_facts(name, &[], &Compared::default())?;
            stored.texts(&[])
        } else {
            [node.input_data.clone(), node.output_data.clone()]
        };
        let columns = MatchColumns { precision_index: None, matched_node_link: "[]".to_owned(), input_data, output_data, modified: true };
        self.write(side, &node, &columns, None)
    }

    fn faces(&self, side: Side, name: &str, other: &str) -> Result<bool, Error> {
        let node = self.amender.head(self.graph(side), name)?;
        Ok(node.is_some_and(|node| node.partner().as_deref() == Some(other)))
    }

    /// Takes the last change of the file back.
    pub(super) fn undo(&mut self) -> Result<(), Error> {
        let last = self.amender.last_edit()?.ok_or_else(|| Error::NothingToUndo(self.file.clone()))?;
        (self.step, self.rank) = (last.step, last.rank);
        let before = self.amender.before(last.number)?;
        let targets: Vec<String> = before.iter().filter(|one| one.side == Side::Target).map(|one| one.name.clone()).collect();
        for Before { side, name, columns, way } in before {
            let Some(node) = self.amender.node(self.graph(side), &name)? else { continue };
            self.write(side, &node, &columns, way.as_deref())?;
        }
        for name in &targets {
            let t = self.node(Side::Target, name)?;
            let g = match t.partner() {
                Some(partner) => self.amender.node(self.graph(Side::Golden), &partner)?,
                None => None,
            };
            // The rows are as they were; beside them stands what follows from them. Tensors that are gone cannot tell again.
            let (compared, surplus) = match g.map(|g| self.compare(&t, &g)) {
                Some(Ok((_, compared, surplus))) => (compared, surplus),
                Some(Err(error @ Error::File(_))) => return Err(error),
                Some(Err(_)) | None => (Compared::default(), Vec::new()),
            };
            self.keep_facts(name, &surplus, &compared)?;
        }
        self.amender.forget_edit(last.number)?;
        Ok(())
    }

    fn note(&mut self, text: String) {
        if self.done.notes.len() < MOST_NOTES {
            self.done.notes.push(text);
        }
    }

    // ------------------------------------------------------------------ writing

    fn node(&self, side: Side, name: &str) -> Result<Node, Error> {
        self.amender.node(self.graph(side), name)?.ok_or_else(|| self.no_node(side, name))
    }

    /// Writes a node and remembers what it was.
    fn write(&mut self, side: Side, node: &Node, columns: &MatchColumns, way: Option<&str>) -> Result<(), Error> {
        let graph = self.graph(side);
        if let Some(edit) = self.edit {
            self.amender.keep(edit, graph, &node.name)?;
        }
        self.touched.entry((side, node.name.clone())).or_insert_with(|| Counted::of(node));
        self.amender.set(graph, &node.name, columns)?;
        self.amender.set_way(graph, node.order, way)?;
        Ok(())
    }

    /// The link to a node, as its partner stores it: the names from the root down to it.
    fn link(&mut self, side: Side, node: &Node) -> Result<String, Error> {
        let parent = (side, node.up_node.clone());
        if self.link_start.0.as_ref() != Some(&parent) {
            let mut above = Vec::new();
            let mut name = node.up_node.clone();
            while !name.is_empty() && above.len() <= MAX_LINK_DEPTH as usize {
                let next = self.amender.head(self.graph(side), &name)?.map(|node| node.up_node).unwrap_or_default();
                above.push(name);
                name = next;
            }
            if !name.is_empty() {
                // Deeper than links are written in full: the parent alone.
                above.truncate(1);
            }
            let mut start = Vec::new();
            for name in above.iter().rev() {
                json::push_string(&mut start, name);
                start.extend_from_slice(b", ");
            }
            self.link_start = (Some(parent), String::from_utf8_lossy(&start).into_owned());
        }
        let mut link = format!("[{}", self.link_start.1).into_bytes();
        json::push_string(&mut link, &node.name);
        link.push(b']');
        Ok(String::from_utf8_lossy(&link).into_owned())
    }

    /// Lets collections and counts follow, and makes the change lasting.
    pub(super) fn finish(mut self) -> Result<Done, Error> {
        // An undone change has brought the verdicts of its collections along.
        if self.edit.is_some() {
            self.judge_collections()?;
        }
        super::below::follow(&self.amender, self.step, self.rank, &self.touched)?;
        self.amender.forget_answer(self.step, self.rank)?;
        self.done.changed = self.touched.len() as u64;
        self.amender.commit()?;
        Ok(self.done)
    }

    /// Gives each collection with a changed member the worst verdict of its members.
    fn judge_collections(&mut self) -> Result<(), Error> {
        let mut parents = HashSet::new();
        for ((side, _), counted) in &self.touched {
            if *side == Side::Target {
                parents.insert(counted.parent.clone());
            }
        }
        for name in parents {
            let graph = self.graph(Side::Target);
            let Some(head) = self.amender.head(graph, &name)? else { continue };
            if head.node_type != COLLECTION {
                continue;
            }
            let worst = self.amender.worst_child(graph, &name)?;
            if worst == head.precision_index {
                continue;
            }
            let node = self.node(Side::Target, &name)?;
            if let Some(edit) = self.edit {
                self.amender.keep(edit, graph, &name)?;
            }
            self.touched.entry((Side::Target, name.clone())).or_insert_with(|| Counted::of(&node));
            let columns = MatchColumns {
                precision_index: worst,
                matched_node_link: node.matched_node_link,
                input_data: node.input_data,
                output_data: node.output_data,
                modified: node.modified,
            };
            self.amender.set(graph, &name, &columns)?;
        }
        Ok(())
    }
}

fn index(verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Pass => 0.0,
        Verdict::Warning => 0.5,
        Verdict::Error => 1.0,
    }
}

fn unlike(target: &str, golden: &str, reason: &str) -> Error {
    Error::Unlike { target: target.to_owned(), golden: golden.to_owned(), reason: reason.to_owned() }
}
