"""Which node overflows first: where NaN or infinity shows, whatever the level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.dumps import ENTRY, TENSOR, write
from tests.recorded import unpacked

NAN, INF = float("nan"), float("inf")
CLEAN, BROKEN = "Torch.add.0.forward", "Torch.mul.0.forward"


def tensor(**statistics: float) -> dict[str, Any]:
    return {**TENSOR, **statistics}


def call(output: dict[str, Any], *inputs: dict[str, Any]) -> dict[str, Any]:
    return {"input_args": [*(inputs or [TENSOR])], "input_kwargs": {}, "output": [output]}


LOWEST = call(tensor(Max=0.0, Min=-3.4028234663852886e38, Mean=-INF, Norm=INF))
"""A mask of the lowest float32: no element overflows, but their sum does."""
MASK = call(tensor(Max=0.0, Min=-INF, Mean=-INF, Norm=INF))
"""A mask of minus infinity."""
GARBAGE = tensor(Max=NAN, Min=NAN, Mean=NAN, Norm=NAN)
JUMP = call(tensor(Norm=1e6))

CASES = {
    "a mean is no element": ({"Torch.where.0.forward": LOWEST}, None),
    "a norm that jumps is no overflow": ({"Torch.rsqrt.0.forward": JUMP}, None),
    "a buffer that nothing was received into": ({"Distributed.batch_isend_irecv.0.forward": call(GARBAGE, GARBAGE)}, None),
    "received from another rank": ({"Distributed.broadcast.0.forward": call(GARBAGE)}, "Distributed.broadcast.0.forward"),
    "minus infinity, if there is nothing worse": ({"Torch.full.0.forward": MASK}, "Torch.full.0.forward"),
    "worse than a mask": ({"Torch.full.0.forward": MASK, BROKEN: call(tensor(Max=INF))}, BROKEN),
    "not the worst level but the earliest": ({BROKEN: call(GARBAGE, tensor(Max=INF)), "Torch.exp.0.forward": call(GARBAGE)}, BROKEN),
    "whole numbers too": ({BROKEN: call(tensor(Max=INF, Min=INF))}, BROKEN),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_overflow(case: str, msprobe: Command, tmp_path: Path) -> None:
    calls, expected = CASES[case]
    data = {CLEAN: ENTRY, **calls}
    # What overflows lies in modules that hand it on, and come later.
    above = {f"Module.m{at}.M.forward.0": entry for at, entry in enumerate(calls.values() if expected else ())}
    tree = {**dict.fromkeys([*data, *above]), **dict(zip(calls, above, strict=False))}
    target = write(tmp_path / "rank", tree, {**data, **above})
    done = msprobe("graph_visualize", "-tp", target, "-o", tmp_path / "out", "-oc")
    assert done.status == 0, done.err
    (told,) = [line for line in done.out.splitlines() if line.startswith("first overflow")]
    (file,) = (tmp_path / "out").glob("*.vis.db")
    found = json.loads(msprobe("report", file, "--json").out)["ranks"][0]["first_overflow"]
    assert (found and found["node"]) == expected
    assert told.split()[2] == (expected or "none:")


@pytest.mark.parametrize(
    ("dump", "expected"),
    # By their READMEs: an infinite weight of fc1; nothing that overflows.
    [("ms_cnn_nan/target", "Primitive.matmul.MatMul.0.forward"), ("ms_cnn_nan/golden", None), ("llama_perturbed/golden", None)],
)
def test_real_runs(dump: str, expected: str | None, msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", unpacked() / dump, "-o", tmp_path, "-oc", "--json")
    found = [rank["first_overflow"] for rank in json.loads(done.out)["report"]["ranks"]]
    assert [node and node["node"] for node in found] == [expected]
