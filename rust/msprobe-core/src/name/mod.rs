//! How a module or API name is split and classified; the only place that cuts dots.

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

impl NodeKind {
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
