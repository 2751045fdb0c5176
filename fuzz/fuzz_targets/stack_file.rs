//! `stack.json`: a clear error, or stacks that are JSON and different from each other.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use msprobe_core::dump::json::Scanner;
use msprobe_core::dump::{StackFile, StackId};

fuzz_target!(|bytes: &[u8]| {
    let Some(source) = msprobe_fuzz::source(bytes) else { return };
    match StackFile::new(source) {
        Ok(file) => {
            let mut seen = HashSet::new();
            for id in (0..file.stack_count() as u32).map(StackId) {
                let json = file.json(id);
                assert!(seen.insert(json), "the same stack twice");
                let mut scanner = Scanner::new(json, 0);
                scanner.skip_value().and_then(|()| scanner.finish()).expect("JSON");
                let _ = (file.is_empty(id), file.stored(id), file.lines(id).count());
            }
        }
        Err(error) => msprobe_fuzz::check_error(&error, bytes.len()),
    }
});
