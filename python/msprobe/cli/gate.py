"""`--fail-on`: whether a finished comparison is too bad for whoever asked. Each level holds the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msprobe.cli import log
from msprobe.cli.exits import Exit

CHOICES = "error|warning|difference"
"""A node that the verdict rules call so, or worse; or also a first difference, which they may well let pass."""
HELP = "Exit status 4 if a node is that bad or worse; difference: also if there is a first difference."


def status(level: str | None, verdicts: Mapping[str, int], report: Mapping[str, Any] | None) -> Exit:
    """What the command ends with: `verdicts` are counts of nodes, `report` says where the runs first part (None: it could not be told)."""
    if level is None:
        return Exit.DONE
    bad = verdicts["error"] + (verdicts["warning"] if level != "error" else 0)
    different = bool(report and report["first_difference"])
    if bad or (different and level == "difference"):
        return Exit.TOO_BAD
    if different:
        log.warning(f"--fail-on {level} goes by verdicts alone, so the first difference passes; --fail-on difference stops at it")
    elif report is None and level == "difference":
        log.warning("--fail-on difference: where the runs first part could not be told, so nothing was decided")
        return Exit.INCOMPLETE
    elif not verdicts["pass"]:
        log.warning(f"--fail-on {level}: nothing was compared, so nothing could be found")
    return Exit.DONE
