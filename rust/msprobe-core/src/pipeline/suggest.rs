//! A proposal for a layer mapping from two input folders.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{layout, pairing, Error};
use crate::dump::RankFiles;
use crate::matching::mapping::suggest::Sureness;
use crate::matching::mapping::{self, Rules};

/// A proposed layer mapping.
#[derive(Clone, Debug, Serialize)]
pub struct SuggestedMapping {
    /// The mapping file.
    pub text: String,
    /// Its rules by how sure they are.
    pub sure: usize,
    /// All modules of the class agree.
    pub likely: usize,
    /// To be looked at before use.
    pub guess: usize,
    /// The target rank it was made of.
    pub target: PathBuf,
    /// The golden rank it was made of.
    pub golden: PathBuf,
}

/// Proposes a layer mapping from the first ranks of two inputs that would be compared.
pub fn suggest_mapping(target: &Path, golden: &Path) -> Result<SuggestedMapping, Error> {
    let plan = pairing::compare(&layout::read(target)?, &layout::read(golden)?)?;
    let first = plan.pairs.into_iter().next().and_then(|pair| Some((pair.target.path, pair.golden?.path)));
    let Some((target, golden)) = first else {
        return Err(Error::Part(format!("{}: no rank found", target.display())));
    };
    let open = |path: &Path| RankFiles::open(path).map_err(|reason| Error::Part(reason.to_string()));
    let suggestion = mapping::suggest(&open(&target)?, &open(&golden)?);
    let text = suggestion.to_string();
    // What we write we must be able to read.
    Rules::parse(Path::new("the proposed mapping"), &text)?;
    let count = |sureness| suggestion.rules.iter().filter(|rule| rule.sureness == sureness).count();
    let [sure, likely, guess] = [Sureness::Sure, Sureness::Likely, Sureness::Guess].map(count);
    Ok(SuggestedMapping { text, sure, likely, guess, target, golden })
}
