//! Which rank of the target is compared with which rank of the golden side.

use std::collections::{HashMap, HashSet};

use super::layout::{Kind, Layout, RankDir, StepDir};
use super::Error;

/// One comparison (or one build, without a golden side).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Number stored in the `step` column.
    pub step: u64,
    /// Number stored in the `rank` column.
    pub rank: u64,
    /// The rank under test.
    pub target: RankDir,
    /// The rank it is held against.
    pub golden: Option<RankDir>,
}

/// All pairs in the order step, rank, and what found no partner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The work, in the order in which it is stored.
    pub pairs: Vec<Pair>,
    /// Steps and ranks that exist on one side only, one sentence each.
    pub one_sided: Vec<String>,
    /// Steps that had to be left out as a whole: number and reason.
    pub left_out: Vec<(u64, String)>,
}

/// One rank after the other, without a golden side.
#[must_use]
pub fn build(target: &Layout) -> Plan {
    let mut plan = Plan::default();
    for step in &target.steps {
        if step.ranks.is_empty() {
            plan.left_out.push((column(step), format!("{} holds no rank folder", step.path.display())));
        }
        let ranks = step.ranks.iter().cloned();
        plan.pairs.extend(ranks.map(|target| Pair { step: column(step), rank: target.column(), target, golden: None }));
    }
    plan
}

/// Pairs by number; one rank on each side pairs whatever the layout, unless both carry different numbers.
pub fn compare(target: &Layout, golden: &Layout) -> Result<Plan, Error> {
    if let (Some((t_step, t)), Some((g_step, g))) = (only_rank(target), only_rank(golden)) {
        let differ = |a: Option<u64>, b: Option<u64>| matches!((a, b), (Some(a), Some(b)) if a != b);
        if differ(t.number, g.number) || differ(t_step, g_step) {
            return Err(Error::DifferentNumbers { target: t.path.clone(), golden: g.path.clone() });
        }
        let pair = Pair { step: t_step.unwrap_or(0), rank: t.column(), target: t.clone(), golden: Some(g.clone()) };
        return Ok(Plan { pairs: vec![pair], ..Plan::default() });
    }
    if target.kind != golden.kind {
        let (t, g) = (target.root().to_owned(), golden.root().to_owned());
        let part_of_golden = || golden.part_like(target).map(|part| (t.clone(), part));
        let fitting = target.part_like(golden).map(|part| (part, g.clone())).or_else(part_of_golden);
        return Err(Error::DifferentLayouts { target: t, target_is: target.kind, golden: g, golden_is: golden.kind, fitting });
    }
    let mut plan = Plan::default();
    if target.kind == Kind::Steps {
        one_sided("step", &target.steps, &golden.steps, column, "", &mut plan.one_sided);
    }
    let golden_steps: HashMap<u64, &StepDir> = golden.steps.iter().map(|s| (column(s), s)).collect();
    let mut common_steps = 0;
    for t in &target.steps {
        let Some(g) = golden_steps.get(&column(t)) else { continue };
        common_steps += 1;
        pair_ranks(t, g, &mut plan);
    }
    let nothing = |what| Err(Error::NothingInCommon { what, target: target.root().to_owned(), golden: golden.root().to_owned() });
    match common_steps {
        0 => nothing("step"),
        _ if plan.pairs.is_empty() => nothing("rank"),
        _ => Ok(plan),
    }
}

fn pair_ranks(target: &StepDir, golden: &StepDir, plan: &mut Plan) {
    let before = plan.pairs.len();
    let place = target.number.map_or(String::new(), |n| format!(" of step {n}"));
    one_sided("rank", &target.ranks, &golden.ranks, RankDir::column, &place, &mut plan.one_sided);
    let golden_ranks: HashMap<u64, &RankDir> = golden.ranks.iter().map(|r| (r.column(), r)).collect();
    for t in &target.ranks {
        if let Some(g) = golden_ranks.get(&t.column()) {
            let (step, rank) = (column(target), t.column());
            plan.pairs.push(Pair { step, rank, target: t.clone(), golden: Some((*g).clone()) });
        }
    }
    if plan.pairs.len() == before {
        let reason = format!("{} and {} have no rank in common", target.path.display(), golden.path.display());
        plan.left_out.push((column(target), reason));
    }
}

/// Names what exists on one side only.
fn one_sided<T>(what: &str, target: &[T], golden: &[T], number: impl Fn(&T) -> u64, place: &str, out: &mut Vec<String>) {
    for (side, mine, theirs) in [("target", target, golden), ("golden", golden, target)] {
        let theirs: HashSet<u64> = theirs.iter().map(&number).collect();
        let alone: Vec<String> = mine.iter().map(&number).filter(|n| !theirs.contains(n)).map(|n| n.to_string()).collect();
        if !alone.is_empty() {
            out.push(format!("only the {side} has {what} {}{place}: not compared", alone.join(", ")));
        }
    }
}

fn column(step: &StepDir) -> u64 {
    step.number.unwrap_or(0)
}

fn only_rank(layout: &Layout) -> Option<(Option<u64>, &RankDir)> {
    match layout.steps.as_slice() {
        [step] => match step.ranks.as_slice() {
            [rank] => Some((step.number, rank)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn step(number: Option<u64>, ranks: &[Option<u64>]) -> StepDir {
        let path = PathBuf::from(format!("s{number:?}"));
        let ranks = ranks.iter().map(|&number| RankDir { number, path: path.join(format!("{number:?}")) }).collect();
        StepDir { number, path, ranks }
    }

    fn layout(kind: Kind, steps: Vec<StepDir>) -> Layout {
        Layout { kind, steps, ignored: Vec::new() }
    }

    fn numbers(plan: &Plan) -> Vec<(u64, u64)> {
        plan.pairs.iter().map(|p| (p.step, p.rank)).collect()
    }

    #[test]
    fn common_ranks_are_compared_and_the_rest_is_named() {
        let t = layout(Kind::Ranks, vec![step(None, &[Some(0), Some(1), Some(2), Some(10)])]);
        let g = layout(Kind::Ranks, vec![step(None, &[Some(0), Some(2), Some(5)])]);
        let plan = compare(&t, &g).unwrap();
        assert_eq!(numbers(&plan), [(0, 0), (0, 2)]);
        assert_eq!(plan.one_sided, ["only the target has rank 1, 10: not compared", "only the golden has rank 5: not compared"]);
    }

    #[test]
    fn a_step_without_common_ranks_is_left_out() {
        let t = layout(Kind::Steps, vec![step(Some(1), &[Some(0)]), step(Some(2), &[Some(0), Some(1)])]);
        let g = layout(Kind::Steps, vec![step(Some(1), &[Some(7)]), step(Some(2), &[Some(1)])]);
        let plan = compare(&t, &g).unwrap();
        assert_eq!(numbers(&plan), [(2, 1)]);
        assert_eq!(plan.left_out.len(), 1);
        assert_eq!(plan.left_out[0].0, 1);
    }

    #[test]
    fn single_ranks_pair_unless_their_numbers_differ() {
        let single = layout(Kind::Single, vec![step(None, &[None])]);
        let rank = |n| layout(Kind::Ranks, vec![step(None, &[n])]);
        assert_eq!(numbers(&compare(&rank(Some(0)), &single).unwrap()), [(0, 0)]);
        assert_eq!(numbers(&compare(&rank(None), &rank(Some(0))).unwrap()), [(0, 0)]);
        assert!(matches!(compare(&rank(Some(0)), &rank(Some(1))), Err(Error::DifferentNumbers { .. })));
        let two = layout(Kind::Ranks, vec![step(None, &[Some(0), Some(1)])]);
        let told = compare(&two, &single).unwrap_err().to_string();
        assert_eq!(told, "sNone: is a folder of ranks, but sNone is one rank; name two of the same kind, such as sNone/Some(0) and sNone");
    }
}
