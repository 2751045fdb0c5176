//! Calls of one API of which the two sides have unlike numbers: then the calls that share a number may not be the same call.

use super::answer::{Calls, Difference, NodeLine};
use super::candidate::What;
use super::error::Result;
use super::file::{Place, VisFile};
use crate::name;
use crate::visdb::{MatchedBy, Side};
use rusqlite::OptionalExtension;

/// Calls of one API that are counted at most; with more the numbers stay unknown.
const COUNTED: u64 = 262_144;

/// How often each side calls the API whose calls differ in `found`, if they face each other by their numbers and the sides call it
/// not equally often; else the same of the API of the first `verdict`, which a shift that is not the first difference makes.
pub(super) fn unlike_calls(file: &VisFile, place: Place, found: &Difference, verdict: Option<&NodeLine>) -> Result<Option<Calls>> {
    for node in [suspect(found), verdict.map(|line| line.node.as_str())].into_iter().flatten() {
        if let Some(calls) = calls_of(file, place, node)? {
            return Ok(Some(calls));
        }
    }
    Ok(None)
}

fn calls_of(file: &VisFile, place: Place, node: &str) -> Result<Option<Calls>> {
    let Some(call) = Call::of(node).filter(|_| file.indexed) else { return Ok(None) };
    if is_aligned(file) || !faces_by_name(file, place, node)? {
        return Ok(None);
    }
    let target = count(file, place, Side::Target, &call)?;
    let golden = count(file, place, Side::Golden, &call)?;
    let known = target.zip(golden).filter(|(target, golden)| target != golden);
    Ok(known.map(|(target, golden)| Calls { api: call.api.to_owned(), target, golden }))
}

/// The call that may face a wrong one: something that went into it differs, and nothing says that it is the right one.
fn suspect(found: &Difference) -> Option<&str> {
    let seen = found.evidence.as_ref().and_then(|evidence| evidence.node.as_deref());
    match found.what {
        What::Argument | What::Input => Some(&found.node),
        What::Computation => seen.or(found.inputs.is_none().then_some(&found.node)),
        What::Parameter | What::Structure => None,
    }
}

/// A call of an API: `Tensor.mul_.3.forward`.
struct Call<'n> {
    /// `Tensor.mul_`
    api: &'n str,
    /// `.forward`
    end: &'n str,
}

impl<'n> Call<'n> {
    fn of(node: &'n str) -> Option<Self> {
        let (numbered, _) = name::api_direction(node)?;
        let (api, number) = numbered.rsplit_once('.')?;
        name::is_number(number).then_some(Call { api, end: &node[numbered.len()..] })
    }

    fn is_of(&self, node: &str) -> bool {
        let number = node.strip_prefix(self.api).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.strip_suffix(self.end));
        number.is_some_and(name::is_number)
    }
}

/// Whether a run that sees through shifted numbers wrote the file. Files of msProbe say nothing of how they were made.
fn is_aligned(file: &VisFile) -> bool {
    let sql = "SELECT value FROM msprobe_meta WHERE key = 'options'";
    let options = file.conn.query_row(sql, [], |row| row.get::<_, String>(0)).ok();
    let options = options.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    options.is_some_and(|options| options["align"] == serde_json::Value::Bool(true))
}

/// Whether the node's partner is the golden node of its name, found by that name as far as the file says.
fn faces_by_name(file: &VisFile, place: Place, node: &str) -> Result<bool> {
    let sql = "SELECT node_order, matched_node_link FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'NPU' AND node_name = ?3";
    let found: Option<(i64, Option<String>)> = file
        .conn
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row((place.step, place.rank, node), |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .map_err(file.fail())?;
    let Some((order, link)) = found else { return Ok(false) };
    if link.as_deref().and_then(crate::visdb::partner_of).as_deref() != Some(node) {
        return Ok(false);
    }
    // Only our own files say how it was found.
    let sql = "SELECT matched_by FROM msprobe_node WHERE step = ?1 AND rank = ?2 AND data_source = 'NPU' AND node_order = ?3";
    let by = file.conn.query_row(sql, (place.step, place.rank, order), |row| row.get::<_, Option<String>>(0)).ok().flatten();
    Ok(by.is_none_or(|by| by == MatchedBy::Name.as_str()))
}

/// The calls of a side; `None` if they are too many.
fn count(file: &VisFile, place: Place, side: Side, call: &Call<'_>) -> Result<Option<u64>> {
    // `/` follows the dot.
    let sql = "SELECT node_name FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_name > ?4 AND node_name < ?5";
    let mut statement = file.conn.prepare_cached(sql).map_err(file.fail())?;
    let range = (format!("{}.", call.api), format!("{}/", call.api));
    let mut rows = statement.query((place.step, place.rank, side.as_str(), range.0, range.1)).map_err(file.fail())?;
    let (mut seen, mut calls) = (0, 0);
    while let Some(row) = rows.next().map_err(file.fail())? {
        seen += 1;
        if seen > COUNTED {
            return Ok(None);
        }
        calls += u64::from(row.get_ref(0).map_err(file.fail())?.as_str().is_ok_and(|node| call.is_of(node)));
    }
    Ok(Some(calls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_an_api_are_told_from_those_of_others() {
        let call = Call::of("Tensor.mul_.3.forward").unwrap();
        assert_eq!((call.api, call.end), ("Tensor.mul_", ".forward"));
        assert!(call.is_of("Tensor.mul_.12.forward"));
        for other in
            ["Tensor.mul_.1.backward", "Tensor.mul.1.forward", "Tensor.mul_.x.1.forward", "Tensor.mul_.forward", "Tensor.mul_..forward"]
        {
            assert!(!call.is_of(other), "{other}");
        }
        for other in ["Module.a.Linear.forward.0", "Tensor.mul_.forward", "Module.a.Linear.parameters_grad.1"] {
            assert!(Call::of(other).is_none(), "{other}");
        }
    }
}
