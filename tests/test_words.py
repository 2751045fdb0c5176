"""The words of the answer: numbers that a person compares, one line for what is alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from msprobe.cli import alike, difference, evidence
from msprobe.cli.places import Places
from tests.conftest import DATA

WORDS = json.loads((DATA / "words.json").read_text(encoding="utf-8"))
"""What the terminal and the browser (tb_plugin/tests/evidence.test.ts) are held to alike."""


@pytest.mark.parametrize("case", WORDS["changes"], ids=lambda case: case["told"])
def test_a_change_is_one_number_beside_its_noise(case: dict[str, Any]) -> None:
    assert evidence.change(case["row"]) == case["told"]


@pytest.mark.parametrize("case", WORDS["evidence"], ids=lambda case: case["told"])
def test_a_difference_says_what_and_how_its_inputs_are(case: dict[str, Any]) -> None:
    assert difference.evidence(case["found"], case["by_statistics"]) == case["told"]


@pytest.mark.parametrize("case", WORDS["shares"], ids=lambda case: case["told"])
def test_shares_are_read_at_a_glance(case: dict[str, Any]) -> None:
    assert evidence.share(case["share"]) == case["told"]


@pytest.mark.parametrize("case", WORDS["hints"])
def test_hints_say_what_may_be_wrong_with_the_comparison(case: dict[str, Any]) -> None:
    told = [difference.shifted(case["calls"])] if case["calls"] else []
    told += [difference.golden_overflows(case["overflow"])] if case["overflow"] else []
    assert told == case["told"]


def test_elements_are_told_in_words() -> None:
    tensor: dict[str, Any] = {"equal": 0.0, "largest_at": "[3]", "ulp": 2.0, "nan": [1, 0], "infinite": [0, 0]}
    assert evidence.elements(tensor) == (
        "no element is the same to the bit; largest distance at [3]; at most 2 units in the last place apart; NaN in target 1, in golden 0"
    )
    assert evidence.elements({**tensor, "equal": 0.9999}).startswith("99.9 % of the elements are the same")
    assert evidence.elements({**tensor, "equal": 0.0002}).startswith("fewer than 0.1 % of the elements are")


def test_what_is_said_of_several_places_is_said_once() -> None:
    texts = ["step 0 rank 0: target: 2 lost", "x: ignored", "step 0 rank 0: golden: 2 lost", "step 1 rank 0: target: 2 lost"]
    texts += ["step 1 rank 0: golden: 2 lost", "step 1 rank 0: golden: 3 lost", "step 1 rank 0: no framework"]
    assert list(alike.warnings(texts)) == [
        "step 0 rank 0: target: 2 lost (the same of step 0 rank 0 golden, step 1 rank 0 target, ...)",
        "x: ignored",
        "step 1 rank 0: golden: 3 lost",
        "step 1 rank 0: no framework",
    ]


def test_gradients_of_a_module_are_told_once() -> None:
    def node(order: int, name: str, verdict: str = "warning") -> dict[str, Any]:
        return {"node": name, "order": order, "verdict": verdict}

    first, second = "Module.a.Linear.parameters_grad", "Module.b.Linear.parameters_grad"
    nodes = [node(0, f"{first}.0"), node(1, f"{first}.1"), node(2, f"{first}.2", "error"), node(3, f"{second}.0"), node(4, f"{second}.1")]
    nodes += [node(5, "Tensor.mul.0.backward"), node(6, "Tensor.mul.1.backward")]
    found = [(one["order"], count) for one, count in alike.gradients(nodes)]
    assert found == [(0, 1), (2, 0), (3, 1), (5, 0), (6, 0)]
    assert list(alike.gradients([])) == []


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "Module.a.Linear.parameters_grad.0   (rank 3, node 4 of 9)"),
        (1, "Module.a.Linear.parameters_grad.0 and 1 more gradient   (rank 3, node 4 of 9)"),
        (2, "Module.a.Linear.parameters_grad.0 and 2 more gradients   (rank 3, node 4 of 9)"),
    ],
)
def test_a_gradient_is_named_after_its_module_once(count: int, told: str) -> None:
    place = {"step": 0, "rank": 3}
    found = {**place, "node": "Module.a.Linear.parameters_grad.0", "parent": "Module.a.Linear.forward.0", "order": 3, "nodes": 9}
    where = Places([place])
    assert difference.heading(found, where, alike.further(count)) == told
    assert difference.heading({**found, "node": "Tensor.mul.0.forward"}, where) == "Tensor.mul.0.forward in a   (rank 3, node 4 of 9)"


@pytest.mark.parametrize(
    ("numbers", "some", "header", "before"),
    [
        ([(0, 0)], False, "", ""),
        ([(0, 0)], True, "step0/rank0", "rank 0, "),
        ([(0, 1)], False, "step0/rank1", "rank 1, "),
        ([(7, 0)], False, "step7/rank0", "step 7, rank 0, "),
        ([(0, 0), (0, 1)], False, "2 ranks", "rank 0, "),
        ([(0, 0), (1, 0)], False, "2 steps, 1 rank", "step 0, rank 0, "),
    ],
)
def test_steps_and_ranks_are_told_where_they_tell_something(numbers: list[tuple[int, int]], some: bool, header: str, before: str) -> None:
    parts = [{"step": step, "rank": rank} for step, rank in numbers]
    where = Places(parts, some=some)
    assert (str(where), where.before(parts[0])) == (header, before)
