"""Nodes that a name with a slip in it may have meant, found by the viewer's search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from heapq import nlargest
from pathlib import Path

NAMED = 3
"""Nodes that are named at most."""
ALIKE = 0.8
"""How much of two names must be the same, of 1."""
WITH_ALL = 0.6
"""How much, where only pieces are missing."""
LOOKED_AT = 500
"""Nodes that are looked at for each place of the slip: those of a name that fits many tell nothing."""
PIECES = 40
"""Longer names have their slip looked for near their end."""


def names(file: str, name: str, *, golden: bool, step: int | None, rank: int | None) -> list[str]:
    """The nodes most like `name`, best first: one piece between dots may be another, missing, or too many."""
    from msprobe import _native

    path = Path(file).resolve()
    viewer = _native.Viewer(path.parent)
    where = [("path", path.name), ("side", "golden" if golden else "target"), ("limit", str(LOOKED_AT))]
    where += [(key, str(number)) for key, number in (("step", step), ("rank", rank)) if number is not None]
    found: set[str] = set()
    for words in _without_a_piece(name):
        status, body = viewer.answer("search", [*where, ("q", words)])
        if status != 200:
            # A file that is read for long, or not at all: the error stands without advice.
            return []
        found.update(json.loads(body)["name"])
    asked, pieces = SequenceMatcher(b=name, autojunk=False), name.split(".")
    best = nlargest(NAMED, ((_likeness(asked, pieces, node), node) for node in sorted(found)), key=lambda one: one[0])
    return [node for likeness, node in best if likeness]


def _without_a_piece(name: str) -> Iterator[str]:
    """What of the name must be there, for every place of the slip: a piece left out, or one put in between two."""
    pieces = name.split(".")
    for at in range(max(0, len(pieces) - PIECES), len(pieces)):
        before = "".join(f"{piece}." for piece in pieces[:at])
        for rest in (pieces[at + 1 :], pieces[at:]):
            if before and rest:
                yield f"{before} .{'.'.join(rest)}"
            elif before or len(rest) > 1:
                yield before or f".{'.'.join(rest)}"


def _likeness(asked: SequenceMatcher[str], pieces: list[str], node: str) -> float:
    """0 if not alike; more than 1 if every piece that was asked for is there, so that only others are missing."""
    there = iter(node.split("."))
    whole = all(piece in there for piece in pieces)
    least = WITH_ALL if whole else ALIKE
    asked.set_seq1(node)
    # The quick ones are never less than the last one.
    ratio = asked.ratio() if min(asked.real_quick_ratio(), asked.quick_ratio()) >= least else 0.0
    return whole + ratio if ratio >= least else 0.0
