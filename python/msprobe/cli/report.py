"""`report`: where two runs first part, for a finished `*.vis.db`, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from msprobe.cli import alike, difference, finished, gate, log
from msprobe.cli.answer import LEVELS, MODES, VERDICTS, failure, line
from msprobe.cli.exits import Exit, Refusal
from msprobe.cli.places import Places, left_out, place

EXAMPLES = """\
Examples:
  the answer again, for a file of ours or of msProbe:
      msprobe-rs report out/compare_20261130101500.vis.db
  the first 20 nodes that the verdict calls an error:
      msprobe-rs report FILE.vis.db --only error --top 20
  TWIN, a second golden run compared with the first, shows what is noise:
      msprobe-rs report FILE.vis.db --noise-twin TWIN.vis.db
  for programs:
      msprobe-rs report FILE.vis.db --json | jq .first_difference.node

Exit status: 0 done, 1 failed, 2 wrong usage, 4 --fail-on.
"""

LOOK = "What to look at"
OUTPUT = "Output"


def report(
    file: Annotated[str, typer.Argument(metavar="FILE.vis.db", help="A comparison, also one that msProbe wrote.")],
    rank: Annotated[int | None, typer.Option("--rank", metavar="N", min=0, rich_help_panel=LOOK, help="Only this rank.")] = None,
    step: Annotated[int | None, typer.Option("--step", metavar="N", min=0, rich_help_panel=LOOK, help="Only this step.")] = None,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=0, rich_help_panel=LOOK, help="Runner-ups and listed nodes of a rank (5).")
    ] = 5,
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
        typer.Option("--fail-on", metavar=gate.CHOICES, rich_help_panel=OUTPUT, help=gate.HELP),
    ] = None,
) -> int:
    """Say where two runs first part, with the evidence, for a finished file."""
    from msprobe import _native

    try:
        for path in filter(None, (file, noise_twin)):
            finished.check(path)
        text = _native.report(file, step=step, rank=rank, top=top, only=only, noise_twin=noise_twin, drift=as_json)
    except _native.EngineError as error:
        raise refused(Refusal(error.args[1], Exit(error.args[0])), as_json) from error
    except Refusal as refusal:
        raise refused(refusal, as_json) from None
    answer = json.loads(text)
    if fail_on and answer["graph_type"] == "build":
        log.warning("--fail-on has no effect: one dump alone has no verdicts")
    for warning in difference.warnings(answer):
        log.warning(warning)
    if as_json:
        log.answer(text)
    else:
        for told in lines(answer, Places(answer["ranks"], some=bool(answer.get("left_out")) or (step, rank) != (None, None)), only):
            log.answer(log.one_line(told))
    return Exit.DONE if answer["graph_type"] == "build" else gate.status(fail_on, answer["totals"]["verdicts"], answer)


def refused(refusal: Refusal, as_json: bool) -> Refusal:
    """Tells programs too."""
    if as_json:
        log.answer(json.dumps(failure(str(refusal), refusal.status)))
    return refusal


def lines(answer: dict[str, Any], where: Places, only: str | None = None) -> Iterator[str]:
    """The answer a person reads first."""
    total, ranks = answer["totals"], answer["ranks"]
    yield line("target", str(where), f"{total['target_nodes']:,} nodes", MODES.get(answer["task"], answer["task"]))
    yield from left_out(answer.get("left_out", []), len(ranks))
    if answer["graph_type"] != "build":
        yield line("golden", str(where), f"{total['golden_nodes']:,} nodes")
        yield f"matched  {total['matched']:,}   only in target {total['only_target']:,}   only in golden {total['only_golden']:,}"
        verdicts = total["verdicts"]
        yield "verdict  " + "   ".join(f"{verdicts[name]:,} {name.replace('_', ' ')}" for name in VERDICTS)
    if any(total["overflow"].values()):
        yield line("overflow", *(f"{total['overflow'][level]:,} {level}" for level in LEVELS), difference.alarms(answer))
    if len(ranks) > 1 and answer["graph_type"] != "build":
        for rank in ranks:
            found = rank["first_difference"]
            told = f"{difference.named(found)}   ({difference.order(found)})" if found else difference.miss(rank)
            yield f"{place(rank)}   {told}"
    yield from difference.lines(answer, where)
    for other, count in difference.others(answer):
        yield f"runner-up          {difference.heading(other, where, alike.further(count))}"
    if answer["first_difference"]:
        known, held = difference.runner_ups(answer)
        if known > held:
            yield f"  and {known - held:,} more; --top {known} shows them"
    if only:
        yield from _nothing_listed(answer, only)
    for rank in ranks:
        yield from _listed(rank, several=len(ranks) > 1, compared=answer["graph_type"] != "build")


def _listed(rank: dict[str, Any], several: bool, compared: bool) -> Iterator[str]:
    """The nodes that `--only` asked for."""
    listed: list[dict[str, Any]] = rank.get("listed", [])
    golden: list[dict[str, Any]] = rank.get("listed_golden", [])
    if several and (listed or golden):
        yield place(rank)
    for node, count in alike.gradients(listed):
        words = [node["overflow"] or ""]
        if compared:
            words = [node["verdict"] or "not compared", *words, "" if node["matched"] else "no partner"]
        yield f"  {node['order'] + 1:>8,}  {node['node']}{alike.further(count)}   {'   '.join(word for word in words if word)}"
    if (more := rank.get("listed_total", 0) - len(listed)) > 0:
        yield f"  and {more:,} more; --top shows them"
    for node, count in alike.gradients(golden):
        yield f"  {node['order'] + 1:>8,}  {node['node']}{alike.further(count)}   only in golden"
    if (more := rank.get("listed_golden_total", 0) - len(golden)) > 0:
        yield f"  and {more:,} more only in golden; --top shows them"


def _nothing_listed(answer: dict[str, Any], only: str) -> Iterator[str]:
    """That there is nothing to list."""
    if any(rank.get("listed_total") or rank.get("listed_golden_total") for rank in answer["ranks"]):
        return
    unasked = "; the run did not look for it: graph_visualize -oc does" if only == "overflow" and not answer["overflow_check"] else ""
    yield f"--only {only}: none{unasked}"
