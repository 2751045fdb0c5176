"""The words of the answer: numbers that a person compares, one line for what is alike."""

from __future__ import annotations

from typing import Any

import pytest

from msprobe.cli import alike, difference, evidence


def row(statistic: str, golden: str | None, target: str, error: float | None, **more: Any) -> dict[str, Any]:
    return {
        "row": "output.0",
        "statistic": statistic,
        "golden": golden,
        "target": target,
        "error": error,
        "noise": 9.5e-7,
        "broken": None,
        **more,
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (row("Norm", "100", "105", 5 / 105), "output.0 Norm 100 -> 105 (off by 4.8 %, noise 0.0001 %)"),
        (row("Min", "-0.5", "-0.6", 0.1), "output.0 Min -0.5 -> -0.6 (off by 10 % of the largest element, noise 0.0001 %)"),
        (row("Mean", "0.1", "0.2", 0.03), "output.0 Mean 0.1 -> 0.2 (off by 3 % of the typical element, noise 0.0001 %)"),
        # What has grown forty times is off by 97.5 % of itself, which says little.
        (row("Norm", "2", "80", 0.975), "output.0 Norm 2 -> 80 (x 40, noise 0.0001 %)"),
        (row("Max", "80", "2", 0.975), "output.0 Max 80 -> 2 (x 0.025, noise 0.0001 %)"),
        (row("Max", "1", "-40", 1.025), "output.0 Max 1 -> -40 (off by 100 % of the largest element, noise 0.0001 %)"),
        (row("Max", "0", "4", 1.0), "output.0 Max 0 -> 4 (off by 100 % of the largest element, noise 0.0001 %)"),
        (row("Max", "1", "inf", None, broken="non_finite"), "output.0 Max 1 -> inf (NaN or infinity on one side)"),
        (row("shape", "[2]", "[3]", None, broken="shape"), "output.0 shape [2] -> [3] (another shape)"),
        (row("md5", "2.5", "2.5", None, broken="checksum"), "output.0: another checksum"),
        (row("md5", "2.5", "2.75", None, broken="checksum"), "output.0: another checksum; Norm 2.5 -> 2.75"),
        (row("md5", None, "2.75", None, broken="checksum"), "output.0: another checksum"),
        (
            row("MaxAbsErr", "4.0", "4.0", 0.25),
            "output.0: one element off by 25 % of the largest element, noise 0.0001 %",
        ),
        (row("Max", "4.0", "nan", None), "output.0 Max 4 -> nan (off by more than any number says, noise 0.0001 %)"),
        (row("EucDist", "4.0", "5.0", 0.25), "output.0: all elements together off by 25 % of the norm, noise 0.0001 %; Norm 4 -> 5"),
    ],
)
def test_a_change_is_one_number_beside_its_noise(given: dict[str, Any], told: str) -> None:
    assert evidence.change(given) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.039, "3.9 %"),
        (1.0, "100 %"),
        (1.9, "190 %"),
        (2.7e-4, "0.027 %"),
        (9.5e-7, "0.000095 %"),
        (0.0, "0 %"),
        (4e5, "40,000,000 %"),
        # Rows of zeros: neither side of these is anything that a run shows.
        (1e30, "1e+32 %"),
        (3e-13, "3e-11 %"),
        (None, "beyond any number"),
    ],
)
def test_shares_are_read_at_a_glance(value: float | None, told: str) -> None:
    assert evidence.share(value) == told


def test_elements_are_told_in_words() -> None:
    tensor: dict[str, Any] = {"equal": 0.0, "largest_at": "[3]", "ulp": 2.0, "nan": [1, 0], "infinite": [0, 0]}
    assert evidence.elements(tensor) == (
        "no element is the same to the bit; largest distance at [3]; at most 2 units in the last place apart; NaN in target 1, in golden 0"
    )
    assert evidence.elements({**tensor, "equal": 0.9999}).startswith("99.9 % of the elements are the same")
    assert evidence.elements({**tensor, "equal": 0.0002}).startswith("fewer than 0.1 % of the elements are")


def test_structure_says_which_side_has_it() -> None:
    found = {"node": "a", "what": "structure", "inputs": None, "evidence": None, "is_random": False, "is_communication": False}
    assert difference.evidence({**found, "golden_node": None}, by_statistics=True) == "structure: only the target has it"
    assert difference.evidence({**found, "golden_node": "a"}, by_statistics=True) == "structure: only the golden run has it"


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
