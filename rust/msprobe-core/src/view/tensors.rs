//! Columns that the node panel has beside those of the file's rows: what `msprobe_tensor` knows of a pair of tensors.

use std::collections::HashMap;

use serde_json::Value;

use super::node::{row_name, Pair};
use super::rows::TensorFacts;

pub(super) const EQUAL: &str = "Equal bits";
pub(super) const ULP: &str = "ULP";
pub(super) const LARGEST_AT: &str = "Largest at";
pub(super) const NAN: &str = "NaN";
pub(super) const INFINITE: &str = "Inf";

/// Adds the columns to the rows they belong to: counts to both sides, all else to the target's.
pub(super) fn add(facts: Vec<TensorFacts>, node: &str, pairs: &mut [Pair]) {
    let facts: HashMap<(bool, String), TensorFacts> =
        facts.into_iter().map(|facts| ((facts.output, row_name(&facts.row, node).to_owned()), facts)).collect();
    for pair in pairs {
        let Some(facts) = facts.get(&(pair.output, pair.name.clone())) else { continue };
        for (side, row) in [&mut pair.target, &mut pair.golden].into_iter().enumerate() {
            let Some(Value::Object(row)) = row else { continue };
            if side == 0 {
                let number = |value: Option<f64>| value.map(|value| value.to_string());
                for (column, text) in [(EQUAL, number(facts.equal)), (ULP, number(facts.ulp)), (LARGEST_AT, facts.largest_at.clone())] {
                    if let Some(text) = text {
                        row.insert(column.to_owned(), text.into());
                    }
                }
            }
            row.insert(NAN.to_owned(), facts.nan[side].to_string().into());
            row.insert(INFINITE.to_owned(), facts.infinite[side].to_string().into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_side_gets_its_own() {
        let facts = |output, row: &str| TensorFacts {
            output,
            row: row.to_owned(),
            largest_at: None,
            equal: Some(0.5),
            ulp: Some(3.0),
            nan: [1, 2],
            infinite: [0, 4],
        };
        let pair = |name: &str, output, golden| Pair { name: name.into(), output, target: Some(json!({})), golden, golden_name: None };
        let mut pairs = [pair("input.0", false, Some(json!({}))), pair("input.0", true, None), pair("input.1", false, None)];
        add(vec![facts(false, "Torch.add.0.forward.input.0"), facts(true, "other.name")], "Torch.add.0.forward", &mut pairs);
        assert_eq!(pairs[0].target, Some(json!({ EQUAL: "0.5", ULP: "3", NAN: "1", INFINITE: "0" })));
        assert_eq!(pairs[0].golden, Some(json!({ NAN: "2", INFINITE: "4" })));
        assert_eq!((&pairs[1].target, &pairs[2].target), (&Some(json!({})), &Some(json!({}))));
    }
}
