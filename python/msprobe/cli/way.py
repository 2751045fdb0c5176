"""The first difference in the printed tree, and the way down to it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 500_000_000
"""Bytes of a file up to which a tree may wait for the answer: about a second where every row must be read for it."""


@dataclass(frozen=True)
class Place:
    """A node of one side of a step and rank."""

    file: str
    step: int
    rank: int
    golden: bool
    name: str

    def way(self) -> list[str]:
        """The names from the root down to the node; empty if the tree does not hold it."""
        sql = "SELECT up_node FROM tb_nodes WHERE step = ? AND rank = ? AND data_source = ? AND node_name = ?"
        side = "Bench" if self.golden else "NPU"
        names: dict[str, None] = {}
        name = self.name
        # Immutable: SQLite would put files beside one that is marked WAL, as msProbe's are.
        database = sqlite3.connect(f"{Path(self.file).expanduser().absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            # A file of others may hold a circle.
            while name and name not in names:
                row = database.execute(sql, (self.step, self.rank, side, name)).fetchone()
                if row is None:
                    return []
                names[name] = None
                name = row[0]
        except sqlite3.Error:
            return []
        finally:
            database.close()
        return [*names][::-1]


def first_difference(file: str, lines: list[dict[str, Any]], *, golden: bool, step: int | None, rank: int | None) -> Place | None:
    """Where the step and rank that `lines` are of first parts; None for a single graph, and where nothing differs."""
    from msprobe import _native

    if not any(line["partner"] for line in lines) or Path(file).stat().st_size > LARGEST:
        return None
    try:
        answer = json.loads(_native.report(file, step=step, rank=rank, top=0))
    except _native.EngineError:
        # The tree can be read where the answer cannot.
        return None
    found = answer["ranks"][0]["first_difference"]
    name = found and found["golden_node" if golden else "node"]
    return Place(file, found["step"], found["rank"], golden, name) if name else None


def open_down(found: dict[str, Any], place: Place, limit: int) -> None:
    """Opens the nodes on the way from the root, which `found` begins with, so that the place is among the lines."""
    from msprobe import _native

    lines: list[dict[str, Any]] = found["lines"]
    at = 0
    for depth, name in enumerate(place.way()):
        at = next((number for number in range(at, len(lines)) if lines[number]["node"] == name), -1)
        if not 0 <= at < limit or name == place.name:
            break
        if at + 1 < len(lines) and lines[at + 1]["depth"] > depth:
            continue
        text = _native.tree(place.file, name, depth=1, golden=place.golden, step=place.step, rank=place.rank, limit=limit)
        inside = json.loads(text)["lines"][1:]
        lines[at + 1 : at + 1] = [{**line, "depth": depth + 1} for line in inside]
    found["more"] = found["more"] or len(lines) > limit
    del lines[limit:]
