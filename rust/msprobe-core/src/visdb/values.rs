//! The values of columns that hold one of a few: side, verdict, overflow level, way of matching.

pub use crate::overflow::Level as OverflowLevel;
pub use crate::verdict::Verdict;

/// Which of the two graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The graph under test, `NPU` in the file.
    Target,
    /// The graph it is compared with, `Bench` in the file.
    Golden,
}

impl Side {
    /// The text stored as `data_source`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Target => "NPU",
            Side::Golden => "Bench",
        }
    }

    /// The side that is stored as `text`.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "NPU" => Some(Side::Target),
            "Bench" => Some(Side::Golden),
            _ => None,
        }
    }
}

/// How a node found its partner (table `msprobe_node`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchedBy {
    /// The same name.
    Name,
    /// Fuzzy matching.
    Fuzzy,
    /// A layer mapping.
    Mapping,
    /// Alignment of two different trees.
    Alignment,
    /// A person.
    Hand,
}

impl MatchedBy {
    /// The text stored in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MatchedBy::Name => "name",
            MatchedBy::Fuzzy => "fuzzy",
            MatchedBy::Mapping => "mapping",
            MatchedBy::Alignment => "alignment",
            MatchedBy::Hand => "hand",
        }
    }
}
