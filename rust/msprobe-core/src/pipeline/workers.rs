//! How many threads a run is worth.

use std::fs;
use std::path::Path;

use super::pairing::Pair;

/// Bytes of JSON that are worth a thread: below that, waking another one costs more than it does.
const WORTH_A_THREAD: u64 = 32 << 20;

/// Cores that this process may use.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Threads for `pairs` where nobody asked for a number.
pub(super) fn worth(pairs: &[Pair]) -> usize {
    let cores = cores();
    let mut bytes = 0u64;
    for folder in pairs.iter().flat_map(|pair| std::iter::once(&pair.target).chain(&pair.golden)) {
        if folder.path.join("dump_tensor_data").is_dir() {
            return cores;
        }
        bytes = bytes.saturating_add(size(&folder.path.join("dump.json")));
        if bytes / WORTH_A_THREAD >= cores as u64 {
            return cores;
        }
    }
    cores.min(1 + (bytes / WORTH_A_THREAD) as usize)
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |metadata| metadata.len())
}
