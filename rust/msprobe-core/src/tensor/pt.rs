//! `.pt` files: what `torch.save` writes for one tensor.

use super::dtype::Dtype;
use super::error::Reason;
use super::layout::Layout;
use super::pickle::{Machine, Value};
use super::rebuild::TensorSpec;
use super::storage::Storage;
use super::tar::is_tar;
use super::zip::{Archive, Content};
use super::{legacy, legacy_tar, Container, Tensor};
use crate::text::message::plain;
use std::sync::Arc;

/// Largest `data.pkl` that is read. A tensor's has under 2 kB.
const PICKLE: u64 = 8 << 20;

/// Reads the description of the tensor in a `.pt` file; its numbers stay where they are.
pub fn read(file: Storage) -> Result<Tensor, Reason> {
    let mut buffer = Vec::new();
    let head = file.slice(0, file.len().min(512) as usize, &mut buffer)?;
    if head.starts_with(b"PK\x03\x04") {
        return read_zip(file);
    }
    if head.starts_with(b"\x80\x02\x8a\x0a") {
        return legacy::read_pickles(file);
    }
    if is_tar(head) {
        return legacy_tar::read(file);
    }
    Err(Reason::NotThis("torch"))
}

fn read_zip(file: Storage) -> Result<Tensor, Reason> {
    let archive = Archive::open(&file)?;
    let pickle =
        archive.entries().iter().find(|e| e.name.ends_with("/data.pkl")).ok_or(Reason::Zip("no data.pkl in a top folder".to_owned()))?;
    let top = &pickle.name[..pickle.name.len() - "data.pkl".len()];
    archive.find(&pickle.name)?;
    let is_script = |name: &str| name.strip_prefix(top).is_some_and(|rest| rest == "constants.pkl" || rest.starts_with("code/"));
    if archive.entries().iter().any(|e| is_script(&e.name)) {
        return Err(Reason::NotTensor("a TorchScript program"));
    }
    archive.find(&format!("{top}version"))?.ok_or(Reason::Zip("no entry version".to_owned()))?;
    let swapped = match archive.find(&format!("{top}byteorder"))? {
        None => false,
        Some(entry) => match bytes(&archive, &file, entry, 16)?.as_slice() {
            b"little" => false,
            b"big" => true,
            _ => return Err(Reason::Zip("unknown byteorder".to_owned())),
        },
    };
    let program = bytes(&archive, &file, pickle, PICKLE)?;
    let mut machine = Machine::default();
    let (value, _) = machine.run(&program)?;
    let spec = tensor_of(&machine, value)?;
    let reference = &machine.storages[spec.storage.ok_or(Reason::Kind("wrapper"))? as usize];
    let key = std::str::from_utf8(reference.key).map_err(|_| Reason::Zip("a storage key is no UTF-8".to_owned()))?;
    let name = format!("{top}data/{key}");
    let entry = archive.find(&name)?.ok_or_else(|| Reason::Zip(format!("no entry data/{}", plain(key))))?;
    let width = reference.dtype.map_or(1, Dtype::size);
    if reference.count.checked_mul(width) != Some(entry.size) {
        return Err(Reason::Layout(format!("data/{} has {} bytes instead of {} x {width}", plain(key), entry.size, reference.count)));
    }
    let size = entry.size;
    match archive.content(&file, entry)? {
        Content::Stored(start) => place(spec, Arc::new(file), start, size, swapped),
        Content::Inflated(bytes) => place(spec, Arc::new(Storage::from_bytes(bytes)), 0, size, swapped),
    }
}

/// The content of a small entry.
fn bytes(archive: &Archive, file: &Storage, entry: &super::zip::Entry, limit: u64) -> Result<Vec<u8>, Reason> {
    if entry.size > limit {
        return Err(Reason::Limit(format!("{} has {} bytes, at most {limit} are read", entry.name, entry.size)));
    }
    match archive.content(file, entry)? {
        Content::Stored(start) => {
            let mut buffer = Vec::new();
            Ok(file.slice(start, entry.size as usize, &mut buffer)?.to_vec())
        }
        Content::Inflated(bytes) => Ok(bytes),
    }
}

/// The tensor that is the whole content of a pickle.
pub fn tensor_of<'m>(machine: &'m Machine<'_>, value: Value<'_>) -> Result<&'m TensorSpec, Reason> {
    match value {
        Value::Tensor(index) => Ok(&machine.tensors[index as usize]),
        other => Err(Reason::NotTensor(other.kind())),
    }
}

/// Joins a description with the `length` bytes of its storage, which begin at byte `start` of `file`.
pub fn place(spec: &TensorSpec, file: Arc<Storage>, start: u64, length: u64, swapped: bool) -> Result<Tensor, Reason> {
    let layout = Layout::checked(spec.offset, &spec.size, &spec.stride, length / spec.dtype.size())?;
    Ok(Tensor {
        dtype: spec.dtype,
        layout,
        container: Container::Pt,
        swapped,
        conjugated: spec.conjugated,
        negated: spec.negated,
        storage: file,
        start,
        count: length / spec.dtype.size(),
    })
}
