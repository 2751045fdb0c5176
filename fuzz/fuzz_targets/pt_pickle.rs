//! The pickle of a `.pt` file, in an archive that is sound: the same must hold as for the whole file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use msprobe_core::tensor::{read, Container, Storage};
use msprobe_fuzz::tensors::{archive, check};

fuzz_target!(|program: &[u8]| {
    let numbers: Vec<u8> = (0..64).collect();
    let entries: [(&str, &[u8]); 4] =
        [("a/data.pkl", program), ("a/version", b"3\n"), ("a/data/0", &numbers), ("a/data/1", &numbers[..12])];
    check(read(Container::Pt, Storage::from_bytes(archive(&entries)), None));
});
