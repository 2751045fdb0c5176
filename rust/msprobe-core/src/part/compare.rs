//! One pair of nodes, compared: the numbers of every target row, its verdict, and the node's.

use std::borrow::Cow;

use super::tensors::{Asked, TensorFolders};
use crate::dump::json::Value;
use crate::dump::rows::{Field, Row, RowClass};
use crate::matching::Pairs;
use crate::metrics::statistics::{difference, Differences};
use crate::metrics::tensor::TensorComparison;
use crate::metrics::Mode;
use crate::verdict::{judge, Facts, JudgedRow, Measures, RowVerdict, Rules, Verdict};

/// The numbers of one target row.
#[derive(Clone, Debug)]
pub(super) enum Numbers {
    /// Nothing faces the row, or the mode has no numbers.
    Blank,
    /// Differences of the statistics.
    Statistics(Differences),
    /// The two tensors, compared.
    Tensor(TensorComparison),
}

/// What was found of one target row.
#[derive(Clone, Debug)]
pub(super) struct RowResult {
    /// The numbers.
    pub numbers: Numbers,
    /// Whether `requires_grad` is the same on both sides.
    pub same_requires_grad: bool,
    /// Verdict and messages.
    pub judged: RowVerdict,
    /// Why the row could not be compared, or not in full.
    pub reason: Option<Cow<'static, str>>,
}

/// Why a row has no numbers.
const NO_GOLDEN_ROW: &str = "the golden node has no such parameter";

/// Compares the rows of a target node with those of its partner; `pairs` says which faces which, `tensors` are there in
/// tensor mode, `asked` if the user has algorithms. Writes one result per target row into `out` and returns the node's verdict.
pub(super) fn compare_rows(
    rules: Rules,
    tensors: Option<&TensorFolders>,
    mut asked: Option<Asked<'_>>,
    target: &[Row<'_>],
    golden: &[Row<'_>],
    pairs: &Pairs,
    out: &mut Vec<RowResult>,
) -> Option<Verdict> {
    out.clear();
    let mut judged_rows = Vec::with_capacity(target.len());
    for (index, (row, partner)) in target.iter().zip(pairs.golden_of()).enumerate() {
        let partner = partner.map(|index| &golden[index]);
        let numbers = match (partner, tensors) {
            (_, Some(tensors)) => Numbers::Tensor(tensors.compare(row, partner, asked.as_mut().map(|asked| asked.at(index)))),
            (Some(partner), None) if rules.mode == Mode::Statistics => Numbers::Statistics(differences(row, partner)),
            _ => Numbers::Blank,
        };
        let measures = measures(&numbers);
        let reason = match &numbers {
            _ if partner.is_none() => Some(Cow::Borrowed(NO_GOLDEN_ROW)),
            Numbers::Tensor(found) => found.reason.clone().map(Cow::Owned),
            _ => None,
        };
        let is_output = row.class == RowClass::Output;
        judged_rows.push(JudgedRow { is_output, target: facts(row), golden: partner.map(facts), measures });
        out.push(RowResult {
            numbers,
            same_requires_grad: partner.is_some_and(|partner| row.get(Field::RequiresGrad) == partner.get(Field::RequiresGrad)),
            judged: RowVerdict::PASS,
            reason,
        });
    }
    for (index, answers) in asked.map_or_else(Vec::new, Asked::finish) {
        if let Numbers::Tensor(found) = &mut out[index].numbers {
            found.answers = answers;
        }
    }
    let mut verdicts = Vec::with_capacity(target.len());
    let node = judge(rules, &judged_rows, &mut verdicts);
    for (result, judged) in out.iter_mut().zip(verdicts) {
        result.judged = judged;
    }
    node
}

fn measures(numbers: &Numbers) -> Measures {
    match numbers {
        Numbers::Blank => Measures::default(),
        Numbers::Statistics(differences) => Measures { norm_relative: differences.norm_fraction(), ..Measures::default() },
        Numbers::Tensor(found) => {
            let [cosine, _, _, _, one_thousandth, _] = found.cells.map(|cell| cell.word().err());
            Measures { one_thousandth, cosine, ..Measures::default() }
        }
    }
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
