"""Questions to a finished file: the answer with and without it being stored, the tree, the tables.

The file is the 2,000-copy comparison that `two_million_nodes` leaves, 2.1 million nodes a side; without it one of
`MSPROBE_BENCH_COPIES` copies (200) is made.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

from benches import places
from benches.measure import Cost, cost
from benches.result import Result, Table, seconds, size

COPIES = int(os.environ.get("MSPROBE_BENCH_COPIES", "200"))

GOAL_SECONDS, GOAL_BYTES = 2.0, 300_000_000
"""Of `report` on a file of two million nodes; fewer nodes have to be answered in as much less."""
GOAL_NODES = 2_000_000

NOTE = (
    "Wall times depend on how much of the machine is free. `report` of a stored answer reads a few rows, so most of its time is "
    "start-up; of a file as msProbe writes it, it reads every row of the target, and the time grows with the nodes."
)


def run() -> Result:
    """Measures `report`, `tree` and `export` on a file of ours, and `report` on the same rows as msProbe 26.2 writes them."""
    file = _file()
    with sqlite3.connect(file) as database:
        (nodes,) = database.execute("SELECT count(*) FROM tb_nodes WHERE data_source = 'NPU'").fetchone()
        (deep,) = database.execute("SELECT node_name FROM tb_nodes WHERE data_source = 'NPU' AND up_node <> '' LIMIT 1").fetchone()
    database.close()
    written = size(file.stat().st_size)
    out = places.output()
    commands: list[tuple[str, list[str | Path]]] = [
        ("`report`, the answer is in the file", [places.OURS, "report", file]),
        ("`report --json`, the answer is in the file", [places.OURS, "report", file, "--json"]),
        ("`report --only warning`, the answer is in the file", [places.OURS, "report", file, "--only", "warning"]),
        ("`report --top 64`, the answer is in the file", [places.OURS, "report", file, "--top", "64"]),
        ("`tree`, two levels", [places.OURS, "tree", file]),
        ("`tree` of one node", [places.OURS, "tree", file, deep]),
        ("`export` of all nodes as CSV", [places.OURS, "export", file, "--nodes", "-o", out / "x.csv"]),
        ("`export` of all parameters as CSV", [places.OURS, "export", file, "-o", out / "x.csv"]),
        ("`export` of all parameters as XLSX", [places.OURS, "export", file, "-o", out / "x.xlsx"]),
    ]
    found = {name: _measured(name, command) for name, command in commands}
    _leave_what_msprobe_writes(file)
    for words in ([], ["--json"]):
        name = " ".join(["`report", *words]) + "`, a file as msProbe writes it"
        found[name] = _measured(name, [places.OURS, "report", file, *words])
    places.clear()
    if file.parent == places.WORK:
        file.unlink()
    return Result(
        name="report",
        order=60,
        title="Questions to a finished file",
        command="python -m benches report",
        text=[
            f"A comparison of {nodes:,} nodes a side, {written}. A file as msProbe writes it holds the same rows and the indexes of "
            "msProbe without our tables, so `report` works its answer out. The goal of `report` is "
            f"{GOAL_SECONDS:.0f} s and {size(GOAL_BYTES)} for {GOAL_NODES / 1e6:.0f} million nodes.",
        ],
        tables=[
            Table(
                ["command", "CPU", "wall", "anonymous"],
                [[name, seconds(used.cpu), seconds(used.wall), size(used.anonymous)] for name, used in found.items()],
            )
        ],
        notes=[NOTE],
        raw={name: used.raw() for name, used in found.items()},
    )


def _file() -> Path:
    """The comparison; one that is made here lies in the folder of results."""
    places.clear()
    if places.LARGE.exists():
        places.output().mkdir(parents=True)
        return places.LARGE
    places.need_disk(COPIES * 8_000_000)
    target, golden = places.sides(COPIES)
    print(f"compare {COPIES}", flush=True)
    subprocess.run([places.OURS, "graph_visualize", "-tp", target, "-gp", golden, "-o", places.output(), "--quiet"], check=True)
    (file,) = places.output().glob("*.vis.db")
    return file


def _measured(name: str, command: list[str | Path]) -> Cost:
    print(name, flush=True)
    return cost(command, 1 if "export" in name else 3)


def _leave_what_msprobe_writes(file: Path) -> None:
    """Takes our tables away and makes the index by matched node that msProbe 26.2 makes."""
    with sqlite3.connect(file) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'msprobe_%'").fetchall():
            database.execute(f"DROP TABLE {name}")
        database.execute("DROP INDEX index6")
        database.execute("CREATE INDEX index6 ON tb_nodes (step, rank, modified, matched_node_link)")
    database.close()


if __name__ == "__main__":
    run().save()
