//! The answer as tables of the result file, for those who only show it.

use super::answer::{Difference, Drift, NoiseUsed, RankReport, Report};
use super::drift::Series;
use super::evidence::describe;
use super::file::{self, Place, VisFile};
use super::Options;
use crate::visdb::schema::{DIVERGENCE, DRIFT};
use crate::visdb::{Cell, Complete, Result};
use rusqlite::OptionalExtension;
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Writes what `report` says of every rank into the file that it was made from.
/// Takes up to so many `threads`.
pub fn store(report: &Report, complete: &Complete, threads: usize) -> Result<()> {
    let further = further(report, complete, threads);
    let connection = complete.connection()?;
    complete.add_table(&connection, &DIVERGENCE, |add| {
        report
            .ranks
            .iter()
            .zip(&further)
            .try_for_each(|(rank, further)| divergence(rank, further, &report.noise).iter().try_for_each(|row| add(&row.cells(rank))))
    })?;
    complete.add_table(&connection, &DRIFT, |add| {
        report.ranks.iter().try_for_each(|rank| {
            let halves = [("backward", &rank.drift.backward), ("forward", &rank.drift.forward)];
            halves.into_iter().filter(|(_, series)| !series.order.is_empty()).try_for_each(|(half, series)| {
                let [order, error, noise] = lists(series);
                let numbers =
                    [Cell::Integer(rank.step), Cell::Integer(rank.rank), Cell::Text(half), i64::from(series.nodes_per_point).into()];
                add(&[&numbers[..], &[Cell::Text(&order), Cell::Text(&error), Cell::Text(&noise)]].concat())
            })
        })
    })
}

/// The runner-ups of each rank that the report does not show. A file without them is as good, but answers slower.
fn further(report: &Report, complete: &Complete, threads: usize) -> Vec<Vec<Difference>> {
    if report.ranks.iter().all(|rank| rank.further.is_empty()) {
        return vec![Vec::new(); report.ranks.len()];
    }
    let of_rank = |file: &VisFile, rank: &RankReport| {
        let place = Place { step: rank.step, rank: rank.rank };
        Ok(rank.further.iter().map_while(|other| describe(file, place, rank.counts.target_nodes, other).ok()).collect())
    };
    let found = file::each(complete.path(), threads, report.ranks.iter().collect(), of_rank);
    found.unwrap_or_else(|_| vec![Vec::new(); report.ranks.len()])
}

fn lists(series: &Series) -> [String; 3] {
    [json(&series.order), json(&series.error), json(&series.noise)]
}

/// Strings and finite numbers cannot fail to be JSON.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// One row of [`DIVERGENCE`].
struct Row<'a> {
    kind: &'static str,
    position: usize,
    node: Option<(&'a str, u32)>,
    detail: String,
}

impl Row<'_> {
    fn cells(&self, rank: &RankReport) -> Vec<Cell<'_>> {
        vec![
            Cell::Integer(rank.step),
            Cell::Integer(rank.rank),
            Cell::Text(self.kind),
            Cell::Integer(self.position as i64),
            self.node.map(|(name, _)| name).into(),
            self.node.map(|(_, order)| i64::from(order)).into(),
            Cell::Text(&self.detail),
        ]
    }
}

/// The rows of a rank, in the order of the key.
fn divergence<'a>(rank: &'a RankReport, further: &'a [Difference], noise: &NoiseUsed) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let mut add = |kind, position, node, detail| rows.push(Row { kind, position, node, detail });
    add("counts", 0, None, json(&rank.counts));
    if let Some(found) = &rank.first_difference {
        add("first_difference", 0, Some((found.node.as_str(), found.order)), json(found));
    }
    for (kind, line) in [("first_overflow", &rank.first_overflow), ("first_verdict", &rank.first_verdict)] {
        if let Some(line) = line {
            add(kind, 0, Some((line.node.as_str(), line.order)), json(line));
        }
    }
    for (position, node) in rank.flows_into.iter().enumerate() {
        add("flows_into", position, Some((node.node.as_str(), node.order)), json(node));
    }
    if let Some(line) = &rank.golden_overflow {
        add("golden_overflow", 0, Some((line.node.as_str(), line.order)), json(line));
    }
    if let Some(miss) = &rank.nearest_miss {
        add("nearest_miss", 0, miss.node.as_ref().map(|line| (line.node.as_str(), line.order)), json(miss));
    }
    add("noise", 0, None, json(noise));
    for (position, found) in rank.runner_ups.iter().chain(further).enumerate() {
        add("runner_up", position, Some((found.node.as_str(), found.order)), json(found));
    }
    add("runner_ups", 0, None, json(&(rank.runner_ups.len() + rank.further.len())));
    rows
}

/// What the file says of a rank; `None` if it does not, or if its nodes were matched anew since.
pub(super) fn stored(file: &VisFile, place: Place, runner_ups: usize) -> Option<(NoiseUsed, RankReport)> {
    // Whatever goes wrong, the rows still tell.
    if !file.has_answer || is_modified(file, place).ok()? {
        return None;
    }
    let mut details = Vec::new();
    let sql = "SELECT kind, detail FROM msprobe_divergence WHERE step = ?1 AND rank = ?2 AND (kind <> 'runner_up' OR position < ?3) \
               ORDER BY kind, position";
    let mut statement = file.conn.prepare_cached(sql).ok()?;
    let mut rows = statement.query((place.step, place.rank, i64::try_from(runner_ups).unwrap_or(i64::MAX))).ok()?;
    while let Some(row) = rows.next().ok()? {
        details.push((row.get::<_, String>(0).ok()?, row.get::<_, String>(1).ok()?));
    }
    let kept: Vec<Difference> = all(&details, "runner_up")?;
    // Files of old hold those that are shown by default, and do not say whether there are more.
    let runner_ups_total: Option<u64> = one(&details, "runner_ups")?;
    let are_all = runner_ups <= Options::default().top || runner_ups_total == Some(kept.len() as u64);
    if kept.len() < runner_ups && !are_all {
        return None;
    }
    let report = RankReport {
        step: place.step,
        rank: place.rank,
        counts: one(&details, "counts")??,
        first_difference: one(&details, "first_difference")?,
        first_verdict: one(&details, "first_verdict")?,
        first_overflow: one(&details, "first_overflow")?,
        golden_overflow: one(&details, "golden_overflow")?,
        runner_ups: kept,
        runner_ups_total,
        further: Vec::new(),
        flows_into: all(&details, "flows_into")?,
        nearest_miss: one(&details, "nearest_miss")?,
        listed: Vec::new(),
        listed_total: None,
        listed_golden: Vec::new(),
        listed_golden_total: None,
        drift: Drift { forward: series(file, place, "forward")?, backward: series(file, place, "backward")? },
    };
    Some((one(&details, "noise")??, report))
}

fn is_modified(file: &VisFile, place: Place) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND modified = 1)";
    file.conn.query_row(sql, (place.step, place.rank), |row| row.get(0))
}

/// All details of a kind; `None` if one cannot be read.
fn all<T: DeserializeOwned>(details: &[(String, String)], kind: &str) -> Option<Vec<T>> {
    details.iter().filter(|detail| detail.0 == kind).map(|detail| serde_json::from_str(&detail.1).ok()).collect()
}

/// The detail of a kind, if there is one; `None` if it cannot be read.
#[allow(clippy::option_option)] // damaged, absent, there
fn one<T: DeserializeOwned>(details: &[(String, String)], kind: &str) -> Option<Option<T>> {
    Some(all(details, kind)?.pop())
}

/// A half of the drift; empty if there is none, `None` if it cannot be read.
fn series(file: &VisFile, place: Place, half: &str) -> Option<Series> {
    let sql = "SELECT nodes_per_point, node_order, error, noise FROM msprobe_drift WHERE step = ?1 AND rank = ?2 AND half = ?3";
    let read =
        |row: &rusqlite::Row<'_>| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?));
    let found = file.conn.query_row(sql, (place.step, place.rank, half), read).optional().ok()?;
    let Some((nodes_per_point, order, error, noise)) = found else { return Some(Series { nodes_per_point: 1, ..Series::default() }) };
    let list = |text: &str| serde_json::from_str(text).ok();
    Some(Series {
        order: list(&order)?,
        error: serde_json::from_str(&error).ok()?,
        noise: serde_json::from_str(&noise).ok()?,
        nodes_per_point,
    })
}
