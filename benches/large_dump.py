"""Grows the dump of one rank by repeating it as further forward and backward passes.

    python -m benches.large_dump OUT_DIR COPIES [--noise 1e-3] [--seed 0]

Copy k shifts the call numbers (`Module.*.forward.N`, `*.N.forward`), so names stay unique and regular, as more micro steps of one
training step would give. With noise every statistic is scaled by 1 + noise * N(0, 1), so that two such dumps can be compared. The
rank is one of a Megatron GPT model (`data/megatron_rank.json.xz`): about 1,100 nodes and 0.7 MB a copy. Nothing but one copy is
held in memory.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, TextIO

SOURCE = Path(__file__).parent / "data" / "megatron_rank.json.xz"
MICRO_STEPS = "megatron_micro_step_number"
STATISTICS = ("Max", "Min", "Mean", "Norm")

MODULE = re.compile(r"^(.*\.(?:forward|backward|parameters_grad))\.(\d+)$")
API = re.compile(r"^(.*)\.(\d+)\.(forward|backward)$")


class Names:
    """Names of all copies: how often each is called within one."""

    def __init__(self, names: Iterator[str]) -> None:
        self.calls: dict[str, int] = defaultdict(int)
        for name in names:
            if parts := self._parts(name):
                _, number, _, call = parts
                self.calls[call] = max(self.calls[call], number + 1)

    @staticmethod
    def _parts(name: str) -> tuple[str, int, str, str] | None:
        """What stands before the call number, the number, what stands behind, and the name without its number."""
        if found := MODULE.match(name):
            return found[1] + ".", int(found[2]), "", found[1]
        if found := API.match(name):
            return found[1] + ".", int(found[2]), "." + found[3], f"{found[1]}|{found[3]}"
        return None

    def shifted(self, name: str | None, copy: int) -> str | None:
        """The name of the same call in another copy; names without a call number stay."""
        if name is None or copy == 0 or not (parts := self._parts(name)):
            return name
        before, number, behind, call = parts
        return f"{before}{number + copy * self.calls[call]}{behind}"


class Noisy:
    """A value of `data` as text whose statistics get noise."""

    def __init__(self, value: Any) -> None:
        self.texts: list[str] = []
        self.numbers: list[float] = []
        slots: list[float] = []
        marked = json.dumps(self._mark(value, slots))
        pieces = re.split(r'"\\u0000(\d+)"', marked)
        self.texts = pieces[::2]
        self.numbers = [slots[int(slot)] for slot in pieces[1::2]]

    def _mark(self, value: Any, slots: list[float]) -> Any:
        if isinstance(value, dict):
            marked = {}
            for key, member in value.items():
                if key in STATISTICS and isinstance(member, float) and isfinite(member):
                    slots.append(member)
                    marked[key] = f"\0{len(slots) - 1}"
                else:
                    marked[key] = self._mark(member, slots)
            return marked
        return [self._mark(item, slots) for item in value] if isinstance(value, list) else value

    def text(self, noise: float, chance: random.Random) -> str:
        gauss = chance.gauss
        parts = [self.texts[0]]
        for number, text in zip(self.numbers, self.texts[1:], strict=True):
            parts.append(repr(number * (1 + noise * gauss(0, 1)) if noise else number))
            parts.append(text)
        return "".join(parts)


def source() -> dict[str, Any]:
    """The bundled rank: `dump`, `construct` and `stack` as they stood in its three files."""
    files: dict[str, Any] = json.loads(lzma.decompress(SOURCE.read_bytes()))
    return files


def grow(out: Path, copies: int, noise: float = 0.0, seed: int = 0) -> None:
    """Writes `dump.json`, `construct.json` and `stack.json` of `copies` passes into the folder `out`."""
    files = source()
    dump, construct, stack = files["dump"], files["construct"], files["stack"]
    names = Names(name for part in (dump["data"], construct) for name in part)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "dump.json").open("w") as file:
        head = {key: value for key, value in dump.items() if key != "data"}
        file.write(json.dumps(head)[:-1] + ', "data": {')
        _members(file, _entries(dump["data"], names, copies, noise, random.Random(seed)))
        file.write("}}")
    with (out / "construct.json").open("w") as file:
        file.write("{")
        _members(file, _links(construct, names, copies))
        file.write("}")
    with (out / "stack.json").open("w") as file:
        file.write("{")
        for number, (key, (calls, frames)) in enumerate(stack.items()):
            file.write(f"{', ' if number else ''}{json.dumps(key)}: [[")
            every = (names.shifted(name, copy) for copy in range(copies) for name in calls)
            file.writelines(f"{', ' if number else ''}{json.dumps(name)}" for number, name in enumerate(every))
            file.write(f"], {json.dumps(frames)}]")
        file.write("}")


def _members(file: TextIO, members: Iterator[tuple[str, str]]) -> None:
    file.writelines(f"{', ' if number else ''}{json.dumps(name)}: {text}" for number, (name, text) in enumerate(members))


def _entries(data: dict[str, Any], names: Names, copies: int, noise: float, chance: random.Random) -> Iterator[tuple[str, str]]:
    values = {name: Noisy(value) for name, value in data.items()}
    for copy in range(copies):
        for name, value in values.items():
            shifted = names.shifted(name, copy)
            if shifted is not None and (copy == 0 or shifted != name):
                yield shifted, value.text(noise, chance)


def _links(construct: dict[str, Any], names: Names, copies: int) -> Iterator[tuple[str, str]]:
    micro = MICRO_STEPS in construct
    for copy in range(copies):
        for name, parent in construct.items():
            if name == MICRO_STEPS:
                if copy == 0:
                    yield name, json.dumps(copies - 1)
                continue
            shifted = names.shifted(name, copy)
            if shifted is None or (copy and shifted == name):
                continue
            up = names.shifted(parent[0] if isinstance(parent, list) else parent, copy)
            yield shifted, json.dumps([up, copy] if micro and isinstance(parent, list) else up)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("copies", type=int)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    grow(given.out, given.copies, given.noise, given.seed)


if __name__ == "__main__":
    main()
