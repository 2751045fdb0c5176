//! The result file `*.vis.db`, the one place that knows it: schema, writing, reading, our own tables.
//!
//! * [`node`]: rows of `tb_nodes`, encoded by the workers that make them
//! * [`write`](mod@write): the file from its temporary name to its own
//! * [`read`](mod@read): questions to a file, ours or the reference's
//! * `pages`: all rows of `tb_nodes`, without SQLite
//! * [`amend`]: changes to a finished file
//! * [`schema`], [`config`], [`values`]: tables and fixed texts
//!
//! Files have the schema of msProbe 26.2, so that either tool's viewer opens either tool's file, and tables of our own.
//! They are written page by page without SQLite (`bulk`), because keeping nine b-trees in order row by row would cost
//! more than the whole comparison. Reading all rows of a file that nobody is
//! writing does without SQLite too (`pages`). Everything else goes through it.

pub mod amend;
mod bulk;
pub mod config;
mod error;
pub mod node;
pub(crate) mod pages;
pub mod read;
pub mod schema;
mod sort;
pub mod values;
pub mod write;

pub use amend::{Amender, Child, EditRecord, MatchColumns};
pub use bulk::record::Cell;
pub use config::Task;
pub use error::{Error, Result};
pub use node::{EncodedNodes, GraphKey, NodeHead, NodeResult, NodeWriter};
pub(crate) use read::partner_of;
pub use read::{Detail, GraphId, Node, NodeRef, OwnTables, Reader, StoredConfig};
pub use values::{MatchedBy, OverflowLevel, Side, Verdict};
pub use write::{CommunicationNode, CommunicationNodes, Complete, Config, Counts, PartTotals, Writer};
