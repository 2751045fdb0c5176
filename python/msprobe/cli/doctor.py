"""`doctor`: what is wrong with this installation, or with a dump."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Annotated

import typer

from msprobe.cli.exits import Exit

EXAMPLES = """\
Examples:
  what is installed, and whether it fits together:
      msprobe-rs doctor
  what is in a dump, and what is missing or broken:
      msprobe-rs doctor run_a/step0

Exit status: 0 all good, 1 something is wrong, 2 wrong usage.
"""

VIEWER = Path(__file__).parents[1] / "tensorboard" / "static" / "index.js"
"""The front end, which only Node can build."""
NOT_BUILT = "not built: run make plugin in the source folder and install again"
MISSING = {"tensorboard": "not installed: pip install tensorboard"}
"""What to do about a package that most people want."""


def doctor(
    path: Annotated[str | None, typer.Argument(metavar="[DIR]", help="A dump: of one rank, a folder of ranks, or of steps.")] = None,
) -> int:
    """Say what is installed, or what is in a dump, and what is wrong with it and what to do. Exit status 1 if something is."""
    if path is not None:
        from msprobe.cli import examine

        return examine.dump(path)
    from msprobe.installation import conflict

    problems = [problem for problem in (conflict(), _engine()) if problem]
    typer.echo(f"python       {platform.python_version()}   {sys.executable}")
    typer.echo(f"system       {platform.platform()}")
    for name in ("msprobe-rs", "torch", "mindspore", "tensorboard", "numpy", "polars"):
        typer.echo(f"{name:<12} {_version(name) or MISSING.get(name, 'not installed')}")
    built = VIEWER.is_file()
    typer.echo(f"viewer       {'built' if built else NOT_BUILT}")
    for problem in problems:
        typer.echo(f"problem      {problem}")
    if not problems:
        missing = [] if _version("tensorboard") else ["TensorBoard is not installed"]
        missing += [] if built else ["the viewer is not built"]
        typer.echo(f"good for the command line; to look in a browser: {' and '.join(missing)}" if missing else "all good")
    return Exit.FAILED if problems else Exit.DONE


def _engine() -> str | None:
    try:
        from msprobe import _native  # noqa: F401
    except ImportError as error:
        again = "install the wheel again: pip install --force-reinstall --no-deps msprobe_rs-*.whl"
        return f"the engine msprobe._native cannot be loaded ({error}); {again}"
    return None


def _version(distribution: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
