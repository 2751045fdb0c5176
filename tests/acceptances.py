"""How often each rule of tests/parity.py must be needed for a recorded result, worked out without our engine.

Everything here comes from two sources: the dump as it lies on the disk, and the tables that msProbe 26.2 recorded for it. The
rules are written down a second time, plainly and slowly, so that a number in accepted.json that only our engine believes in
does not pass.
"""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests import judging, links_by_hand, overflow_by_hand
from tests.parity import UNINITIALISED, load

Row = dict[str, Any]
Place = tuple[int, int]
"""Step and rank."""

NO_FORWARD = "cannot find the forward node"


@dataclass
class Recorded:
    """One recorded result and the dumps it was made of."""

    expected: Path
    target: Path
    golden: Path | None

    @cached_property
    def tables(self) -> dict[str, dict[str, Row]]:
        tables: dict[str, dict[str, Row]] = load(str(self.expected))
        return tables

    @cached_property
    def nodes(self) -> dict[str, Row]:
        return self.tables["tb_nodes"]

    @cached_property
    def config(self) -> Row:
        return self.tables["tb_config"]["1"]

    @cached_property
    def folders(self) -> dict[tuple[str, int, int], Path]:
        sides = {"NPU": self.target, **({"Bench": self.golden} if self.golden else {})}
        return {(side, *place): folder for side, path in sides.items() for place, folder in ranks(path).items()}

    @cached_property
    def dumps(self) -> dict[tuple[str, int, int], dict[str, Any]]:
        return {place: json.loads((folder / "dump.json").read_text()) for place, folder in self.folders.items() if self.has(place)}

    @cached_property
    def constructs(self) -> dict[tuple[str, int, int], dict[str, Any]]:
        return {place: json.loads((self.folders[place] / "construct.json").read_text()) for place in self.dumps}

    @cached_property
    def has_md5(self) -> bool:
        """Whether the dumps hold checksums."""
        return '"md5": "' in json.dumps([dump["data"] for dump in self.dumps.values()])

    def has(self, place: tuple[str, int, int]) -> bool:
        return any((n["data_source"], n["step"], n["rank"]) == place for n in self.nodes.values())

    def of(self, node: Row, name: str) -> Row | None:
        """The node of this name in the same graph."""
        return self.nodes.get(f"{node['data_source']}_{node['step']}_{node['rank']}_{name}")

    def partner(self, node: Row) -> Row | None:
        link = json.loads(node["matched_node_link"] or "[]")
        other = "Bench" if node["data_source"] == "NPU" else "NPU"
        return self.nodes.get(f"{other}_{node['step']}_{node['rank']}_{link[-1]}") if link else None

    def entry(self, node: Row) -> Any:
        return self.dumps[node["data_source"], node["step"], node["rank"]]["data"].get(node["node_name"])

    def rows(self, node: Row) -> Iterator[tuple[str, Row, Any]]:
        """Name and content of the node's rows, and the value in the dump that each shows."""
        entry = self.entry(node)
        for column in ("input_data", "output_data"):
            for name, row in json.loads(node[column]).items():
                yield name, row, value_at(entry, name[len(node["node_name"]) + 1 :].split("."))


def ranks(path: Path) -> dict[Place, Path]:
    """The rank folders below a path, by the numbers that the reference stores."""
    for below in ("", "proc*"):
        for folder in sorted(path.glob(below)) if below else [path]:
            if (folder / "dump.json").exists():
                return {(0, 0): folder}
    numbered = {kind: {p: re.fullmatch(rf"{kind}(\d*)", p.name) for p in path.iterdir()} for kind in ("step", "rank")}
    if any(numbered["step"].values()):
        steps = {int(m[1] or 0): p for p, m in numbered["step"].items() if m}
        return {(step, rank): folder for step, p in steps.items() for (_, rank), folder in ranks(p).items()}
    return {(0, int(m[1] or 0)): p for p, m in numbered["rank"].items() if m}


def value_at(entry: Any, parts: list[str]) -> Any:
    """The recorded value that a row is named after."""
    if entry is None:
        return None
    if parts[0] == "input":
        roots = [entry.get("input_args"), entry.get("input_kwargs"), entry.get("input")]
    elif parts[0] == "output":
        roots = [entry.get("output")]
    elif parts[0] == "parameters":
        roots = [entry.get("parameters")]
    else:
        parts, roots = ["", *parts], [entry]
    for root in roots:
        found = below(root, parts[1:])
        if found is not None:
            return found
    return None


def below(value: Any, parts: list[str]) -> Any:
    if isinstance(value, list) and len(value) == 1 and not (parts and parts[0].isdigit()):
        value = value[0]  # A parameter gradient is a list of one.
    if not parts:
        # An operation of a batch is shown as its tensor.
        return value["tensor"] if isinstance(value, dict) and "class_type" in value and "tensor" in value else value
    if isinstance(value, list):
        return below(value[int(parts[0])], parts[1:]) if parts[0].isdigit() and int(parts[0]) < len(value) else None
    if isinstance(value, dict):
        # Keys may hold dots.
        for end in range(len(parts), 0, -1):
            if ".".join(parts[:end]) in value:
                return below(value[".".join(parts[:end])], parts[end:])
    return None


class Review:
    """Counts by rule."""

    def __init__(self, recorded: Recorded, *, losing: bool) -> None:
        self.recorded, self.losing = recorded, losing
        self.counts: collections.Counter[str] = collections.Counter()
        self.compared = recorded.golden is not None

    def __call__(self) -> dict[str, int]:
        if self.losing:
            self.lost_nodes()
        for node in self.recorded.nodes.values():
            self.shown(node)
            self.overflow(node)
        self.micro_steps()
        self.stacks()
        self.config()
        self.links()
        if self.compared:
            judging.Judging(self.recorded, self.counts)()
        return {rule: count for rule, count in sorted(self.counts.items()) if count}

    def lost_nodes(self) -> None:
        """D1/D2: names in the dump without a row."""
        for place, construct in self.recorded.constructs.items():
            links = {k: v for k, v in construct.items() if k != "megatron_micro_step_number"}
            parents = {v[0] if isinstance(v, list) else v for v in links.values()} - {None}
            names = {n["node_name"] for n in self.recorded.nodes.values() if (n["data_source"], n["step"], n["rank"]) == place}
            self.counts["D1/D2 node the reference loses"] += len(({*links, *self.recorded.dumps[place]["data"]} | parents) - names)

    def shown(self, node: Row) -> None:
        """D6: what a row with a null Max hides; V5/D7: checksums that a build hides; D4/M9: rows in the wrong column."""
        for _, row, value in self.recorded.rows(node):
            if row == {"value": "null"}:
                self.counts["D6 null row kept in full"] += isinstance(value, dict)
            elif not self.compared and isinstance(value, dict) and self.recorded.has_md5 and "md5" not in row:
                # What has no checksum shows that of its text, or of no text.
                self.counts["V5/D7 md5 shown in build"] += 1
        name = node["node_name"]
        for column, own in (("input_data", False), ("output_data", True)):
            is_output = [key[len(name) :].startswith(".output.") for key in json.loads(node[column])]
            both = {*json.loads(node["input_data"]), *json.loads(node["output_data"])}
            missing = sum(key[len(name) :].startswith(".output.") == own for key in both) != len(is_output)
            self.counts["D4/M9 misplaced rows"] += missing or not all(out == own for out in is_output)

    def overflow(self, node: Row) -> None:
        if not self.recorded.config["overflow_check"]:
            return
        level = overflow_by_hand.level(node["node_name"], self.recorded.entry(node))
        if level != node["overflow_level"]:
            parts = node["node_name"].split(".")
            exempt = len(parts) > 1 and parts[1] in UNINITIALISED
            self.counts["O5 uninitialised memory" if exempt and level is None else "O2-O6 level the reference misses"] += 1

    def own_micro_steps(self, place: tuple[str, int, int]) -> dict[str, int]:
        """Micro steps of a graph by its own record, or by walking its top level."""
        graph = {n["node_name"]: n for n in self.recorded.nodes.values() if (n["data_source"], n["step"], n["rank"]) == place}
        construct = self.recorded.constructs[place]
        if construct.get("megatron_micro_step_number") is not None:
            found = {name: construct[name][1] if isinstance(construct.get(name), list) else 0 for name in graph}
            for name, node in graph.items():
                if node["node_type"] == "9":
                    found[name] = found[json.loads(node["sub_nodes"])[0]]
            return found
        found, step, backward = {"DefaultModel": 0}, 0, False
        for name in json.loads(graph["DefaultModel"]["sub_nodes"] or "[]"):
            if graph[name]["node_type"] == "0":
                if ".forward." in name and backward:
                    step, backward = step + 1, False
                backward |= ".forward." not in name
            waiting = [name]
            while waiting:
                node = graph[waiting.pop()]
                found[node["node_name"]] = step
                waiting += json.loads(node["sub_nodes"] or "[]")
        return found

    def micro_steps(self) -> None:
        """D8: gradients have their parent's; D9: a golden graph has its own."""
        highest = 0
        for place in self.recorded.dumps:
            own = self.own_micro_steps(place)
            highest = max(highest, *own.values())
            for node in self.recorded.nodes.values():
                if (node["data_source"], node["step"], node["rank"]) != place:
                    continue
                name = node["node_name"]
                gradients = "parameters_grad" in name
                wanted = own[node["up_node"]] if gradients else own[name]
                if node["micro_step_id"] != wanted:
                    self.counts["D8 parameters_grad micro step" if gradients else "D9 golden micro step"] += 1
        self.counts["V3 maximum over all graphs"] += highest + 1 != self.recorded.config["micro_steps"]

    def stacks(self) -> None:
        """D12: a backward node whose forward node has a stack after all."""
        for node in self.recorded.nodes.values():
            stack = self.recorded.tables["tb_stack"][node["stack_id"]]["stack_info"]
            forward = self.recorded.of(node, node["node_name"].replace(".backward", ".forward"))
            if stack and NO_FORWARD in stack and forward is not None and forward is not node:
                self.counts["D12 stack of a backward node"] += 1

    def config(self) -> None:
        ranks = sorted({n["rank"] for n in self.recorded.nodes.values()})
        self.counts["V3 union of the ranks"] += json.loads(self.recorded.config["rank_list"]) != ranks

    def links(self) -> None:
        for (side, step), found in links_by_hand.links(self.recorded.dumps).items():
            for (rank, name), partners in found.items():
                node = self.recorded.nodes[f"{side}_{step}_{rank}_{name}"]
                recorded = json.loads(node["matched_distributed"] or "{}").get("nodes_info", {})
                if not recorded:
                    self.counts["L more links than the reference finds"] += 1
                else:
                    assert {int(r): n for r, (_, n) in recorded.items()} == partners, (side, step, rank, name)
