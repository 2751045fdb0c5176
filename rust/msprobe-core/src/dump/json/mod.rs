//! JSON as msProbe writes it: bare `NaN`, `Infinity`, `-Infinity`, integers of any length, repeated keys.

mod value;

pub use value::{Member, Value};
