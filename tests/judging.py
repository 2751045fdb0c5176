"""What a comparison must say where pairs, dtypes or matches differ from the reference's, worked out from recorded rows."""

from __future__ import annotations

import collections
import json
import math
import re
from typing import TYPE_CHECKING, Any

from tests.parity import COMPARED, DTYPE_MESSAGE, UNINITIALISED, Check

if TYPE_CHECKING:
    from tests.acceptances import Recorded, Row

INDEX = {"pass": 0, "warning": 0.5, "error": 1}
STATISTICS = {"Max": "Max", "Min": "Min", "Mean": "Mean", "Norm": "L2norm"}
ALL_IGNORED = {*UNINITIALISED, "numpy", "to", "__setitem__"}
INPUT_IGNORED = {"_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "batch_isend_irecv"}
NUMBERED = r"\.parameters_grad(\.\d+)?$"
X1, N1, D4, M5 = (
    "X1 dtype spelled differently across frameworks",
    "N1 paired by name",
    "D4/M9 misplaced rows",
    "M5 numbered parameters_grad in a mapping",
)


class Judging:
    """Adds to the counts of one comparison."""

    def __init__(self, recorded: Recorded, counts: collections.Counter[str]) -> None:
        self.recorded, self.counts = recorded, counts
        self.task = recorded.config["task"]
        self.indexes: dict[str, float] = {}
        """Verdicts that change, by node id."""

    def __call__(self) -> None:
        for node in self.recorded.nodes.values():
            if node["data_source"] == "NPU" and node["node_type"] != "9":
                self.node(node)
        for id_, node in self.recorded.nodes.items():
            if node["node_type"] == "9" and node["precision_index"] != (self.worst(node) if node["data_source"] == "NPU" else None):
                self.counts["V4/M2 collection index"] += 1
                assert id_ not in self.indexes

    def worst(self, collection: Row) -> float | None:
        """The worst verdict below a collection."""
        found = []
        for name in json.loads(collection["sub_nodes"] or "[]"):
            child = self.recorded.of(collection, name)
            assert child is not None
            found.append(self.worst(child) if child["node_type"] == "9" else self.indexes.get(child["id"], child["precision_index"]))
        return max((index for index in found if index is not None), default=None)

    def node(self, node: Row) -> None:
        partner, rule = self.recorded.partner(node), None
        name = node["node_name"]
        parts = name.split(".")
        if self.task == "md5" and parts[1:] and parts[1] in UNINITIALISED and node["precision_index"] == 1:
            self.counts["M1 uninitialised memory in md5 mode"] += 1
            self.indexes[node["id"]] = 0
        if partner is None:
            if self.mapped and re.search(NUMBERED, name):
                self.gradients(node)
            return
        if self.task == "structure":
            return
        misplaced = Check.misplaced(name) or Check.misplaced(partner["node_name"])
        mine, theirs = ([k[len(n["node_name"]) :] for k in json.loads(n["input_data"])] for n in (node, partner))
        if misplaced or (mine != theirs and sorted(mine) == sorted(theirs)):
            rule = D4 if misplaced else N1
            self.again(node, partner, rule)
        else:
            self.messages(node, partner)

    @property
    def mapped(self) -> bool:
        """Whether nodes were matched by a layer mapping."""
        return "compare_lm" in self.recorded.expected.name or (self.recorded.expected.parent / "mapping.yaml").exists()

    def gradients(self, node: Row) -> None:
        """M5: gradients face those of the module that faces theirs."""
        above = self.recorded.of(node, node["up_node"])
        facing = above and self.recorded.partner(above)
        if above is None or facing is None:
            return
        own = [n for n in json.loads(above["sub_nodes"]) if re.search(NUMBERED, n)]
        others = [n for n in json.loads(facing["sub_nodes"] or "[]") if re.search(NUMBERED, n)]
        place = own.index(node["node_name"])
        partner = self.recorded.of(facing, others[place]) if place < len(others) else None
        if partner is None:
            return
        # Each node's link, the columns of a comparison in every row, and the verdict.
        assert all(n["node_name"][-1].isdigit() for n in (node, partner)), "without numbers the reference matches them too"
        self.counts[M5] += 2 + len(json.loads(node["input_data"])) + 1
        results = self.judge(node, pairs(node, partner, by_name=True))
        self.indexes[node["id"]] = max((INDEX[result] for result, _ in results.values()), default=0)

    def messages(self, node: Row, partner: Row) -> None:
        """X1 and E1 in nodes whose pairs stay as they are."""
        facing = pairs(node, partner, by_name=False)
        results, changed = [], False
        for key, row in rows_of(node).items():
            if "Err_message" not in row:
                continue
            said = json.loads(row["Err_message"])
            left = said
            other = facing.get(key)
            if DTYPE_MESSAGE in said and other is not None and same_dtype(row, other):
                left = [message for message in said if message != DTYPE_MESSAGE]
                self.counts[X1] += 1
                result = verdict(left)
                self.counts[X1] += result != row["Result"]
                changed = True
            elif self.reason(row, other):
                self.counts["E1 reason added to Err_message"] += 1
            results.append(verdict(left) if left is not said else row["Result"])
        if changed:
            index = 0 if node["node_name"].split(".")[1] in UNINITIALISED else max(INDEX[result] for result in results)
            self.counts[X1] += index != node["precision_index"]
            self.indexes[node["id"]] = index

    def reason(self, row: Row, facing: Row | None) -> bool:
        """E1: whether a row could not be compared."""
        if facing is None:
            return True
        return self.task == "all" and row.get("Cosine") in ("unsupported", "shape unmatched") and row["data_name"] != "-1"

    def again(self, node: Row, partner: Row, rule: str) -> None:
        """N1, D4/M9: every row faces another one than the reference thought."""
        facing = pairs(node, partner, by_name=True)
        judged = self.judge(node, facing)
        for column in ("input_data", "output_data"):
            wanted = [key for key in rows_of(node) if key[len(node["node_name"]) :].startswith(".output.") == (column == "output_data")]
            recorded = json.loads(node[column])
            if list(recorded) != wanted:
                continue
            for key, row in recorded.items():
                if "Result" in row:
                    cells = self.cells(row, facing.get(key), judged[key])
                    self.counts[rule] += sum(not same(row[cell], value) for cell, value in cells.items())
        index = max((INDEX[result] for result, _ in judged.values()), default=None)
        self.counts[rule] += index != node["precision_index"]
        if index is not None:
            self.indexes[node["id"]] = index

    def cells(self, row: Row, facing: Row | None, judged: tuple[str, list[str]]) -> dict[str, Any]:
        cells: dict[str, Any] = {"Result": judged[0], "Err_message": json.dumps(judged[1])}
        if self.task == "summary" and facing is not None:
            for statistic, shown in STATISTICS.items():
                ours, other = numeric(row[statistic]), numeric(facing[statistic])
                cells[f"{shown} diff"] = ours - other
                cells[f"{'Norm' if statistic == 'Norm' else statistic}RelativeErr"] = relative(ours, other)
        return {cell: value for cell, value in cells.items() if cell in COMPARED and cell in row}

    def judge(self, node: Row, facing: dict[str, Row | None]) -> dict[str, tuple[str, list[str]]]:
        """Verdict and messages of every row."""
        rows = {key: row for key, row in rows_of(node).items() if row != {"value": "null"}}
        if self.task == "md5":
            return {key: md5(row, facing.get(key)) for key, row in rows.items()}
        is_output = {key: key[len(node["node_name"]) :].startswith(".output.") for key in rows}
        first = next((key for key in rows if not is_output[key]), "")
        api = first.split(".")[1] if first.count(".") else ""
        checked = [key for key in rows if api not in ALL_IGNORED and (is_output[key] or api not in INPUT_IGNORED)]
        whole = api not in ALL_IGNORED | INPUT_IGNORED
        found: dict[str, list[str]] = {key: [] for key in rows}
        error = {key: norm_error(row, facing.get(key)) for key, row in rows.items()}
        known = {key: value for key, value in error.items() if not math.isnan(value)}
        worst = [max((value for key, value in known.items() if is_output[key] == out), default=0) for out in (False, True)]
        outputs = [key for key in rows if is_output[key]]
        for key in checked:
            other = facing.get(key)
            if other and not odd(other["Max"]) and not odd(other["Min"]) and (odd(rows[key]["Max"]) or odd(rows[key]["Min"])):
                found[key].append("error: There is nan/inf/-inf in the maximum or minimum value of NPU.")
        if whole and worst[0] < 0.1:
            for key in outputs:
                if error[key] > 0.5:
                    found[key].append("error: The NormRelativeErr of output is greater than 0.5.")
        for key in checked:
            if other := facing.get(key):
                found[key] += facts(rows[key], other, scalar=whole and not is_output[key])
        if whole and outputs and (worst[1] > 0.1 if worst[0] == 0 else worst[1] / worst[0] > 10):
            found[outputs[0]].append("warning: The norm relative error of output is 10 times that of input.")
        return {key: (verdict(messages), messages) for key, messages in found.items()}


def facts(row: Row, other: Row, *, scalar: bool) -> list[str]:
    """What two rows say about gradients, scalars, dtypes and shapes."""
    found = []
    gradients = {row["requires_grad"], other["requires_grad"]}
    if gradients == {"True", "False"}:
        found.append("error: The Required_Grad of NPU and Bench are inconsistent")
    bare = scalar and row["shape"] == "[]" and "class" in row["dtype"] and "class" in other["dtype"]
    if bare and row["Max"] != other["Max"] and numeric(row["Max"]) != numeric(other["Max"]):
        found.append("error: The scalar parameters of NPU and Bench are inconsistent.")
    if row["dtype"] and other["dtype"] and not same_dtype(row, other):
        found.append(DTYPE_MESSAGE)
    if row["shape"] != other["shape"] and "null" not in (row["shape"], other["shape"]):
        found.append("error: The shape of NPU and Bench are inconsistent.")
    return found


def norm_error(row: Row, other: Row | None) -> float:
    """NormRelativeErr as a fraction; NaN without another row."""
    return relative(numeric(row["Norm"]), numeric(other["Norm"])) / 100 if other else math.nan


def md5(row: Row, other: Row | None) -> tuple[str, list[str]]:
    if other is None:
        return "warning", ["warning: The parameter of NPU does not match the bench."]
    if row.get("md5") == other.get("md5"):
        return "pass", []
    return "error", ["error: The CRC-32 value of NPU differs from that of the bench."]


def rows_of(node: Row) -> dict[str, Row]:
    return {**json.loads(node["input_data"]), **json.loads(node["output_data"])}


def pairs(node: Row, partner: Row, *, by_name: bool) -> dict[str, Row | None]:
    """The golden row that each target row faces: outputs face outputs, inputs inputs."""
    facing: dict[str, Row | None] = {}
    for out in (True, False):
        mine, theirs = (
            {k[len(n["node_name"]) :]: (k, r) for k, r in rows_of(n).items() if k[len(n["node_name"]) :].startswith(".output.") == out}
            for n in (node, partner)
        )
        for place, (short, (key, _)) in enumerate(mine.items()):
            if by_name:
                facing[key] = theirs[short][1] if short in theirs else None
            else:
                facing[key] = list(theirs.values())[place][1] if place < len(theirs) else None
    return facing


def same_dtype(row: Row, other: Row) -> bool:
    """Whether two dtypes mean the same: `Float32` is `torch.float32`."""
    mine, theirs = (str(r.get("dtype", "")).lower().removeprefix("torch.").removeprefix("mindspore.") for r in (row, other))
    return mine == theirs


def verdict(messages: list[str]) -> str:
    kinds = {message.split(":")[0] for message in messages}
    return next((kind for kind in ("error", "warning") if kind in kinds), "pass")


def numeric(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def odd(text: Any) -> bool:
    return str(text).strip().lower() in ("nan", "inf", "-inf")


def relative(ours: float, other: float) -> float:
    """In percent."""
    if other == 0:
        return 0 if ours == 0 else math.nan
    return abs((ours - other) / other) * 100


def same(recorded: Any, value: Any) -> bool:
    """Whether a recorded text says the same as a number or text."""
    if isinstance(value, str):
        return str(recorded) == value
    found = numeric(str(recorded).rstrip("%"))
    return found == value or math.isclose(found, value, rel_tol=1e-5, abs_tol=1e-12) or (math.isnan(found) and math.isnan(value))
