"""Build and compare, both tools: 20 and 200 copies of a rank."""

from __future__ import annotations

import os
from collections.abc import Iterator

from benches import places, reference
from benches.measure import Cost, cost
from benches.result import Result, Table, ratio, seconds, size

SIZES = (20, 200)
REPEAT = int(os.environ.get("MSPROBE_BENCH_REPEAT", "5"))


def run() -> Result:
    """Measures all rows."""
    theirs, ours = reference.command(), places.OURS
    places.need_disk(4_000_000_000)
    helps = {"ours": cost([ours, "--help"], 3 * REPEAT), "reference": cost([theirs, "--help"], 2)}
    rows, raw = [], {f"{tool} --help": found.raw() for tool, found in helps.items()}
    columns = ["", "reference CPU", "ours CPU", "less by", "less by, without `--help`", "reference anonymous", "ours anonymous", "less by"]
    rows.append(["`--help`", seconds(helps["reference"].cpu), seconds(helps["ours"].cpu), ratio(helps["ours"].cpu, helps["reference"].cpu)])
    rows[0] += ["", size(helps["reference"].anonymous), size(helps["ours"].anonymous), ""]
    for copies, task, words in _tasks():
        found = {}
        for tool, command, repeat in (("ours", ours, REPEAT), ("reference", theirs, 2 if copies < 100 else 1)):
            print(f"{task} {copies}: {tool}", flush=True)
            places.clear()
            found[tool] = cost([command, "graph_visualize", *words, "-o", places.output()], repeat, places.clear)
            raw[f"{task} {copies} {tool}"] = found[tool].raw() | {"result bytes": places.result_size()}
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
        ],
        tables=[Table(columns, rows)],
        raw=raw,
    )


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
