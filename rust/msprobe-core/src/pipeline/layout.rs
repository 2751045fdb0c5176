//! What an input folder holds: one rank, ranks, or steps of ranks.
//!
//! | folder | layout |
//! |---|---|
//! | has `dump_tensor_data`, or one of the three JSON files | one rank |
//! | sub-folders `rank` / `rank<n>` | ranks |
//! | one sub-folder `proc<pid>` (a run without a launcher) | ranks, counted as rank 0 |
//! | sub-folders `step` / `step<n>` | steps of ranks |
//!
//! Plain files beside these folders are ignored and named in a warning; a folder that is none of them is an error, since
//! it may be a rank with a misspelt name whose data would go missing.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::Error;

/// The folder of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankDir {
    /// The number in the folder's name; `None` for `rank`, `proc<pid>` and a folder named directly.
    pub number: Option<u64>,
    /// The folder that holds the rank's files.
    pub path: PathBuf,
}

impl RankDir {
    /// The number under which the rank is stored.
    #[must_use]
    pub fn column(&self) -> u64 {
        self.number.unwrap_or(0)
    }
}

/// The ranks of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDir {
    /// Number of the step; `None` when the input was not a folder of steps.
    pub number: Option<u64>,
    /// The folder, for messages.
    pub path: PathBuf,
    /// Ranks, ascending. Empty only inside a folder of steps.
    pub ranks: Vec<RankDir>,
}

/// What an input folder is; the smaller ones lie in the larger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The folder of one rank.
    Single,
    /// A folder of ranks.
    Ranks,
    /// A folder of steps.
    Steps,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Single => "one rank",
            Kind::Ranks => "a folder of ranks",
            Kind::Steps => "a folder of steps",
        })
    }
}

/// An input folder, looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What the folder is.
    pub kind: Kind,
    /// Steps, ascending; one without a number unless the input is a folder of steps.
    pub steps: Vec<StepDir>,
    /// Entries that were passed over, for a warning each.
    pub ignored: Vec<String>,
}

impl Layout {
    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        let first = &self.steps[0].path;
        match self.kind {
            Kind::Steps => first.parent().unwrap_or(first),
            _ => first,
        }
    }

    /// The folder in this one that is of the same kind as `other`, which is of a smaller one: the one of the same numbers, where `other`'s
    /// names have numbers, else the first.
    #[must_use]
    pub fn part_like(&self, other: &Layout) -> Option<PathBuf> {
        if self.kind <= other.kind {
            return None;
        }
        let folder = match other.kind {
            Kind::Single => other.root().parent(),
            _ => Some(other.root()),
        };
        let step = number_of(folder, "step");
        let fits = |known: Option<u64>, asked: Option<u64>| known.is_none() || asked.is_none() || known == asked;
        let found = self.steps.iter().find(|known| !known.ranks.is_empty() && fits(known.number, step))?;
        if other.kind == Kind::Ranks {
            return Some(found.path.clone());
        }
        let rank = number_of(Some(other.root()), "rank");
        found.ranks.iter().find(|known| fits(known.number, rank)).map(|rank| rank.path.clone())
    }
}

/// The number that the name of a folder has behind `prefix`.
fn number_of(folder: Option<&Path>, prefix: &str) -> Option<u64> {
    Label::of(&folder?.file_name()?.to_string_lossy(), prefix).number()
}

/// The files every rank folder has; one of them makes a folder a rank.
const RANK_FILES: [&str; 3] = ["dump.json", "construct.json", "stack.json"];

/// Folders that do not fit and are named, at most.
const NAMED: usize = 3;

/// The entries of a folder, in the order of their names.
struct Entries {
    folders: Vec<String>,
    files: Vec<String>,
}

fn entries(path: &Path) -> Result<Entries, Error> {
    let unreadable = |source| Error::Input { path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_dir() {
        return Err(Error::NotAFolder { path: path.to_owned() });
    }
    let mut found = Entries { folders: Vec::new(), files: Vec::new() };
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A name that is not UTF-8 is none of ours; shown with replacement characters.
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = fs::metadata(entry.path()).is_ok_and(|m| m.is_dir());
        if is_folder { &mut found.folders } else { &mut found.files }.push(name);
    }
    found.folders.sort();
    found.files.sort();
    Ok(found)
}

/// What a folder's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    /// The prefix alone.
    Bare,
    /// The prefix and a number.
    Number(u64),
    /// Something else.
    Foreign,
}

impl Label {
    fn of(name: &str, prefix: &str) -> Label {
        match name.strip_prefix(prefix) {
            Some("") => Label::Bare,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                // Columns of SQLite are signed.
                digits.parse::<i64>().map_or(Label::Foreign, |number| Label::Number(number.unsigned_abs()))
            }
            _ => Label::Foreign,
        }
    }

    fn is_foreign(self) -> bool {
        self == Label::Foreign
    }

    fn number(self) -> Option<u64> {
        match self {
            Label::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// Looks through the folder `path`.
pub fn read(path: &Path) -> Result<Layout, Error> {
    let found = entries(path)?;
    if found.folders.is_empty() && found.files.is_empty() {
        return Err(Error::EmptyFolder { path: path.to_owned() });
    }
    let is_rank = found.folders.iter().any(|f| f == "dump_tensor_data") || found.files.iter().any(|f| RANK_FILES.contains(&f.as_str()));
    if !is_rank && found.folders.is_empty() {
        let results = found.files.into_iter().filter(|file| file.ends_with(".vis.db")).collect();
        return Err(Error::NoDump { path: path.to_owned(), results });
    }
    if is_rank {
        let rank = RankDir { number: None, path: path.to_owned() };
        let step = StepDir { number: None, path: path.to_owned(), ranks: vec![rank] };
        return Ok(Layout { kind: Kind::Single, steps: vec![step], ignored: Vec::new() });
    }
    let steps = found.folders.iter().filter(|f| !Label::of(f, "step").is_foreign()).count();
    if steps == 0 {
        let mut ignored = Vec::new();
        let ranks = ranks(path, &found, &mut ignored)?;
        let step = StepDir { number: None, path: path.to_owned(), ranks };
        return Ok(Layout { kind: Kind::Ranks, steps: vec![step], ignored });
    }
    let foreign = found.folders.iter().filter(|f| Label::of(f, "step").is_foreign());
    refuse(path, foreign.collect(), found.folders.len(), "step<number>")?;
    let mut ignored: Vec<String> = found.files.iter().map(|f| path.join(f).display().to_string()).collect();
    let mut by_number = BTreeMap::new();
    for name in &found.folders {
        let number = Label::of(name, "step").number().unwrap_or(0);
        if let Some(twin) = by_number.insert(number, name) {
            return Err(Error::SameNumber { path: path.to_owned(), first: twin.clone(), second: name.clone() });
        }
    }
    let mut steps = Vec::new();
    for (number, name) in by_number {
        let folder = path.join(name);
        let inside = entries(&folder)?;
        let ranks = if inside.folders.is_empty() { Vec::new() } else { ranks(&folder, &inside, &mut ignored)? };
        steps.push(StepDir { number: Some(number), path: folder, ranks });
    }
    Ok(Layout { kind: Kind::Steps, steps, ignored })
}

/// The error of folders in `path` that do not fit, of `all` folders there; none if all fit.
fn refuse(path: &Path, foreign: Vec<&String>, all: usize, expected: &'static str) -> Result<(), Error> {
    match foreign.as_slice() {
        [] => Ok(()),
        [first, others @ ..] if others.is_empty() || 2 * foreign.len() <= all => {
            Err(Error::ForeignFolder { path: path.to_owned(), name: (*first).clone(), expected })
        }
        _ => {
            let (dumps, others): (Vec<_>, Vec<_>) = foreign.into_iter().partition(|name| looks_like_a_dump(&path.join(name)));
            let names = dumps.iter().chain(&others).take(NAMED).map(|name| (*name).clone()).collect();
            Err(Error::NoRanks { path: path.to_owned(), count: dumps.len() + others.len(), dumps: dumps.len(), names })
        }
    }
}

/// Whether a folder is a rank, or holds ranks or steps, by the names of what is in it.
fn looks_like_a_dump(path: &Path) -> bool {
    let Ok(found) = entries(path) else { return false };
    let numbered = |name: &String| ["rank", "step", "proc"].iter().any(|prefix| Label::of(name, prefix).number().is_some());
    found.files.iter().any(|file| RANK_FILES.contains(&file.as_str())) || found.folders.iter().any(numbered)
}

/// The ranks of a folder, ascending by number.
fn ranks(path: &Path, found: &Entries, ignored: &mut Vec<String>) -> Result<Vec<RankDir>, Error> {
    ignored.extend(found.files.iter().map(|f| path.join(f).display().to_string()));
    let mut by_number = BTreeMap::new();
    for name in &found.folders {
        let label = Label::of(name, "rank");
        if label.is_foreign() {
            continue;
        }
        if let Some((_, twin)) = by_number.insert(label.number().unwrap_or(0), (label.number(), name)) {
            return Err(Error::SameNumber { path: path.to_owned(), first: twin.clone(), second: name.clone() });
        }
    }
    let is_process = |name: &String| matches!(Label::of(name, "proc"), Label::Number(_));
    let processes: Vec<&String> = found.folders.iter().filter(|f| is_process(f)).collect();
    let foreign = found.folders.iter().filter(|f| Label::of(f, "rank").is_foreign() && !is_process(f));
    refuse(path, foreign.collect(), found.folders.len(), "rank<number>")?;
    if by_number.is_empty() {
        return match processes.as_slice() {
            [only] => Ok(vec![RankDir { number: None, path: path.join(only) }]),
            _ => Err(Error::SeveralProcesses { path: path.to_owned(), names: processes.into_iter().cloned().collect() }),
        };
    }
    ignored.extend(processes.iter().map(|p| path.join(p).display().to_string()));
    Ok(by_number.into_values().map(|(number, name)| RankDir { number, path: path.join(name) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for path in paths {
            let full = root.path().join(path);
            if path.ends_with('/') {
                fs::create_dir_all(full).unwrap();
            } else {
                fs::create_dir_all(full.parent().unwrap()).unwrap();
                fs::write(full, "x").unwrap();
            }
        }
        root
    }

    fn columns(layout: &Layout) -> Vec<(Option<u64>, Vec<u64>)> {
        layout.steps.iter().map(|s| (s.number, s.ranks.iter().map(RankDir::column).collect())).collect()
    }

    #[test]
    fn ranks_ascend_by_number() {
        let root = tree(&["rank0/", "rank10/", "rank2/", "rank01/", "a.log", ".DS_Store"]);
        let layout = read(root.path()).unwrap();
        assert_eq!(layout.kind, Kind::Ranks);
        assert_eq!(columns(&layout), [(None, vec![0, 1, 2, 10])]);
        assert_eq!(layout.ignored.len(), 2);
    }

    #[test]
    fn steps_ascend_by_number() {
        let root = tree(&["step0/rank0/", "step10/rank1/", "step2/rank0/", "step2/rank1/", "a.log"]);
        let layout = read(root.path()).unwrap();
        assert_eq!(columns(&layout), [(Some(0), vec![0]), (Some(2), vec![0, 1]), (Some(10), vec![1])]);
    }

    #[test]
    fn one_rank() {
        for paths in [&["dump.json", "kernel/"][..], &["stack.json", "a.txt"], &["dump_tensor_data/"]] {
            assert_eq!(read(tree(paths).path()).unwrap().kind, Kind::Single, "{paths:?}");
        }
    }

    #[test]
    fn plain_files_are_no_dump() {
        for (paths, told) in [
            (&["a.txt"][..], "holds no dump; name the folder of a rank, of ranks or of steps"),
            (&["b.vis.db"], "holds no dump, but a finished result (b.vis.db); name the folder of a rank, of ranks or of steps"),
            (
                &["a.txt", "d.vis.db", "b.vis.db", "c.vis.db"],
                "holds no dump, but finished results (b.vis.db and 2 more); name the folder of a rank, of ranks or of steps",
            ),
        ] {
            let root = tree(paths);
            assert_eq!(read(root.path()).unwrap_err().to_string(), format!("{}: {told}", root.path().display()));
        }
    }

    #[test]
    fn the_part_of_a_larger_folder_that_fits_another_is_the_one_of_its_numbers() {
        let steps = tree(&["step0/rank0/", "step0/rank1/", "step3/rank0/", "step3/rank1/", "step5/"]);
        let large = read(steps.path()).unwrap();
        let below = |path: &str| Some(steps.path().join(path));
        for (paths, small, fitting) in [
            (&["step3/rank0/", "step3/rank1/"][..], "step3", below("step3")),
            (&["step4/rank0/", "step4/rank1/"], "step4", None),
            (&["step5/rank0/", "step5/rank1/"], "step5", None),
            (&["x/rank0/", "x/rank1/"], "x", below("step0")),
            (&["step3/rank1/dump.json"], "step3/rank1", below("step3/rank1")),
            (&["step3/rank7/dump.json"], "step3/rank7", None),
            (&["x/rank1/dump.json"], "x/rank1", below("step0/rank1")),
            (&["x/dump.json"], "x", below("step0/rank0")),
        ] {
            let root = tree(paths);
            assert_eq!(large.part_like(&read(&root.path().join(small)).unwrap()), fitting, "{paths:?}");
        }
        assert_eq!(large.part_like(&large), None);
    }

    #[test]
    fn a_process_is_rank_0() {
        let root = tree(&["proc123/", "x.log"]);
        assert_eq!(columns(&read(root.path()).unwrap()), [(None, vec![0])]);
        assert!(matches!(read(tree(&["proc1/", "proc2/"]).path()), Err(Error::SeveralProcesses { .. })));
    }

    #[test]
    fn doubtful_folders_are_refused_by_name() {
        assert!(matches!(read(tree(&["rank0/", "other/"]).path()), Err(Error::ForeignFolder { name, .. }) if name == "other"));
        assert!(matches!(read(tree(&["rank0/", "rank1x/"]).path()), Err(Error::ForeignFolder { name, .. }) if name == "rank1x"));
        assert!(matches!(read(tree(&["rank0/", "step0/"]).path()), Err(Error::ForeignFolder { .. })));
        assert!(read(tree(&["rank9223372036854775807/"]).path()).is_ok());
        assert!(matches!(read(tree(&["rank0/", "rank9223372036854775808/"]).path()), Err(Error::ForeignFolder { .. })));
        assert!(matches!(read(tree(&["rank/", "rank0/"]).path()), Err(Error::SameNumber { .. })));
        assert!(matches!(read(tree(&["rank0/", "a/", "rank1/", "b/"]).path()), Err(Error::ForeignFolder { name, .. }) if name == "a"));
        assert!(matches!(read(tree(&[]).path()), Err(Error::EmptyFolder { .. })));
        assert!(matches!(read(Path::new("/nowhere/at/all")), Err(Error::Input { .. })));
    }

    #[test]
    fn a_folder_of_dumps_is_told() {
        let root = tree(&["a/", "run1/step0/rank0/", "run2/dump.json", "run3/rank0/", "run4/proc17/", "step/"]);
        let told = read(root.path()).unwrap_err().to_string();
        let expected = "holds 5 folders that are no ranks or steps (run1, run2, run3, ...); 4 of them look like dumps: name one of them";
        assert_eq!(told, format!("{}: {expected}", root.path().display()));
        let root = tree(&["a/", "run1/rank0/"]);
        let told = read(root.path()).unwrap_err().to_string();
        let expected = "holds 2 folders that are no ranks or steps (run1, a); 1 of them looks like a dump: name it";
        assert_eq!(told, format!("{}: {expected}", root.path().display()));
        let root = tree(&["a/", "b/c/"]);
        let told = read(root.path()).unwrap_err().to_string();
        let expected = "holds 2 folders that are no ranks or steps (a, b); name the folder of a rank, of ranks or of steps";
        assert_eq!(told, format!("{}: {expected}", root.path().display()));
    }
}
