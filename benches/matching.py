"""What it costs to match two trees."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from benches.result import Result, Table

COMMAND = ["cargo", "bench", "-p", "msprobe-core", "--locked", "--bench", "matching"]
GOALS = {"default": 1.0, "fuzzy": 1.0, "mapping": 1.0, "alignment": 3.0}
"""CPU seconds for 200 000 nodes on each side."""


def run() -> Result:
    """Each matcher on trees of 200 000 and of 2 000 000 nodes."""
    done = subprocess.run(COMMAND, cwd=Path(__file__).parent.parent, check=True, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    sizes = sorted({one["nodes"] for one in found})
    cpu = {(one["matcher"], one["nodes"]): one["cpu_seconds"] for one in found}
    rows = [[name, f"{goal:.0f} s", *(f"{cpu[name, size]:.2f} s" for size in sizes)] for name, goal in GOALS.items()]
    return Result(
        name="matching",
        order=60,
        title="Matching",
        command="python -m benches matching",
        text=[
            "CPU seconds of one core. The golden run of the alignment lacks 5 % of the nodes, has 5 % foreign ones and other classes for "
            "5 % of the modules."
        ],
        tables=[Table(["matcher", "goal at 200,000", *(f"{size:,} nodes" for size in sizes)], rows)],
        notes=["Ten times the nodes should cost ten times the time and a little more."],
        raw=found,
    )
