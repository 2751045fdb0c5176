"""Faults put into recorded comparisons: target and golden are the same run, but for rounding and one node.

Every distinct tensor (told by its statistics) gets rounding noise of bfloat16 on the target side. A fault scales the outputs
of one API, or one parameter of one module, and is carried downstream by data flow: whatever takes in a value that differs
gives out values that differ, by a share of the fault drawn anew for each.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EPSILON = 2.0**-7
STATISTICS = ("Max", "Min", "Mean", "Norm")
DIFFERENCES = ("Max diff", "Min diff", "Mean diff", "L2norm diff")
FLOATS = ("torch.float32", "torch.float16", "torch.bfloat16", "Float32", "Float16", "BFloat16")
UNDEFINED = ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_with_format")

Value = tuple[float, ...]


@dataclass
class Node:
    """A target node of the recorded comparison."""

    row: list[Any]
    name: str
    order: int
    parent: str
    has_children: bool
    inputs: dict[str, dict[str, Any]]
    outputs: dict[str, dict[str, Any]]
    start: int = 0
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def is_gradient(self) -> bool:
        return ".parameters_grad" in self.name


@dataclass
class Recorded:
    """A recorded comparison with statistics, target side."""

    schema: list[str]
    columns: list[str]
    config: list[Any]
    nodes: list[Node]


@dataclass(frozen=True)
class Fault:
    """What was changed: a node's outputs, or a parameter."""

    node: str
    row: str
    size: float

    @property
    def error(self) -> float:
        """Relative to the larger of both sides."""
        return self.size / (1 + self.size)


def floor(recorded: Recorded, fault: Fault) -> float:
    """The relative error that docs/noise.md promises to tell from bfloat16's rounding, at the place of the fault.

    Four epsilons (and the statistics' own); where a sum cancels, of its largest operand. The rounding of the value itself
    may take half an epsilon off the fault.
    """
    noise = 4 * (EPSILON + 2.0**-23)
    node = next(node for node in recorded.nodes if node.name == fault.node)
    if ".parameters." in fault.row or node.name.split(".")[1].strip("_").lstrip("ri") not in ("add", "sub"):
        return noise + EPSILON / 2
    operands = [node.values[name][3] for name in node.inputs if name in node.values]
    # The fault makes the result larger, and what is left of the cancellation smaller.
    return noise * max(1.0, max(operands) * (1 + EPSILON) / (node.values[fault.row][3] * (1 + fault.size))) + EPSILON / 2


def load(path: Path) -> Recorded:
    """Reads what msProbe wrote, as recorded in a JSON file."""
    with gzip.open(path) as file:
        record = json.load(file)
    tables = record["tables"]
    columns = tables["tb_nodes"]["columns"]
    at = {name: columns.index(name) for name in columns}
    nodes = []
    for row in tables["tb_nodes"]["rows"]:
        if row[at["data_source"]] != "NPU":
            continue
        inputs, outputs = (json.loads(row[at[name]] or "{}") for name in ("input_data", "output_data"))
        children = row[at["sub_nodes"]] not in ("", None, "[]")
        nodes.append(Node(list(row), row[at["node_name"]], row[at["node_order"]], row[at["up_node"]], children, inputs, outputs))
    nodes.sort(key=lambda node: node.order)
    starts: dict[str, int] = {}
    for node in nodes:
        node.start = starts.get(node.name, node.order)
        starts[node.parent] = min(starts.get(node.parent, node.start), node.start)
        for rows in (node.inputs, node.outputs):
            for name, cells in rows.items():
                if value := _value(cells):
                    node.values[name] = value
    return Recorded(record["schema"], columns, tables["tb_config"]["rows"][0], nodes)


def _value(cells: dict[str, Any]) -> Value | None:
    if cells.get("dtype") not in FLOATS:
        return None
    try:
        value = tuple(float(cells[name]) for name in STATISTICS)
    except (KeyError, ValueError):
        return None
    return value if all(map(math.isfinite, value)) and value[3] > 0 and max(map(abs, value)) < 1e30 else None


def places(recorded: Recorded) -> list[tuple[Node, str]]:
    """Where a fault can be put so that it is a fault: outputs of APIs with inputs, and parameters."""
    found = []
    seen: set[Value] = set()
    for node in recorded.nodes:
        outputs = [name for name in node.outputs if name in node.values]
        inputs = [node.values[name] for name in node.inputs if name in node.values]
        api = node.name.split(".")[1] if "." in node.name else ""
        fresh = all(node.values[name] not in seen and node.values[name] not in inputs for name in outputs)
        if not node.has_children and not node.is_gradient and outputs and inputs and fresh and api not in UNDEFINED:
            found.append((node, outputs[0]))
        found += [(node, name) for name in node.inputs if name.startswith(node.name + ".parameters.") and name in node.values]
        seen.update(node.values.values())
    return found


def write(recorded: Recorded, path: Path, chance: random.Random, fault: Fault | None) -> None:
    """Writes the comparison of the faulty run with itself."""
    factors = _carry(recorded.nodes, chance, fault) if fault else {}
    noise: dict[Value, list[float]] = {}
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        for statement in recorded.schema:
            database.execute(statement)
        at = {name: recorded.columns.index(name) for name in recorded.columns}
        rows = []
        for node in recorded.nodes:
            row = list(node.row)
            for column, data in (("input_data", node.inputs), ("output_data", node.outputs)):
                told = {
                    name: _cells(cells, node.values.get(name), factors.get((node.order, name), 0.0), noise, chance)
                    for name, cells in data.items()
                }
                row[at[column]] = json.dumps(told)
            row[at["matched_node_link"]] = json.dumps([node.name])
            rows.append(row)
        database.executemany(f"INSERT INTO tb_nodes VALUES ({','.join('?' * len(recorded.columns))})", rows)
        database.execute(f"INSERT INTO tb_config VALUES ({','.join('?' * len(recorded.config))})", recorded.config)
    database.close()


def _cells(
    cells: dict[str, Any], value: Value | None, factor: float, noise: dict[Value, list[float]], chance: random.Random
) -> dict[str, Any]:
    told = {key: text for key, text in cells.items() if key not in DIFFERENCES}
    told["Err_message"] = "[]"
    if value is None:
        # Whatever is no floating-point tensor is the same on both sides.
        return told | dict.fromkeys(DIFFERENCES, "0.0" if _is_number(cells.get("Max")) else "N/A")
    if value not in noise:
        noise[value] = [chance.uniform(-EPSILON / 2, EPSILON / 2) for _ in STATISTICS]
    told["dtype"] = "torch.bfloat16"
    for name, by, golden, rounding in zip(STATISTICS, DIFFERENCES, value, noise[value], strict=True):
        target = golden * (1 + factor) * (1 + rounding)
        told[name], told[by] = repr(target), repr(target - golden)
    return told


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _carry(nodes: list[Node], chance: random.Random, fault: Fault) -> dict[tuple[int, str], float]:
    """By how much each row differs."""
    factors: dict[tuple[int, str], float] = {}
    source = next(node for node in nodes if node.name == fault.node)
    is_parameter = ".parameters." in fault.row
    begin = source.start if is_parameter else source.order
    dirty: dict[Value, float] = {}
    inside = {source.values[fault.row]: fault.size} if is_parameter else {}
    below: set[str] = set()
    parted: set[str] = set()
    for node in nodes:
        if node.order < begin:
            continue
        touched = node.name in below or node.name.replace(".backward", ".forward") in parted
        touched = touched or any(node.name.startswith(f"{name.rsplit('.forward', 1)[0]}.parameters_grad") for name in parted)
        for name in node.inputs:
            value = node.values.get(name)
            if value is None or node.is_gradient:
                continue
            if node is source and name == fault.row:
                factors[node.order, name] = fault.size
                touched = True
            elif ".parameters." not in name:
                # A value is there for those who start after it was made; a parameter for the calls inside its module.
                used = inside.get(value) if source.start <= node.order < source.order else None
                used = dirty.get(value) if used is None and node.start > begin else used
                if used is not None:
                    factors[node.order, name] = used
                    touched = True
        if node is source and not is_parameter:
            for name in node.outputs:
                if name in node.values:
                    factors[node.order, name] = dirty[node.values[name]] = fault.size
            touched = True
        elif touched:
            results = node.inputs if node.is_gradient else node.outputs
            for name in results:
                if (value := node.values.get(name)) is not None:
                    factors[node.order, name] = dirty.setdefault(value, fault.size * chance.uniform(0.5, 1.0))
        if touched:
            below.add(node.parent)
            parted.add(node.name)
    return factors


def draw(recorded: Recorded, chance: random.Random, size: float) -> Fault:
    """A fault of this size at a random place."""
    node, row = chance.choice(places(recorded))
    return Fault(node.name, row, size)
