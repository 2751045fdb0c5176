"""Comparing tensor files: pairs of one kind in a dump of task `tensor`, against the same dump without the files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches import places, reference
from benches.measure import cost
from benches.result import Result, Table, seconds, size

REPEAT = int(os.environ.get("MSPROBE_BENCH_REPEAT", "5"))
ROWS_OF_A_NODE = 10
SPARSE_PAIRS, SPARSE_BYTES = 10, 1_000_000_000
LEAF = {
    "type": "torch.Tensor",
    "dtype": "torch.float32",
    "shape": [1],
    "Max": 1.0,
    "Min": 0.0,
    "Mean": 0.5,
    "Norm": 1.0,
    "requires_grad": False,
}


@dataclass(frozen=True)
class Kind:
    """One row of the table."""

    name: str
    dtype: str
    elements: int
    pairs: int
    goal: str
    strided: bool = False
    reference_runs: int = 2

    @property
    def bytes(self) -> int:
        """Of the elements of both sides, all pairs."""
        return 2 * self.pairs * self.elements * (4 if self.dtype == "float32" else 2)


KINDS = (
    Kind("fp32, 1e6 elements", "float32", 1_000_000, 20, ""),
    Kind("fp32, 1e7 elements", "float32", 10_000_000, 4, "15 x"),
    Kind("fp32, 1e8 elements", "float32", 100_000_000, 1, "40 x", reference_runs=1),
    Kind("bf16, 1e7 elements", "bfloat16", 10_000_000, 4, "15 x"),
    Kind("bf16, 1e8 elements", "bfloat16", 100_000_000, 1, "40 x", reference_runs=1),
    Kind("fp32, every second of 2e7, 1e7 elements", "float32", 10_000_000, 1, "", strided=True),
    Kind("fp32, 64 elements", "float32", 64, 20_000, "20 x"),
)


def run() -> Result:
    """Measures every kind with both tools, and the memory on large sparse files."""
    theirs = reference.with_torch()
    places.need_disk(4_000_000_000)
    rows, raw = [], {}
    for kind in KINDS:
        target, golden = _sides(kind)
        bare = [_bare(folder) for folder in (target, golden)]
        found = {}
        for tool, command, repeat in (("ours", [places.OURS], REPEAT), ("reference", [theirs], kind.reference_runs)):
            print(f"{kind.name}: {tool}", flush=True)
            for part, (t, g) in (("", (target, golden)), (" without files", (bare[0], bare[1]))):
                jobs = ["--jobs", "1"] if tool == "ours" else []
                words = [*command, "graph_visualize", "-tp", t, "-gp", g, "-o", places.output(), *jobs]
                found[tool + part] = cost(words, repeat, places.clear)
        everyone = cost([places.OURS, "graph_visualize", "-tp", target, "-gp", golden, "-o", places.output()], REPEAT, places.clear)
        raw[kind.name] = {name: used.raw() for name, used in found.items()} | {"ours, all cores": everyone.raw()}
        ours, other = (max(found[tool].cpu - found[f"{tool} without files"].cpu, 1e-6) for tool in ("ours", "reference"))
        wall = max(everyone.wall - found["ours without files"].wall, 1e-6)
        speed = [f"{kind.bytes / time / 1e9:.2f} GB/s" for time in (ours, wall)] if kind.elements > 64 else ["", ""]
        memory = [size(found["reference"].anonymous), size(found["ours"].anonymous)]
        cells = [kind.name, str(kind.pairs), _each(other, kind), _each(ours, kind), f"{other / ours:.0f} x", kind.goal, *speed, *memory]
        rows.append(cells)
        for folder in (target, golden, *bare):
            shutil.rmtree(folder)
    places.clear()
    sparse = _sparse()
    raw["sparse"] = sparse.raw()
    columns = ["pair", "pairs", "reference CPU a pair", "ours CPU a pair", "less by", "to be"]
    columns += ["ours, one core", "ours, all cores", "reference anonymous", "ours anonymous"]
    return Result(
        name="tensor_pairs",
        order=40,
        title="Comparing tensor files",
        command="python -m benches tensor_pairs",
        text=[
            "Dumps of task `tensor` with one kind of pair each, files in the page cache. CPU of `graph_visualize` less that of the same "
            "command on the same dump without its tensor files, so that start-up, graph and result file are left out of both tools; "
            "ours with `--jobs 1`. The speed counts the bytes of both files (of the view, where it is one); that of all cores is by "
            "wall time. To be above 2 GB/s on one core for large fp32 pairs.",
        ],
        tables=[Table(columns, rows)],
        notes=[
            f"Memory: {SPARSE_PAIRS} pairs of {size(SPARSE_BYTES)} a side ({size(2 * SPARSE_PAIRS * SPARSE_BYTES)} of sparse files) take "
            f"{size(sparse.anonymous)} of anonymous memory and {seconds(sparse.cpu)} of CPU with all cores; to stay under 300 MB."
        ],
        raw=raw,
    )


def _each(total: float, kind: Kind) -> str:
    each = total / kind.pairs
    return seconds(each) if each >= 0.1 else f"{each * 1e3:.1f} ms" if each >= 1e-3 else f"{each * 1e6:.0f} us"


def _write(folder: Path, pairs: int, files: bool, suffix: str = "pt") -> None:
    """The three JSON files of a rank with so many inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {}
    for number in range(pairs):
        node = f"Torch.add.{number // ROWS_OF_A_NODE}.forward"
        leaf = LEAF | ({"data_name": f"{node}.input.{number % ROWS_OF_A_NODE}.{suffix}"} if files else {})
        data.setdefault(node, {"input_args": [], "input_kwargs": {}, "output": []})["input_args"].append(leaf)
    head = {"task": "tensor", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    (folder / "dump.json").write_text(json.dumps(head | {"data": data}))
    (folder / "construct.json").write_text(json.dumps(dict.fromkeys(data)))
    (folder / "stack.json").write_text("{}")


def _names(pairs: int, suffix: str) -> Iterator[str]:
    for number in range(pairs):
        yield f"Torch.add.{number // ROWS_OF_A_NODE}.forward.input.{number % ROWS_OF_A_NODE}.{suffix}"


def _bare(folder: Path) -> Path:
    """The same dump without its tensor files."""
    dump = json.loads((folder / "dump.json").read_text())
    pairs = sum(len(entry["input_args"]) for entry in dump["data"].values())
    _write(folder.with_name(f"{folder.name}_bare"), pairs, files=False)
    return folder.with_name(f"{folder.name}_bare")


def _sides(kind: Kind) -> tuple[Path, Path]:
    """Dumps with random numbers, the target's a thousandth off."""
    import torch

    folders = places.WORK / "tensors_target", places.WORK / "tensors_golden"
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        _write(folder, kind.pairs, files=True)
        (folder / "dump_tensor_data").mkdir()
    dtype = getattr(torch, kind.dtype)
    shape = (kind.elements // 1000, 2000) if kind.strided else (kind.elements,)
    generator = torch.Generator().manual_seed(0)
    golden = torch.randn(shape, generator=generator)
    target = (golden * 1.001).to(dtype)
    golden = golden.to(dtype)
    for name in _names(kind.pairs, "pt"):
        for folder, tensor in zip(folders, (target, golden), strict=True):
            torch.save(tensor[:, ::2] if kind.strided else tensor, folder / "dump_tensor_data" / name)
    return folders


def _sparse() -> Any:
    """What large files cost; they are holes, read as zeros."""
    folders = [places.WORK / f"sparse_{side}" for side in ("target", "golden")]
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({SPARSE_BYTES // 4},), }}"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    for folder in folders:
        _write(folder, SPARSE_PAIRS, files=True, suffix="npy")
        (folder / "dump_tensor_data").mkdir(exist_ok=True)
        for name in _names(SPARSE_PAIRS, "npy"):
            with (folder / "dump_tensor_data" / name).open("wb") as file:
                file.write(start)
                file.truncate(len(start) + SPARSE_BYTES)
    found = cost([places.OURS, "graph_visualize", "-tp", folders[0], "-gp", folders[1], "-o", places.output()], 1, places.clear)
    for folder in folders:
        shutil.rmtree(folder)
    return found
