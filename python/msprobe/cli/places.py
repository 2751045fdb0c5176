"""Steps and ranks in words, where they tell something apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def place(part: Mapping[str, Any]) -> str:
    """`step0/rank1`, or `step0` for a whole step."""
    step, rank = part["step"], part["rank"]
    return f"step{step}" if rank is None else f"step{step}/rank{rank}"


TOLD = 3
"""Reasons that are told of ranks and steps that were left out."""


def left_out(missing: Sequence[Mapping[str, Any]], read: int) -> Iterator[str]:
    """What is missing from a result beside the `read` ranks that are in it, and why."""
    for at, one in enumerate(missing[:TOLD]):
        title = f"left out {len(missing):,} of {len(missing) + read:,}: " if at == 0 else " " * len("left out ")
        yield f"{title}{place(one)}: {one['reason']}"
    if more := len(missing) - TOLD if len(missing) > TOLD else 0:
        yield f"{' ' * len('left out ')}and {more:,} more"


class Places:
    """The steps and ranks of an answer.

    A rank that is given alone is stored as the first one of the first step, whatever its folder is called; so those numbers tell nothing
    where they are the only ones, unless they are some of several.
    """

    def __init__(self, parts: Sequence[Mapping[str, Any]], *, some: bool = False) -> None:
        """`some`: there are others, which were not asked for or are missing."""
        self._parts = parts
        self._steps = len({part["step"] for part in parts}) > 1
        self._alone = not some and [(part["step"], part["rank"]) for part in parts] == [(0, 0)]

    def __str__(self) -> str:
        """`step0/rank1`, `2 ranks`, `2 steps, 1 rank`; of steps with unlike numbers of ranks all together; empty for a rank alone."""
        parts = self._parts
        if len(parts) == 1:
            return "" if self._alone else place(parts[0])
        ranks = Counter(part["step"] for part in parts)
        steps = f"{len(ranks):,} steps, " if len(ranks) > 1 else ""
        if len(set(ranks.values())) > 1:
            return f"{steps}{len(parts):,} ranks together"
        each = next(iter(ranks.values()))
        return f"{steps}{each:,} rank{'s' if each > 1 else ''}"

    def before(self, node: Mapping[str, Any]) -> str:
        """`step 2, rank 1, `, before the place of a node in its rank; empty for a rank alone."""
        step = f"step {node['step']}, " if self._steps or node["step"] else ""
        return "" if self._alone else f"{step}rank {node['rank']}, "
