"""`tree`: the tree with its verdicts, for people without a browser."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

from msprobe.cli import finished, log
from msprobe.cli.exits import Exit, Refusal
from msprobe.cli.report import refused

EXAMPLES = """\
Examples:
  two levels from the top, or more:
      msprobe-rs tree FILE.vis.db
      msprobe-rs tree FILE.vis.db --depth 4
  what is inside a module:
      msprobe-rs tree FILE.vis.db Module.layers.1.mlp.Mlp.forward.0
  the errors alone:
      msprobe-rs tree FILE.vis.db --depth 99 --limit 1000000 | grep ^E

Exit status: 0 done, 1 failed, 2 wrong usage.
"""

LOOK = "What to look at"
OUTPUT = "Output"

POINTER = "<- first difference"
COLOURED = f"\x1b[1;31m{POINTER}\x1b[0m"

MARKS = {"error": "E", "warning": "W", "pass": ".", None: " "}


def tree(
    file: Annotated[str, typer.Argument(metavar="FILE.vis.db", help="A result, also one that msProbe wrote.")],
    node: Annotated[str | None, typer.Argument(metavar="[NODE]", help="Start here instead of at the root.")] = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", metavar="N", rich_help_panel=LOOK, min=0, help="Levels to show (2, and the way to the first difference)."),
    ] = None,
    rank: Annotated[
        int | None, typer.Option("--rank", metavar="N", min=0, rich_help_panel=LOOK, help="This rank (of the first difference).")
    ] = None,
    step: Annotated[
        int | None, typer.Option("--step", metavar="N", min=0, rich_help_panel=LOOK, help="This step (of the first difference).")
    ] = None,
    golden: Annotated[
        bool, typer.Option("--golden", rich_help_panel=LOOK, help="The golden tree, with the verdicts of the partners.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", rich_help_panel=OUTPUT, min=1, help="Lines to show (1000).")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="One JSON document.")] = False,
) -> int:
    """Print the tree: E error, W warning, . pass, + only on this side, and nothing where nothing was compared."""
    from msprobe import _native

    try:
        finished.check(file)
        text = _native.tree(file, node, depth=depth, golden=golden, step=step, rank=rank, first_difference=True, limit=limit)
    except _native.EngineError as error:
        status, message = error.args
        # Nodes that hold the name have been told already.
        if node and f"no node {node} " in message and "; there are " not in message:
            from msprobe.cli import near

            meant = near.names(file, node, golden=golden, step=step, rank=rank)
            message += f"; did you mean {' or '.join(meant)}?" if meant else ""
        raise refused(Refusal(message, Exit(status)), as_json) from error
    except Refusal as refusal:
        raise refused(refusal, as_json) from None
    if as_json:
        log.answer(text)
        return Exit.DONE
    found: dict[str, Any] = json.loads(text)
    lines = found["lines"]
    pointer = COLOURED if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else POINTER
    if found["places"] > 1:
        log.answer(f"step {found['step']}, rank {found['rank']} of {found['places']:,} ranks and steps")
    compared = any(line["partner"] for line in lines)
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        words = [line["node"], line["overflow"] or ""]
        if line["children"] and not (following and following["depth"] > line["depth"]):
            words.append(f"({line['children']:,} inside)")
        mark = "+" if compared and not line["partner"] else MARKS[line["verdict"]]
        shown = log.one_line(f"{mark} {'  ' * line['depth']}{'   '.join(word for word in words if word)}")
        log.answer(f"{shown}   {pointer}" if line["first_difference"] else shown)
    if found["more"]:
        log.answer("and more; --limit shows them")
    return Exit.DONE
