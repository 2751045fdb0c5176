//! A `.npy` file behind a byte that chooses the dtype text of the dump: one short line of reason, or a tensor within the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use msprobe_core::tensor::{read, Container, Storage};
use msprobe_fuzz::tensors::check;

const HINTS: [Option<&str>; 4] = [None, Some("BFloat16"), Some("torch.float8_e5m2"), Some("<class 'int'>")];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, file)) = bytes.split_first() else { return };
    check(read(Container::Npy, Storage::from_bytes(file.to_vec()), HINTS[usize::from(*choice) % HINTS.len()]));
});
