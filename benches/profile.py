"""Where the time of the 200-copy runs goes: samples of the engine alone, sorted by what it was doing."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benches import places
from benches.result import Result, Table

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "target" / "release" / "examples" / "graph_visualize"

WORK = (
    ("result: pages to the file, by the system", r"Output::flush|Output::finish|File::sync|fsync"),
    ("result: rows into pages", r"visdb::write::Writer::append"),
    ("result: indexes, own tables", r"visdb::write::Writer|visdb::write::Rest|visdb::write::part"),
    ("search for the first difference", r"part::told|Scene::facts|facts::|report::"),
    ("first pass: checking and indexing the files", r"dump::rank_files::RankFiles::open"),
    ("tree", r"graph::build::build|graph::"),
    ("matching", r"matching::(nodes|fuzzy|mapping)"),
    ("second pass: entries again", r"dump::dump_file::DumpFile::entry"),
    ("rows of the entries", r"dump::rows::"),
    ("differences and verdicts", r"compare::compare_rows|pair_rows|overflow::"),
    ("text of the rows", r"part::columns|part::render|visdb::node|matching::links|text::"),
)
"""What is looked for in a stack, and what it tells; the first one that occurs counts."""

SQLITE = "result"


def run() -> Result | None:
    """Samples a build and a comparison; None without `perf`."""
    if not shutil.which("perf"):
        print("perf is missing (Debian: linux-perf): the profile is not renewed", flush=True)
        return None
    command = ["cargo", "build", "--release", "--locked", "-p", "msprobe-core", "--example", "graph_visualize"]
    subprocess.run(command, cwd=ROOT, check=True)
    target, golden = places.sides(200)
    shares = {"build": _shares([target]), "compare": _shares([target, golden])}
    kinds = [*(name for name, _ in WORK), "rest"]
    rows = [[name, *(f"{share[name] / share.total():.0%}" for share in shares.values())] for name in kinds]
    inside = ["together, without the result file"]
    inside += [
        f"{sum(count for name, count in share.items() if not name.startswith(SQLITE)) / share.total():.0%}" for share in shares.values()
    ]
    return Result(
        name="profile",
        order=70,
        title="Where the time goes",
        command="python -m benches profile",
        text=["Share of the CPU time of the engine (without Python's start-up) at 200 copies, one job."],
        tables=[Table(["", *shares], [*rows, inside])],
        # A Counter made again from its items counts the items.
        raw={task: dict(share) for task, share in shares.items()},
    )


def _shares(inputs: list[Path]) -> Counter[str]:
    """Samples by work."""
    places.clear()
    places.output().mkdir(parents=True)
    data = places.WORK / "perf.data"
    record = ["perf", "record", "-q", "-F", "497", "--call-graph", "dwarf,16384", "-o", data, "--"]
    subprocess.run([*record, ENGINE, places.output(), "1", *inputs], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    script = subprocess.run(
        ["perf", "script", "-i", data, "--no-inline", "-F", "ip,sym"],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    data.unlink()
    places.clear()
    return Counter(map(_work, _stacks(script.stdout)))


def _stacks(script: str) -> Iterator[str]:
    yield from (stack for stack in script.split("\n\n") if stack.strip())


def _work(stack: str) -> str:
    return next((name for name, pattern in WORK if re.search(pattern, stack)), "rest")
