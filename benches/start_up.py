"""What it costs to start."""

from __future__ import annotations

import sys

from benches import places
from benches.measure import cost
from benches.result import Result, Table, seconds, size

REPEAT = 20


def run() -> Result:
    """Measures `--help` of the program and of its main command, beside an empty Python program."""
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "msprobe-rs --help": [places.OURS, "--help"],
        "msprobe-rs graph_visualize --help": [places.OURS, "graph_visualize", "--help"],
    }
    found = {name: cost(command, REPEAT) for name, command in commands.items()}
    rows = [[f"`{name}`", seconds(used.cpu), size(used.anonymous)] for name, used in found.items()]
    return Result(
        name="start_up",
        order=20,
        title="Starting",
        command="python -m benches start_up",
        text=["To stay under 0.15 s of CPU."],
        tables=[Table(["", "CPU", "anonymous"], rows)],
        raw={name: used.raw() for name, used in found.items()},
    )
