//! Counts the golden nodes of a rank, and those that no target node faces, beside the walk along the target.

use super::direct::Direct;
use super::error::{Error, Result};
use super::file::{Place, VisFile};
use super::rank::GoldenNodes;
use crate::visdb::Side;
use rusqlite::{Connection, Params};
use std::path::Path;

/// The count about to be made, on a thread of its own.
#[derive(Debug)]
pub(super) struct GoldenCount<'f> {
    conn: Connection,
    path: &'f Path,
    place: Place,
    direct: Option<Direct<'f>>,
    indexed_by_match: bool,
}

/// Looks up the nodes without a partner instead of looking at all.
const UNMATCHED_BY_INDEX: &str = "\
    WITH RECURSIVE marks(mark) AS (
        SELECT min(modified) FROM tb_nodes WHERE step = ?1 AND rank = ?2
        UNION ALL
        SELECT (SELECT min(modified) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND modified > mark) FROM marks WHERE mark IS NOT NULL
    ), links(link) AS (VALUES (''), ('[]'), (NULL))
    SELECT count(*) FROM marks CROSS JOIN links CROSS JOIN tb_nodes INDEXED BY index6
    WHERE mark IS NOT NULL AND step = ?1 AND rank = ?2 AND modified = mark AND matched_node_link IS link
        AND data_source = 'Bench' AND coalesce(up_node, '') <> ''";

impl<'f> GoldenCount<'f> {
    pub fn new(file: &'f VisFile, place: Place) -> Result<Self> {
        let indexed_by_match = file.indexed && file.indexed_by_match;
        let direct = if indexed_by_match { None } else { Direct::find(file, place, Side::Golden)? };
        Ok(GoldenCount { conn: file.again()?, path: &file.path, place, direct, indexed_by_match })
    }

    /// Counts.
    pub fn count(self) -> Result<GoldenNodes> {
        let place = (self.place.step, self.place.rank);
        let sql = "SELECT count(*) FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench'";
        let all = self.number(sql, place)?;
        if self.indexed_by_match {
            // An index of those columns that serves for some rows only is refused.
            if let Ok(unmatched) = self.number(UNMATCHED_BY_INDEX, place) {
                return Ok(GoldenNodes { all, unmatched });
            }
        }
        if let Some(direct) = &self.direct {
            if let Some(counted) = direct.count().ok().filter(|counted| counted.all == all) {
                direct.check_unchanged()?;
                return Ok(counted);
            }
        }
        let unmatched = format!("{sql} AND coalesce(up_node, '') <> '' AND coalesce(matched_node_link, '') IN ('', '[]')");
        Ok(GoldenNodes { all, unmatched: self.number(&unmatched, place)? })
    }

    fn number(&self, sql: &str, params: impl Params) -> Result<u64> {
        let found: i64 = self.conn.query_row(sql, params, |row| row.get(0)).map_err(Error::sqlite(self.path))?;
        Ok(found as u64)
    }
}
