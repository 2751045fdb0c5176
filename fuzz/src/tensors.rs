//! What the targets of tensor files share.

use msprobe_core::metrics::tensor::compare_tensors;
use msprobe_core::tensor::{Dtype, Reason, Tensor};

/// Most bytes that are copied out of one tensor.
const LIMIT: u64 = 1 << 20;

/// A reason must be one short line; a tensor must lie within its file, be copied whole and equal itself.
pub fn check(result: Result<Tensor, Reason>) {
    let tensor = match result {
        Ok(tensor) => tensor,
        Err(reason) => return check_reason(&reason),
    };
    let end = tensor.start + tensor.count * tensor.dtype.size();
    assert!(end <= tensor.storage.len(), "reaches beyond the file");
    let elements = tensor.values().elements().expect("a size that was checked");
    let mut copy = Vec::new();
    match tensor.copy_to(&mut copy, LIMIT) {
        Ok(()) => {
            let width = if tensor.dtype == Dtype::F4E2M1x2 { 1 } else { tensor.dtype.size() };
            assert_eq!(copy.len() as u64, elements * width);
        }
        Err(reason) => check_reason(&reason),
    }
    match compare_tensors(&tensor, &tensor) {
        Ok(found) => assert!(found.extra.is_none_or(|extra| extra.equal == 1.0 && extra.largest_at.is_none()), "differs from itself"),
        Err(reason) => check_reason(&reason),
    }
}

fn check_reason(reason: &Reason) {
    let text = reason.to_string();
    assert!(!text.is_empty() && text.len() < 1000 && !text.contains('\n'), "{text:?}");
}

/// A zip archive of stored entries.
#[must_use]
pub fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let at = file.len() as u32;
        let sizes = [0, content.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
        let head = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &sizes, &(name.len() as u16).to_le_bytes(), &[0, 0]].concat();
        file.extend_from_slice(&[b"PK\x03\x04", &head[..], name.as_bytes(), content].concat());
        directory.extend_from_slice(&[b"PK\x01\x02\x14\0", &head[..], &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let start = file.len() as u32;
    let count = (entries.len() as u16).to_le_bytes();
    let end = [b"PK\x05\x06\0\0\0\0", &count[..], &count, &(directory.len() as u32).to_le_bytes(), &start.to_le_bytes(), &[0, 0]].concat();
    [file, directory, end].concat()
}

/// A tar archive of regular files.
#[must_use]
pub fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    for (name, content) in members {
        let mut head = [0u8; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        head[148..157].copy_from_slice(b"        0");
        head[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        file.extend_from_slice(&[&head, *content].concat());
        file.resize(file.len().next_multiple_of(512), 0);
    }
    [file, vec![0; 1024]].concat()
}
