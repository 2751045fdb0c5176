//! Shapes of the tensors of one entry, as numbers that can be compared.

use bumpalo::Bump;

use crate::dump::json::Value;
use crate::dump::{EntryId, RankFiles};
use crate::name;

/// Shapes of an entry's tensors, hashed; 0 where there is none. Those of parameters have no order, as frameworks do not
/// agree on one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shapes {
    pub(super) parameters: u64,
    pub(super) inputs: u64,
    pub(super) outputs: u64,
}

impl Shapes {
    /// Reads the shapes of an entry; `bump` is reset before. An entry that cannot be read any more has none: the comparison
    /// will say why.
    pub(super) fn read(files: &RankFiles, entry: EntryId, bump: &mut Bump) -> Shapes {
        bump.reset();
        let Ok(Value::Object(members)) = files.dump.entry(entry, bump) else { return Shapes::default() };
        let mut shapes = Shapes::default();
        let gradients = name::is_parameters_grad(files.dump.name(entry));
        for member in members {
            let (hash, ordered) = match member.key {
                _ if gradients => (&mut shapes.parameters, false),
                "parameters" => (&mut shapes.parameters, false),
                "input_args" | "input_kwargs" | "input" => (&mut shapes.inputs, true),
                "output" => (&mut shapes.outputs, true),
                _ => continue,
            };
            add(member.value, ordered, hash);
        }
        shapes
    }
}

/// Adds the shapes of all tensors in a value to a hash.
fn add(value: Value<'_>, ordered: bool, hash: &mut u64) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::List(items) => waiting.extend(items.iter().rev()),
            Value::Object(members) => match value.get("shape") {
                Some(Value::List(lengths)) => {
                    let mut shape = 1;
                    for length in lengths {
                        let Value::Int(digits) = length else { continue };
                        shape = mix(shape, digits.parse().unwrap_or(u64::MAX));
                    }
                    *hash = if ordered { mix(*hash, shape) } else { hash.wrapping_add(mix(shape, 2)) };
                }
                _ => waiting.extend(members.iter().rev().map(|member| member.value)),
            },
            _ => {}
        }
    }
}

/// One hash of two.
pub(super) fn mix(hash: u64, value: u64) -> u64 {
    let x = (hash ^ value.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ (x >> 29)
}
