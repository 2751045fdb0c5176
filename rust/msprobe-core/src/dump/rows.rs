//! The parameter rows of one entry of `data`.

use super::json::Value;

/// Where in the entry a row stood. Decides the pairing and the column it is stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowClass {
    /// `input_args`, `input_kwargs`, `input`, and every row of a `debug` entry.
    Input,
    /// `parameters`
    Parameters,
    /// `output`
    Output,
    /// A `parameters_grad` entry.
    ParametersGrad,
}

/// One input, output, parameter or parameter gradient.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Full name, the key in `input_data` / `output_data`.
    pub name: &'a str,
    /// Where it stood.
    pub class: RowClass,
    /// Keyword, parameter or gradient name when the row stood under one (rows pair by it first).
    pub keyword: Option<&'a str>,
    /// All fields in the order in which they are shown, defaults included, `state` and the full name left out.
    pub fields: bumpalo::collections::Vec<'a, (&'a str, Value<'a>)>,
}
