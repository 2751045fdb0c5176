//! Numbers of one parameter pair.

pub mod tensor;
