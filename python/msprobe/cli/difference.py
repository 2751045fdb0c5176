"""First difference, first verdict and first overflow in words (docs/report.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from msprobe.cli import alike
from msprobe.cli.evidence import change, elements, shares
from msprobe.cli.places import Places


def lines(report: dict[str, Any], where: Places) -> Iterator[str]:
    """First difference with its evidence, first verdict, first overflow, of all ranks together."""
    if report["graph_type"] != "build":
        yield from _difference(report, where)
        yield from _hints(report)
        if verdict := report["first_verdict"]:
            yield f"first verdict      {verdict['node']}   {verdict['verdict']}"
            yield from _within_noise(report)
        yield from _noise(report["noise"])
    if overflow := first_overflow(report):
        yield f"first overflow     {overflow['node']}{inside(overflow)}   {overflow['overflow']}"
        if frame := overflow.get("frame"):
            yield f"    {source(frame)}"
    elif any(report["totals"]["overflow"].values()):
        yield "first overflow     none: no element that the target computed is NaN or infinite"


EPSILONS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}


def _within_noise(report: dict[str, Any]) -> Iterator[str]:
    """Why there are warnings and errors although nothing is beyond noise."""
    misses = [rank["nearest_miss"] for rank in report["ranks"]]
    if misses and all(miss and miss["why"] == "identical" for miss in misses):
        yield "hint     warnings and errors hold the same numbers; export says what else differs (message), such as requires_grad"
        return
    if report["totals"]["beyond_noise"] or not all(miss and miss["why"] == "within_noise" for miss in misses):
        return
    if report["noise"]["method"] == "twin":
        yield "hint     all warnings and errors are within what the second golden run explains: docs/noise.md"
        return
    multiple, noise = report["noise"]["multiple"], misses[0]["noise"]
    # The floor of docs/noise.md; of another height where it was raised.
    dtypes = [name for name, epsilon in EPSILONS.items() if math.isclose(noise, multiple * (epsilon + 2.0**-23), rel_tol=1e-5)]
    rounding = f"rounding to {dtypes[0]}" if dtypes else "rounding"
    yield f"hint     all warnings and errors are within noise, {rounding} explains the largest of them: docs/noise.md"


def warnings(report: dict[str, Any]) -> Iterator[str]:
    """What may be wrong with what was asked for: a second golden run that has fewer than half of the nodes is hardly one."""
    noise = report["noise"]
    if (nodes := noise.get("twin_nodes")) and nodes["found"] < nodes["not_found"]:
        total = nodes["found"] + nodes["not_found"]
        shown = f"has only {nodes['found']:,} of {total:,} compared nodes: is it a second run of this golden run, or of another model?"
        yield f"--noise-twin {noise['twin']}: {shown} For the other nodes noise is that of their dtypes"


def _noise(noise: dict[str, Any]) -> Iterator[str]:
    """How much of what counted as noise a second golden run has shown."""
    if nodes := noise.get("twin_nodes"):
        found, missing = nodes["found"], nodes["not_found"]
        rest = f"; {missing:,} whose golden partner it does not have: noise of their dtypes" if missing else ""
        yield f"noise    of the second golden run for {found:,} of {found + missing:,} compared nodes{rest}"


def _difference(report: dict[str, Any], where: Places) -> Iterator[str]:
    found = report["first_difference"]
    if found is None:
        yield f"first difference   none: {_nothing(report, where)}"
        return
    yield f"first difference   {heading(found, where)}"
    yield f"    {evidence(found, by_statistics=report['task'] == 'summary')}"
    if (row := found["evidence"]) and (tensor := row.get("tensor")):
        yield f"    {elements(tensor)}"
    if frame := found["frame"]:
        yield f"    {source(frame)}"
    if other := found.get("unmatched_inside"):
        line = f"   {source(other['frame'])}" if other.get("frame") else ""
        yield f"    only in target inside it: {other['node']}{line}"
    yield from _only_golden(found)
    rank = next(r for r in report["ranks"] if (r["step"], r["rank"]) == (found["step"], found["rank"]))
    if flow := rank["flows_into"]:
        yield f"    flows into {', '.join(node['node'] for node in flow[:3])}{', ...' if len(flow) > 3 else ''}"


def _only_golden(found: dict[str, Any]) -> Iterator[str]:
    """What the target lacks where it parts, with golden's line."""
    if missing := found.get("only_golden"):
        for other in missing["nodes"]:
            line = f"   {source(other['frame'])}" if other.get("frame") else ""
            yield f"    only in golden {missing['place']} it: {other['node']}{line}"
        if missing["more"]:
            yield "    and others before: --only unmatched lists them"


def _hints(report: dict[str, Any]) -> Iterator[str]:
    """What may be wrong with the comparison rather than with the target."""
    found = report["first_difference"]
    if calls := found and found.get("unlike_calls"):
        yield f"hint     {shifted(calls)}"
    if overflow := golden_overflow(report):
        yield f"hint     {golden_overflows(overflow['node'])}"


def shifted(calls: dict[str, Any]) -> str:
    """That calls may face wrong ones."""
    often = f"golden calls {calls['api']} {_times(calls['golden'])}, the target {_times(calls['target'])}"
    return f"{often}: call numbers may be shifted against each other; try --match align"


def golden_overflows(node: str) -> str:
    """That the sides may be swapped, or golden broken."""
    return f"the golden run holds NaN or infinity where the target does not (first: {node}): is it the right side?"


def _times(count: int) -> str:
    return f"{count:,} time{'' if count == 1 else 's'}"


def golden_overflow(report: dict[str, Any]) -> dict[str, Any] | None:
    """The first node that faces NaN or infinity in the golden run, of the first rank that has one."""
    return _first([rank.get("golden_overflow") for rank in report["ranks"]])


def _first(nodes: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    return min(filter(None, nodes), key=lambda node: (node["step"], node["rank"]), default=None)


def others(report: dict[str, Any]) -> list[tuple[dict[str, Any], int]]:
    """Runner-ups of the rank of the first difference, each with the number of gradients of the same module behind it."""
    first = report["first_difference"]
    ranks = report["ranks"] if first else []
    return [
        other
        for rank in ranks
        if (rank["step"], rank["rank"]) == (first["step"], first["rank"])
        for other in alike.gradients(rank["runner_ups"])
    ]


def runner_ups(report: dict[str, Any]) -> tuple[int, int]:
    """How many runner-ups of the rank of the first difference are known, and how many of them the answer holds."""
    first = report["first_difference"]
    rank = next(rank for rank in report["ranks"] if (rank["step"], rank["rank"]) == (first["step"], first["rank"]))
    held = len(rank["runner_ups"])
    return rank.get("runner_ups_total", held), held


def first_overflow(report: dict[str, Any]) -> dict[str, Any] | None:
    """The first node in which NaN or infinity shows, of the first rank that has one."""
    return _first([rank["first_overflow"] for rank in report["ranks"]])


def alarms(report: dict[str, Any] | None) -> str:
    """Beside the numbers of overflow levels: whether they mean anything."""
    return "none of them NaN or infinite" if report and not first_overflow(report) else ""


def heading(found: dict[str, Any], where: Places, further: str = "") -> str:
    """The node, what is `further` beside it, and where it stands."""
    return f"{named(found)}{further}   ({where.before(found)}{order(found)})"


def named(found: dict[str, Any]) -> str:
    """The node and what it is in, where its name does not say so: a gradient is named after its module."""
    return str(found["node"]) if alike.is_gradient(found) else f"{found['node']}{inside(found)}"


def order(found: dict[str, Any]) -> str:
    """Its place in the execution order of its rank, from 1."""
    return f"node {found['order'] + 1:,} of {found['nodes']:,}"


def inside(node: dict[str, Any]) -> str:
    """` in layers.3.mlp` for a node in that module; nothing at the top."""
    parts = node["parent"].split(".")
    if parts[0] not in ("Module", "Cell"):
        return ""
    end = next((at for at, part in enumerate(parts) if part in ("forward", "backward")), len(parts))
    # Module.<path>.<class>.forward.<call>
    path = ".".join(parts[1 : end - 1])
    return f" in {path}" if path else ""


def evidence(found: dict[str, Any], by_statistics: bool) -> str:
    """What differs, and by how much; statistics that are the same may be those of other values, a mask's above all."""
    words = []
    if (inputs := found["inputs"]) and found["what"] == "computation":
        error, noise = shares(inputs["error"], inputs["noise"])
        most = f"agree ({error} apart at most, noise {noise})"
        none = "have the same statistics" if by_statistics else "are equal"
        words.append(f"inputs {none if inputs['error'] == 0 else most}")
        if integers := inputs.get("only_extremes"):
            words.append(f"of {integers['row']} ({integers['dtype']}) only Max and Min are known")
    if found["what"] == "structure":
        words.append("only the golden run has it" if found["golden_node"] == found["node"] else "only the target has it")
    if row := found["evidence"]:
        shown = change(row)
        words.append(f"first seen at {row['node']}: {shown}" if row.get("node") else shown)
    if found["is_random"]:
        words.append("it draws random numbers: do the seeds agree?")
    if found["is_communication"]:
        words.append("a communication: its cause may be another rank")
    return f"{found['what']}: {'; '.join(words)}" if words else str(found["what"])


def source(frame: dict[str, Any]) -> str:
    """The line of the user's code."""
    return f"{frame['file']}:{frame['line']} in {frame['function']}: {frame['code']}"


def miss(rank: dict[str, Any]) -> str:
    """Why a rank has no first difference."""
    return _miss(rank["nearest_miss"], rank["counts"], "")


def _nothing(report: dict[str, Any], where: Places) -> str:
    """Why there is no first difference, of all ranks together."""
    misses = [rank["nearest_miss"] for rank in report["ranks"] if rank["nearest_miss"]]
    nearest = max(misses, key=_nearness, default=None)
    return _miss(nearest, report["totals"], where.before(nearest["node"]) if nearest and nearest["node"] else "")


NEARNESS = ("nothing_compared", "identical", "within_noise", "grew_slowly")


def _nearness(found: dict[str, Any]) -> tuple[int, float]:
    """How near it comes to a first difference."""
    noise = found["noise"]
    return NEARNESS.index(found["why"]), math.inf if found["error"] is None else found["error"] / noise if noise else 0.0


def _miss(found: dict[str, Any] | None, counts: dict[str, Any], place: str) -> str:
    """Of nodes with these counts; `place` is that of the node which comes nearest."""
    looked = f"{counts['compared_rows']:,} parameter pairs of {counts['compared_nodes']:,} nodes looked at"
    if found is None or found["why"] == "nothing_compared":
        return "nothing to compare"
    if found["why"] == "identical":
        others = counts["only_target"] or counts["only_golden"]
        where = " wherever nodes face each other (report --only unmatched lists the others)" if others else ""
        return f"identical{where}; {looked}"
    node = found["node"]["node"]
    error, noise = shares(found["error"], found["noise"])
    told = f"{place}{error} apart, noise {noise}"
    if found["why"] == "grew_slowly":
        return f"noise grows past its bound at {node} ({told}) without any node standing out; {looked}"
    return f"nothing beyond noise; nearest is {node} ({told}); {looked}"
