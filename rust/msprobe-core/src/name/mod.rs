//! How a module or API name is split and classified; the only place that cuts dots.
//!
//! Lives here: kinds by prefix, dot parts, call ends (`.forward.0`), the switch between forward and backward, the cut of
//! `parameters_grad` and of data names. May not: know trees, files or rows.
//!
//! ```
//! use msprobe_core::name::{self, Direction, NodeKind};
//!
//! let name = "Module.encoder.Encoder.backward.3";
//! assert_eq!(NodeKind::of(name), NodeKind::Module);
//! let call = name::module_call(name).unwrap();
//! assert_eq!((call.base, call.direction, call.number), ("Module.encoder.Encoder", Direction::Backward, "3"));
//! assert_eq!(name::forward_twin(name).unwrap(), "Module.encoder.Encoder.forward.3");
//! ```

mod direction;
mod kind;
mod parts;

pub use direction::{api_direction, forward_twin, module_call, passes_forward, switch_direction, with_direction, Direction, ModuleCall};
pub use kind::{is_distributed, is_uninitialised_memory, returns_uninitialised_memory, without_rank, NodeKind, ROOT};
pub use parts::{
    api_name, data_name_stem, is_debug, is_number, is_parameters_grad, last_part, layer, looks_nested, parameters_grad_owner, part,
    part_count, part_from_end, parts, short_name, without_last_parts,
};
