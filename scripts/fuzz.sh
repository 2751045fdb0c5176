#!/bin/bash
# Runs every fuzz target for so many seconds: scripts/fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz.sh SECONDS}
cargo fuzz --version >/dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install cargo-fuzz --locked" >&2; exit 1; }

targets=$(cd fuzz && cargo fuzz list)
[ -n "$targets" ] || { echo "fuzz: no targets" >&2; exit 1; }
python3 fuzz/seeds.py
for target in $targets; do
    # Without the address sanitizer, which needs a nightly compiler; our readers are safe Rust, so that what matters
    # (panics, hangs, memory) shows without it.
    cargo fuzz run --sanitizer none "$target" -- -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -verbosity=0 -print_final_stats=1
done
