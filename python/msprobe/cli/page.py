"""A finished file as one page that needs nothing but a browser: the answer, the worst nodes, the tree."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from msprobe.cli import difference
from msprobe.cli.answer import LEVELS, MODES, VERDICTS
from msprobe.cli.places import Places, left_out

MOST_LISTED = 50
"""Nodes of each kind that are listed above the tree."""

SHOWN_AT_ONCE = 12
"""Longer lists are folded."""

STYLE = """\
:root{color-scheme:light dark;--ink:#1d2330;--faint:#5d6675;--page:#f6f7f9;--card:#fff;--line:#dde1e8;--e:#b3261e;--w:#8a5300;--p:#1f6f43;\
--u:#4a5568;--o:#6b2fa0}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--faint:#9aa4b5;--page:#14171d;--card:#1c2028;--line:#323844;--e:#ff8f86;--w:#f0b35a;\
--p:#7fd6a3;--u:#a9b4c4;--o:#cfa4ff}}
body{max-width:1100px;margin:0 auto;padding:28px 20px 60px;background:var(--page);color:var(--ink);font:14px/1.55 system-ui,sans-serif}
h1{margin:0 0 2px;font-size:20px}h2{display:inline-block;margin:26px 0 8px;font-size:15px}.faint,small{color:var(--faint)}
.card{padding:14px 18px;border:1px solid var(--line);border-radius:12px;background:var(--card);overflow-x:auto}
pre{margin:0;font:13px/1.6 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
table{border-collapse:collapse}th,td{padding:4px 16px 4px 0;text-align:left;white-space:nowrap}
th{color:var(--faint);font-weight:500;font-size:12px}
i{display:inline-block;width:1.2em;font-style:normal;font-weight:700;text-align:center}
.e{color:var(--e)}.w{color:var(--w)}.p{color:var(--p)}.u{color:var(--u)}.n{color:var(--faint)}.o{color:var(--o)}
summary{cursor:pointer}
.tree{font:12.5px/1.7 ui-monospace,monospace}.tree details>details,.tree details>div{margin-left:20px}
.tree div{padding-left:15px;overflow-wrap:anywhere}.tree summary{overflow-wrap:anywhere}.more{color:var(--faint)}"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write(file: Path, output: Path) -> None:
    """Writes the page of `file`, whole or not at all.

    Raises:
        EngineError: The file cannot be read.
        OSError: The page cannot be written.
    """
    text = "".join(_page(file))
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=output.parent, prefix=f".{output.name}.", delete=False) as partial:
        try:
            partial.write(text)
            partial.flush()
            os.fchmod(partial.fileno(), 0o640)
            Path(partial.name).replace(output)
        except BaseException:
            Path(partial.name).unlink(missing_ok=True)
            raise


def _page(file: Path) -> Iterator[str]:
    from msprobe import _native

    reports = {kind: json.loads(_native.report(file, top=MOST_LISTED, only=kind, drift=False)) for kind in ("error", "warning", "overflow")}
    answer: dict[str, Any] = reports["error"]
    title = escape(file.name)
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><meta name="viewport" content="width=device-width">'
    yield f"<title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>"
    yield f'<p class="faint">{escape(_kind(answer))} · msprobe-rs {escape(answer["tool_version"])}</p>'
    lines = "\n".join(_lines(answer))
    if lines:
        yield f'<div class="card"><pre>{escape(lines)}</pre></div>\n'
    yield f'<h2>Steps and ranks</h2><div class="card">{_ranks(answer)}</div>\n'
    for kind, heading in (("error", "Errors"), ("warning", "Warnings"), ("overflow", "Overflow")):
        yield _listed(reports[kind], heading)
    if answer["totals"]["only_golden"]:
        # The tree below is the target's.
        unmatched = json.loads(_native.report(file, top=MOST_LISTED, only="unmatched", drift=False))
        yield _listed(unmatched, "Only in golden", "listed_golden")
    yield '<h2>Tree of the target</h2><div class="card tree">'
    yield _native.tree_page(file, _wanted(answer))
    yield "</div>\n</body></html>\n"


def _kind(answer: dict[str, Any]) -> str:
    total = answer["totals"]
    if answer["graph_type"] == "build":
        return f"a single graph of {total['target_nodes']:,} nodes"
    return f"comparison ({MODES.get(answer['task'], answer['task'])}) of {total['target_nodes']:,} with {total['golden_nodes']:,} nodes"


def _lines(answer: dict[str, Any]) -> Iterator[str]:
    yield from left_out(answer.get("left_out", []), len(answer["ranks"]))
    if answer["graph_type"] != "build":
        total = answer["totals"]
        yield f"matched  {total['matched']:,}   only in target {total['only_target']:,}   only in golden {total['only_golden']:,}"
        yield "verdict  " + "   ".join(f"{total['verdicts'][name]:,} {name.replace('_', ' ')}" for name in VERDICTS)
    yield from difference.lines(answer, Places(answer["ranks"], some=bool(answer.get("left_out"))))


def _ranks(answer: dict[str, Any]) -> str:
    compared = answer["graph_type"] != "build"
    levels = LEVELS if any(answer["totals"]["overflow"].values()) else ()
    heads = ["step", "rank", "nodes", *(["first difference", *(name.replace("_", " ") for name in VERDICTS)] if compared else []), *levels]
    rows = []
    for rank in answer["ranks"]:
        counts = rank["counts"]
        cells = [rank["step"], rank["rank"], f"{counts['target_nodes']:,}"]
        if compared:
            found = rank["first_difference"]
            cells += [found["node"] if found else "none", *(f"{counts['verdicts'][name]:,}" for name in VERDICTS)]
        cells += [f"{counts['overflow'][level]:,}" for level in levels]
        rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{''.join(rows)}</table>"


def _listed(answer: dict[str, Any], heading: str, listed: str = "listed") -> str:
    """The first nodes of one kind, in execution order, of all ranks."""
    total = sum(rank.get(f"{listed}_total") or 0 for rank in answer["ranks"])
    if total == 0:
        return ""
    nodes = [node for rank in answer["ranks"] for node in rank.get(listed, [])][:MOST_LISTED]
    rows = (
        f"<tr><td>{node['step']}</td><td>{node['rank']}</td><td>{node['order'] + 1:,}</td><td>{escape(node['node'])}</td>"
        f'<td class="faint">{escape(node["overflow"] or "")}</td></tr>'
        for node in nodes
    )
    place = "in the tree" if listed == "listed" else "in the file"
    more = f'<p class="faint">{total - len(nodes):,} more are {place}.</p>' if total > len(nodes) else ""
    head = "<tr><th>step</th><th>rank</th><th>place</th><th>node</th><th></th></tr>"
    state = " open" if total <= SHOWN_AT_ONCE else ""
    table = f'<div class="card"><table>{head}{"".join(rows)}</table>{more}</div>'
    return f"<details{state}><summary><h2>{heading} ({total:,})</h2></summary>{table}</details>\n"


def _wanted(answer: dict[str, Any]) -> list[tuple[int, int, str]]:
    """Nodes that the tree shows at once: where each rank first parts."""
    found = (rank[name] for rank in answer["ranks"] for name in ("first_difference", "first_verdict", "first_overflow"))
    return [(node["step"], node["rank"], node["node"]) for node in found if node]
