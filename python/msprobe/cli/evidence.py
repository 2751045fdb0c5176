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


DIGITS = 6
"""What a person reads of a value."""

MOST_DIGITS = 18
"""So many tell any two numbers apart, and one more."""


def change(row: dict[str, Any]) -> str:
    """What differs, from golden to the target, and by how much."""
    golden, target = _told_apart(row["golden"], row["target"])
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
    if row["statistic"] not in DISTANCES and (factor := _factor(row)):
        return f"x {factor}, noise {share(row['noise'], 1)}"
    if row["error"] is None:
        return f"off by more than any number says, noise {share(row['noise'], 1)}"
    error, noise = shares(row["error"], row["noise"])
    return f"off by {error}{SCALES.get(row['statistic'], '')}, noise {noise}"


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


def shares(error: float | None, noise: float) -> tuple[str, str]:
    """A relative error and the noise beside it, to so many digits that it shows which of them is larger."""
    told = share(error), share(noise, 1)
    if error is None:
        return told
    for digits in range(2, MOST_DIGITS):
        if (_percent(told[0]) > _percent(told[1])) == (error > noise):
            break
        told = share(error, digits), share(noise, digits)
    return told


def _percent(told: str) -> Decimal:
    return Decimal(told.removesuffix(" %").replace(",", ""))


def _told_apart(golden: str | None, target: str | None) -> tuple[str, str]:
    """Two values, to so many digits that it shows that they differ."""
    told = number(golden), number(target)
    for digits in range(DIGITS + 1, MOST_DIGITS):
        if told[0] != told[1] or golden == target:
            break
        told = number(golden, digits), number(target, digits)
    return told


def number(text: str | None, digits: int = DIGITS) -> str:
    """A statistic, to the digits that a person reads."""
    try:
        return f"{float(text or ''):.{digits}g}"
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
