//! Which node of the target faces which node of the golden graph, and which parameter row faces which.
//!
//! Lives here: the table of matched nodes, one file per way of finding them, the links that both sides store, and the
//! pairing of the rows of two matched nodes. May not: know metrics, verdicts or the result file.

mod align;
mod block;
mod default;
mod fuzzy;
mod links;
pub mod mapping;
mod nodes;
mod parameters;
mod shapes;
mod walk;

pub use align::match_by_alignment;
pub use default::match_by_place;
pub use fuzzy::match_fuzzy;
pub use links::{link_path, LinkWriter, MAX_LINK_DEPTH};
pub use mapping::{match_by_mapping, Calls, Mapped, Side};
pub use nodes::{How, NodeMatch, Shared, Ways};
pub use parameters::{pair_rows, Pairs};
