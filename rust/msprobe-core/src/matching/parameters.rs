//! Which row of the golden node each row of the target node is compared with.
//!
//! Rows pair inside their class only: inputs, parameters, outputs, parameter gradients. A row with a name of its own
//! (keyword input, parameter, gradient) pairs with the row of that name where both sides have the name; several rows
//! under one name pair in order. All other rows of the class pair by position. So keywords in another order, or a keyword
//! that one side lacks, do not shift the rows behind them.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};

use crate::dump::rows::{Row, RowClass};

/// The pairing of the rows of two matched nodes; kept from node to node to save its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    golden_of: Vec<Option<usize>>,
    surplus: Vec<usize>,
}

impl Pairs {
    /// Per target row the golden row it is compared with; `None` for a row that the golden node does not have.
    #[must_use]
    pub fn golden_of(&self) -> &[Option<usize>] {
        &self.golden_of
    }

    /// Golden rows that the target node does not have, in order.
    #[must_use]
    pub fn surplus(&self) -> &[usize] {
        &self.surplus
    }
}

/// What a row is paired by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place<'a> {
    Named(RowClass, &'a str),
    Position(RowClass),
}

/// Pairs the rows of two matched nodes.
pub fn pair_rows(target: &[Row<'_>], golden: &[Row<'_>], pairs: &mut Pairs) {
    pairs.golden_of.clear();
    pairs.surplus.clear();
    if alike(target, golden) {
        pairs.golden_of.extend((0..golden.len()).map(Some));
        return;
    }
    let target_names: HashSet<(RowClass, &str)> = target.iter().filter_map(|row| Some((row.class, row.keyword?))).collect();
    let mut waiting: HashMap<Place<'_>, VecDeque<usize>> = HashMap::new();
    for (index, row) in golden.iter().enumerate() {
        let place = match row.keyword {
            Some(keyword) if target_names.contains(&(row.class, keyword)) => Place::Named(row.class, keyword),
            _ => Place::Position(row.class),
        };
        waiting.entry(place).or_default().push_back(index);
    }
    let mut taken = vec![false; golden.len()];
    for row in target {
        let named = row.keyword.map(|keyword| Place::Named(row.class, keyword)).filter(|place| waiting.contains_key(place));
        let partner = waiting.get_mut(&named.unwrap_or(Place::Position(row.class))).and_then(VecDeque::pop_front);
        if let Some(partner) = partner {
            taken[partner] = true;
        }
        pairs.golden_of.push(partner);
    }
    pairs.surplus.extend((0..golden.len()).filter(|&row| !taken[row]));
}

/// Whether both sides have the same classes and names in the same order, as they nearly always do.
fn alike(target: &[Row<'_>], golden: &[Row<'_>]) -> bool {
    target.len() == golden.len() && target.iter().zip(golden).all(|(t, g)| t.class == g.class && t.keyword == g.keyword)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::dump::{collect_rows, DumpFile, EntryId, Source};

    /// Pairs the rows of two entries; the names of golden rows and of the surplus, without the name of the node.
    fn pair(target: &str, golden: &str) -> (Vec<Option<String>>, Vec<String>) {
        let open = |entry: &str| {
            let text = format!(r#"{{"data": {{"Torch.f.0.forward": {entry}}}}}"#);
            DumpFile::new(Source::from_bytes("dump.json".as_ref(), text.into_bytes()).unwrap()).unwrap()
        };
        let (target, golden) = (open(target), open(golden));
        let bump = Bump::new();
        let target = collect_rows("Torch.f.0.forward", target.entry(EntryId(0), &bump).unwrap(), &bump);
        let golden = collect_rows("Torch.f.0.forward", golden.entry(EntryId(0), &bump).unwrap(), &bump);
        let mut pairs = Pairs::default();
        pair_rows(&target, &golden, &mut pairs);
        assert_eq!(pairs.golden_of().len(), target.len());
        let name = |&row: &usize| golden[row].name["Torch.f.0.forward.".len()..].to_owned();
        (pairs.golden_of().iter().map(|row| row.as_ref().map(name)).collect(), pairs.surplus().iter().map(name).collect())
    }

    fn some(names: &[&str]) -> Vec<Option<String>> {
        names.iter().map(|name| (!name.is_empty()).then(|| (*name).to_owned())).collect()
    }

    const I: &str = r#"{"type": "int", "value": 1}"#;

    #[test]
    fn a_keyword_that_one_side_lacks_shifts_nothing() {
        let target = format!(r#"{{"input_args": [{I}, {I}], "input_kwargs": {{"a": {I}, "b": {I}, "c": {I}}}}}"#);
        let golden = format!(r#"{{"input_args": [{I}, {I}], "input_kwargs": {{"c": {I}, "b": {I}}}}}"#);
        assert_eq!(pair(&target, &golden), (some(&["input.0", "input.1", "", "input.b", "input.c"]), vec![]));
        assert_eq!(pair(&golden, &target), (some(&["input.0", "input.1", "input.c", "input.b"]), vec!["input.a".to_owned()]));
    }

    #[test]
    fn what_has_no_common_name_pairs_by_position() {
        // A positional argument of one side is a keyword of the other; `gamma` and `weight` are the same parameter.
        let target = format!(r#"{{"input_args": [{I}, {I}], "parameters": {{"gamma": {I}, "bias": {I}}}}}"#);
        let golden = format!(r#"{{"input_args": [{I}], "input_kwargs": {{"other": {I}}}, "parameters": {{"bias": {I}, "weight": {I}}}}}"#);
        assert_eq!(pair(&target, &golden).0, some(&["input.0", "input.other", "parameters.weight", "parameters.bias"]));
    }

    #[test]
    fn classes_do_not_mix() {
        let target = format!(r#"{{"input_args": [{I}, {I}], "output": [{I}], "parameters": {{"w": {I}}}}}"#);
        let golden = format!(r#"{{"input_args": [{I}], "output": [{I}, {I}], "input_kwargs": {{"w": {I}}}}}"#);
        let (pairs, surplus) = pair(&target, &golden);
        // The keyword `w` is an input and the parameter `w` is none, so they do not meet.
        assert_eq!(pairs, some(&["input.0", "input.w", "output.0", ""]));
        assert_eq!(surplus, ["output.1"]);
    }
}
