"""A result file: the answer, its nodes and parameters."""

from __future__ import annotations

import json
import os
from os import PathLike
from typing import TYPE_CHECKING, Any

from msprobe import _native

if TYPE_CHECKING:
    import polars


class MsprobeError(Exception):
    """The engine gave up; the text says what, where, and what to do."""


class Result:
    """A `*.vis.db`, ours or msProbe's. Nothing is read before it is asked for."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = os.fspath(path)

    def __repr__(self) -> str:
        return f"msprobe.open({self.path!r})"

    def report(
        self, *, step: int | None = None, rank: int | None = None, top: int = 5, noise_twin: str | PathLike[str] | None = None
    ) -> dict[str, Any]:
        """Where the two runs first part (`docs/report.schema.json`).

        Args:
            step: Only this step.
            rank: Only this rank.
            top: Runner-ups of each rank, at most.
            noise_twin: The comparison of a second golden run with the golden run.

        Raises:
            MsprobeError: The file cannot be read.
        """
        found: dict[str, Any] = json.loads(_call(_native.report, self.path, step=step, rank=rank, top=top, noise_twin=noise_twin))
        return found

    def first_difference(self) -> dict[str, Any] | None:
        """The earliest deepest node that differs although its inputs agree; None when there is none."""
        found: dict[str, Any] | None = self.report(top=0)["first_difference"]
        return found

    def children(self, node: str | None = None, *, golden: bool = False, step: int | None = None, rank: int | None = None) -> list[str]:
        """Names of the children of a node (of the root without a name), in execution order."""
        text = _call(_native.tree, self.path, node, depth=1, golden=golden, step=step, rank=rank, limit=2**31)
        return [line["node"] for line in json.loads(text)["lines"] if line["depth"] == 1]

    def rows(self, rows: str = "parameters", *, golden: bool = False, step: int | None = None, rank: int | None = None) -> _native.Rows:
        """The rows as an Arrow stream for any library that takes one; see `nodes` and `parameters` for Polars."""
        return _native.Rows(self.path, rows=rows, golden=golden, step=step, rank=rank)

    def nodes(self, *, golden: bool = False, step: int | None = None, rank: int | None = None) -> polars.DataFrame:
        """One row for each node of the target (or the golden) tree, in execution order."""
        return _frame(self.rows("nodes", golden=golden, step=step, rank=rank))

    def parameters(self, *, golden: bool = False, step: int | None = None, rank: int | None = None) -> polars.DataFrame:
        """One row for each parameter: its statistics and what the comparison says of it. Relative errors are fractions of one."""
        return _frame(self.rows("parameters", golden=golden, step=step, rank=rank))


def open(path: str | PathLike[str]) -> Result:  # noqa: A001
    """Opens a `*.vis.db`.

    Raises:
        MsprobeError: The file is no result file.
    """
    result = Result(path)
    _call(_native.tree, result.path, depth=0)
    return result


def _call(function: Any, *arguments: Any, **options: Any) -> str:
    try:
        text: str = function(*arguments, **options)
    except _native.EngineError as error:
        raise MsprobeError(error.args[1]) from None
    return text


def _frame(rows: _native.Rows) -> polars.DataFrame:
    try:
        import polars
    except ImportError:
        raise ImportError("frames need Polars: pip install polars; rows() gives Arrow without it") from None
    try:
        return polars.DataFrame(rows)
    except _native.EngineError as error:
        raise MsprobeError(error.args[1]) from None
