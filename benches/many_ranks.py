"""64 ranks: whether time shrinks with the cores, and memory stays."""

from __future__ import annotations

import os
from pathlib import Path

from benches import places
from benches.large_dump import grow
from benches.measure import cost
from benches.result import Result, Table, seconds, size

RANKS = 64
COPIES = 5
RUNS = ((8, 1), (8, 2), (64, 1), (64, 2))
"""Ranks and cores."""


def run() -> Result:
    """Compares 8 and 64 ranks on one and two cores."""
    places.need_disk(6_000_000_000)
    rows, raw = [], {}
    for ranks, cores in RUNS:
        target, golden = _folders(ranks)
        places.clear()
        print(f"{ranks} ranks, {cores} cores", flush=True)
        command: list[str | Path] = [
            "taskset",
            "--cpu-list",
            ",".join(map(str, range(cores))),
            places.OURS,
            "graph_visualize",
            "-tp",
            target,
            "-gp",
            golden,
            "-o",
            places.output(),
            "--jobs",
            str(cores),
        ]
        used = cost(command, 3, places.clear)
        raw[f"{ranks} ranks, {cores} cores"] = used.raw() | {"result bytes": places.result_size()}
        rows.append([f"{ranks} ranks", str(cores), seconds(used.cpu), seconds(used.wall), size(used.anonymous), size(places.result_size())])
    places.clear()
    return Result(
        name="many_ranks",
        order=50,
        title="64 ranks",
        command="python -m benches many_ranks",
        text=[
            f"Comparisons of ranks of {COPIES} copies each (5,300 nodes a side). All ranks have the same content. "
            "Each run has as many cores (`taskset`) as workers (`--jobs`). Wall time depends on how much of the machine is free. "
            "Memory is that of the ranks in flight, one for each worker; each rank that is done leaves 0.05 to 0.2 MB: its part of the "
            "answer, and where the pages of one index are.",
        ],
        tables=[Table(["compare", "cores", "CPU", "wall", "anonymous", "result"], rows)],
        raw=raw,
    )


def _folders(ranks: int) -> list[Path]:
    """Folders of both sides with so many ranks: one of each side is made, the others are links to its files."""
    folders = []
    for side, (noise, seed) in (("target", places.TARGET), ("golden", places.GOLDEN)):
        first = places.WORK / "ranks" / f"{side}-rank"
        if not (first / "stack.json").exists():
            grow(first, COPIES, noise, seed)
        folder = places.WORK / "ranks" / f"{side}{ranks}"
        for rank in range(ranks):
            place = folder / f"rank{rank}"
            place.mkdir(parents=True, exist_ok=True)
            for file in first.iterdir():
                if not (place / file.name).exists():
                    os.link(file, place / file.name)
        folders.append(folder)
    return folders
