//! One pair of nodes, compared: the differences of every target row, its verdict, and the node's.

use crate::dump::json::Value;
use crate::dump::rows::{Field, Row, RowClass};
use crate::matching::Pairs;
use crate::metrics::statistics::{difference, Differences};
use crate::metrics::Mode;
use crate::verdict::{judge, Facts, JudgedRow, Measures, RowVerdict, Rules, Verdict};

/// What was found of one target row.
#[derive(Clone, Debug)]
pub(super) struct RowResult {
    /// Differences of the statistics (statistics mode).
    pub differences: Differences,
    /// Whether `requires_grad` is the same on both sides.
    pub same_requires_grad: bool,
    /// Verdict and messages.
    pub judged: RowVerdict,
    /// Why the row could not be compared.
    pub reason: Option<&'static str>,
}

/// Why a row has blanks for numbers.
const NO_GOLDEN_ROW: &str = "info: the golden node has no such parameter";

/// Compares the rows of a target node with those of its partner; `pairs` says which faces which. Writes one result per
/// target row into `out` and returns the node's verdict.
pub(super) fn compare_rows(
    rules: Rules,
    target: &[Row<'_>],
    golden: &[Row<'_>],
    pairs: &Pairs,
    out: &mut Vec<RowResult>,
) -> Option<Verdict> {
    out.clear();
    let mut judged_rows = Vec::with_capacity(target.len());
    for (row, partner) in target.iter().zip(pairs.golden_of()) {
        let partner = partner.map(|index| &golden[index]);
        let differences = match partner {
            Some(partner) if rules.mode == Mode::Statistics => differences(row, partner),
            _ => Differences::BLANK,
        };
        let measures = Measures { norm_relative: differences.norm_fraction(), ..Measures::default() };
        let is_output = row.class == RowClass::Output;
        judged_rows.push(JudgedRow { is_output, target: facts(row), golden: partner.map(facts), measures });
        out.push(RowResult {
            differences,
            same_requires_grad: partner.is_some_and(|partner| row.get(Field::RequiresGrad) == partner.get(Field::RequiresGrad)),
            judged: RowVerdict::PASS,
            reason: partner.is_none().then_some(NO_GOLDEN_ROW),
        });
    }
    let mut verdicts = Vec::with_capacity(target.len());
    let node = judge(rules, &judged_rows, &mut verdicts);
    for (result, judged) in out.iter_mut().zip(verdicts) {
        result.judged = judged;
    }
    node
}

fn differences(target: &Row<'_>, golden: &Row<'_>) -> Differences {
    let (target, golden) = (target.statistics(), golden.statistics());
    Differences(std::array::from_fn(|statistic| difference(target[statistic], golden[statistic])))
}

fn facts<'a>(row: &Row<'a>) -> Facts<'a> {
    Facts {
        name: row.name,
        dtype: row.get(Field::Dtype),
        shape: row.get(Field::Shape),
        requires_grad: row.get(Field::RequiresGrad),
        max: statistic(row, Field::Max),
        min: statistic(row, Field::Min),
        md5: Value::Str(row.md5()),
    }
}

/// A statistic as the checks see it: a NaN is the text `Nan`, so that it equals the NaN of the other side.
fn statistic<'a>(row: &Row<'a>, field: Field) -> Value<'a> {
    match row.get(field) {
        Value::Float(x) if x.is_nan() => Value::Str("Nan"),
        value => value,
    }
}
