//! `dump.json`: a clear error, or every entry can be found by its name and read again.

#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use msprobe_core::dump::DumpFile;

fuzz_target!(|bytes: &[u8]| {
    let Some(source) = msprobe_fuzz::source(bytes) else { return };
    match DumpFile::new(source) {
        Ok(file) => {
            let _ = (file.task(), file.framework(), file.dump_data_dir(), file.has_md5(), file.guessed_framework());
            let bump = Bump::new();
            for id in file.ids() {
                assert_eq!(file.find(file.name(id)), Some(id));
                file.entry(id, &bump).expect("a checked entry");
            }
        }
        Err(error) => msprobe_fuzz::check_error(&error, bytes.len()),
    }
});
