"""The Typer app: which commands there are."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import typer

from msprobe.cli.help import Command, Program

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "terminal_width": None}


class Entry(NamedTuple):
    """A command before its module is loaded, which no other command waits for."""

    module: str
    short_help: str = ""
    hidden: bool = False
    reads_result: bool = False
    """Its argument is one `*.vis.db` file."""


COMMANDS = {
    "graph_visualize": Entry("graph_visualize", "Compare two dumps, or show one."),
    "report": Entry("report", "Say again where two runs first part.", reads_result=True),
    "tree": Entry("tree", "Print the tree with its verdicts.", reads_result=True),
    "export": Entry("export", "Write a finished file as something else.", reads_result=True),
    "mapping": Entry("mapping", "Propose a layer mapping."),
    "doctor": Entry("doctor", "Say what is wrong with this installation, or with a dump."),
    "graph": Entry("older_form", hidden=True),
}
"""By name, in the order in which the help shows them."""


def app(*names: str) -> typer.Typer:
    """The app with the commands `names`, or with all."""
    built = typer.Typer(
        name="msprobe-rs",
        cls=Program,
        help="Finds where two training runs first part: compares their dumps and says which module or API differs first.",
        epilog="Start with: msprobe-rs graph_visualize -h",
        add_completion=False,
        rich_markup_mode=None,
        context_settings=CONTEXT,
    )
    built.callback()(_before_a_command)
    for name in names or COMMANDS:
        entry = COMMANDS[name]
        module = import_module(f"msprobe.cli.{entry.module}")
        built.command(
            name, cls=Command, context_settings=CONTEXT, epilog=module.EXAMPLES, short_help=entry.short_help, hidden=entry.hidden
        )(getattr(module, name))
    return built


def _before_a_command(
    version: bool = typer.Option(False, "-V", "--version", help="Print the version."),
) -> None:
    """main() answers --version itself."""
