//! The kind of a node, decided by the start of its name.

use super::parts::{api_name, is_number};

/// Name of the root node of every graph.
pub const ROOT: &str = "DefaultModel";

/// Kind of a node, as stored in `tb_nodes.node_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A module (`Module.`, `Cell.`, `optimizer`, `clip_grad`, the root, and everything not recognised): `0`.
    Module,
    /// One call of an API: `1`.
    Api,
    /// A run of top-level API calls gathered under one node: `9`.
    Collection,
}

/// API prefixes. Each needs one more character of any kind: `Torchx` is an API, `Torch` alone is not.
const API_PREFIXES: [&str; 12] =
    ["Tensor", "Torch", "Functional", "NPU", "VF", "Distributed", "Aten", "Mint", "Primitive", "Jit", "MintFunctional", "MindSpeed"];

impl NodeKind {
    /// The kind a dump's name tells: module or API. Collections are never named by a dump.
    #[must_use]
    pub fn of(name: &str) -> NodeKind {
        // The module prefixes need no test of their own: none of them starts like an API, and everything else is a module.
        if API_PREFIXES.iter().any(|prefix| name.len() > prefix.len() && name.starts_with(prefix)) {
            NodeKind::Api
        } else {
            NodeKind::Module
        }
    }

    /// The text stored in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            NodeKind::Module => "0",
            NodeKind::Api => "1",
            NodeKind::Collection => "9",
        }
    }
}

/// Whether the node is a communication operator (`is_distributed` of the file): a plain prefix test.
#[must_use]
pub fn is_distributed(name: &str) -> bool {
    name.starts_with("Distributed")
}

/// Whether the called API returns memory that nobody has written yet, so that its output means nothing.
#[must_use]
pub fn is_uninitialised_memory(name: &str) -> bool {
    api_name(name).is_some_and(returns_uninitialised_memory)
}

/// The same for the bare name of an API.
#[must_use]
pub fn returns_uninitialised_memory(api: &str) -> bool {
    matches!(api, "empty" | "empty_like" | "empty_with_format" | "new_empty_strided" | "new_empty" | "empty_strided")
}

/// An API's name without the `_rank<digits>` that a merge of ranks appends.
#[must_use]
pub fn without_rank(api: &str) -> &str {
    match api.rfind("_rank") {
        Some(at) if is_number(&api[at + 5..]) => &api[..at],
        _ => api,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_the_prefix_and_one_character() {
        for name in
            ["Torch.add.0.forward", "Torchx", "MintDistributed.x", "VF.lstm.0.forward", "Jit.f.0.forward", "Aten_", "MintFunctional."]
        {
            assert_eq!(NodeKind::of(name), NodeKind::Api, "{name}");
        }
        for name in
            ["Torch", "VF", "Module.a.A.forward.0", "Cell.a.A.forward.0", "optimizer", "clip_grad", ROOT, "", "torch.add", "x.Torch.add"]
        {
            assert_eq!(NodeKind::of(name), NodeKind::Module, "{name}");
        }
    }

    #[test]
    fn uninitialised_memory_goes_by_the_second_part() {
        assert!(is_uninitialised_memory("Torch.empty.0.forward") && is_uninitialised_memory("Tensor.new_empty_strided.1.forward"));
        assert!(!is_uninitialised_memory("empty") && !is_uninitialised_memory("Torch.empty_cache.0.forward"));
        assert!(!is_uninitialised_memory("Torch.add.empty.0"));
    }

    #[test]
    fn distributed_is_a_plain_prefix() {
        assert!(is_distributed("Distributed"));
        assert!(is_distributed("DistributedX.y"));
        assert!(!is_distributed("MintDistributed.send.0.forward"));
    }
}
