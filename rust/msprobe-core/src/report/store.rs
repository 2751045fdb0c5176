//! The answer as tables of the result file, for those who only show it.

use super::answer::{RankReport, Report};
use super::drift::Series;
use crate::visdb::schema::{DIVERGENCE, DRIFT};
use crate::visdb::{Cell, Complete, Result};
use serde::Serialize;

/// Writes what `report` says of every rank into the file that it was made from.
pub fn store(report: &Report, complete: &Complete) -> Result<()> {
    let connection = complete.connection()?;
    let found: Vec<_> = report.ranks.iter().flat_map(|rank| divergence(rank).into_iter().map(move |row| (rank, row))).collect();
    let rows: Vec<_> = found.iter().map(|(rank, row)| row.cells(rank)).collect();
    complete.add_table(&connection, &DIVERGENCE, &rows)?;
    let halves = |rank| [(rank, "backward"), (rank, "forward")];
    let told: Vec<_> = report
        .ranks
        .iter()
        .flat_map(halves)
        .map(|(rank, half)| (rank, half, if half == "forward" { &rank.drift.forward } else { &rank.drift.backward }))
        .filter(|(.., series)| !series.order.is_empty())
        .map(|(rank, half, series)| (rank, half, series, lists(series)))
        .collect();
    let rows: Vec<_> = told
        .iter()
        .map(|(rank, half, series, [order, error, noise])| {
            let numbers = [Cell::Integer(rank.step), Cell::Integer(rank.rank), Cell::Text(half), i64::from(series.nodes_per_point).into()];
            [&numbers[..], &[Cell::Text(order), Cell::Text(error), Cell::Text(noise)]].concat()
        })
        .collect();
    complete.add_table(&connection, &DRIFT, &rows)
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
fn divergence(rank: &RankReport) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut add = |kind, position, node, detail| rows.push(Row { kind, position, node, detail });
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
    if let Some(miss) = &rank.nearest_miss {
        add("nearest_miss", 0, miss.node.as_ref().map(|line| (line.node.as_str(), line.order)), json(miss));
    }
    for (position, found) in rank.runner_ups.iter().enumerate() {
        add("runner_up", position, Some((found.node.as_str(), found.order)), json(found));
    }
    rows
}
