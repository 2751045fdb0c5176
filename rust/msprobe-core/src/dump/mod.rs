//! Typed model of one rank's dump: `dump.json`, `construct.json`, `stack.json`.
//!
//! Lives here: opening and mapping the files, our own JSON reader, the entries and the parameter rows of an entry.
//! May not: know the tree.

pub mod json;
pub mod rows;
