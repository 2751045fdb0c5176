//! Pass, warning or error: how the rows of one matched node are judged.
//!
//! Lives here: the checks of every mode, the exempt APIs and the node's verdict. May not: know the tree (a collection's
//! verdict is the worst of its members, which is the business of `part`) or the result file.
//!
//! A row's verdict only ever rises (pass < warning < error) and its messages keep the order of the checks, so that the
//! texts equal the reference's.

mod best;
mod checks;
mod exempt;

use crate::dump::json::Value;
use crate::metrics::Mode;

/// Verdict of a row or node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing to complain of.
    Pass,
    /// Worth a look.
    Warning,
    /// Does not agree.
    Error,
}

impl Verdict {
    /// The text stored as `Result`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warning => "warning",
            Verdict::Error => "error",
        }
    }
}

/// A number that a node rule looks at; absent when the cell holds a text such as `N/A` or `unsupported`.
pub type Measure = Option<f64>;

/// The measures of one row that the rules look at. A mode fills its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// `NormRelativeErr` as a fraction (statistics).
    pub norm_relative: Measure,
    /// `One Thousandth Err Ratio` (tensor).
    pub one_thousandth: Measure,
    /// `Cosine` (tensor).
    pub cosine: Measure,
}

/// One side of a row, as the checks see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts<'a> {
    /// Full name of the parameter.
    pub name: &'a str,
    /// Data type, in the spelling of its framework.
    pub dtype: Value<'a>,
    /// Shape, a list or a text.
    pub shape: Value<'a>,
    /// `True` or `False` for tensors, null for everything else.
    pub requires_grad: Value<'a>,
    /// Largest value, or the value of a scalar.
    pub max: Value<'a>,
    /// Smallest value, or the value of a scalar.
    pub min: Value<'a>,
    /// CRC-32 text (md5 mode).
    pub md5: Value<'a>,
}

/// One row to be judged.
#[derive(Clone, Copy, Debug)]
pub struct JudgedRow<'a> {
    /// Whether the row is an output of the node; all others count as inputs.
    pub is_output: bool,
    /// The target's parameter.
    pub target: Facts<'a>,
    /// The golden parameter facing it, if any.
    pub golden: Option<Facts<'a>>,
    /// What the mode measured.
    pub measures: Measures,
}

/// What a check found, in the order of the checks.
pub type Messages = Vec<&'static str>;

/// Verdict and messages of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowVerdict {
    /// The worst level that hit the row.
    pub verdict: Verdict,
    /// The messages, in the order of the checks.
    pub messages: Messages,
}

impl RowVerdict {
    /// The verdict of a row that no check has hit.
    pub const PASS: RowVerdict = RowVerdict { verdict: Verdict::Pass, messages: Vec::new() };
}

/// Which rules apply to a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Decides the set of checks.
    pub mode: Mode,
    /// A comparison of merged graphs: shapes may differ, `_rank<n>` is no part of an API's name.
    pub merged: bool,
    /// The two sides come from different frameworks, whose dtypes are compared by meaning.
    pub cross_framework: bool,
}

/// Judges the rows of one matched node, in the order in which they are stored. Writes one verdict per row into `out` and
/// returns the node's; `None` when there is no row.
pub fn judge(rules: Rules, rows: &[JudgedRow<'_>], out: &mut Vec<RowVerdict>) -> Option<Verdict> {
    out.clear();
    out.resize(rows.len(), RowVerdict::PASS);
    checks::run(rules, rows, out);
    out.iter().map(|r| r.verdict).max()
}
