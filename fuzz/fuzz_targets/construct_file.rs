//! `construct.json`: a clear error, or every node can be found by its name.

#![no_main]

use libfuzzer_sys::fuzz_target;
use msprobe_core::dump::{ConstructFile, MicroStepRecord};

fuzz_target!(|bytes: &[u8]| {
    let Some(source) = msprobe_fuzz::source(bytes) else { return };
    match ConstructFile::new(source) {
        Ok(file) => {
            assert!(file.len() > 0);
            for (i, link) in (0..file.len()).map(|i| file.link(i)).enumerate() {
                assert_eq!(file.find(link.name), Some(i));
                assert_ne!(link.parent, Some(""));
                assert!(link.micro_step.is_none() || file.record() != MicroStepRecord::Absent);
            }
        }
        Err(error) => msprobe_fuzz::check_error(&error, bytes.len()),
    }
});
