//! Noise as a second golden run shows it: golden compared with a rerun of itself.
//!
//! What both comparisons have in common is the golden run: a node's noise is that of the node that faces its own golden partner
//! there, whatever the target calls it.
//!
//! One rerun gives one sample of each error, and the quotient of two samples has no mean: taking the sample itself as the
//! tolerance would be wrong for one row in ten. So the sample is pooled with its neighbours in execution order, whose noise is
//! of the same origin: `tolerance = FACTOR * max(own, root mean square over WINDOW nodes on either side)`. For errors with a
//! normal distribution six standard deviations are exceeded by 2 rows in a billion; the factor leaves room for heavier tails.

use super::error::{Error, Result};
use super::file::{Place, VisFile};
use super::scan::for_each_node;
use super::tolerance::errors;
use crate::facts::{for_each_row, Cells};
use crate::visdb::Task;
use hashbrown::hash_map::Entry;
use hashbrown::HashMap;
use rusqlite::OptionalExtension;
use std::path::Path;

/// Standard deviations that count as noise.
const FACTOR: f64 = 6.0;
/// Nodes on either side whose noise is pooled.
const WINDOW: usize = 32;
/// Golden nodes of either comparison that are looked at to see whether it is the same golden run.
const LOOKED_AT: i64 = 64;

/// Tolerances by golden node, of one step and rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Twin {
    tolerances: HashMap<u64, [f32; 3]>,
}

impl Twin {
    /// Reads the comparison of the second golden run (as target) with the golden run.
    pub fn read(path: &Path, place: Place, threads: usize) -> Result<Self> {
        let file = VisFile::open(path)?;
        sized(&file)?;
        let mut nodes: Vec<(u64, [f32; 3])> = Vec::new();
        for_each_node(&file, place, threads, |node| {
            let mut most: Option<[f32; 3]> = None;
            for row in node.rows.iter().filter(|row| row.is_compared()) {
                let (row, so_far) = (errors(row), most.unwrap_or_default());
                most = Some([0, 1, 2].map(|i| so_far[i].max(row[i])));
            }
            if let Some(most) = most {
                nodes.push((node.golden, most));
            }
        })?;
        Ok(Self::pool(&nodes))
    }

    fn pool(nodes: &[(u64, [f32; 3])]) -> Self {
        let mut sums = vec![[0f64; 3]];
        for (_, errors) in nodes {
            let before = sums[sums.len() - 1];
            sums.push([0, 1, 2].map(|i| before[i] + f64::from(errors[i]).powi(2)));
        }
        let mut tolerances = HashMap::with_capacity(nodes.len());
        for (at, &(mark, own)) in nodes.iter().enumerate() {
            let (from, to) = (at.saturating_sub(WINDOW), (at + WINDOW + 1).min(nodes.len()));
            let pooled = [0, 1, 2].map(|i| ((sums[to][i] - sums[from][i]).max(0.0) / (to - from) as f64).sqrt());
            let tolerance = [0, 1, 2].map(|i| (FACTOR * pooled[i].max(f64::from(own[i]))) as f32);
            match tolerances.entry(mark) {
                Entry::Vacant(entry) => {
                    entry.insert(tolerance);
                }
                // Several nodes may face one golden node.
                Entry::Occupied(mut entry) => *entry.get_mut() = [0, 1, 2].map(|i| tolerance[i].max(entry.get()[i])),
            }
        }
        Twin { tolerances }
    }

    /// Tolerances of the three relative errors of the rows that face the golden node of that mark; none if they face nobody.
    pub fn tolerance(&self, golden: u64) -> Option<[f32; 3]> {
        self.tolerances.get(&golden).copied().filter(|_| golden != 0)
    }

    pub fn is_empty(&self) -> bool {
        self.tolerances.is_empty()
    }
}

/// Refuses a comparison that knows no size of a difference.
pub(super) fn sized(file: &VisFile) -> Result<()> {
    match unsized_kind(file.task) {
        None => Ok(()),
        Some(kind) => {
            let todo = "name a comparison of the second golden run with the golden run by statistics or tensors";
            Err(Error::unreadable(&file.path, format!("{kind}, which shows no size of noise; {todo}")))
        }
    }
}

/// What a file of that task does, if no size of noise can come of it or be told from it.
pub(super) fn unsized_kind(task: Task) -> Option<&'static str> {
    match task {
        Task::Summary | Task::All => None,
        Task::Md5 => Some("compares checksums"),
        Task::Structure => Some("compares the structure alone"),
        Task::Build => Some("holds one run and no comparison"),
    }
}

/// Refuses the comparison `twin` if its golden run is another one than that of `file`: nodes that both have would hold the same
/// numbers.
pub(super) fn same_golden(file: &VisFile, twin: &Path, place: Place) -> Result<()> {
    let of_twin = VisFile::open(twin)?;
    if !(file.indexed && of_twin.indexed) {
        return Ok(());
    }
    let sql = "SELECT max(node_order) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench'";
    let last: Option<i64> = of_twin.conn.query_row(sql, (place.step, place.rank), |row| row.get(0)).map_err(of_twin.fail())?;
    let nodes = last.map_or(0, |last| last.saturating_add(1));
    let looked = nodes.min(LOOKED_AT);
    let (mut named, mut common, mut same) = (0, 0, 0);
    for at in 0..looked {
        let order = (i128::from(nodes) * i128::from(at) / i128::from(looked)) as i64;
        let Some((name, rows)) = golden_rows(&of_twin, place, "node_order", order)? else { continue };
        if rows.is_empty() {
            continue;
        }
        named += 1;
        if let Some((_, own)) = golden_rows(file, place, "node_name", name)? {
            common += 1;
            same += u32::from(own == rows);
        }
    }
    let Place { step, rank } = place;
    let other = |what: String| {
        let todo = "the second golden run must be compared with the same golden run";
        Err(Error::unreadable(
            twin,
            format!("its golden run is not that of {}: {what} in step {step}, rank {rank}; {todo}", file.path.display()),
        ))
    };
    if named > 0 && common == 0 {
        return other("no node has the same name".to_owned());
    }
    if same * 2 < common {
        return other(format!("of {common} nodes looked at {} hold other numbers", common - same));
    }
    Ok(())
}

/// Name and statistics of the rows of the golden node whose `column` is `key`.
fn golden_rows(file: &VisFile, place: Place, column: &str, key: impl rusqlite::ToSql) -> Result<Option<(String, Vec<[String; 4]>)>> {
    type Row = (String, Option<String>, Option<String>);
    let sql = format!(
        "SELECT node_name, input_data, output_data FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' AND {column} = ?3"
    );
    let mut statement = file.conn.prepare_cached(&sql).map_err(file.fail())?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: Option<Row> = statement.query_row((place.step, place.rank, key), read).optional().map_err(file.fail())?;
    Ok(found.map(|(name, inputs, outputs)| {
        let mut rows = Vec::new();
        for text in [inputs, outputs].into_iter().flatten() {
            // What cannot be read differs.
            let _ = for_each_row(&text, |_, cells: &Cells<'_>| rows.push([0, 1, 2, 3].map(|i| cells.statistics[i].shown())));
        }
        (name, rows)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_pooled_with_its_neighbourhood() {
        let mut nodes: Vec<(u64, [f32; 3])> = (1..201).map(|mark| (mark, [0.0; 3])).collect();
        nodes[99].1 = [0.65, 0.0, 0.0];
        let twin = Twin::pool(&nodes);
        let at = |mark: u64| twin.tolerance(mark).unwrap()[0];
        // 65 nodes of a window share the one error: 0.65^2 / 65.
        let pooled = 6.0 * (0.65f32 * 0.65 / 65.0).sqrt();
        assert!((at(100) - 6.0 * 0.65).abs() < 1e-6);
        assert!((at(132) - pooled).abs() < 1e-6 && (at(68) - pooled).abs() < 1e-6);
        assert_eq!((at(133), at(67)), (0.0, 0.0));
        assert_eq!(twin.tolerance(1000), None);
    }

    #[test]
    fn who_faces_nobody_has_no_noise_of_others() {
        let twin = Twin::pool(&[(0, [0.5; 3]), (7, [0.0; 3]), (7, [0.25; 3])]);
        assert_eq!(twin.tolerance(0), None);
        // The larger of both that face one golden node; the rest is pooled.
        assert_eq!(twin.tolerance(7).map(|seen| seen[0] >= 1.5), Some(true));
    }
}
