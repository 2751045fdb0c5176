"""The row that shows a difference, in words and numbers that a person compares at a glance.

The browser says the same (tb_plugin/src/core/evidence.ts); tests/data/words.json holds both to the words.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

SCALES = {
    "Norm": "",
    "Max": " of the largest element",
    "Min": " of the largest element",
    "Mean": " of the typical element",
    "EucDist": " of the norm",
    "MaxAbsErr": " of the largest element",
}
"""What the relative error of a statistic is relative to; of a norm it is the norm itself (docs/noise.md)."""

DISTANCES = {"EucDist": ("all elements together ", "Norm"), "MaxAbsErr": ("one element ", "Max"), "md5": ("", "Norm")}
"""What is not one value on each side: what is apart, and the statistic whose values stand beside it."""

FACTOR = 10.0
"""From here on a change is told as a factor."""


def change(row: dict[str, Any]) -> str:
    """What differs, from golden to the target, and by how much."""
    target, golden = number(row["target"]), number(row["golden"])
    values = f"{golden} -> {target}"
    if row["statistic"] in DISTANCES:
        name, beside = DISTANCES[row["statistic"]]
        seen = f"; {beside} {values}" if row["golden"] and golden != target else ""
        return f"{row['row']}: {name}{_by(row)}{seen}"
    return f"{row['row']} {row['statistic']} {values} ({_by(row)})"


def _by(row: dict[str, Any]) -> str:
    """How far golden and target are apart."""
    if row["broken"]:
        return {"non_finite": "NaN or infinity on one side"}.get(row["broken"], f"another {row['broken']}")
    noise = f"noise {share(row['noise'], 1)}"
    if row["statistic"] not in DISTANCES and (factor := _factor(row)):
        return f"x {factor}, {noise}"
    if row["error"] is None:
        return f"off by more than any number says, {noise}"
    return f"off by {share(row['error'])}{SCALES.get(row['statistic'], '')}, {noise}"


def _factor(row: dict[str, Any]) -> str:
    """By what golden is multiplied, where a share would say no more than that they have nothing in common."""
    try:
        factor = float(row["target"]) / float(row["golden"])
    except (TypeError, ValueError, ZeroDivisionError):
        return ""
    return number(str(float(f"{factor:.3g}"))) if math.isfinite(factor) and (factor >= FACTOR or 0 < factor <= 1 / FACTOR) else ""


def share(value: float | None, digits: int = 2) -> str:
    """A relative error as so many hundredths, without an exponent unless that would be a row of zeros."""
    if value is None:
        return "beyond any number"
    rounded = Decimal(f"{value * 100:.{digits}g}")
    return f"{rounded:,f} %" if rounded == 0 or Decimal("1e-9") <= abs(rounded) < Decimal("1e9") else f"{rounded:e} %"


def number(text: str | None) -> str:
    """A statistic, to the digits that a person reads."""
    try:
        return f"{float(text or ''):.6g}"
    except ValueError:
        return text or "?"


def elements(tensor: dict[str, Any]) -> str:
    """What the elements of a pair of tensors show."""
    words = [f"{_equal(tensor['equal'])} the same to the bit"]
    if tensor["largest_at"]:
        words.append(f"largest distance at {tensor['largest_at']}")
        # Often of another element, a smaller one.
        if tensor["ulp"] is not None:
            words.append(f"at most {tensor['ulp']:.3g} units in the last place apart")
    for name, (target, golden) in (("NaN", tensor["nan"]), ("infinite", tensor["infinite"])):
        if target or golden:
            words.append(f"{name} in target {target:,}, in golden {golden:,}")
    return "; ".join(words)


def _equal(equal: float) -> str:
    if equal == 0:
        return "no element is"
    return f"{'fewer than 0.1' if equal < 0.001 else f'{math.floor(equal * 1000) / 10:.1f}'} % of the elements are"
