"""The finished file that a command is given: what stands in its place, if it is something else."""

from __future__ import annotations

import os
from pathlib import Path

from msprobe.cli.exits import Exit, Refusal
from msprobe.cli.request import on_disk

DUMP = ("dump.json", "construct.json", "stack.json")
HEAD = 4096
"""Bytes in which a file of a dump says what it is."""
SHOWN = 3
"""Files that are named at most."""


def check_one(words: list[str]) -> None:
    """Raises a `Refusal` if a shell has made several files of one word (`out/*.vis.db`)."""
    files = [word for word in words if word.endswith(".vis.db")]
    if len(files) > 1:
        there = [file for file in files if os.path.isfile(on_disk(file))]  # noqa: PTH113
        newest = f" (newest: {max(there, key=lambda file: os.stat(on_disk(file)).st_mtime_ns)})" if there else ""  # noqa: PTH116
        raise Refusal(f"{len(files)} files are given, name one{newest}", Exit.USAGE)


def check(path: str) -> None:
    """Raises a `Refusal` that says what to do for a path that is no result. What is in a result the engine knows better."""
    if os.path.isdir(on_disk(path)):  # noqa: PTH112 - pathlib calls the same
        raise Refusal(f"{path}: {_advice(Path(os.fsdecode(on_disk(path))))}")
    if _is_file_of_dump(Path(os.fsdecode(on_disk(path)))):
        dump = os.path.dirname(path) or "."  # noqa: PTH120 - as typed
        raise Refusal(f"{path}: is a file of a dump, not a result; {_make_one(dump)}")
    if not os.path.exists(on_disk(path)):  # noqa: PTH110
        folder = Path(os.fsdecode(on_disk(path))).parent
        files = _files(folder)
        there = f"; in {folder} there {'are' if len(files) > 1 else 'is'} {_named(files)}" if files else ""
        raise Refusal(f"{path}: no such file{there}")


def _advice(folder: Path) -> str:
    if files := _files(folder):
        return f"is a folder; name {f'a file in it (newest: {files[0]})' if len(files) > 1 else f'the file in it: {files[0]}'}"
    if _is_dump(folder):
        return f"is a dump, not a result; {_make_one(str(folder))}"
    return "is a folder; name a *.vis.db file"


def _make_one(dump: str) -> str:
    from shlex import quote

    return f"make one: msprobe-rs graph_visualize -tp {quote(dump)} -gp GOLDEN -o out"


def _files(folder: Path) -> list[Path]:
    """Results in the folder, the newest first."""
    try:
        return sorted(folder.glob("*.vis.db"), key=lambda file: file.stat().st_mtime, reverse=True)
    except OSError:
        return []


def _named(files: list[Path]) -> str:
    rest = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
    return ", ".join(str(file) for file in files[:SHOWN]) + rest


def _is_dump(folder: Path) -> bool:
    """A rank, or a folder of ranks or steps."""
    return any((folder / name).is_file() for name in DUMP) or any(
        inside.name.startswith(("rank", "step", "proc")) and inside.is_dir() for inside in folder.iterdir()
    )


def _is_file_of_dump(file: Path) -> bool:
    """JSON, with the name or the head of such a file."""
    try:
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            head = opened.read(HEAD).lstrip()
    except OSError:
        return False
    return head.startswith(b"{") and (file.name in DUMP or (b'"dump_data_dir"' in head and b'"task"' in head))
