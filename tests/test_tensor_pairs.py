"""Dumps of task `tensor`: the numbers of each pair of files, why a pair could not be compared, our own table."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msprobe._native import Viewer
from tests.conftest import Run
from tests.dumps import API, MODULE, TENSOR, TREE, nodes, write
from tests.recorded import unpacked

FILE = "Torch.add.0.forward.input.0.npy"
METRICS = ["Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"]
NAN, INF = math.nan, math.inf


def side(folder: Path, array: Any, name: str | None = FILE, **leaf: Any) -> Path:
    """A rank whose API has two inputs: the one under test, and one that is always the same; its module has no file."""
    tensor = {**TENSOR, "requires_grad": False}
    named = tensor if name is None else {**tensor, "data_name": name, **leaf}
    sound = {**tensor, "data_name": "Torch.add.0.forward.input.1.npy"}
    data = {MODULE: {"input_args": [], "output": [tensor]}, API: {"input_args": [named, sound], "output": []}}
    write(folder, TREE, data, task="tensor", dump_data_dir="/somewhere/else/dump_tensor_data")
    tensors = folder / "dump_tensor_data"
    tensors.mkdir()
    np.save(tensors / "Torch.add.0.forward.input.1.npy", np.float32([1, 2, 3]))
    if array is not None:
        np.save(tensors / FILE, array)
    return folder


def row(file: Path, number: int = 0) -> dict[str, str]:
    """The row of one input of the API."""
    rows: list[dict[str, str]] = list(json.loads(nodes(file)["NPU", API]["input_data"]).values())
    return rows[number]


def cells(row: dict[str, str]) -> list[str]:
    return [row[name] for name in METRICS]


def table(file: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("select * from msprobe_tensor order by row_name")]


def remove(folder: Path) -> None:
    (folder / "dump_tensor_data" / FILE).unlink()


def cut(folder: Path) -> None:
    file = folder / "dump_tensor_data" / FILE
    file.write_bytes(file.read_bytes()[:-1])


def link_out(folder: Path) -> None:
    remove(folder)
    np.save(folder.parent / "secret.npy", np.float32([1, 2]))
    (folder / "dump_tensor_data" / FILE).symlink_to(folder.parent / "secret.npy")


def make_folder(folder: Path) -> None:
    remove(folder)
    (folder / "dump_tensor_data" / FILE).mkdir()


GOOD = np.float32([1, 2])
SPOILT: dict[str, tuple[Any, Callable[[Path], None] | None, str, list[str]]] = {
    "missing": (GOOD, remove, "target file Torch.add.0.forward.input.0.npy: the file does not exist", ["unsupported"] * 6),
    "truncated": (GOOD, cut, "truncated", ["unsupported"] * 6),
    "link out of the folder": (GOOD, link_out, "the name leads outside the tensor folder", ["unsupported"] * 6),
    "folder": (GOOD, make_folder, "not a regular file", ["unsupported"] * 6),
    "texts": (np.array(["a", "b"]), None, "unsupported dtype", ["unsupported"] * 6),
    "objects": (np.array([{}, []], dtype=object), None, "Python objects are never unpickled", ["unsupported"] * 6),
    "shape": (np.float32([[1, 2, 3]]), None, "shape [1, 3] vs [2]", ["shape unmatched"] * 6),
    "empty": (np.float32([]), None, "the target has no elements", ["unsupported"] * 6),
    "nan": (np.float32([1, NAN]), None, "NaN or infinity is not at the same places", ["N/A"] * 6),
}


@pytest.mark.parametrize("name", SPOILT)
def test_why_a_pair_could_not_be_compared(name: str, tmp_path: Path, run: Run) -> None:
    array, spoil, reason, words = SPOILT[name]
    target, golden = side(tmp_path / "t", array), side(tmp_path / "g", GOOD)
    if spoil:
        spoil(target)
    file = run.result(target, golden)
    found = row(file)
    assert cells(found) == words
    (message,) = json.loads(found["Err_message"])
    assert message.startswith("info: ")
    assert reason in message
    # The reference does not judge such a row either.
    assert found["Result"] == "pass"
    assert cells(row(file, 1)) == ["1.0", "0.0", "0.0", "0.0", "1.0", "1.0"]


@pytest.mark.parametrize("name", ["../outside.npy", "deep/../../outside.npy", "{}/outside.npy", "./" + FILE, "a\0b.npy"])
def test_names_stay_in_the_folder(name: str, tmp_path: Path, run: Run) -> None:
    name = name.format(tmp_path / "t")
    target = side(tmp_path / "t", GOOD, name)
    np.save(target / "outside.npy", GOOD)
    found = row(run.result(target, side(tmp_path / "g", GOOD)))
    assert cells(found) == ["unsupported"] * 6
    assert "leads outside the tensor folder" in found["Err_message"]


@pytest.mark.parametrize("without", ["target", "golden"])
def test_a_side_without_a_file(without: str, tmp_path: Path, run: Run) -> None:
    target = side(tmp_path / "t", GOOD, None if without == "target" else FILE)
    golden = side(tmp_path / "g", GOOD, None if without == "golden" else FILE)
    found = row(run.result(target, golden))
    assert cells(found) == ["unsupported"] * 6
    assert json.loads(found["Err_message"]) == [f"info: {'the target' if without == 'target' else 'golden'} has no tensor file"]


def test_values_without_files_need_no_reason(tmp_path: Path, run: Run) -> None:
    file = run.result(side(tmp_path / "t", GOOD), side(tmp_path / "g", GOOD))
    (found,) = json.loads(nodes(file)["NPU", MODULE]["output_data"]).values()
    assert (cells(found), found["Err_message"]) == (["unsupported"] * 6, "[]")


def test_any_name_survives_in_a_reason(tmp_path: Path, run: Run) -> None:
    name = 'it\'s "q" \\ \u00e9 \U0001f600\n\x7f.npy'
    found = row(run.result(side(tmp_path / "t", GOOD, name), side(tmp_path / "g", GOOD, name)))
    (message,) = json.loads(found["Err_message"])
    assert message == f"info: target file {name}: the file does not exist; golden file {name}: the file does not exist"


def test_a_parameter_that_golden_lacks(tmp_path: Path, run: Run) -> None:
    target, golden = side(tmp_path / "t", GOOD), side(tmp_path / "g", GOOD)
    dump = json.loads((golden / "dump.json").read_text())
    dump["data"][API]["input_args"].pop()
    (golden / "dump.json").write_text(json.dumps(dump))
    done = run(target, golden, "-tensor_log")
    found = row(run.left()[0], 1)
    # As msProbe 26.2 has it, but for the last message.
    assert cells(found) == ["unsupported"] * 6
    assert json.loads(found["Err_message"])[-1] == "info: the golden node has no such parameter"
    assert "tensors  1 compared   0 not compared\n" in done.out
    assert "Torch.add.0.forward.input.1] Compare result: Bench does not have data file. \n" in done.err


def test_bfloat16_without_a_name_in_npy(tmp_path: Path, run: Run) -> None:
    # 1.0 and -2.0 in bfloat16; numpy writes such arrays as two raw bytes.
    raw = np.array([0x3F80, 0xC000], dtype="<u2").view("V2")
    target = side(tmp_path / "t", raw, dtype="BFloat16")
    golden = side(tmp_path / "g", np.float32([1, -2.5]), dtype="Float32")
    assert cells(row(run.result(target, golden)))[1:3] == ["0.5", "0.5"]


def test_the_numbers_of_our_own_table(tmp_path: Path, run: Run) -> None:
    random = np.random.default_rng(0)
    golden = random.standard_normal((5, 7, 11)).astype(np.float32)
    golden[0, 0, :3] = [NAN, INF, -INF]
    target = np.where(random.random(golden.shape) < 0.5, golden, golden + random.standard_normal(golden.shape).astype(np.float32) / 100)
    target = target.astype(np.float32)
    target[3, 4, 5] = golden[3, 4, 5] + 3
    file = run.result(side(tmp_path / "t", target), side(tmp_path / "g", golden))
    found, sound = table(file)
    assert (found["node_name"], found["place"], found["row_name"]) == (API, "input", FILE.removesuffix(".npy"))
    assert json.loads(found["largest_at"]) == [3, 4, 5]
    assert found["equal"] == np.mean(target.view(np.uint32) == golden.view(np.uint32))
    assert [found[name] for name in ("target_nan", "golden_nan", "target_inf", "golden_inf")] == [1, 1, 2, 2]
    finite = np.isfinite(golden)
    n, b = target[finite].astype(np.float64), golden[finite].astype(np.float64)
    spacing = np.spacing(np.maximum(np.abs(target[finite]), np.abs(golden[finite]))).astype(np.float64)
    assert found["ulp"] == np.max(np.abs(n - b) / spacing)
    assert (sound["equal"], sound["largest_at"], sound["ulp"]) == (1, None, 0)


def test_the_viewer_shows_them(tmp_path: Path, run: Run) -> None:
    target, golden = np.float32([[1, NAN], [3, INF]]), np.float32([[1, NAN], [4, INF]])
    file = run.result(side(tmp_path / "t", target), side(tmp_path / "g", golden))
    question = {"path": file.name, "step": "0", "rank": "0", "side": "target", "name": API}
    status, body = Viewer(file.parent).answer("node", list(question.items()))
    assert status == 200
    answer = json.loads(body)
    first = answer["rows"][0]
    columns = ["Equal bits", "ULP", "Largest at", "NaN", "Inf"]
    # At four the numbers of float32 are 2^-21 apart.
    assert [first["target"][column] for column in columns] == ["0.75", str(2**21), "[1, 0]", "1", "1"]
    assert [first["golden"].get(column) for column in columns] == [None, None, None, "1", "1"]
    places = [answer["columns"].index(column) for column in ("Five Thousandths Err Ratio", *columns)]
    assert places == sorted(places)


def test_counts_of_nan_also_where_they_do_not_match(tmp_path: Path, run: Run) -> None:
    file = run.result(side(tmp_path / "t", np.float32([NAN, INF, 1])), side(tmp_path / "g", np.float32([1, -INF, NAN])))
    found = table(file)[0]
    assert [found[name] for name in ("target_nan", "golden_nan", "target_inf", "golden_inf")] == [1, 1, 1, 1]


def test_the_same_name_among_inputs_and_outputs(tmp_path: Path, run: Run) -> None:
    folders = [side(tmp_path / name, GOOD) for name in "tg"]
    for folder in folders:
        dump = json.loads((folder / "dump.json").read_text())
        dump["data"][API]["output"] = dump["data"][API]["input_args"]
        (folder / "dump.json").write_text(json.dumps(dump))
    assert [found["place"] for found in table(run.result(*folders))] == ["input", "output"] * 2


def test_the_same_name_among_surplus_inputs_and_outputs(tmp_path: Path, run: Run) -> None:
    leaf = {**TENSOR, "requires_grad": False}
    shared = {**leaf, "data_name": "shared.pt"}
    target = write(tmp_path / "t", {API: None}, {API: {"input_args": [leaf], "output": [leaf]}})
    golden = write(tmp_path / "g", {API: None}, {API: {"input_args": [leaf, shared], "output": [leaf, shared]}})
    file = run.result(target, golden)
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        assert list(connection.execute("select node_name, row_name from msprobe_surplus")) == [(API, "shared")]


def test_counts_in_the_answer(tmp_path: Path, run: Run) -> None:
    done = run(side(tmp_path / "t", None), side(tmp_path / "g", GOOD))
    assert "tensors  1 compared   1 not compared\n" in done.out
    (part,) = json.loads(run(tmp_path / "t", tmp_path / "g", "--json").out)["parts"]
    assert part["tensors"] == {"compared": 1, "not_compared": 1}


def test_the_answer_shows_the_elements(run: Run) -> None:
    dump = unpacked() / "ms_graph_L0_tensor"
    done = run(dump / "target/step0/rank", dump / "golden/step0/rank", "--json")
    found = json.loads(done.out)["report"]["first_difference"]
    name = f"{found['evidence'].get('node', found['node'])}.{found['evidence']['row']}.npy"
    (target, golden) = (np.load(dump / side / "step0/rank/dump_tensor_data" / name) for side in ("target", "golden"))
    shown = found["evidence"]["tensor"]
    assert shown["equal"] == np.mean(target == golden)
    largest = np.unravel_index(np.argmax(np.abs(target.astype(np.float64) - golden)), target.shape)
    assert json.loads(shown["largest_at"]) == list(map(int, largest))
    assert shown["nan"] == shown["infinite"] == [0, 0]
    (file,) = run.left()
    told = run.msprobe("report", file).out
    assert f"{shown['equal'] * 100:.1f} % of the elements are the same to the bit; largest distance at {shown['largest_at']}" in told


def test_the_number_of_workers_changes_nothing(run: Run) -> None:
    dump = unpacked() / "ms_graph_L0_tensor"
    contents = []
    for jobs in ("1", "4"):
        file = run.result(dump / "target/step0/rank", dump / "golden/step0/rank", "--jobs", jobs)
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            contents.append([line for line in connection.iterdump() if '"msprobe_meta"' not in line])
        file.unlink()
    assert contents[0] == contents[1]
    assert any('"msprobe_tensor"' in line for line in contents[0])


LOG = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) \[INFO\] (.*)"


def test_log_of_the_pairs(tmp_path: Path, run: Run) -> None:
    # The lines of msProbe 26.2 for these values, but for its process id and time.
    values = {"0": [[0, 1, 2], [3, 4, 5]], "1": [[1, 2, 3], [4, 5, 6]]}
    target, golden = (side(tmp_path / name, np.float32(values[key]) + 1) for name, key in (("t", "0"), ("g", "1")))
    done = run(target, golden, "-tensor_log", "--json", "--quiet")
    assert len(done.out.splitlines()) == 1
    lines = [re.fullmatch(LOG, line).group(1) for line in done.err.splitlines()]  # type: ignore[union-attr]
    name = FILE.removesuffix(".npy")
    assert lines[:2] == [
        f"start compare: {name}",
        f"[{name}] Compare result: Cosine 0.995840824898, EucDist 2.449489742783178, MaxAbsErr 1.0, MaxRelativeErr 0.5, "
        "One Thousandth Err Ratio 0.0, Five Thousandths Err Ratio 0.0, ",
    ]
    assert lines[5] == f"[{MODULE}.output.0] Compare result: NPU does not have data file. "
    assert len(lines) == 6


def test_no_log_unless_asked_for(tmp_path: Path, run: Run) -> None:
    done = run(side(tmp_path / "t", GOOD), side(tmp_path / "g", GOOD), "--quiet")
    assert (done.status, done.err) == (0, "")
