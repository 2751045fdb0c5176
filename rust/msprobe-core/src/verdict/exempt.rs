//! APIs whose rows say nothing about precision.

use crate::name::returns_uninitialised_memory;

/// APIs of which no row is judged, beside those that return uninitialised memory.
const NOT_JUDGED: [&str; 3] = ["numpy", "to", "__setitem__"];
/// APIs whose inputs are buffers to be overwritten: only their outputs are judged.
const OUTPUT_ONLY: [&str; 4] = ["_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "batch_isend_irecv"];

/// Which rows of a node are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All rows, and the rules over the whole node.
    All,
    /// Row rules on outputs only.
    Outputs,
    /// Nothing.
    None,
}

/// The scope of the API called `api`; `None` stands for a node whose API cannot be told.
pub(super) fn scope(api: Option<&str>) -> Scope {
    match api {
        Some(api) if returns_uninitialised_memory(api) || NOT_JUDGED.contains(&api) => Scope::None,
        Some(api) if OUTPUT_ONLY.contains(&api) => Scope::Outputs,
        _ => Scope::All,
    }
}
