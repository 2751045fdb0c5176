//! APIs whose rows say nothing about precision.

/// APIs whose output is memory that nothing has written yet: they never count as errors.
const UNINITIALISED: [&str; 6] = ["empty", "empty_like", "empty_with_format", "new_empty_strided", "new_empty", "empty_strided"];
/// Further APIs of which no row is judged.
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
        Some(api) if UNINITIALISED.contains(&api) || NOT_JUDGED.contains(&api) => Scope::None,
        Some(api) if OUTPUT_ONLY.contains(&api) => Scope::Outputs,
        _ => Scope::All,
    }
}

/// Whether the API `api` returns memory that nothing has written yet.
#[must_use]
pub fn leaves_memory_uninitialised(api: &str) -> bool {
    UNINITIALISED.contains(&api)
}
