"""Comparing 2,000 copies: whether time and memory grow with the input and no faster."""

from __future__ import annotations

import shutil
from pathlib import Path

from benches import places
from benches.measure import Cost, cost
from benches.result import Result, Table, seconds, size

NODES_PER_COPY = 2 * 1072
"""Of both sides, nearly."""


def run() -> Result:
    """Compares 200 and 2,000 copies, ours only."""
    found: dict[int, Cost] = {}
    zeros: dict[int, Cost] = {}
    written, raw = {}, {}
    for copies, repeat in ((200, 2), (2000, 1)):
        target, golden = places.sides(copies)
        places.clear()
        places.need_disk(copies * 6_000_000)
        print(f"compare {copies}", flush=True)
        command: list[str | Path] = [places.OURS, "graph_visualize", "-tp", target, "-gp", golden, "-o", places.output()]
        found[copies] = cost(command, repeat, places.clear)
        written[copies] = places.result_size()
        zeros[copies] = _zeros(written[copies])
        raw[str(copies)] = found[copies].raw() | {"result bytes": written[copies], "zeros": zeros[copies].raw()}
        if copies == 2000:
            # For the bench of questions to a finished file.
            (file,) = places.output().glob("*.vis.db")
            file.replace(places.LARGE)
            shutil.rmtree(target)
            shutil.rmtree(golden)
        places.clear()
    rows = [
        [
            f"{copies} copies",
            f"{copies * NODES_PER_COPY / 1e6:.2f} million",
            size(written[copies]),
            seconds(used.cpu),
            f"{used.cpu / copies / NODES_PER_COPY * 1e6:.1f} µs",
            seconds(zeros[copies].cpu),
            seconds(used.wall),
            size(used.anonymous),
            size(used.resident),
        ]
        for copies, used in found.items()
    ]
    growth = found[2000].cpu / found[200].cpu / 10
    without = (found[2000].cpu - zeros[2000].cpu) / (found[200].cpu - zeros[200].cpu) / 10
    return Result(
        name="two_million_nodes",
        order=40,
        title="Ten times more: 2,000 copies",
        command="python -m benches two_million_nodes",
        text=[
            "The same comparison as above with 2,000 copies: 2.1 million nodes a side, two dump.json of 1.2 GB. To be linear: the time of "
            "a node within 1.3 of that of 200 copies, and below 4 GiB. CPU for zeros is what the system alone takes to write a file of the "
            "size of the result (`dd`): 0.3 s a GB where the page cache was full before, as on a machine that has been at work for a "
            "while, and up to 1.5 s a GB where a virtual machine has to get the memory back from its host.",
        ],
        tables=[
            Table(
                [
                    "compare",
                    "nodes of both sides",
                    "result",
                    "CPU",
                    "CPU of a node",
                    "CPU for zeros",
                    "wall",
                    "anonymous",
                    "resident, with mapped input",
                ],
                rows,
            )
        ],
        notes=[
            f"A node takes {growth:.2f} times the time it takes with 200 copies, and {without:.2f} times without what writing zeros takes."
        ],
        raw=raw,
    )


def _zeros(length: int) -> Cost:
    """Writes so many bytes, as many in a call as we do."""
    file = places.output() / "zeros"
    block = 512 << 10
    file.parent.mkdir(parents=True, exist_ok=True)
    used = cost(["dd", "if=/dev/zero", f"of={file}", f"bs={block}", f"count={length // block}", "status=none"], 1)
    file.unlink()
    return used
