//! SQLite's file format, written in one pass.
//!
//! SQLite itself spends most of its time on keeping b-trees in order while rows arrive one by one. Here all rows of a
//! part are known and sorted, so pages are filled front to back and written once:
//!
//! * [`record`]: rows to bytes
//! * [`page`]: one b-tree page, filled in key order
//! * [`output`]: pages to the file, many per system call
//! * [`table`], [`index`]: leaves in order; [`levels`]: what is above them
//! * [`schema_page`]: the first page
//!
//! Knows the file format (<https://www.sqlite.org/fileformat2.html>) and nothing of nodes.

pub(crate) mod index;
mod levels;
pub(crate) mod output;
pub(crate) mod page;
pub mod record;
pub(crate) mod schema_page;
pub(crate) mod table;
