//! Places of an entry that are not judged, because what stands there before the call has no meaning: buffers that
//! communication operators fill, and the masked tensor of `masked_fill_`, which is often filled with an infinity.

use crate::name;

/// The places of one API that are not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Positions of positional inputs.
    pub(super) inputs: &'static [usize],
    /// Names of keyword inputs: the same buffers, passed by name.
    pub(super) keywords: &'static [&'static str],
    /// Positions of outputs.
    pub(super) outputs: &'static [usize],
}

impl Places {
    /// The rule of the API that a node calls; `None` for an API that returns uninitialised memory and has no level at all.
    pub(super) fn of_api(node_name: &str) -> Option<Places> {
        if name::is_uninitialised_memory(node_name) {
            return None;
        }
        let family = name::part(node_name, 0).unwrap_or_default();
        let api = name::api_name(node_name).unwrap_or_default();
        if family.eq_ignore_ascii_case("tensor") && api.eq_ignore_ascii_case("masked_fill_") {
            return Some(Places { inputs: &[0], keywords: &[], outputs: &[0] });
        }
        if family.eq_ignore_ascii_case("distributed") {
            if let Some((_, keywords)) = BUFFERS.iter().find(|(operator, _)| api.eq_ignore_ascii_case(operator)) {
                return Some(Places { inputs: &[0], keywords, outputs: &[] });
            }
        }
        Some(Places::default())
    }
}

/// Communication operators whose first argument is a buffer to be filled, and that argument's name.
const BUFFERS: [(&str, &[&str]); 6] = [
    ("recv", &["tensor"]),
    ("all_gather", &["tensor_list"]),
    ("reduce_scatter", &["output"]),
    ("_reduce_scatter_base", &["output"]),
    ("all_gather_into_tensor", &["output_tensor"]),
    ("reduce_scatter_tensor", &["output"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_follow_the_first_two_parts_in_any_case() {
        assert_eq!(Places::of_api("Distributed.recv.0.forward").unwrap().keywords, ["tensor"]);
        assert_eq!(Places::of_api("distributed.ALL_GATHER.3.forward").unwrap().inputs, [0]);
        assert_eq!(Places::of_api("Tensor.masked_fill_.0.forward").unwrap().outputs, [0]);
        for other in ["Tensor.masked_fill.0.forward", "Torch.recv.0.forward", "Distributed.send.0.forward", "Distributed", "optimizer"] {
            assert_eq!(Places::of_api(other), Some(Places::default()), "{other}");
        }
    }

    #[test]
    fn uninitialised_memory_has_no_level() {
        for name in ["Torch.empty.0.forward", "Tensor.new_empty.2.forward", "NPU.empty_with_format.0.forward", "Mint.empty_like.0.forward"]
        {
            assert_eq!(Places::of_api(name), None, "{name}");
        }
    }
}
