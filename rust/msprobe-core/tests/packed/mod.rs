//! Files of `tests/data` that are stored compressed.

use std::io::Read;
use std::path::Path;

/// The JSON in a `.json.gz` file.
pub fn json(path: impl AsRef<Path>) -> serde_json::Value {
    let path = path.as_ref();
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}
