//! What had to be repaired while building, to be told to the user.

/// How many names, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstNames {
    /// All of them.
    pub count: usize,
    /// At most [`FirstNames::KEPT`] names.
    pub first: Vec<String>,
}

impl FirstNames {
    /// Number of names kept.
    pub const KEPT: usize = 3;

    pub(super) fn add(&mut self, name: &str) {
        self.count += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(name.to_owned());
        }
    }
}

/// Nodes that did not find their place by themselves. All of them are in the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Named as a parent but never recorded, or recorded as their own parent: attached to the root with all below them.
    pub hanging: FirstNames,
    /// First node of a cycle of parents: attached to the root.
    pub cycles: FirstNames,
    /// Entries of dump.json that construct.json does not know: attached to the root.
    pub without_construct: FirstNames,
    /// Parameter gradients of a module without backward node: attached to its last forward node or the root.
    pub gradients_without_backward: FirstNames,
}

impl Notes {
    /// One sentence per kind of repair that was made.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        [
            (&self.hanging, "without a recorded place (parent of others, or its own parent) put at the top level"),
            (&self.cycles, "at the start of a circle of parents put at the top level"),
            (&self.without_construct, "of dump.json missing in construct.json put at the top level"),
            (
                &self.gradients_without_backward,
                "of parameter gradients without a backward node put below the forward node or at the top level",
            ),
        ]
        .into_iter()
        .filter(|(names, _)| names.count > 0)
        .map(|(names, what)| {
            let more = if names.count > names.first.len() { ", ..." } else { "" };
            format!("{} node(s) {what}: {}{more}", names.count, names.first.join(", "))
        })
    }
}
