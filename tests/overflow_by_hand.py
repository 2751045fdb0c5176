"""Overflow levels of entries of dump.json, by the rules as they are written down."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tests.parity import UNINITIALISED

Ignored = dict[str, tuple[set[int], set[str], set[int]]]
IGNORED: Ignored = {
    "distributed.recv": ({0}, {"tensor"}, set()),
    "distributed.all_gather": ({0}, set(), set()),
    "distributed.reduce_scatter": ({0}, {"output"}, set()),
    "distributed._reduce_scatter_base": ({0}, set(), set()),
    "distributed.all_gather_into_tensor": ({0}, set(), set()),
    "distributed.reduce_scatter_tensor": ({0}, set(), set()),
    "tensor.masked_fill_": ({0}, set(), {0}),
}
"""Positions, keywords and outputs that hold memory nobody has written yet."""


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("op") == "irecv":
            return
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from objects(item)


def outputs(value: Any) -> Iterator[dict[str, Any]]:
    """Like objects, but what was received counts."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from outputs(item)


def abnormal(leaf: dict[str, Any]) -> bool:
    texts = {str(leaf.get(key)).lower().lstrip("-") for key in ("Max", "Min", "Mean")}
    return bool(texts & {"nan", "inf", "infinity"})


def norms(leaves: list[dict[str, Any]]) -> list[float]:
    found = [leaf.get("Norm") for leaf in leaves if "dtype" in leaf]
    return [float(n) for n in found if isinstance(n, (int, float)) and not isinstance(n, bool) and not math.isnan(n)]


def level(name: str, entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return None
    if "parameters_grad" in name.split(".")[-2:]:
        return "high" if any(abnormal(leaf) for leaf in objects(entry)) else None
    parts = name.split(".")
    if len(parts) > 1 and parts[1] in UNINITIALISED:
        return None
    positions, keywords, out = IGNORED.get(".".join(parts[:2]).lower(), (set(), set(), set()))
    given = entry.get("input_args", entry.get("input")) or []
    inputs = [leaf for i, value in enumerate(given) if i not in positions for leaf in objects(value)]
    inputs += [leaf for key, value in (entry.get("input_kwargs") or {}).items() if key not in keywords for leaf in objects(value)]
    results = entry.get("output") or []
    results = results if isinstance(results, list) else [results]
    written = [leaf for i, value in enumerate(results) if i not in out for leaf in outputs(value)]
    parameters = list(objects(entry.get("parameters")))
    bad_input, bad_output = any(map(abnormal, inputs + parameters)), any(map(abnormal, written))
    if bad_input or bad_output:
        return "high" if bad_input and bad_output else "critical" if bad_output else "medium"
    before, after = norms(inputs), norms(written)
    if not before or not after:
        return None
    a, b = max(before), max(after)
    jump = b > 100 if a == 0 else b / a > 100
    return "high" if jump else None
