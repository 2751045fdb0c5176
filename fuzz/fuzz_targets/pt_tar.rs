//! The members of a `.pt` file of torch before 0.2, in an archive that is sound: the same must hold as for the whole file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use msprobe_core::tensor::{read, Container, Storage};
use msprobe_fuzz::tensors::{check, tar};

/// What stands between two members of the input.
const BETWEEN: &[u8] = b"|tar";
const NAMES: [&str; 4] = ["sys_info", "pickle", "tensors", "storages"];

fuzz_target!(|bytes: &[u8]| {
    let mut members = Vec::new();
    let mut rest = bytes;
    for name in NAMES {
        let end = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN);
        members.push((name, &rest[..end.unwrap_or(rest.len())]));
        rest = end.map_or(&[][..], |end| &rest[end + BETWEEN.len()..]);
    }
    check(read(Container::Pt, Storage::from_bytes(tar(&members)), None));
});
