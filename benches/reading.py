"""Reading the files of one rank: the criterion bench `reader` on the 200-copy dump."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from benches import places
from benches.result import Result, Table

ROOT = Path(__file__).parent.parent
CRITERION = ROOT / "target" / "criterion" / "reader"
STEPS = {
    "check and index dump.json": "dump.json",
    "read every entry": "dump.json",
    "read every entry and make its rows": "dump.json",
    "construct.json": "construct.json",
    "stack.json": "stack.json",
}


def run() -> Result:
    """Runs criterion and takes the least time of each step."""
    target, _ = places.sides(200)
    environment = os.environ | {"MSPROBE_BENCH_DUMP": str(target), "CARGO_TARGET_DIR": str(ROOT / "target")}
    subprocess.run(["cargo", "bench", "-p", "msprobe-core", "--locked", "--bench", "reader"], cwd=ROOT, env=environment, check=True)
    rows, raw = [], {}
    for step, file in STEPS.items():
        sample = json.loads((CRITERION / step / "new" / "sample.json").read_text())
        least = min(time / count for time, count in zip(sample["times"], sample["iters"], strict=True)) / 1e9
        size = (target / file).stat().st_size
        raw[step] = {"seconds": least, "bytes": size}
        rows.append([step, f"{size / 1e6:.0f} MB", f"{least:.3f} s", f"{size / least / 1e6:.0f} MB/s"])
    return Result(
        name="reading",
        order=30,
        title="Reading the files of one rank, on one core",
        command="python -m benches reading",
        text=[
            "The first pass checks all of dump.json and indexes its entries; each entry is read again when its node is written. "
            "The 200-copy target; to stay above 400 MB/s.",
        ],
        tables=[Table(["", "size", "least time", "speed"], rows)],
        raw=raw,
    )
