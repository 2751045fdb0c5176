//! The engine of msprobe-rs: everything that touches bulk data.
//!
//! One module per room, the rooms stand on floors (top first). A room may use what stands below it, never what stands
//! above, and rooms on one floor do not know each other:
//!
//! | floor | rooms |
//! |---|---|
//! | [`pipeline`] | steps, ranks, jobs, progress, cancellation |
//! | [`view`] [`edit`] [`page`] | questions to a finished file, changes to it, its tree as a page |
//! | [`report`] | where two runs first part |
//! | [`links`] | communication nodes across ranks |
//! | [`part`] | one rank, compared and rendered to rows |
//! | `facts` | how far a row is apart, what a node is to the search |
//! | [`visdb`] | the one place that knows the file format |
//! | [`verdict`] | pass, warning, error |
//! | [`metrics`] | numbers of one parameter pair |
//! | [`matching`] | which node and which parameter faces which |
//! | [`overflow`] | levels of NaN and infinity |
//! | [`graph`] | the tree of one rank |
//! | [`dump`] [`tensor`] | files of one rank |
//! | [`name`] | how a node name is cut |
//! | [`mapping`] | which files may be mapped |
//! | [`text`] | Python-compatible formatting, JSON escapes |

pub mod dump;
pub mod edit;
mod facts;
pub mod graph;
pub mod links;
pub mod mapping;
pub mod matching;
pub mod metrics;
pub mod name;
pub mod overflow;
pub mod page;
pub mod part;
pub mod pipeline;
pub mod report;
pub mod tensor;
pub mod text;
pub mod verdict;
pub mod view;
pub mod visdb;
