"""`doctor`: what is wrong with this installation."""

from __future__ import annotations

import platform
import sys

import typer

from msprobe.cli.exits import Exit


def doctor() -> int:
    """Say what is installed, and what is wrong with it and what to do. Exit status 1 if something is."""
    from msprobe.installation import conflict

    problems = [problem for problem in (conflict(), _engine()) if problem]
    typer.echo(f"python       {platform.python_version()}   {sys.executable}")
    typer.echo(f"system       {platform.platform()}")
    for name in ("msprobe-rs", "torch", "mindspore", "tensorboard", "numpy", "polars"):
        typer.echo(f"{name:<12} {_version(name) or 'not installed'}")
    for problem in problems:
        typer.echo(f"problem      {problem}")
    if not problems:
        typer.echo("all good")
    return Exit.FAILED if problems else Exit.DONE


def _engine() -> str | None:
    try:
        from msprobe import _native  # noqa: F401
    except ImportError as error:
        return f"the engine msprobe._native cannot be loaded ({error}); install again: pip install --force-reinstall msprobe-rs"
    return None


def _version(distribution: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
