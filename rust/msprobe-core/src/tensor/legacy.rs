//! The form `torch.save` wrote before its zip files: consecutive pickles with raw storages behind.

use super::dtype::Dtype;
use super::error::Reason;
use super::pickle::{Machine, Value};
use super::pt::{place, tensor_of};
use super::storage::Storage;
use super::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// Number at the start of the pickle form.
const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
/// How much of the start of a file is looked at for the pickles.
const PICKLES: u64 = 8 << 20;

/// Reads the form of consecutive pickles: magic number, protocol, system, object, storage keys, then for each key a count
/// of 8 bytes and the bytes. Big endian machines write, and all machines read, the numbers of this form little endian.
pub fn read_pickles(file: Storage) -> Result<Tensor, Reason> {
    let file = Arc::new(file);
    let mut buffer = Vec::new();
    let head = file.slice(0, file.len().min(PICKLES) as usize, &mut buffer)?;
    let mut at = 0;
    let mut system = Machine::default();
    let mut next = |at: &mut usize| -> Result<Value<'_>, Reason> {
        let (value, taken) = system.run(&head[*at..]).map_err(|reason| reason.behind(*at))?;
        *at += taken;
        Ok(value)
    };
    if next(&mut at)? != Value::Int(MAGIC) || next(&mut at)? != Value::Int(1001) {
        return Err(Reason::NotThis("torch"));
    }
    next(&mut at)?;
    let mut machine = Machine::default();
    let (value, taken) = machine.run(&head[at..]).map_err(|reason| reason.behind(at))?;
    at += taken;
    let mut keys = Machine::default();
    let (list, taken) = keys.run(&head[at..]).map_err(|reason| reason.behind(at))?;
    at += taken;
    let spec = tensor_of(&machine, value)?;
    let wanted = &machine.storages[spec.storage.ok_or(Reason::Kind("wrapper"))? as usize];
    let mut met = HashMap::new();
    for storage in &machine.storages {
        met.entry(storage.key).or_insert(storage);
    }
    let mut start = at as u64;
    for key in keys.elements(list) {
        let Value::Text(key) = key else { return Err(Reason::Layout("a storage key is no text".to_owned())) };
        let stored = met.get(key).ok_or(Reason::Layout("a storage belongs to nothing".to_owned()))?;
        let width = stored.dtype.map_or(1, Dtype::size);
        let mut field = Vec::new();
        let count = u64::from_le_bytes(file.slice(start, 8, &mut field)?.try_into().unwrap_or_default());
        let length = count.checked_mul(width).ok_or(Reason::Truncated("storage"))?;
        let data = start + 8;
        let end = data.checked_add(length).filter(|end| *end <= file.len()).ok_or(Reason::Truncated("storage"))?;
        if *key == wanted.key {
            if count != wanted.count {
                return Err(Reason::Layout(format!("a storage has {count} elements instead of {}", wanted.count)));
            }
            let mut first = data;
            let mut elements = count;
            if let Some((_, offset, view)) = wanted.view {
                if offset.checked_add(view).is_none_or(|end| end > count) {
                    return Err(Reason::Layout("a storage view reaches beyond its storage".to_owned()));
                }
                first += offset * width;
                elements = view;
            }
            return place(spec, file.clone(), first, elements * width, false);
        }
        start = end;
    }
    Err(Reason::Layout("the storage of the tensor is missing".to_owned()))
}
