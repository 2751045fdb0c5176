//! The tree of a finished file as HTML that needs nothing but a browser: no script, no network, native folding.
//!
//! Lives here: which nodes are shown, how they nest, and their escaping. May not: compute anything about them. The answer
//! above the tree comes from the report.
//!
//! A page is for mail and build artefacts, so it stays small: with more nodes than [`Limits::nodes`], subtrees in which all
//! agrees become one line, and what is then still too much is counted instead of shown.

mod forest;
mod html;

use std::path::Path;

use crate::visdb::{Reader, Result};
use forest::Forest;

/// What a page may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Nodes of the whole page.
    pub nodes: usize,
    /// Levels that are nested; browsers cut deeper ones.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { nodes: 20_000, depth: 200 }
    }
}

/// The trees of all steps and ranks as HTML. The way to each node of `open` (step, rank, name) stands open.
pub fn trees(file: &Path, open: &[(u64, u64, String)], limits: Limits) -> Result<String> {
    let reader = Reader::open(file)?;
    let compared = reader.config()?.graph_type == "compare";
    let parts = reader.parts()?;
    let mut out = String::new();
    // Every rank may use what the ones before it left over.
    let mut left = limits.nodes;
    for (at, &(step, rank)) in parts.iter().enumerate() {
        let forest = Forest::read(&reader, step, rank, compared)?;
        let share = left / (parts.len() - at);
        let wanted: Vec<&str> = open.iter().filter(|one| (one.0, one.1) == (step, rank)).map(|one| one.2.as_str()).collect();
        let title = (parts.len() > 1).then(|| format!("step {step}, rank {rank}"));
        left -= html::push_tree(&mut out, &forest, title.as_deref(), &wanted, share, limits.depth).min(left);
    }
    Ok(out)
}
