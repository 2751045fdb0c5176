//! What a file holds, and the counts and first findings of one step and rank.

use super::drift;
use super::error::ViewError;
use super::file::VisFile;
use super::first::{self, Difference};
use super::outline::{status, Outline, NONE};
use super::rows::{self, Told};
use super::Question;
use crate::report;
use serde::Serialize;
use serde_json::Value;

/// What a file holds.
#[derive(Serialize)]
#[allow(clippy::struct_excessive_bools)] // independent facts of a file, each a key of the answer
pub(crate) struct FileFacts {
    path: String,
    /// Changes whenever the file does.
    version: String,
    size: u64,
    /// Whether there are two sides.
    compare: bool,
    /// `summary`, `md5`, `all`, `structure`, or empty for a build.
    task: String,
    pub(crate) micro_steps: i64,
    overflow_check: bool,
    /// (step, rank) pairs that have nodes.
    graphs: Vec<(i64, i64)>,
    /// Ranks and steps that `tb_config` names.
    ranks: Value,
    steps: Value,
    tool_tip: Value,
    node_colors: Value,
    /// Whether the file has the usual indexes; without them the first answers wait for the outline.
    indexed: bool,
    /// Our own tables.
    own_tables: Vec<String>,
    /// Whether the file and its folder may be written.
    writable: bool,
}

impl FileFacts {
    pub(crate) fn read(file: &VisFile) -> Result<Self, ViewError> {
        let config = rows::config(file)?.ok_or_else(|| ViewError::Unreadable {
            path: file.shown.clone(),
            code: "schema",
            reason: "tb_config has no row; the run that wrote this file did not finish".into(),
        })?;
        let mut graphs = rows::graphs(file)?;
        // A page of a megabyte holds about so many; nobody has more steps times ranks in one file.
        graphs.truncate(40_000);
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
        Ok(FileFacts {
            path: file.shown.clone(),
            version: file.key.version(),
            size: std::fs::metadata(&file.key.path).map_or(0, |meta| meta.len()),
            compare: config.graph_type == "compare",
            task: config.task,
            micro_steps: config.micro_steps.clamp(1, 100_000),
            overflow_check: config.overflow_check,
            ranks: parsed(&config.ranks),
            steps: parsed(&config.steps),
            tool_tip: parsed(&config.tool_tip),
            node_colors: parsed(&config.node_colors),
            indexed: file.indexed,
            own_tables: file.own_tables.clone(),
            writable: writable(&file.key.path),
            graphs,
        })
    }

    /// The step and rank asked for if the file has them, else those where the runs first part if the file says so, else its first.
    pub(crate) fn graph(&self, file: &VisFile, asked: Option<(i64, i64)>) -> Option<(i64, i64)> {
        let known = |place: &(i64, i64)| self.graphs.contains(place);
        let parted = || report::first_difference_place(&file.key.path).filter(known);
        asked.filter(known).or_else(parted).or_else(|| self.graphs.first().copied())
    }
}

/// `file?path`: configuration, steps and ranks.
pub(crate) fn file(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    super::json(&FileFacts::read(&question.file()?)?)
}

fn writable(path: &std::path::Path) -> bool {
    let open = |path: &std::path::Path| std::fs::OpenOptions::new().append(true).open(path).is_ok();
    let folder = path.parent().and_then(|folder| std::fs::metadata(folder).ok());
    open(path) && folder.is_some_and(|meta| !meta.permissions().readonly())
}

#[derive(Serialize)]
struct Spot {
    id: i64,
    name: String,
    /// Place in execution order, from 0.
    order: u32,
    status: u8,
    overflow: u8,
    parent: String,
}

fn spot(outline: &Outline, node: u32) -> Spot {
    let tree = &outline.sides[0];
    let at = node as usize;
    Spot {
        id: tree.rowid[at],
        name: tree.name(node).to_owned(),
        order: node,
        status: tree.status[at],
        overflow: tree.overflow[at],
        parent: if tree.parent[at] == NONE { String::new() } else { tree.name(tree.parent[at]).to_owned() },
    }
}

/// `summary?path&step&rank`: counts, first verdict, first overflow, first difference.
pub(crate) fn graph(question: &Question<'_>) -> Result<Vec<u8>, ViewError> {
    #[derive(Serialize)]
    struct Counts {
        nodes: usize,
        /// Per status: not compared, pass, warning, error, unmatched. The roots face each other and hold nothing: they do not count.
        status: [u32; status::COUNT],
        /// Per level: none, medium, high, critical.
        overflow: [u32; 4],
        orphans: u32,
    }
    #[derive(Serialize)]
    struct Summary {
        step: i64,
        rank: i64,
        target: Counts,
        golden: Counts,
        broken_links: u32,
        /// The earliest deepest node with a warning or an error.
        first_verdict: Option<Spot>,
        /// The node that the report names, or, where the file has no answer, the earliest deepest one with an overflow level.
        first_overflow: Option<Spot>,
        /// Whether the numbers of the rows have been read yet.
        difference_known: bool,
        /// Where target and golden first part, by the rules of the report.
        first_difference: Option<Difference>,
    }
    let file = question.file()?;
    let (step, rank) = question.graph(&file)?;
    let outline = question.outline(&file, step, rank)?;
    let counts = |side: usize| {
        let tree = &outline.sides[side];
        let mut counts = Counts { nodes: tree.len(), status: [0; status::COUNT], overflow: [0; 4], orphans: tree.orphans };
        (0..tree.len() as u32).filter_map(|node| tree.counted_status(node)).for_each(|status| counts.status[usize::from(status)] += 1);
        tree.overflow.iter().for_each(|level| counts.overflow[usize::from(*level).min(3)] += 1);
        counts
    };
    let tree = &outline.sides[0];
    // In execution order children come before their parents, so the first one found is also a deepest one.
    let coloured = |status: u8| status == status::WARNING || status == status::ERROR;
    let first_verdict = tree.status.iter().position(|status| coloured(*status));
    let first_overflow = match first::overflow(&file, step, rank) {
        Told::Found { node: name, .. } => (0..tree.len()).find(|node| tree.overflow[*node] > 0 && tree.name(*node as u32) == name),
        Told::Nothing => None,
        // Its tensors would tell more than its level, but nobody has looked at them.
        Told::Unknown => tree.overflow.iter().position(|level| *level > 0),
    };
    let compared = outline.sides[1].len() > 0;
    let drift = if compared { drift::find(question, &file, step, rank, &outline, std::time::Duration::from_millis(120))? } else { None };
    let answer = Summary {
        step,
        rank,
        target: counts(0),
        golden: counts(1),
        broken_links: outline.broken_links,
        first_verdict: first_verdict.map(|node| spot(&outline, node as u32)),
        first_overflow: first_overflow.map(|node| spot(&outline, node as u32)),
        difference_known: !compared || drift.is_some(),
        first_difference: drift.and_then(|drift| drift.first.as_ref()?.shown(&file, step, rank, &outline)),
    };
    super::json(&answer)
}
