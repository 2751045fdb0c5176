"""The answer of a finished file, and its tables: 200 copies of a rank, 214,000 nodes a side."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

from benches import places
from benches.measure import cost
from benches.result import Result, Table, seconds, size

COPIES = int(os.environ.get("MSPROBE_BENCH_COPIES", "200"))


def run() -> Result:
    """Measures `report` with and without the answer in the file, and `export`."""
    places.need_disk(COPIES * 8_000_000)
    target, golden = places.sides(COPIES)
    places.clear()
    subprocess.run([places.OURS, "graph_visualize", "-tp", target, "-gp", golden, "-o", places.output(), "--quiet"], check=True)
    (file,) = places.output().glob("*.vis.db")
    with sqlite3.connect(file) as database:
        nodes = database.execute("SELECT count(*) FROM tb_nodes").fetchone()[0]
    commands: list[tuple[str, list[str | Path]]] = [
        ("`report`, the answer is in the file", [places.OURS, "report", file]),
        # More runner-ups than the file keeps.
        ("`report`, worked out from the rows", [places.OURS, "report", file, "--top", "6"]),
        ("`export` of all parameters as CSV", [places.OURS, "export", file, "-o", places.output() / "x.csv"]),
        ("`tree`, two levels", [places.OURS, "tree", file]),
    ]
    rows, raw = [], {}
    for name, command in commands:
        used = cost(command, 3)
        raw[name] = used.raw()
        rows.append([name, seconds(used.cpu), seconds(used.wall), size(used.anonymous)])
    written = size(file.stat().st_size)
    places.clear()
    return Result(
        name="report",
        order=60,
        title="Questions to a finished file",
        command="python -m benches.report",
        text=[f"A comparison of {nodes:,} nodes, both sides, {written}."],
        tables=[Table(["command", "CPU", "wall", "anonymous"], rows)],
        raw=raw,
    )


if __name__ == "__main__":
    run().save()
