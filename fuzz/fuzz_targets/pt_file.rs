//! A `.pt` file: one short line of reason, or a tensor that lies within the file and equals itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use msprobe_core::tensor::{read, Container, Storage};
use msprobe_fuzz::tensors::check;

fuzz_target!(|bytes: &[u8]| {
    check(read(Container::Pt, Storage::from_bytes(bytes.to_vec()), None));
});
