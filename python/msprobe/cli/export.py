"""`export`: a finished `*.vis.db` as a file for others; the ending of the output says which kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\
Examples:
  one page for mail or a build: the answer, the worst nodes, the tree; needs no server and no network:
      msprobe-rs export out/compare_20261130101500.vis.db -o report.html

Exit status: 0 done, 1 failed, 2 wrong usage.
"""


def _page(file: Path, output: Path) -> None:
    from msprobe.cli import page

    page.write(file, output)


WRITERS: dict[str, Callable[[Path, Path], None]] = {".html": _page}
"""Ending of the output to what writes it."""


def export(
    file: Annotated[str, typer.Argument(metavar="FILE.vis.db", help="A result, also one that msProbe wrote.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help=f"What to write: {', '.join(WRITERS)}.")],
) -> int:
    """Write a finished file as something else."""
    from msprobe import _native
    from msprobe.cli import log
    from msprobe.cli.argv import UsageProblem
    from msprobe.cli.exits import Exit, Refusal

    path = Path(output)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise UsageProblem(f"-o {output}: the ending must be one of {', '.join(WRITERS)}")
    try:
        writer(Path(file), path)
    except _native.EngineError as error:
        status, message = error.args
        raise Refusal(message, Exit(status)) from error
    except OSError as error:
        raise Refusal(f"{output}: cannot be written ({error.strerror or error})", Exit.FAILED) from error
    log.answer(f"wrote    {output}   {path.stat().st_size:,} bytes")
    return Exit.DONE
