"""`export`: a finished `*.vis.db` as a file for others; the ending of the output says which kind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from msprobe import _native

EXAMPLES = """\
Examples:
  one page for mail or a build (the answer, the worst nodes, the tree):
      msprobe-rs export out/compare_20261130101500.vis.db -o report.html
  a row for each parameter of the target, with the columns of the comparison:
      msprobe-rs export FILE.vis.db -o parameters.csv
  the same for Excel or LibreOffice:
      msprobe-rs export FILE.vis.db -o parameters.xlsx
  the nodes alone, for Polars, DuckDB or pandas:
      msprobe-rs export FILE.vis.db --nodes -o nodes.parquet

Tables are written batch by batch, so results may be larger than memory.
Parquet needs Polars: pip install polars.

Exit status: 0 done, 1 failed, 2 wrong usage.
"""


def _page(file: Path, output: Path) -> None:
    from msprobe.cli import page

    page.write(file, output)


def _csv(rows: _native.Rows, output: Path) -> int:
    return rows.export(output, "csv")


def _json(rows: _native.Rows, output: Path) -> int:
    return rows.export(output, "json")


def _xlsx(rows: _native.Rows, output: Path) -> int:
    return rows.export(output, "xlsx")


def _parquet(rows: _native.Rows, output: Path) -> int:
    """Writes with Polars, batch by batch where it can stream; the number of rows."""
    from msprobe.cli.exits import Refusal

    try:
        import polars
    except ImportError:
        raise Refusal("Parquet needs Polars: pip install polars, or write .csv or .json") from None
    scan = getattr(polars, "scan_arrow_c_stream", None)
    partial = output.with_name(f".{output.name}.partial")
    try:
        if scan is not None:
            scan(rows).sink_parquet(partial)
        else:
            polars.DataFrame(rows).write_parquet(partial)
        count: int = polars.scan_parquet(partial).select(polars.len()).collect().item()
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)
    return count


WRITERS: dict[str, Callable[[Path, Path], None]] = {".html": _page}
"""Ending of the output to what writes it."""
TABLES: dict[str, Callable[[_native.Rows, Path], int]] = {".csv": _csv, ".json": _json, ".xlsx": _xlsx, ".parquet": _parquet}
"""The same for tables; the writers return the number of rows."""
ENDINGS = ", ".join([*WRITERS, *TABLES])
OUTPUT = "Output"
TABLE = "Rows of a table (all but .html)"


def export(
    file: Annotated[str, typer.Argument(metavar="FILE.vis.db", help="A result, also one that msProbe wrote.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", rich_help_panel=OUTPUT, help=f"What to write: {ENDINGS}.")],
    nodes: Annotated[bool, typer.Option("--nodes", rich_help_panel=TABLE, help="One row for each node instead of each parameter.")] = False,
    golden: Annotated[bool, typer.Option("--golden", rich_help_panel=TABLE, help="The golden side.")] = False,
    rank: Annotated[int | None, typer.Option("--rank", metavar="N", min=0, rich_help_panel=TABLE, help="Only this rank.")] = None,
    step: Annotated[int | None, typer.Option("--step", metavar="N", min=0, rich_help_panel=TABLE, help="Only this step.")] = None,
) -> int:
    """Write a finished file as something else: a page, or a table with one row for each parameter."""
    from msprobe import _native
    from msprobe.cli import finished, log
    from msprobe.cli.argv import UsageProblem
    from msprobe.cli.exits import Exit, Refusal

    path = Path(output)
    kind = path.suffix.lower()
    if kind not in WRITERS and kind not in TABLES:
        swapped = (
            f"; did you mean export {output} -o {file}?" if output.endswith(".db") and Path(file).suffix in {*WRITERS, *TABLES} else ""
        )
        raise UsageProblem(f"-o {output}: the ending must be one of {ENDINGS}{swapped}")
    if kind in WRITERS and (nodes or golden or rank is not None or step is not None):
        raise UsageProblem(f"-o {output}: a page shows all of the file; --nodes, --golden, --rank and --step are for tables")
    finished.check(file)
    if path.is_dir():
        raise Refusal(f"{output}: cannot be written: a folder has this name")
    if not path.parent.is_dir():
        raise Refusal(f"{output}: cannot be written: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise Refusal(f"{output}: cannot be written: {path.parent} may not be written to")
    told = ""
    try:
        if kind in TABLES:
            rows = _native.Rows(file, rows="nodes" if nodes else "parameters", golden=golden, step=step, rank=rank)
            told = f"{TABLES[kind](rows, path):,} rows   "
        else:
            WRITERS[kind](Path(file), path)
    except _native.EngineError as error:
        status, message = error.args
        raise Refusal(message, Exit(status)) from error
    except OSError as error:
        reason = error.strerror or (os.strerror(error.errno) if error.errno else "the system refuses")
        raise Refusal(f"{output}: cannot be written: {reason}", Exit.FAILED) from error
    log.answer(f"wrote    {output}   {told}{path.stat().st_size:,} bytes")
    return Exit.DONE
