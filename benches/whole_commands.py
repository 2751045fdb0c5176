"""Build and compare, both tools: 20 and 200 copies of a rank.

With `MSPROBE_BENCH_KEEP_REFERENCE=1` the reference's runs are taken from the results there are, which the section then says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from benches import places, reference
from benches.measure import Cost, Usage, cost
from benches.result import RESULTS, Result, Table, ratio, seconds, size

SIZES = (20, 200)
REPEAT = int(os.environ.get("MSPROBE_BENCH_REPEAT", "5"))
KEEP_REFERENCE = bool(os.environ.get("MSPROBE_BENCH_KEEP_REFERENCE"))


def run() -> Result:
    """Measures all rows."""
    kept = json.loads((RESULTS / "whole_commands.json").read_text()) if KEEP_REFERENCE else None
    theirs, ours = "msprobe" if kept else reference.command(), places.OURS
    places.need_disk(4_000_000_000)
    helps = {"ours": cost([ours, "--help"], 3 * REPEAT)}
    helps["reference"] = _kept(kept, "reference --help") if kept else cost([theirs, "--help"], 2)
    rows, raw = [], {f"{tool} --help": found.raw() for tool, found in helps.items()}
    columns = ["", "reference CPU", "ours CPU", "less by", "less by, without `--help`", "reference anonymous", "ours anonymous", "less by"]
    rows.append(["`--help`", seconds(helps["reference"].cpu), seconds(helps["ours"].cpu), ratio(helps["ours"].cpu, helps["reference"].cpu)])
    rows[0] += ["", size(helps["reference"].anonymous), size(helps["ours"].anonymous), ""]
    for copies, task, words in _tasks():
        found = {}
        # A machine that others use too has slow minutes: short commands run often enough to meet a fast one.
        small = copies < 100
        for tool, command, repeat in (("ours", ours, 4 * REPEAT if small else REPEAT), ("reference", theirs, 4 if small else 1)):
            name = f"{task} {copies} {tool}"
            if kept and tool == "reference":
                found[tool] = _kept(kept, name)
                raw[name] = kept["raw"][name]
                continue
            print(name, flush=True)
            places.clear()
            found[tool] = cost([command, "graph_visualize", *words, "-o", places.output()], repeat, places.clear)
            raw[name] = found[tool].raw() | {"result bytes": places.result_size()}
        rows.append([f"{task}, {copies} copies", *_row(found["ours"], found["reference"], helps)])
    places.clear()
    return Result(
        name="whole_commands",
        order=10,
        title="Whole commands against the reference",
        command="make bench",
        text=[
            "The dump of one rank of a Megatron GPT model, repeated 20 and 200 times as further micro steps (`benches/large_dump.py`): "
            "21,000 and 214,000 nodes a side, 15 and 155 MB a side. The statistics of the target get a noise of 1e-6, those of the "
            "golden side of 1e-3. `build` is `graph_visualize -tp TARGET -o OUT`, `compare` has `-gp GOLDEN` too.",
            "Wanted: 10 times less CPU for the build and 20 times for the comparison of 200 copies, 30 times at 20 copies without the time "
            "of `--help`, each in less than a quarter of the memory.",
        ],
        tables=[Table(columns, rows)],
        notes=[f"The reference's runs are those of {kept['date']}, taken earlier than ours."] if kept else [],
        raw=raw,
    )


def _kept(results: dict[str, Any], name: str) -> Cost:
    """Runs of an earlier time."""
    runs = results["raw"][name]
    return Cost(runs["command"], [Usage(**run) for run in runs["runs"]])


def _tasks() -> Iterator[tuple[int, str, list[str]]]:
    for copies in SIZES:
        target, golden = places.sides(copies)
        yield copies, "build", ["-tp", str(target)]
        yield copies, "compare", ["-tp", str(target), "-gp", str(golden)]


def _row(ours: Cost, theirs: Cost, helps: dict[str, Cost]) -> list[str]:
    return [
        seconds(theirs.cpu),
        seconds(ours.cpu),
        ratio(ours.cpu, theirs.cpu),
        ratio(ours.cpu - helps["ours"].cpu, theirs.cpu - helps["reference"].cpu),
        size(theirs.anonymous),
        size(ours.anonymous),
        ratio(ours.anonymous, theirs.anonymous),
    ]
