"""Partners of communication calls, found by trying every call of every other rank."""

from __future__ import annotations

import collections
from typing import Any
from zlib import crc32

ROOTS = {"broadcast": ("src", 1), "reduce": ("dst", 1), "scatter": ("src", 2), "gather": ("dst", 2)}
PEERS = {"send": ("dst", 1), "isend": ("dst", 1), "recv": ("src", 1), "irecv": ("src", 1)}

Found = dict[tuple[int, str], dict[int, str]]
"""Partners by rank and call: name by rank."""


def argument(entry: dict[str, Any], keyword: str, position: int) -> Any:
    given = entry.get("input_args") or []
    value = (entry.get("input_kwargs") or {}).get(keyword) or (given[position] if position < len(given) else None)
    return value["value"] if isinstance(value, dict) else None


def group(entry: dict[str, Any], everybody: list[int]) -> list[int]:
    values = [*(entry.get("input_args") or []), *(entry.get("input_kwargs") or {}).values()]
    for value in values:
        if isinstance(value, dict) and "group_ranks" in value:
            ranks: list[int] = value["group_ranks"]
            return ranks
    return everybody


def links(dumps: dict[tuple[str, int, int], dict[str, Any]]) -> dict[tuple[str, int], Found]:
    """By side and step."""
    steps: dict[tuple[str, int], dict[int, dict[str, Any]]] = collections.defaultdict(dict)
    for (side, step, rank), dump in dumps.items():
        steps[side, step][rank] = dump["data"]
    return {place: linked(ranks) for place, ranks in steps.items() if len(ranks) > 1}


def linked(ranks: dict[int, dict[str, Any]]) -> Found:
    everybody = sorted(ranks)
    marks: list[tuple[int, str, tuple[Any, ...], bool]] = []
    """Rank, call, what makes it the same call elsewhere, whether it is the side that all others belong to."""
    counters: collections.Counter[Any] = collections.Counter()
    for rank, data in ranks.items():
        for name, entry in data.items():
            if not name.startswith("Distributed."):
                continue
            api = name.split(".")[1]
            whole = str(group(entry, everybody)).encode()
            if api == "batch_isend_irecv":
                ways = [(op["op"] == "isend", op["peer"], op["group_id"]) for op in entry["output"][0]]
            elif api in PEERS:
                ways = [(api.endswith("send"), argument(entry, *PEERS[api]), f"{crc32(whole):08x}")]
            else:
                key = (api, whole)
                counters[rank, key] += 1
                root = argument(entry, *ROOTS[api]) if api in ROOTS else None
                marks.append((rank, name, (*key, counters[rank, key]), root in (None, rank)))
                continue
            for sends, peer, identity in ways:
                way = (rank, peer, identity) if sends else (peer, rank, identity)
                counters[sends, way] += 1
                marks.append((rank, name, (*way, counters[sends, way]), True))
    found: Found = {}
    for rank, name, mark, central in marks:
        partners = {r: n for r, n, m, c in marks if m == mark and r != rank and (central or c)}
        if partners:
            found.setdefault((rank, name), {}).update(partners)
    return found
