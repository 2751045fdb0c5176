//! The nodes of one kind in a file that holds the answer: their number is in the answer, so that only the first of them have
//! to be found, and whole subtrees without any are passed over.

use super::answer::Counts;
use super::direct::Direct;
use super::error::Result;
use super::file::{Place, VisFile};
use super::rank::Listed;
use super::scan::Heads;
use super::Only;
use crate::visdb::Side;
use rusqlite::{CachedStatement, OptionalExtension};
use std::ops::Range;

/// Looking at a node by itself costs as much as reading so many that stand one after the other.
const ALONE: u64 = 64;

/// How the first nodes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// Down the tree, past what has none below.
    Down,
    /// Along all nodes.
    Along,
}

/// The first `top` target nodes of that kind, and the number of all, which `counts` tell; `None` if file and counts do not agree.
pub(super) fn list(file: &VisFile, place: Place, only: Only, top: usize, counts: &Counts) -> Result<Option<Listed>> {
    searched(file, place, Side::Target, only, top, counts, None)
}

/// The first `top` golden nodes without a partner, and the number of all, which `counts` tell; the root does not count.
pub(super) fn only_golden(file: &VisFile, place: Place, top: usize, counts: &Counts) -> Result<Listed> {
    if counts.only_golden == 0 {
        return Ok(Listed::default());
    }
    only_golden_by(file, place, top, counts, None)
}

/// As [`only_golden`], by that search.
fn only_golden_by(file: &VisFile, place: Place, top: usize, counts: &Counts, search: Option<Search>) -> Result<Listed> {
    if let Some(mut listed) = searched(file, place, Side::Golden, Only::Unmatched, top, counts, search)? {
        listed.orders.retain(|&order| u64::from(order) + 1 < counts.golden_nodes);
        return Ok(Listed { total: counts.only_golden, ..listed });
    }
    let sql = "SELECT node_order FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' AND coalesce(up_node, '') <> '' \
               AND coalesce(matched_node_link, '') IN ('', '[]') ORDER BY node_order LIMIT ?3";
    let mut statement = file.conn.prepare(sql).map_err(file.fail())?;
    let limit = i64::try_from(top).unwrap_or(i64::MAX);
    let orders = statement.query_map((place.step, place.rank, limit), |row| row.get(0)).and_then(Iterator::collect);
    Ok(Listed { total: counts.only_golden, orders: orders.map_err(file.fail())? })
}

/// Of the nodes of a side: all of them, and those with and without a partner but for the root.
fn of_side(side: Side, counts: &Counts) -> (u64, u64, u64) {
    match side {
        Side::Target => (counts.target_nodes, counts.matched, counts.only_target),
        Side::Golden => {
            let matched = counts.golden_nodes.saturating_sub(1).saturating_sub(counts.only_golden);
            (counts.golden_nodes, matched, counts.only_golden)
        }
    }
}

/// As [`list`], of a side and by that search.
fn searched(
    file: &VisFile,
    place: Place,
    side: Side,
    only: Only,
    top: usize,
    counts: &Counts,
    search: Option<Search>,
) -> Result<Option<Listed>> {
    let (nodes, matched, unmatched) = of_side(side, counts);
    let Some(root_order) = nodes.checked_sub(1).and_then(|order| u32::try_from(order).ok()) else { return Ok(None) };
    let direct = Direct::find(file, place, side)?;
    let mut heads = Heads::new(file, place, side, direct.as_ref())?;
    let mut root = None;
    heads.nodes(root_order, u32::MAX, |node| {
        root = Some((node.order, node.is_root, only.takes(node), node.matched));
        true
    })?;
    // Of nodes with a partner and of those without, the root is left out.
    let Some((_, true, is_taken, is_matched)) = root.filter(|root| root.0 == root_order) else { return Ok(None) };
    if file.is_comparison() && matched + unmatched != u64::from(root_order) {
        return Ok(None);
    }
    let total = match only {
        Only::Error => counts.verdicts.error + u64::from(is_taken),
        Only::Warning => counts.verdicts.warning + u64::from(is_taken),
        Only::Unmatched => (nodes - u64::from(is_matched)).saturating_sub(matched),
        Only::Overflow => counts.overflow.critical + counts.overflow.high + counts.overflow.medium,
    };
    let wanted = usize::try_from(total).unwrap_or(usize::MAX).min(top);
    let search = search.unwrap_or_else(|| {
        // In a single graph no node is counted below another.
        let along = !file.is_comparison() || wanted as u64 > nodes / ALONE;
        if along {
            Search::Along
        } else {
            Search::Down
        }
    });
    let mut orders = Vec::new();
    let mut found_all = wanted == 0;
    let mut look = |range: Range<u32>| -> Result<bool> {
        heads.nodes(range.start, range.end, |node| {
            if only.takes(node) {
                orders.push(node.order);
                found_all = orders.len() == wanted;
            }
            !found_all
        })?;
        Ok(!found_all)
    };
    let agrees = match search {
        _ if wanted == 0 => true,
        Search::Along => look(0..root_order + 1).map(|_| true)?,
        Search::Down => match Tree::new(file, place, side) {
            // Whatever is wrong with it, the rows still tell.
            Some(mut tree) => tree.walk(only, root_order, counts, &mut look).unwrap_or(false),
            None => false,
        },
    };
    if let Some(direct) = &direct {
        direct.check_unchanged()?;
    }
    Ok((agrees && found_all).then_some(Listed { total, orders }))
}

/// What `msprobe_node` says of the nodes below one.
#[derive(Clone, Copy, Debug)]
struct Below {
    error: u32,
    warning: u32,
    pass: u32,
    not_compared: u32,
    unmatched: u32,
    overflows: bool,
}

impl Below {
    /// How many there are of that kind; of those with an overflow level, whether there are any.
    fn count(&self, only: Only) -> u32 {
        match only {
            Only::Error => self.error,
            Only::Warning => self.warning,
            Only::Unmatched => self.unmatched,
            Only::Overflow => u32::from(self.overflows),
        }
    }

    /// How many there are, in post-order right before the node itself.
    fn all(&self) -> u32 {
        [self.warning, self.pass, self.not_compared, self.unmatched].into_iter().fold(self.error, u32::saturating_add)
    }

    /// Whether this is all that the counts say of all nodes of a side but the root.
    fn is(&self, side: Side, counts: &Counts) -> bool {
        let (nodes, _, unmatched) = of_side(side, counts);
        // Only target nodes are judged.
        if side == Side::Golden {
            return u64::from(self.all()) + 1 == nodes && u64::from(self.unmatched) == unmatched;
        }
        let verdicts = [self.error, self.warning, self.pass, self.not_compared].map(u64::from);
        let told = counts.verdicts;
        verdicts == [told.error, told.warning, told.pass, told.not_compared] && u64::from(self.unmatched) == unmatched
    }
}

/// What is still to be looked at.
enum Ahead {
    /// Nodes themselves.
    Nodes(Range<u32>),
    /// What is below a node.
    Below(u32, Below),
}

/// The tree of a side of a rank as `msprobe_node` tells it.
struct Tree<'f> {
    file: &'f VisFile,
    place: Place,
    side: Side,
    /// The last node of a range that has nodes below it.
    last: CachedStatement<'f>,
}

impl<'f> Tree<'f> {
    fn new(file: &'f VisFile, place: Place, side: Side) -> Option<Self> {
        let sql = "SELECT node_order, error, warning, pass, not_compared, unmatched, worst_overflow IS NOT NULL FROM msprobe_node \
                   WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_order >= ?4 AND node_order < ?5 AND error IS NOT NULL \
                   ORDER BY node_order DESC LIMIT 1";
        Some(Tree { file, place, side, last: file.conn.prepare_cached(sql).ok()? })
    }

    fn last(&mut self, range: &Range<u32>) -> Result<Option<(u32, Below)>> {
        let read = |row: &rusqlite::Row<'_>| {
            let [error, warning, pass, not_compared, unmatched] = [row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?];
            Ok((row.get(0)?, Below { error, warning, pass, not_compared, unmatched, overflows: row.get(6)? }))
        };
        let params = (self.place.step, self.place.rank, self.side.as_str(), range.start, range.end);
        self.last.query_row(params, read).optional().map_err(self.file.fail())
    }

    /// Calls `look` with ranges of nodes, in order, outside of which there are none of the kind, until it says no; false if the
    /// tree is none or not the one that was counted.
    fn walk(&mut self, only: Only, root: u32, counts: &Counts, look: &mut impl FnMut(Range<u32>) -> Result<bool>) -> Result<bool> {
        let Some((order, below)) = self.last(&(root..root + 1))? else { return Ok(false) };
        if order != root || !below.is(self.side, counts) {
            return Ok(false);
        }
        let mut ahead = vec![Ahead::Nodes(root..root + 1), Ahead::Below(root, below)];
        while let Some(next) = ahead.pop() {
            match next {
                Ahead::Nodes(range) => {
                    if !look(range)? {
                        return Ok(true);
                    }
                }
                Ahead::Below(order, below) if below.count(only) > 0 => {
                    if !self.open(only, order, &below, &mut ahead)? {
                        return Ok(false);
                    }
                }
                Ahead::Below(..) => {}
            }
        }
        Ok(true)
    }

    /// Puts the children of a node ahead, the first on top; false if they do not fill the place before it.
    fn open(&mut self, only: Only, order: u32, below: &Below, ahead: &mut Vec<Ahead>) -> Result<bool> {
        let Some(start) = order.checked_sub(below.all()) else { return Ok(false) };
        let before = ahead.len();
        let mut further_down = 0u32;
        let mut end = order;
        while start < end {
            let Some((child, of_child)) = self.last(&(start..end))? else {
                ahead.push(Ahead::Nodes(start..end));
                break;
            };
            // The child and, behind it, others without children.
            ahead.push(Ahead::Nodes(child..end));
            ahead.push(Ahead::Below(child, of_child));
            further_down = further_down.saturating_add(of_child.count(only));
            match child.checked_sub(of_child.all()) {
                Some(first) if first >= start => end = first,
                _ => return Ok(false),
            }
        }
        // None of the children is of the kind itself.
        if only != Only::Overflow && further_down == below.count(only) {
            let mut children = ahead.split_off(before);
            children.retain(|child| matches!(child, Ahead::Below(..)));
            ahead.append(&mut children);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::{Overflow, Verdicts};
    use super::*;
    use crate::visdb::schema::{CONFIG_SQL, INDEXES, NODES_SQL, NODE_SQL, STACK_SQL};
    use proptest::prelude::*;
    use rusqlite::{params, Connection};
    use std::path::Path;

    const PLACE: Place = Place { step: 3, rank: 1 };
    const KINDS: [Only; 4] = [Only::Error, Only::Warning, Only::Unmatched, Only::Overflow];

    /// A node: how many of the subtrees before it are below it, whether it has a partner, its index, and its overflow level.
    type Node = (usize, bool, Option<f64>, Option<&'static str>);

    fn node() -> impl Strategy<Value = Node> {
        let index = prop_oneof![4 => Just(None), 8 => Just(Some(0.0)), 2 => Just(Some(0.5)), 1 => Just(Some(1.0))];
        let overflow = prop_oneof![9 => Just(None), 1 => Just(Some("medium")), 1 => Just(Some("critical"))];
        let below = prop_oneof![6 => Just(0usize), 2 => 1..4usize, 1 => 1..40usize];
        // What has no partner has no verdict.
        (below, proptest::bool::weighted(0.8), index, overflow)
            .prop_map(|(below, matched, index, overflow)| (below, matched, index.filter(|_| matched), overflow))
    }

    /// Writes the nodes in post-order and, if asked to, what a run says of the subtrees. The last node is the root.
    fn written(path: &Path, nodes: &[Node], task: &str, counted: bool) -> Connection {
        let conn = Connection::open(path).unwrap();
        conn.execute_batch(&format!("PRAGMA synchronous = OFF; {NODES_SQL}; {NODE_SQL}; {STACK_SQL}; {CONFIG_SQL}; BEGIN")).unwrap();
        let kind = if task.is_empty() { "build" } else { "compare" };
        conn.execute("INSERT INTO tb_config VALUES ('1', ?1, ?2, NULL, 1, 1, 'null', '[1]', '[3]')", [kind, task]).unwrap();
        // The roots of subtrees that no node is above yet: with their orders, the sums of their subtrees.
        let mut open: Vec<(usize, [u32; 5], u32)> = Vec::new();
        let mut parents = vec![usize::MAX; nodes.len()];
        for (order, &(below, matched, index, overflow)) in nodes.iter().enumerate() {
            let last = order + 1 == nodes.len();
            let children = open.split_off(if last { 0 } else { open.len() - below.min(open.len()) });
            let (mut sum, mut overflows) = ([0; 5], 0);
            for (child, of_child, overflows_of_child) in &children {
                parents[*child] = order;
                sum.iter_mut().zip(of_child).for_each(|(sum, more)| *sum += more);
                overflows += overflows_of_child;
            }
            if counted && !children.is_empty() {
                let [error, warning, pass, not_compared, unmatched] = sum;
                let worst = (overflows > 0).then_some("high");
                let sql = "INSERT INTO msprobe_node VALUES (?1, ?2, 'NPU', ?3, NULL, ?4, ?5, ?6, ?7, ?8, ?9)";
                let row = params![PLACE.step, PLACE.rank, order, error, warning, pass, not_compared, unmatched, worst];
                conn.execute(sql, row).unwrap();
            }
            let class = match index {
                Some(1.0) => 0,
                Some(0.5) => 1,
                Some(_) => 2,
                None if matched => 3,
                None => 4,
            };
            sum[class] += 1;
            open.push((order, sum, overflows + u32::from(overflow.is_some())));
        }
        for (order, &(_, matched, index, overflow)) in nodes.iter().enumerate() {
            let name = |order: usize| format!("Torch.add.{order}.forward");
            let up = if parents[order] == usize::MAX { String::new() } else { name(parents[order]) };
            let link = if matched { format!("[\"{}\"]", name(order)) } else { "[]".to_owned() };
            // Rows that nobody may want to read.
            let sql =
                "INSERT INTO tb_nodes VALUES (?1, '', ?2, ?1, '1', ?3, '', ?4, ?5, 0, ?6, '', '', '{}', 0, '{', '{', 'NPU', NULL, 3, 1, 0)";
            conn.execute(sql, params![name(order), order, up, index, overflow, link]).unwrap();
        }
        for (_, sql) in INDEXES {
            conn.execute_batch(sql).unwrap();
        }
        conn.execute_batch("COMMIT").unwrap();
        conn
    }

    /// What a run counts, by SQL.
    fn counts(conn: &Connection) -> Counts {
        let count =
            |of: &str| conn.query_row(&format!("SELECT count(*) FROM tb_nodes WHERE {of}"), [], |row| row.get::<_, u64>(0)).unwrap();
        let of = |of: &str| count(&format!("up_node <> '' AND matched_node_link <> '[]' AND {of}"));
        let levels = |level: &str| count(&format!("overflow_level = '{level}'"));
        Counts {
            target_nodes: count("1"),
            matched: of("1"),
            only_target: count("up_node <> '' AND matched_node_link = '[]'"),
            verdicts: Verdicts {
                error: of("precision_index = 1"),
                warning: of("precision_index = 0.5"),
                pass: of("precision_index = 0"),
                not_compared: of("precision_index IS NULL"),
            },
            overflow: Overflow { critical: levels("critical"), high: levels("high"), medium: levels("medium") },
            ..Counts::default()
        }
    }

    /// The nodes of a kind, by SQL.
    fn orders(conn: &Connection, only: Only) -> Vec<u32> {
        let of = match only {
            Only::Error => "precision_index = 1",
            Only::Warning => "precision_index = 0.5",
            Only::Unmatched => "matched_node_link = '[]'",
            Only::Overflow => "overflow_level IS NOT NULL",
        };
        let mut statement = conn.prepare(&format!("SELECT node_order FROM tb_nodes WHERE {of} ORDER BY node_order")).unwrap();
        let orders = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        orders
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        // With a single node nothing is counted below any, and `list` looks at it.
        #[test]
        fn the_first_of_a_kind_are_found_whatever_the_tree(nodes in proptest::collection::vec(node(), 2..200)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.vis.db");
            let conn = written(&path, &nodes, "summary", true);
            let (counts, file) = (counts(&conn), VisFile::open(&path).unwrap());
            for only in KINDS {
                let all = orders(&conn, only);
                for top in [0, 1, 2, 5, all.len(), all.len() + 1, 1000] {
                    for search in [Search::Down, Search::Along] {
                        let listed = searched(&file, PLACE, Side::Target, only, top, &counts, Some(search)).unwrap();
                        prop_assert_eq!(listed.map(|listed| (listed.total, listed.orders)), Some((all.len() as u64, all[..top.min(all.len())].to_vec())), "{:?} {} {:?}", only, top, search);
                    }
                }
            }
        }

        #[test]
        fn what_only_golden_has_is_found_whatever_the_tree(nodes in proptest::collection::vec(node(), 2..200), counted: bool) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.vis.db");
            let conn = written(&path, &nodes, "summary", counted);
            let of_target = counts(&conn);
            // Golden nodes are not judged.
            conn.execute_batch(
                "UPDATE tb_nodes SET data_source = 'Bench', precision_index = NULL; \
                 UPDATE msprobe_node SET data_source = 'Bench', not_compared = not_compared + error + warning + pass, error = 0, warning = 0, pass = 0",
            )
            .unwrap();
            let counts = Counts { golden_nodes: of_target.target_nodes, only_golden: of_target.only_target, ..Counts::default() };
            let all: Vec<u32> = orders(&conn, Only::Unmatched).into_iter().filter(|&order| (order as usize) < nodes.len() - 1).collect();
            let file = VisFile::open(&path).unwrap();
            for top in [0, 1, 5, all.len(), 1000] {
                for search in [None, Some(Search::Down), Some(Search::Along)] {
                    let listed = only_golden_by(&file, PLACE, top, &counts, search).unwrap();
                    prop_assert_eq!((listed.total, &listed.orders[..]), (all.len() as u64, &all[..top.min(all.len())]), "{} {:?}", top, search);
                }
            }
        }

        #[test]
        fn counts_of_another_tree_are_not_believed(
            nodes in proptest::collection::vec(node(), 2..60),
            at in any::<proptest::sample::Index>(),
            column in proptest::sample::select(&["error", "warning", "pass", "not_compared", "unmatched"][..]),
            by in prop_oneof![Just("+ 1"), Just("- 1"), Just("+ 100000"), Just("* 0")],
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.vis.db");
            let conn = written(&path, &nodes, "summary", true);
            let (counts, order) = (counts(&conn), at.index(nodes.len()));
            let changed = format!("UPDATE msprobe_node SET {column} = max({column} {by}, 0) WHERE node_order = {order}");
            conn.execute_batch(&changed).unwrap();
            let file = VisFile::open(&path).unwrap();
            for only in KINDS {
                let all = orders(&conn, only);
                // Whoever wants all of them sees that some are not there.
                if let Some(listed) = searched(&file, PLACE, Side::Target, only, usize::MAX, &counts, Some(Search::Down)).unwrap() {
                    prop_assert_eq!(listed.orders, all, "{:?}", only);
                }
            }
        }
    }

    #[test]
    fn nodes_of_a_single_graph_are_looked_at_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.vis.db");
        let nodes: Vec<Node> = (0..900).map(|order| (order % 3, false, None, (order % 7 == 5).then_some("high"))).collect();
        let conn = written(&path, &nodes, "", false);
        // Nobody is missed there.
        let counts = Counts { only_target: 0, ..counts(&conn) };
        for (only, total) in KINDS.into_iter().zip([0, 0, 900, 128]) {
            let all = orders(&conn, only);
            let listed = list(&VisFile::open(&path).unwrap(), PLACE, only, 4, &counts).unwrap().unwrap();
            assert_eq!((listed.total, all.len()), (total, total as usize), "{only:?}");
            assert_eq!(listed.orders, all[..4.min(all.len())], "{only:?}");
        }
    }

    #[test]
    fn a_tree_of_any_depth_and_width_is_gone_through() {
        let folder = tempfile::tempdir().unwrap();
        for (name, below) in [("deep", 1), ("wide", 0)] {
            let path = folder.path().join(name);
            let of = |order: usize| (below, true, Some(if order == 15_000 { 1.0 } else { 0.0 }), None);
            let nodes: Vec<Node> = (0..20_000).map(of).collect();
            let conn = written(&path, &nodes, "summary", true);
            let file = VisFile::open(&path).unwrap();
            let listed = searched(&file, PLACE, Side::Target, Only::Error, 5, &counts(&conn), Some(Search::Down)).unwrap().unwrap();
            assert_eq!((listed.total, listed.orders), (1, vec![15_000]), "{name}");
        }
    }
}
