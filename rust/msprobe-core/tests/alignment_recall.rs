//! The alignment must find its way through a run that differs: any dump against itself with nodes deleted, inserted, renamed,
//! re-counted and wrapped. Looks at the dumps in `tests/data` that are not packed, and at the folder with all dumps
//! (`MSPROBE_SHARED`, or `shared` beside the project) if it is there.

mod changed_dump;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use changed_dump::{module_parts, Dice, Dump, Record};
use msprobe_core::dump::RankFiles;
use msprobe_core::graph::{Graph, NodeId};
use msprobe_core::matching::{match_by_alignment, NodeMatch, Side};
use rayon::prelude::*;
use serde_json::Value;

const SEEDS: u64 = 50;

/// Kind, class and shapes of a node and where it lies: what makes siblings interchangeable.
fn looks(record: &Record) -> String {
    let class = match module_parts(&record.name) {
        Some((_, _, rest)) => format!("{} {}", rest[0], rest[1]),
        None => record.name.split('.').filter(|part| part.parse::<u64>().is_err()).collect::<Vec<_>>().join("."),
    };
    let mut shapes = Vec::new();
    let mut waiting: Vec<&Value> = record.entry.iter().collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => match members.get("shape") {
                Some(shape) => shapes.push(shape.to_string()),
                None => waiting.extend(members.values()),
            },
            _ => {}
        }
    }
    format!("{class} {shapes:?}")
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    common: usize,
    pairs: usize,
    right: usize,
}

impl Score {
    fn recall(self) -> f64 {
        self.right as f64 / self.common.max(1) as f64
    }

    fn precision(self) -> f64 {
        self.right as f64 / self.pairs.max(1) as f64
    }
}

fn score(changed: &Dump, original: &HashMap<&str, &Record>, target: &Graph<'_>, golden: &Graph<'_>, matched: &NodeMatch) -> Score {
    let records: HashMap<&str, &Record> = changed.records.iter().map(|record| (record.name.as_str(), record)).collect();
    let mut score = Score::default();
    for &node in target.order() {
        let Some(record) = records.get(target[node].name()) else { continue };
        score.common += usize::from(record.origin.is_some());
        let Some(partner) = matched.golden_of(node) else { continue };
        score.pairs += 1;
        let Some(origin) = record.origin.as_deref() else { continue };
        score.right += usize::from(golden[partner].name() == origin || interchangeable(golden, partner, origin, original));
    }
    assert_order(target, golden, matched);
    score
}

fn interchangeable(golden: &Graph<'_>, partner: NodeId, origin: &str, original: &HashMap<&str, &Record>) -> bool {
    let Some(wanted) = golden.find(origin) else { return false };
    let same_parent = golden[wanted].parent() == golden[partner].parent();
    let both = (original.get(origin), original.get(golden[partner].name()));
    same_parent && matches!(both, (Some(a), Some(b)) if looks(a) == looks(b))
}

/// Siblings must keep their order wherever they face siblings of equal looks; looked at for all.
fn assert_order(target: &Graph<'_>, golden: &Graph<'_>, matched: &NodeMatch) {
    for &parent in target.order() {
        let mut last: BTreeMap<(Option<NodeId>, String), u32> = BTreeMap::new();
        for &child in target.children(parent) {
            let Some(partner) = matched.golden_of(child) else { continue };
            let class: String = target[child].name().chars().filter(|c| !c.is_ascii_digit()).collect();
            let position = golden[partner].position();
            let before = last.insert((golden[partner].parent(), class), position);
            assert!(before.is_none_or(|before| before < position), "{}", target[child].name());
        }
    }
}

/// Folders with dumps.
fn dump_roots() -> Vec<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("MSPROBE_SHARED").map_or(project.join("../shared"), PathBuf::from);
    let roots = [shared.join("dumps"), project.join("tests/data/dumps"), project.join("tests/data/mini")];
    roots.into_iter().filter(|root| root.is_dir()).collect()
}

/// One rank folder of each side of each dump: the first.
fn rank_folders(root: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        if folder.join("construct.json").is_file() && folder.join("dump.json").is_file() {
            folders.push(folder);
        } else if let Ok(entries) = std::fs::read_dir(&folder) {
            waiting.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()));
        }
    }
    folders.sort();
    let mut seen = HashSet::new();
    folders.retain(|folder| {
        let side = folder.ancestors().find(|above| above.ends_with("target") || above.ends_with("golden"));
        let dump = folder.ancestors().find(|above| above.parent() == Some(root));
        seen.insert(side.or(dump).map(Path::to_owned))
    });
    folders
}

/// The sum over all seeds; `None` for a folder that cannot be changed.
fn score_of(folder: &Path) -> Option<Score> {
    let dump = Dump::read(folder).filter(|dump| dump.records.len() >= 2)?;
    let dir = tempfile::tempdir().unwrap();
    dump.write(dir.path());
    let golden_files = RankFiles::open(dir.path()).ok()?;
    let (golden, _) = Graph::build(&golden_files).unwrap();
    let original: HashMap<&str, &Record> = dump.records.iter().map(|record| (record.name.as_str(), record)).collect();
    let mut sum = Score::default();
    for seed in 0..SEEDS {
        let changed = dump.changed(&mut Dice(seed * 1_000_003 + dump.records.len() as u64));
        let dir = tempfile::tempdir().unwrap();
        changed.write(dir.path());
        let Ok(target_files) = RankFiles::open(dir.path()) else { continue };
        let (target, _) = Graph::build(&target_files).unwrap();
        let matched = match_by_alignment(Side { graph: &target, files: &target_files }, Side { graph: &golden, files: &golden_files });
        let one = score(&changed, &original, &target, &golden, &matched);
        sum = Score { common: sum.common + one.common, pairs: sum.pairs + one.pairs, right: sum.right + one.right };
    }
    Some(sum)
}

#[test]
fn finds_its_way_through_changed_dumps() {
    let roots = dump_roots();
    // Of the miniatures, which hold a handful of nodes each, only all together can be judged.
    let (small, large): (Vec<PathBuf>, Vec<PathBuf>) =
        roots.iter().flat_map(|root| rank_folders(root)).partition(|folder| folder.components().any(|part| part.as_os_str() == "mini"));
    let scores: Vec<(String, Score)> =
        large.par_iter().filter_map(|folder| Some((folder.display().to_string(), score_of(folder)?))).collect();
    let small: Vec<Score> = small.par_iter().filter_map(|folder| score_of(folder)).collect();
    let total = |scores: &mut dyn Iterator<Item = &Score>| {
        scores.fold(Score::default(), |a, b| Score { common: a.common + b.common, pairs: a.pairs + b.pairs, right: a.right + b.right })
    };
    let small = ("the miniatures".to_owned(), total(&mut small.iter()));
    let all = total(&mut scores.iter().map(|(_, score)| score));
    println!("{} dumps, {} nodes: recall {:.4}, precision {:.4}", scores.len(), all.common, all.recall(), all.precision());
    for (dump, score) in scores.iter().chain([&small]) {
        println!("recall {:.4} precision {:.4} {dump}", score.recall(), score.precision());
        assert!(score.recall() >= 0.95, "{dump}: recall {:.4}", score.recall());
        assert!(score.precision() >= 0.99, "{dump}: precision {:.4}", score.precision());
    }
    assert!(scores.len() >= 2);
}
