//! Two stored nodes, compared anew: when a person matches nodes of a finished file.

use super::columns::push_comparison;
use super::compare::{compare_rows, Numbers};
use super::tensors::TensorFolders;
use crate::dump::rows::{Row, RowClass, RowKind};
use crate::matching::{pair_rows, Pairs};
use crate::metrics::tensor::Extra;
use crate::metrics::Mode;
use crate::verdict::{Rules, Verdict};

/// What comparing two nodes gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// Verdict of the target node; `None` when nothing was compared.
    pub verdict: Option<Verdict>,
    /// Per target row the members of its JSON object that the comparison adds, `"Result": "pass", ...`; empty for rows that get
    /// none.
    pub columns: Vec<String>,
    /// Golden rows that no target row faces.
    pub surplus: Vec<usize>,
    /// What the tensors show beyond the columns.
    pub tensors: Vec<TensorFact>,
}

/// What the tensors of one row and its partner show beyond the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorFact {
    /// `input` or `output`: the column of the row.
    pub place: &'static str,
    /// Name of the row.
    pub row: String,
    /// The numbers.
    pub extra: Extra,
}

/// Compares the rows of a target node with those of a golden node; `tensors` are there in tensor mode.
#[must_use]
pub fn compare_stored(rules: Rules, tensors: Option<&TensorFolders>, target: &[Row<'_>], golden: &[Row<'_>]) -> Compared {
    if rules.mode == Mode::Structure {
        return Compared { columns: vec![String::new(); target.len()], ..Compared::default() };
    }
    let (mut pairs, mut results) = (Pairs::default(), Vec::new());
    pair_rows(target, golden, &mut pairs);
    let verdict = compare_rows(rules, tensors, None, target, golden, &pairs, &mut results);
    let columns = target
        .iter()
        .zip(&results)
        .map(|(row, result)| {
            let mut out = Vec::new();
            if row.kind != RowKind::Null && row.type_text() != "torch.ProcessGroup" {
                push_comparison(&mut out, rules.mode, result, &[]);
                out.truncate(out.len().saturating_sub(2));
            }
            String::from_utf8_lossy(&out).into_owned()
        })
        .collect();
    let tensors = target.iter().zip(results).filter_map(|(row, result)| match result.numbers {
        Numbers::Tensor(found) => {
            let place = if row.class == RowClass::Output { "output" } else { "input" };
            Some(TensorFact { place, row: row.name.to_owned(), extra: found.extra? })
        }
        _ => None,
    });
    Compared { verdict, columns, surplus: pairs.surplus().to_vec(), tensors: tensors.collect() }
}
