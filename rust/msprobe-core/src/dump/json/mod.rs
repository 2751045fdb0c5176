//! JSON as msProbe writes it: bare `NaN`, `Infinity`, `-Infinity`, integers of any length, repeated keys.
//!
//! One scanner for everything: it walks a text without recursion, so nesting costs a bit of memory per level and nothing else, and
//! says of a text that is not JSON where and why. What is accepted is what Python's `json` module accepts by default.

mod number;
mod parse;
mod plain;
mod scan;
mod text;
mod usual;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use parse::parse;
pub(crate) use plain::plain_end;
pub use scan::{Escapes, Fault, Scanner, StringToken};
pub use text::unescape;
pub use value::{Member, Value};
pub use write::{push_dumps, push_repr, push_str};
