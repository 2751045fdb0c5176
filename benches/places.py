"""Where dumps and results of the benches lie, and whether they fit."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from benches.large_dump import grow

WORK = Path(os.environ.get("MSPROBE_BENCH_DIR", Path(__file__).parent.parent / "out" / "bench"))
OURS = Path(sys.executable).parent / "msprobe-rs"

LARGE = WORK / "two_million_nodes.vis.db"
"""The largest comparison, which one bench leaves for another."""

TARGET = (1e-6, 1)
GOLDEN = (1e-3, 0)
"""Noise and seed of the two sides."""

COPY = 700_000
"""Bytes of one copy of the rank: dump.json, construct.json and stack.json."""


def need_disk(wanted: int) -> None:
    """Fails by name when there is not enough room."""
    WORK.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(WORK).free
    if free < wanted:
        raise SystemExit(f"{WORK}: {wanted / 1e9:.1f} GB needed, {free / 1e9:.1f} GB free; set MSPROBE_BENCH_DIR to another disk")


def sides(copies: int) -> tuple[Path, Path]:
    """Target and golden dumps of so many copies, made unless they are there."""
    made = []
    for side, (noise, seed) in (("target", TARGET), ("golden", GOLDEN)):
        folder = WORK / f"{side}{copies}"
        if not (folder / "stack.json").exists():  # written last
            need_disk(2 * copies * COPY)
            print(f"growing {folder}", flush=True)
            grow(folder, copies, noise, seed)
        made.append(folder)
    return made[0], made[1]


def output() -> Path:
    """The folder of result files."""
    return WORK / "result"


def clear() -> None:
    """Removes the result files."""
    shutil.rmtree(output(), ignore_errors=True)


def result_size() -> int:
    """Bytes of the result files."""
    return sum(path.stat().st_size for path in output().rglob("*.vis.db"))
