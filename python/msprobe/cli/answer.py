"""The answer of a run: lines for people, one JSON document for programs (docs/json.md)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, TypedDict

from msprobe.cli.exits import Exit
from msprobe.cli.places import Places, left_out, place

SCHEMA = 1
"""Version of the JSON document; grows when a field changes its meaning or goes."""


class Part(TypedDict):
    """One rank of one step."""

    step: int
    rank: int
    target_nodes: int
    golden_nodes: int
    matched: int
    matched_by: dict[str, int]
    only_target: int
    only_golden: int
    verdicts: dict[str, int]
    overflow: dict[str, int]
    surplus_golden_parameters: int
    tensors: dict[str, int]


class LeftOut(TypedDict):
    """A rank, or a whole step, that is missing from the result."""

    step: int
    rank: int | None
    reason: str


class Summary(TypedDict):
    """What the engine answers."""

    output: str
    bytes: int
    seconds: float
    compare: bool
    mode: str | None
    task: str | None
    target_framework: str | None
    golden_framework: str | None
    parts: list[Part]
    left_out: list[LeftOut]
    warnings: list[str]
    report: dict[str, Any] | None
    """Where the runs first part (docs/report.schema.json)."""


COUNTS = ("target_nodes", "golden_nodes", "matched", "only_target", "only_golden", "surplus_golden_parameters")
WAYS = ("name", "fuzzy", "mapping", "alignment")
VERDICTS = ("error", "warning", "pass", "not_compared")
LEVELS = ("critical", "high", "medium")
MODES = {"summary": "statistics", "all": "tensor"}
"""What a file calls by other words than dumps and people."""
TENSORS = ("compared", "not_compared")


def totals(summary: Summary) -> dict[str, int]:
    """The counts of all ranks together."""
    parts: list[Any] = [*summary["parts"]]
    sums = {name: sum(part[name] for part in parts) for name in COUNTS}
    sums |= {f"matched_by_{name}": sum(part["matched_by"][name] for part in parts) for name in WAYS}
    sums |= {name: sum(part["verdicts"][name] for part in parts) for name in VERDICTS}
    sums |= {f"tensors_{name}": sum(part["tensors"][name] for part in parts) for name in TENSORS}
    return sums | {name: sum(part["overflow"][name] for part in parts) for name in LEVELS}


def worst_first(parts: list[Part]) -> list[Part]:
    """Most errors first, then most warnings, unmatched nodes, overflows; else in the order of steps and ranks."""

    def badness(part: Part) -> tuple[int, ...]:
        verdicts, overflow = part["verdicts"], part["overflow"]
        unmatched = part["only_target"] + part["only_golden"]
        return (-verdicts["error"], -verdicts["warning"], -unmatched, *(-overflow[level] for level in LEVELS))

    return sorted(parts, key=lambda part: (badness(part), part["step"], part["rank"]))


def lines(summary: Summary, overflow_check: bool = False) -> Iterator[str]:
    """The answer a person reads first; `overflow_check`: somebody asked for overflow."""
    parts, total, compare, report = summary["parts"], totals(summary), summary["compare"], summary["report"]
    # Of the target alone, as `report` and the viewer count; the JSON document counts both sides.
    levels = report["totals"]["overflow"] if report else total
    if len(parts) > 1:
        width = max(len(place(part)) for part in parts)
        ranks = {(rank["step"], rank["rank"]): rank["counts"]["overflow"] for rank in report["ranks"]} if report else {}
        for part in worst_first(parts):
            yield f"{place(part):<{width}}   {_one_rank(part, compare, ranks.get((part['step'], part['rank']), part['overflow']))}"
        yield ""
    where = Places(parts, some=bool(summary["left_out"]))
    kind = [summary["mode"] or summary["task"] or "", summary["target_framework"] or ""]
    yield line("target", str(where), f"{total['target_nodes']:,} nodes", *kind)
    yield from left_out(summary["left_out"], len(parts))
    if compare:
        framework = summary["golden_framework"] or ""
        shown = framework if framework != summary["target_framework"] else ""
        yield line("golden", str(where), f"{total['golden_nodes']:,} nodes", shown)
        unmatched = [f"only in target {total['only_target']:,}", f"only in golden {total['only_golden']:,}"]
        yield line("matched", f"{total['matched']:,}{_ways(total)}", *unmatched)
        if total["only_target"] > total["matched"] and total["only_golden"]:
            yield from _other_ways(total)
        yield line("verdict", *(f"{total[name]:,} {name.replace('_', ' ')}" for name in VERDICTS))
    if summary["mode"] == "tensor":
        yield line("tensors", *(f"{total[f'tensors_{name}']:,} {name.replace('_', ' ')}" for name in TENSORS))
    if any(levels[level] for level in LEVELS):
        from msprobe.cli import difference

        yield line("overflow", *(f"{levels[level]:,} {level}" for level in LEVELS), difference.alarms(report))
    elif overflow_check:
        yield line("overflow", "none")
    if report:
        from msprobe.cli import difference

        yield from difference.lines(report, where)
        yield from _runner_up(report, where, summary["output"])
    yield line("wrote", summary["output"], f"{summary['bytes'] / 1e6:,.1f} MB", f"{summary['seconds']:.2f} s")
    yield line("view", f"tensorboard --logdir {_quoted(os.path.dirname(summary['output']) or '.')}")  # noqa: PTH120


def document(summary: Summary, status: Exit) -> dict[str, Any]:
    """The same facts as one JSON document."""
    return {
        "schema": SCHEMA,
        "exit_status": int(status),
        **summary,
        "parts": worst_first(summary["parts"]),
        "totals": totals(summary),
    }


def failure(message: str, status: Exit) -> dict[str, Any]:
    """The document of a run that failed."""
    return {"schema": SCHEMA, "exit_status": int(status), "error": message}


def _ways(total: dict[str, int]) -> str:
    """How the partners were found, if not all by their names."""
    ways = [f"{total[f'matched_by_{name}']:,} by {name}" for name in WAYS if total[f"matched_by_{name}"]]
    return f" ({', '.join(ways)})" if total["matched"] > total["matched_by_name"] else ""


def _other_ways(total: dict[str, int]) -> Iterator[str]:
    """What else finds partners, if most nodes have none."""
    if total["matched_by_alignment"]:
        return
    ways = "--match align finds" if total["matched_by_mapping"] else "--match align, -fm and -lm find"
    yield line("hint", f"most nodes have no partner: do the names differ? {ways} others")


def _runner_up(report: dict[str, Any], where: Places, output: str) -> Iterator[str]:
    """The next node that differs without the first difference explaining it, and how to see others."""
    from msprobe.cli import alike, difference

    if others := difference.others(report):
        (other, count), *_ = others
        known, top = difference.runner_ups(report)
        rest = known - 1 - count
        more = f"   {rest:,} more: msprobe-rs report {_quoted(output)}{f' --top {known}' if known > top else ''}" if rest else ""
        yield f"runner-up          {difference.heading(other, where, alike.further(count))}{more}"


def _one_rank(part: Part, compare: bool, overflow: dict[str, int]) -> str:
    words = [f"{part['target_nodes']:,} nodes"]
    if compare:
        words.append(f"matched {part['matched']:,}")
        words += [f"{part['verdicts'][name]:,} {name.replace('_', ' ')}" for name in VERDICTS]
    words += [f"{overflow[level]:,} {level}" for level in LEVELS if overflow[level]]
    return "   ".join(words)


def line(title: str, *words: str) -> str:
    """A line of the answer's head; empty words are left out."""
    return f"{title:<8} " + "   ".join(word for word in words if word)


def _quoted(path: str) -> str:
    """The path as a shell takes it."""
    from shlex import quote

    return quote(path)
