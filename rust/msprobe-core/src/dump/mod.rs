//! Typed model of one rank's dump: `dump.json`, `construct.json`, `stack.json`.
//!
//! Lives here: opening and mapping the files, our own JSON reader, the entries and the parameter rows of an entry.
//! May not: know the tree.
//!
//! ```
//! use msprobe_core::dump::{collect_rows, DumpFile, Source};
//!
//! let text = br#"{"task": "statistics", "data": {"Torch.add.0.forward": {"input_args": [{"type": "int", "value": 5}]}}}"#;
//! let file = DumpFile::new(Source::from_bytes("dump.json".as_ref(), text.to_vec())?)?;
//! let id = file.find("Torch.add.0.forward").unwrap();
//! let bump = bumpalo::Bump::new();
//! let rows = collect_rows(file.name(id), file.entry(id, &bump)?, &bump);
//! assert_eq!(rows[0].name, "Torch.add.0.forward.input.0");
//! # Ok::<(), msprobe_core::dump::Error>(())
//! ```

mod construct_file;
mod dump_file;
mod error;
pub mod json;
mod names;
mod rank_files;
pub mod rows;
mod source;
mod stack_file;
mod stored;

pub use construct_file::{ConstructFile, Link, MicroStepRecord};
pub use dump_file::{DumpFile, EntryId, Framework};
pub use error::Error;
pub use rank_files::RankFiles;
pub use rows::{collect_rows, Field, Row, RowClass, RowKind};
pub use source::{Source, LARGEST_JSON};
pub use stack_file::{StackFile, StackId};
pub use stored::push_stored;
