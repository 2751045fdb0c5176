"""`report`: where two runs first part, for a finished `*.vis.db`, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

EXAMPLES = """\
Examples:
  the answer again, for a file of ours or of msProbe:
      msprobe-rs report out/compare_20261130101500.vis.db
  the first 20 nodes that the verdict calls an error:
      msprobe-rs report FILE.vis.db --only error --top 20
  what rerunning alone explains does not count (TWIN: a second golden run compared with the first):
      msprobe-rs report FILE.vis.db --noise-twin TWIN.vis.db

Exit status: 0 done, 1 failed, 2 wrong usage, 4 --fail-on.
"""

LOOK = "What to look at"
OUTPUT = "Output"


def report(
    file: Annotated[str, typer.Argument(metavar="FILE.vis.db", help="A comparison, also one that msProbe wrote.")],
    rank: Annotated[int | None, typer.Option("--rank", metavar="N", rich_help_panel=LOOK, help="Only this rank.")] = None,
    step: Annotated[int | None, typer.Option("--step", metavar="N", rich_help_panel=LOOK, help="Only this step.")] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", rich_help_panel=LOOK, help="Runner-ups and listed nodes of a rank (5).")] = 5,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="error|warning|unmatched|overflow", rich_help_panel=LOOK, help="List nodes of this kind."),
    ] = None,
    noise_twin: Annotated[
        str | None,
        typer.Option("--noise-twin", metavar="FILE", rich_help_panel=LOOK, help="A second golden run compared with the golden run."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="One JSON document (docs/report.schema.json).")] = False,
    fail_on: Annotated[
        str | None,
        typer.Option("--fail-on", metavar="error|warning", rich_help_panel=OUTPUT, help="Exit status 4 if a node is that bad."),
    ] = None,
) -> int:
    """Say where two runs first part, with the evidence, for a finished file."""
    from msprobe import _native
    from msprobe.cli import log
    from msprobe.cli.exits import Exit, Refusal

    try:
        text = _native.report(file, step=step, rank=rank, top=max(top, 0), only=only, noise_twin=noise_twin)
    except _native.EngineError as error:
        status, message = error.args
        raise Refusal(message, Exit(status)) from error
    answer = json.loads(text)
    if as_json:
        log.answer(text)
    else:
        for line in lines(answer):
            log.answer(log.one_line(line))
    verdicts = answer["totals"]["verdicts"]
    bad = verdicts["error"] + (verdicts["warning"] if fail_on == "warning" else 0)
    return Exit.TOO_BAD if fail_on and bad else Exit.DONE


def lines(answer: dict[str, Any]) -> Iterator[str]:
    """The answer a person reads first."""
    total, ranks = answer["totals"], answer["ranks"]
    where = f"step{ranks[0]['step']}/rank{ranks[0]['rank']}" if len(ranks) == 1 else f"{len(ranks)} ranks"
    yield f"target   {where}   {total['target_nodes']:,} nodes   {answer['task']}".rstrip()
    if answer["graph_type"] == "build":
        yield "one graph alone: nothing to compare"
        return
    yield f"golden   {where}   {total['golden_nodes']:,} nodes"
    yield f"matched  {total['matched']:,}   only in target {total['only_target']:,}   only in golden {total['only_golden']:,}"
    verdicts = total["verdicts"]
    yield "verdict  " + "   ".join(f"{verdicts[name]:,} {name.replace('_', ' ')}" for name in ("error", "warning", "pass", "not_compared"))
    if any(total["overflow"].values()):
        yield "overflow " + "   ".join(f"{total['overflow'][level]:,} {level}" for level in ("critical", "high", "medium"))
    if len(ranks) > 1:
        for rank in ranks:
            found = rank["first_difference"]
            yield f"step{rank['step']}/rank{rank['rank']}   {_heading(found) if found else _miss(rank)}"
    yield from difference_lines(answer)
    for rank in ranks:
        title = "runner-up"
        for other in rank["runner_ups"]:
            yield f"{title:<18} {_heading(other)}"
        for node in rank.get("listed", []):
            words = [node["verdict"] or "not compared", node["overflow"] or "", "" if node["matched"] else "no partner"]
            yield f"  {node['order']:>8,}  {node['node']}   {'   '.join(word for word in words if word)}"
        if rank.get("listed_total", 0) > len(rank.get("listed", [])):
            yield f"  and {rank['listed_total'] - len(rank.get('listed', [])):,} more; --top shows them"


def difference_lines(answer: dict[str, Any]) -> Iterator[str]:
    """First difference, with its evidence, and first verdict."""
    found = answer["first_difference"]
    if found is None:
        misses = [rank for rank in answer["ranks"] if rank["nearest_miss"]]
        yield f"first difference   none: {_miss(misses[0]) if misses else 'nothing compared'}"
    else:
        yield f"first difference   {_heading(found)}"
        yield f"    {_evidence(found)}"
        if frame := found["frame"]:
            yield f"    {frame['file']}:{frame['line']} in {frame['function']}: {frame['code']}"
        flow = next(r for r in answer["ranks"] if (r["step"], r["rank"]) == (found["step"], found["rank"]))["flows_into"]
        if flow:
            yield f"    flows into {', '.join(node['node'] for node in flow[:3])}{', ...' if len(flow) > 3 else ''}"
    if verdict := answer["first_verdict"]:
        yield f"first verdict      {verdict['node']}   {verdict['verdict']}"


def _heading(found: dict[str, Any]) -> str:
    inside = f" in {found['parent']}" if found["parent"] not in ("", "DefaultModel") else ""
    place = f"rank {found['rank']}, node {found['order'] + 1:,} of {found['nodes']:,}"
    if found["step"]:
        place = f"step {found['step']}, {place}"
    return f"{found['node']}{inside}   ({place})"


def _evidence(found: dict[str, Any]) -> str:
    words = []
    if (inputs := found["inputs"]) and found["what"] == "computation":
        words.append(f"inputs agree (largest relative difference {_error(inputs['error'])}, noise {inputs['noise']:.1e})")
    if evidence := found["evidence"]:
        change = f"{evidence['row']} {evidence['statistic']} {evidence['golden'] or '?'} -> {evidence['target']}"
        if evidence["broken"]:
            change += f" ({evidence['broken'].replace('_', '-')})"
        else:
            change += f" (relative difference {_error(evidence['error'])}, noise {evidence['noise']:.1e})"
        words.append(f"first seen at {evidence['node']}: {change}" if evidence.get("node") else change)
    if found["is_random"]:
        words.append("it draws random numbers: do the seeds agree?")
    if found["is_communication"]:
        words.append("a communication: its cause may be another rank")
    return f"{found['what']}: {'; '.join(words)}" if words else found["what"]


def _error(error: float | None) -> str:
    return "beyond any number" if error is None else f"{error:.1e}"


def _miss(rank: dict[str, Any]) -> str:
    miss = rank["nearest_miss"]
    looked = f"{rank['counts']['compared_rows']:,} parameter pairs of {rank['counts']['compared_nodes']:,} nodes looked at"
    if miss is None or miss["why"] == "nothing_compared":
        return "nothing to compare"
    if miss["why"] == "identical":
        return f"identical; {looked}"
    node = miss["node"]["node"]
    told = f"{_error(miss['error'])} with noise {miss['noise']:.1e}"
    if miss["why"] == "grew_slowly":
        return f"noise grows past its bound at {node} ({told}) without any node standing out; {looked}"
    return f"nothing beyond noise; nearest is {node} ({told}); {looked}"
