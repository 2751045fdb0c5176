"""The Typer app: which commands there are."""

from __future__ import annotations

import typer

from msprobe.cli import doctor, export, graph_visualize, mapping, older_form, report, tree
from msprobe.cli.help import Command

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "terminal_width": None}

app = typer.Typer(
    name="msprobe-rs",
    help="Finds where two training runs first part: compares their dumps and says which module or API differs first.",
    epilog="Start with: msprobe-rs graph_visualize -h",
    add_completion=False,
    rich_markup_mode=None,
    context_settings=CONTEXT,
)


@app.callback()
def _msprobe_rs(
    version: bool = typer.Option(False, "-V", "--version", help="Print the version."),
) -> None:
    """The options before a command; main() answers --version itself."""


app.command(
    "graph_visualize", cls=Command, context_settings=CONTEXT, epilog=graph_visualize.EXAMPLES, short_help="Compare two dumps, or show one."
)(graph_visualize.graph_visualize)
app.command("report", cls=Command, context_settings=CONTEXT, epilog=report.EXAMPLES, short_help="Say again where two runs first part.")(
    report.report
)
app.command("tree", cls=Command, context_settings=CONTEXT, epilog=tree.EXAMPLES, short_help="Print the tree with its verdicts.")(tree.tree)
app.command("export", cls=Command, context_settings=CONTEXT, epilog=export.EXAMPLES, short_help="Write a finished file as something else.")(
    export.export
)
app.command("mapping", cls=Command, context_settings=CONTEXT, epilog=mapping.EXAMPLES, short_help="Propose a layer mapping.")(
    mapping.mapping
)
app.command(
    "doctor",
    cls=Command,
    context_settings=CONTEXT,
    epilog=doctor.EXAMPLES,
    short_help="Say what is wrong with this installation, or with a dump.",
)(doctor.doctor)
app.command("graph", cls=Command, context_settings=CONTEXT, epilog=older_form.EXAMPLES, hidden=True)(older_form.graph)
