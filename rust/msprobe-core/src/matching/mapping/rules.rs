//! The rules of a mapping: per class, which child of the target is which child of the golden side.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::file::MOST_PARTS;

/// One rule: below a target module of class `class` the child `key` is called `value` on the golden side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Class of the target module, or `TopLayer`.
    pub class: String,
    /// Child path on the target side, dots between its parts.
    pub key: String,
    /// Child path on the golden side.
    pub value: String,
    /// Line in the file, counted from 1.
    pub line: usize,
}

/// The rules of a mapping, ready to be followed part by part. Empty: nodes match by their place.
#[derive(Clone, Debug)]
pub struct Rules {
    path: PathBuf,
    all: Vec<Rule>,
    starts: HashMap<String, u32>,
    steps: Vec<Step>,
}

/// Where the parts of a path have led to within the rules of one class.
#[derive(Clone, Debug, Default)]
struct Step {
    next: HashMap<String, u32>,
    /// The rule whose key ends here.
    rule: Option<u32>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { path: PathBuf::new(), all: Vec::new(), starts: HashMap::new(), steps: Vec::new() }
    }
}

impl Rules {
    /// Takes rules from anywhere; `path` is the name that messages call them by. Of two rules with one class and key the
    /// first counts. The error is a line and what is wrong with it.
    pub fn new(path: &Path, rules: impl IntoIterator<Item = Rule>) -> Result<Rules, (usize, String)> {
        let mut all = Rules { path: path.to_owned(), ..Rules::default() };
        for rule in rules {
            let parts = rule.key.split('.').count();
            if parts > MOST_PARTS {
                return Err((rule.line, format!("a key of {parts} parts; {MOST_PARTS} are the most")));
            }
            all.add(rule);
        }
        Ok(all)
    }

    fn add(&mut self, rule: Rule) {
        let mut at = *self.starts.entry_ref(rule.class.as_str()).or_insert_with(|| {
            self.steps.push(Step::default());
            self.steps.len() as u32 - 1
        });
        for part in rule.key.split('.') {
            let free = self.steps.len() as u32;
            let next = *self.steps[at as usize].next.entry_ref(part).or_insert(free);
            if next == free {
                self.steps.push(Step::default());
            }
            at = next;
        }
        self.steps[at as usize].rule.get_or_insert(self.all.len() as u32);
        self.all.push(rule);
    }

    /// Name of the file, for messages; empty without one.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All rules in the order of the file.
    #[must_use]
    pub fn all(&self) -> &[Rule] {
        &self.all
    }

    /// Where the rules of a class start.
    pub(super) fn start(&self, class: &str) -> Option<u32> {
        self.starts.get(class).copied()
    }

    /// One part further.
    pub(super) fn step(&self, from: u32, part: &str) -> Option<u32> {
        self.steps[from as usize].next.get(part).copied()
    }

    /// The rule whose key ends here, as its position in [`Rules::all`].
    pub(super) fn rule_at(&self, step: u32) -> Option<u32> {
        self.steps[step as usize].rule
    }
}
