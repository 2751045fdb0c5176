"""BENCHMARKS.md, made of the results."""

from __future__ import annotations

from pathlib import Path

from benches.result import Result, Table, load

DOCUMENT = Path(__file__).parent.parent / "BENCHMARKS.md"

HEAD = """\
# Benchmarks

Made by `make bench` from `benches/results/*.json`, which hold every single run; do not edit. "Reference" is msProbe 26.2, in a
virtual environment of its own, run on the same machine in the same run, unless a section says otherwise.

CPU seconds are user and system time of the command with all its children. The machine does other work at the same time, so each
command runs several times and the least CPU time counts, and the largest memory. "Anonymous" is the peak of memory that the
command itself holds; the pages of mapped input files, which the system takes back at will, are not in it.
"""


def write() -> None:
    """Writes BENCHMARKS.md."""
    results = load()
    machines = {result.machine for result in results}
    parts = [HEAD]
    if len(machines) == 1:
        parts.append(f"Machine: {machines.pop()}.\n")
    parts += [_section(result, several_machines=len(machines) > 1) for result in results]
    DOCUMENT.write_text("\n".join(parts))


def _section(result: Result, *, several_machines: bool) -> str:
    where = f"; {result.machine}" if several_machines else ""
    lines = [f"## {result.title}\n", f"`{result.command}`, {result.date}{where}\n"]
    lines += [f"{paragraph}\n" for paragraph in result.text]
    for table in result.tables:
        lines += _table(table)
    lines += [f"{paragraph}\n" for paragraph in result.notes]
    return "\n".join(lines)


def _table(table: Table) -> list[str]:
    lines = [f"{table.title}\n"] if table.title else []
    lines.append("| " + " | ".join(table.columns) + " |")
    lines.append("|" + "|".join("---" if number == 0 else "--:" for number in range(len(table.columns))) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return [*lines, ""]
