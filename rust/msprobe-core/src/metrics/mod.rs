//! Numbers of one parameter pair.
//!
//! Lives here: what is computed from two rows, per [`Mode`]. May not: know nodes, trees or the result file.

pub mod statistics;
pub mod tensor;

/// What a comparison is made of, decided by the `task` of both dumps and by whether they hold md5 texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Max, Min, Mean and Norm of both sides.
    Statistics,
    /// CRC-32 texts of the bytes (`md5` by tradition).
    Md5,
    /// The tensors themselves.
    Tensor,
    /// The tree alone.
    Structure,
}
