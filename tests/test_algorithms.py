"""Columns of the user's own: `--algorithms`."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import Run
from tests.dumps import API, TENSOR, nodes, write

PROBE = """
def column_name():
    return "Probe"
def compare(n, b):
    return f"{type(n).__name__} {n.dtype} {list(n.shape)} {n.tolist()} {b.tolist()}"
"""
SUM = """
import torch
def column_name():
    return "Sum"
def compare(n, b, *more, scale=1):
    assert not torch.is_grad_enabled()
    return float((n - b).sum()) if n.dtype.is_floating_point else int((n.real - b.real).sum())
"""
BAD = """
def column_name():
    return "Bad"
def compare(n, b):
    return [True, (1, 2), None, 1 / 0][n.numel() % 4]
"""
TEXT = """
def column_name():
    return "Text \\"quoted\\""
def compare(n, b):
    return "it's None 0.123456789"
"""

TARGET = [
    torch.tensor([[0.5, 2], [3, 4]]),
    torch.tensor(2.0),
    torch.tensor([float("nan"), 1]),
    torch.tensor([1.0, 2]),
    torch.ones(2, 2),
    torch.tensor([1.5, 2], dtype=torch.bfloat16),
    torch.tensor([[1], [2]]),
    torch.tensor([1 + 2j, 3]),
]
GOLDEN = [
    torch.tensor([[0.25, 2], [3, 4]]),
    torch.tensor(1.0),
    torch.tensor([float("nan"), 3]),
    torch.tensor([1.0, float("inf")]),
    torch.ones(3),
    torch.tensor([1.5, 2.5]),
    torch.tensor([[1], [4]]),
    torch.tensor([1 + 3j, 3]),
]


def side(folder: Path, tensors: list[torch.Tensor]) -> Path:
    leaves = [{**TENSOR, "requires_grad": False, "data_name": f"{API}.input.{k}.pt"} for k in range(len(tensors))]
    leaves.append({**TENSOR, "requires_grad": False})
    write(folder, {API: None}, {API: {"input_args": leaves, "output": []}}, task="tensor")
    (folder / "dump_tensor_data").mkdir()
    for k, tensor in enumerate(tensors):
        torch.save(tensor, folder / "dump_tensor_data" / f"{API}.input.{k}.pt")
    return folder


def sides(tmp_path: Path) -> tuple[Path, Path]:
    return side(tmp_path / "t", TARGET), side(tmp_path / "g", GOLDEN)


def folder(tmp_path: Path, **files: str) -> str:
    """A folder of algorithms."""
    place = tmp_path / "algorithms"
    place.mkdir(exist_ok=True)
    for name, text in files.items():
        (place / f"alg_{name}.py").write_text(text)
    return str(place)


def rows(file: Path) -> list[dict[str, str]]:
    return list(json.loads(nodes(file)["NPU", API]["input_data"]).values())


def test_columns_of_torch_tensors(tmp_path: Path, run: Run) -> None:
    place = folder(tmp_path, sum=SUM, probe=PROBE, text=TEXT)
    (tmp_path / "algorithms" / "notes.txt").write_text("no algorithm")
    file = run.result(*sides(tmp_path), "--algorithms", place)
    found = rows(file)
    # Behind the built-in columns, in the order of the files' names.
    keys = list(found[0])
    assert keys[keys.index("Five Thousandths Err Ratio") + 1 :][:4] == ["Probe", "Sum", 'Text "quoted"', "Requires_grad Consistent"]
    # As msProbe 26.2 hands them over: squeezed, NaN zeroed where the places agree, one element untouched, narrow types widened.
    assert [row["Probe"] for row in found] == [
        "Tensor torch.float32 [2, 2] [[0.5, 2.0], [3.0, 4.0]] [[0.25, 2.0], [3.0, 4.0]]",
        "Tensor torch.float32 [] 2.0 1.0",
        "Tensor torch.float32 [2] [0.0, 1.0] [0.0, 3.0]",
        "N/A",
        "shape unmatched",
        "Tensor torch.float32 [2] [1.5, 2.0] [1.5, 2.5]",
        "Tensor torch.int64 [2] [1, 2] [1, 4]",
        "Tensor torch.complex64 [2] [(1+2j), (3+0j)] [(1+3j), (3+0j)]",
        "unsupported",
    ]
    assert [row["Sum"] for row in found[:3]] == ["0.25", "1.0", "-2.0"]
    assert (found[6]["Sum"], found[7]["Sum"]) == ("-2", "0")
    # Texts are cleaned as all texts of a row are.
    assert found[0]['Text "quoted"'] == "its null 0.123456789"


def test_names_of_the_columns_in_the_file(tmp_path: Path, run: Run) -> None:
    file = run.result(*sides(tmp_path), "--algorithms", folder(tmp_path, probe=PROBE))
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        ((tips,),) = connection.execute("select tool_tip from tb_config")
    assert list(json.loads(tips))[-2:] == ["Five Thousandths Err Ratio", "Probe"]


def test_what_fails_is_unsupported_and_said(tmp_path: Path, run: Run) -> None:
    done = run(*sides(tmp_path), "--algorithms", folder(tmp_path, bad=BAD, probe=PROBE))
    assert done.status == 0
    (warning,) = done.err.splitlines()
    assert re.fullmatch(r"warning: algorithm bad failed for 6 of 6 pairs: (ZeroDivision|Type)Error: .*", warning)
    (file,) = run.left()
    assert [row["Bad"] for row in rows(file)] == [
        "unsupported", "unsupported", "unsupported", "N/A", "shape unmatched", "unsupported", "unsupported", "unsupported", "unsupported"
    ]  # fmt: skip
    assert rows(file)[0]["Probe"].startswith("Tensor")


def test_the_log_has_the_columns(tmp_path: Path, run: Run) -> None:
    done = run(
        *sides(tmp_path), "--algorithms", folder(tmp_path, length="def column_name(): return 'L'\ndef compare(n, b): return len(n.shape)")
    )
    assert done.status == 0
    assert "compare" not in done.err
    done = run(tmp_path / "t", tmp_path / "g", "--algorithms", str(tmp_path / "algorithms"), "-tensor_log")
    assert "Five Thousandths Err Ratio 0.75, L 2, \n" in done.err
    assert "Five Thousandths Err Ratio N/A, L N/A, The position of inf or nan" in done.err


def test_many_pairs_large_and_small(tmp_path: Path, run: Run) -> None:
    tensors = [torch.full((size,), float(size)) for size in (1 << 21, 3, 1 << 21, 5, 1 << 21, 7)]
    target, golden = side(tmp_path / "t", tensors), side(tmp_path / "g", [2 * tensor for tensor in tensors])
    total = "def column_name(): return 'Total'\ndef compare(n, b): return float(n.double().sum() + b.double().sum())"
    found = rows(run.result(target, golden, "--algorithms", folder(tmp_path, total=total)))
    assert [float(row["Total"]) for row in found[:-1]] == [3.0 * len(tensor) ** 2 for tensor in tensors]


REFUSED = {
    "nothing": ({}, "holds no file alg_<name>.py"),
    "no column": ({"a": "def compare(n, b): return 1"}, "alg_a.py: defines no function column_name"),
    "no compare": ({"a": "def column_name(): return 'A'"}, "alg_a.py: defines no function compare"),
    "blank": ({"a": "def column_name(): return ' '\ndef compare(n, b): return 1"}, "must give a text that is not blank"),
    "number": ({"a": "def column_name(): return 5\ndef compare(n, b): return 1"}, "must give a text that is not blank"),
    "one argument": ({"a": "def column_name(): return 'A'\ndef compare(n): return 1"}, "compare must take two arguments"),
    "three arguments": ({"a": "def column_name(): return 'A'\ndef compare(n, b, c): return 1"}, "compare must take two arguments"),
    "keyword": ({"a": "def column_name(): return 'A'\ndef compare(n, b, *, c): return 1"}, "compare must take two arguments"),
    "taken": ({"a": PROBE.replace("Probe", "Cosine")}, "a row has a column 'Cosine' already"),
    "twice": ({"a": PROBE, "b": PROBE}, "another algorithm has the column 'Probe' too"),
    "syntax": ({"a": "def"}, "alg_a.py: cannot be loaded: SyntaxError"),
    "import": ({"a": "import no_such_module_here"}, "alg_a.py: cannot be loaded: ModuleNotFoundError"),
    "name": ({"A-b": PROBE}, "the name must be alg_<name>.py"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_folder_that_cannot_be_used(name: str, tmp_path: Path, run: Run) -> None:
    files, reason = REFUSED[name]
    assert reason in run.refused(*sides(tmp_path), "--algorithms", folder(tmp_path, **files))


def test_nothing_is_imported_from_a_dump(tmp_path: Path, run: Run) -> None:
    target, golden = sides(tmp_path)
    (golden / "alg_evil.py").write_text(PROBE)
    assert "nothing is imported from a dump" in run.refused(target, golden, "--algorithms", str(golden))
    (tmp_path / "link").symlink_to(golden)
    assert "nothing is imported from a dump" in run.refused(target, golden, "--algorithms", str(tmp_path / "link"))
    assert "no such folder" in run.refused(target, golden, "--algorithms", str(tmp_path / "nowhere"))


def test_without_an_effect(tmp_path: Path, run: Run) -> None:
    place = folder(tmp_path, probe=PROBE)
    target, golden = (write(tmp_path / name) for name in ("s", "r"))
    assert "--algorithms has no effect" in run(target, golden, "--algorithms", place).err
    assert "--algorithms without -gp has no effect" in run(target, None, "--algorithms", place).err


def test_arrays_of_numpy_where_torch_is_missing(tmp_path: Path) -> None:
    """In an interpreter that cannot import torch."""
    place = folder(tmp_path, probe=PROBE, shape="def column_name(): return 'S'\ndef compare(n, b): return int(n.shape[0])")
    code = f"""
import sys
sys.modules["torch"] = None
from msprobe.cli.algorithms import Algorithms
found = Algorithms({place!r}, [])
side = ("float32", [2], 8, 2)
print(found.measure(bytearray(bytes(8) + bytes.fromhex({np.float32([1, 2]).tobytes().hex()!r})), [(side, side)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.stdout.strip() == "[[(True, 'ndarray float32 [2] [1.0, 2.0] [1.0, 2.0]'), (False, '2')]]", done.stderr
