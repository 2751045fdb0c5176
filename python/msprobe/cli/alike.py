"""Lines that say the same of several places or calls: said once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

PLACE = re.compile(r"(step \d+ rank \d+)(: )((?:target|golden)?)(?:: )?(.*)", re.DOTALL)
GRADIENT = re.compile(r"(.+\.parameters_grad)(?:\.\d+)?")
NAMED = 2
"""Places that are named at most."""


def warnings(texts: Iterable[str]) -> Iterator[str]:
    """What was said of several ranks or sides in the same words comes once, where it first came."""
    places: dict[str, list[tuple[str, str]]] = {}
    for text in texts:
        found = PLACE.fullmatch(text)
        place, said = (f"{found[1]} {found[3]}".rstrip(), found[4]) if found else ("", text)
        places.setdefault(said, []).append((place, text))
    for (_, first), *others in places.values():
        named = ", ".join(place for place, _ in others[:NAMED] if place)
        more = ", ..." if len(others) > NAMED else ""
        yield f"{first} (the same of {named}{more})" if named else first


def gradients(nodes: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], int]]:
    """Nodes, with the number of those behind them that are further gradients of the same module and are judged alike."""
    last: dict[str, Any] | None = None
    count = 0
    for node in nodes:
        if last and _kind(last) == _kind(node):
            count += 1
            continue
        if last:
            yield last, count
        last, count = node, 0
    if last:
        yield last, count


def _kind(node: dict[str, Any]) -> tuple[object, ...]:
    """Equal for gradients that need not be told apart."""
    found = GRADIENT.fullmatch(node["node"])
    return (found[1] if found else node["order"], node["verdict"], node.get("overflow"), node.get("matched"))


def further(count: int) -> str:
    """Behind the name of a gradient: how many of its module were not named."""
    return f" and {count:,} more gradient{'s' if count > 1 else ''}" if count else ""


def is_gradient(node: dict[str, Any]) -> bool:
    """Whether the node is the gradient of a parameter of the module that its name begins with."""
    return GRADIENT.fullmatch(node["node"]) is not None
