"""tree, export, and the Python API, against what SQL says of the same file."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import msprobe as package
from tests.conftest import DATA, Command, Run
from tests.dumps import write
from tests.recorded import unpacked

FILE = DATA / "visdb" / "compare_tensor.vis.db"
LLAMA = DATA / "dumps" / "llama_perturbed"
TARGET, GOLDEN = LLAMA / "target" / "step0" / "rank0", LLAMA / "golden" / "step0" / "rank0"


def stored(sql: str) -> list[Any]:
    with sqlite3.connect(f"file:{FILE}?mode=ro&immutable=1", uri=True) as database:
        return database.execute(sql).fetchall()


def parameters() -> list[tuple[str, str, dict[str, str]]]:
    """Node, row and cells of every parameter of the target."""
    found = []
    for name, *sides in stored("SELECT node_name, input_data, output_data FROM tb_nodes WHERE data_source = 'NPU' ORDER BY node_order"):
        for side in sides:
            found += [(name, row, cells) for row, cells in json.loads(side or "{}").items()]
    return found


# tree


def test_tree_is_the_stored_tree(msprobe: Command) -> None:
    done = msprobe("tree", FILE, "--depth", "99", "--json")
    lines = json.loads(done.out)["lines"]
    sql = "SELECT node_name, up_node, precision_index FROM tb_nodes WHERE data_source = 'NPU'"
    expected = {name: (parent, {0: "pass", 0.5: "warning", 1: "error", None: None}[index]) for name, parent, index in stored(sql)}
    way: list[str] = []
    seen = {}
    for line in lines:
        del way[line["depth"] :]
        seen[line["node"]] = (way[-1] if way else "", line["verdict"])
        way.append(line["node"])
    assert seen == expected


def test_the_golden_tree_has_the_verdicts_of_the_partners(msprobe: Command) -> None:
    lines = {line["node"]: line for line in json.loads(msprobe("tree", FILE, "--golden", "--depth", "99", "--json").out)["lines"]}
    sql = "SELECT json_extract(matched_node_link, '$[#-1]'), precision_index FROM tb_nodes WHERE data_source = 'NPU' AND up_node <> ''"
    expected = {partner: {0: "pass", 0.5: "warning", 1: "error", None: None}[index] for partner, index in stored(sql) if partner}
    assert {name: lines[name]["verdict"] for name in expected} == expected
    assert {"pass", "warning"} <= set(expected.values())


def test_tree_for_people(msprobe: Command) -> None:
    lines = msprobe("tree", FILE, "--depth", "1").out.splitlines()
    assert lines[0].strip().startswith("DefaultModel")
    children = stored("SELECT node_name FROM tb_nodes WHERE data_source = 'NPU' AND up_node = 'DefaultModel' ORDER BY node_order")
    assert [line[2:].split()[0] for line in lines[1:]] == [name for (name,) in children]
    assert msprobe("tree", FILE, "--limit", "3").out.splitlines()[3:] == ["and more; --limit shows them"]


@pytest.mark.parametrize("limit", [1, 2, 3, 8, 21, 60])
def test_a_limit_leaves_out_the_end_alone(msprobe: Command, limit: int) -> None:
    whole = json.loads(msprobe("tree", FILE, "--depth", "99", "--json").out)
    some = json.loads(msprobe("tree", FILE, "--depth", "99", "--limit", str(limit), "--json").out)
    assert some["lines"] == whole["lines"][:limit]
    assert (whole["more"], some["more"]) == (False, len(whole["lines"]) > limit)


def test_questions_leave_nothing_beside_a_file_that_is_marked_wal(msprobe: Command, tmp_path: Path) -> None:
    file = Path(shutil.copy(DATA / "visdb" / "compare_tensor.vis.db", tmp_path))
    assert file.read_bytes()[18:20] == b"\2\2"
    assert msprobe("tree", file).status == 0
    assert msprobe("report", file).status == 0
    assert msprobe("export", file, "-o", tmp_path / "x.csv").status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name, "x.csv"]


def test_tree_points_to_the_first_difference(msprobe: Command, run: Run) -> None:
    # What the README beside the dumps says was changed. Five levels down, and a pass.
    changed, pointer = "Module.model.layers.1.mlp.down_proj.Linear.forward.0", "   <- first difference"
    file = run.result(TARGET, GOLDEN)

    def pointed(*words: str) -> list[str]:
        return [line.split()[1] for line in msprobe("tree", file, *words).out.splitlines() if line.endswith(pointer)]

    assert pointed() == pointed("--depth", "9") == [changed]
    assert msprobe("tree", file, "--golden").out.count(f"{changed}   (1 inside){pointer}") == 1
    assert pointed("--depth", "2") == pointed("--limit", "9") == pointed("Module.lm_head.Linear.forward.0") == []
    assert pointed("Module.model.layers.1.mlp.LlamaMLP.forward.0") == [changed]
    document = json.loads(msprobe("tree", file, "--json").out)
    assert [line["node"] for line in document["lines"] if line["first_difference"]] == [changed]
    shown = [(line["depth"], line["node"]) for line in document["lines"]]
    whole = [(line["depth"], line["node"]) for line in json.loads(msprobe("tree", file, "--json", "--depth", "99").out)["lines"]]
    opened = {"Module.model.layers.1.LlamaDecoderLayer.forward.0", "Module.model.layers.1.mlp.LlamaMLP.forward.0"}
    expected: list[tuple[int, str]] = []
    way: dict[int, str] = {}
    for depth, name in whole:
        way[depth] = name
        if depth <= 2 or way[depth - 1] in opened:
            expected.append((depth, name))
    assert shown == expected
    assert len(msprobe("tree", file, "--limit", "20").out.splitlines()) == 21
    alone = msprobe("graph_visualize", "-tp", TARGET, "-o", run.out / "alone", "--json")
    assert pointer not in msprobe("tree", json.loads(alone.out)["output"]).out


def test_tree_points_by_the_stored_answer(msprobe: Command, run: Run) -> None:
    changed, pointer = "Module.model.layers.1.mlp.down_proj.Linear.forward.0", "   <- first difference"
    file = run.result(TARGET, GOLDEN)
    with closing(sqlite3.connect(file)) as db, db:
        # Nothing is left to find it by.
        db.execute("UPDATE tb_nodes SET input_data = '', output_data = ''")
    assert f"{changed}   (1 inside){pointer}" in msprobe("tree", file).out
    assert f"{changed}   (1 inside){pointer}" in msprobe("tree", file, "--golden").out
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE tb_nodes SET up_node = ? WHERE node_name = 'Module.model.layers.1.mlp.LlamaMLP.forward.0'", (changed,))
    done = msprobe("tree", file)
    assert done.status == 0
    assert pointer not in done.out
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DROP TABLE msprobe_divergence")
    assert pointer not in msprobe("tree", file).out


def test_tree_of_no_node_is_one_line(msprobe: Command) -> None:
    done = msprobe("tree", FILE, "Module.nowhere")
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert "no node Module.nowhere" in done.err


# export


def test_csv_has_a_row_for_each_parameter(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("export", FILE, "-o", tmp_path / "x.csv")
    assert done.status == 0, done.err
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = parameters()
    assert f"{len(expected):,} rows" in done.out
    assert len(rows) == len(expected) > 100
    for row, (node, name, cells) in zip(rows, expected, strict=True):
        assert (row["node"], row["parameter"]) == (node, name.removeprefix(node + "."))
        # Texts that a spreadsheet would run begin with an apostrophe.
        assert row["dtype"].removeprefix("'") == cells.get("dtype", "")
        for key, column in (("Max", "max"), ("Norm", "norm"), ("Cosine", "cosine"), ("MaxAbsErr", "max_absolute_error")):
            try:
                number = repr(float(cells[key]))
            except (KeyError, ValueError):
                number = ""
            assert row[column] == number, (node, name, key)


def test_json_has_the_same_rows(msprobe: Command, tmp_path: Path) -> None:
    msprobe("export", FILE, "-o", tmp_path / "x.json")
    msprobe("export", FILE, "-o", tmp_path / "x.csv")
    rows = json.loads((tmp_path / "x.json").read_text())
    with (tmp_path / "x.csv").open(newline="") as file:
        reader = csv.DictReader(file)
        assert list(rows[0]) == reader.fieldnames
        assert len(rows) == len(list(reader))


def test_parquet_has_the_same_rows(msprobe: Command, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="Parquet needs Polars: pip install polars")
    done = msprobe("export", FILE, "-o", tmp_path / "x.parquet")
    assert done.status == 0, done.err
    assert polars.read_parquet(tmp_path / "x.parquet").equals(package.open(FILE).parameters())


def sheet(file: Path) -> list[tuple[Any, ...]]:
    """All rows of a workbook with one sheet, head line first, as another program reads them."""
    openpyxl = pytest.importorskip("openpyxl", reason="reads workbooks: pip install -r requirements/test.txt")
    book = openpyxl.load_workbook(file)
    (found,) = book.worksheets
    # "f" would be a formula.
    assert {cell.data_type for row in found.iter_rows() for cell in row} <= {"s", "n", "inlineStr"}
    return list(found.iter_rows(values_only=True))


def csv_rows(file: Path) -> list[tuple[str, ...]]:
    with file.open(newline="") as opened:
        return [tuple(row) for row in csv.reader(opened)]


def as_csv(value: Any) -> str:
    """A cell of a workbook as the CSV file has it."""
    if value is None:
        return ""
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(("=", "+", "-", "@", "\t", "\r")) and text != "-inf" else text


@pytest.mark.parametrize("words", [[], ["--nodes"], ["--golden"]])
def test_a_workbook_has_the_same_rows(msprobe: Command, tmp_path: Path, words: list[str]) -> None:
    msprobe("export", FILE, *words, "-o", tmp_path / "x.csv")
    done = msprobe("export", FILE, *words, "-o", tmp_path / "x.xlsx")
    assert done.status == 0, done.err
    (head, *expected), (titles, *found) = csv_rows(tmp_path / "x.csv"), sheet(tmp_path / "x.xlsx")
    assert titles == head
    assert f"{len(expected):,} rows" in done.out
    numbers = {title for title, value in zip(titles, found[1], strict=True) if isinstance(value, (int, float))}
    for row, texts in zip(found, expected, strict=True):
        for title, value, text in zip(titles, row, texts, strict=True):
            if isinstance(value, (int, float)):
                assert value == float(text)
            else:
                assert as_csv(value) == text
                assert title not in numbers or value in (None, "nan", "inf", "-inf")


def test_a_row_without_remarks_has_an_empty_message(msprobe: Command, tmp_path: Path) -> None:
    msprobe("export", FILE, "-o", tmp_path / "x.json")
    rows = json.loads((tmp_path / "x.json").read_text())
    remarks = [
        remark
        for (cells,) in stored("SELECT input_data FROM tb_nodes WHERE data_source = 'NPU'")
        for remark in (row.get("Err_message") for row in json.loads(cells or "{}").values())
    ]
    assert "[]" in remarks or [] in remarks
    messages = {row["message"] for row in rows}
    assert None in messages
    assert "[]" not in messages
    assert all(isinstance(json.loads(message), list) for message in messages if message)
    assert {row["requires_grad"] for row in rows} <= {None, "True", "False"}


def test_a_workbook_holds_texts_as_they_are(run: Run, msprobe: Command, tmp_path: Path) -> None:
    names = ["=HYPERLINK(1)", "+1", "-2", "@x", 'a<b>&"c"', "bell\x07", "_x0041_", "\ufffe", " blank ", "line\nbreak", "x" * 40_000]
    tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1], "Max": math.inf, "Min": -math.inf, "Mean": math.nan}
    entry = {"input_args": [], "input_kwargs": {}, "output": [{**tensor, "Norm": 1e-300, "requires_grad": False}]}
    calls = [f"{name}.0.forward" for name in names]
    target = write(tmp_path / "rank", dict.fromkeys(calls), dict.fromkeys(calls, entry))
    done = msprobe("export", run.result(target), "-o", tmp_path / "x.xlsx")
    assert done.status == 0, done.err
    titles, *found = sheet(tmp_path / "x.xlsx")
    rows = [dict(zip(titles, row, strict=True)) for row in found]
    # As Excel reads them: _xHHHH_ stands for a character that XML lacks.
    shown = [re.sub("_x([0-9A-F]{4})_", lambda code: chr(int(code[1], 16)), row["node"]) for row in rows]
    assert set(shown[:-1]) == set(calls[:-1])
    assert (len(shown[-1]), shown[-1][-10:]) == (32_767, "xxxx [cut]")
    assert {(row["max"], row["min"], row["mean"], row["norm"]) for row in rows} == {("inf", "-inf", "nan", 1e-300)}


def test_a_rank_that_is_not_there_is_one_line(msprobe: Command, tmp_path: Path) -> None:
    commands: list[list[str | Path]] = [["export", FILE, "-o", tmp_path / "x.csv"], ["report", FILE], ["tree", FILE]]
    for words in commands:
        done = msprobe(*words, "--rank", "7")
        assert (done.status, done.out, done.err) == (1, "", f"error: {FILE}: holds no rank 7; its ranks are 0\n")
        done = msprobe(*words, "--step", "3")
        assert (done.status, done.out, done.err) == (1, "", f"error: {FILE}: holds no step 3; its steps are 0\n")
    assert not list(tmp_path.iterdir())


def test_a_single_graph_has_no_golden_side(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("export", DATA / "visdb" / "build_overflow.vis.db", "--golden", "-o", tmp_path / "x.csv")
    assert (done.status, len(done.error_lines)) == (1, 1)
    assert "no golden side" in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["csv", "json", "xlsx", "parquet", "html"])
def test_a_place_that_cannot_be_written_is_named(msprobe: Command, tmp_path: Path, ending: str) -> None:
    for place in (tmp_path / "no" / f"x.{ending}", tmp_path / f"folder.{ending}"):
        (tmp_path / f"folder.{ending}").mkdir(exist_ok=True)
        done = msprobe("export", FILE, "-o", place)
        assert (done.status, done.out, len(done.err.splitlines())) == (1, "", 1)
        assert done.err.startswith(f"error: {place}: cannot be written")
        assert ".export-" not in done.err
        assert ".partial" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == [f"folder.{ending}"]


def test_an_unknown_ending_is_wrong_usage(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("export", FILE, "-o", tmp_path / "x.txt")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert not list(tmp_path.iterdir())


def test_a_broken_file_leaves_nothing(msprobe: Command, tmp_path: Path) -> None:
    broken = tmp_path / "x.vis.db"
    broken.write_bytes(FILE.read_bytes()[:-4096])
    done = msprobe("export", broken, "-o", tmp_path / "x.csv")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert list(tmp_path.iterdir()) == [broken]


# Python


def test_frames_hold_what_is_stored() -> None:
    pytest.importorskip("polars", reason="frames need Polars: pip install polars")
    result = package.open(FILE)
    nodes = result.nodes()
    expected = stored("SELECT node_order, node_name FROM tb_nodes WHERE data_source = 'NPU' ORDER BY node_order")
    assert nodes.select("node_order", "node").rows() == expected
    assert result.parameters().select("node", "parameter").rows() == [(n, row.removeprefix(n + ".")) for n, row, _ in parameters()]
    count = stored("SELECT count(*) FROM tb_nodes WHERE data_source = 'Bench'")[0][0]
    assert result.nodes(golden=True).height == count
    with pytest.raises(package.MsprobeError, match="holds no rank 7; its ranks are 0"):
        result.nodes(rank=7)


def test_children_are_the_stored_ones() -> None:
    (text,) = stored("SELECT sub_nodes FROM tb_nodes WHERE data_source = 'NPU' AND up_node = ''")[0]
    assert package.open(FILE).children() == json.loads(text)


def test_compare_and_build(tmp_path: Path) -> None:
    result = package.compare(TARGET, GOLDEN, output=tmp_path)
    found = result.first_difference()
    assert found is not None
    assert found["node"] == "Module.model.layers.1.mlp.down_proj.Linear.forward.0"
    assert package.build(TARGET, output=tmp_path).report()["graph_type"] == "build"


def test_compare_aligns_as_the_command_does(msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked() / "renamed_modules_lm"
    sides = dumps / "target", dumps / "golden"
    matched = package.compare(*sides, output=tmp_path / "ours", align=True).report()["totals"]["matched"]
    done = msprobe("graph_visualize", "-tp", sides[0], "-gp", sides[1], "-o", tmp_path / "command", "--match", "align", "--json")
    assert matched == json.loads(done.out)["totals"]["matched"] > 80
    with pytest.raises(ValueError, match="align goes without"):
        package.compare(*sides, output=tmp_path, align=True, fuzzy_match=True)


def test_errors_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(package.MsprobeError, match="no such file; name a"):
        package.open(tmp_path / "absent.vis.db")
    with pytest.raises(package.MsprobeError, match="absent"):
        package.compare(tmp_path / "absent", GOLDEN, output=tmp_path)


def test_a_frame_without_polars_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install polars"):
        package.open(FILE).nodes()


def test_a_build_names_its_first_overflow(tmp_path: Path) -> None:
    target = unpacked() / "ms_cnn_nan" / "target"
    (rank,) = package.build(target, output=tmp_path, overflow_check=True).report()["ranks"]
    assert rank["first_overflow"]["node"] == "Primitive.matmul.MatMul.0.forward"
    assert package.build(target, output=tmp_path).report()["ranks"][0]["first_overflow"] is None


def test_a_stream_can_be_taken_without_polars() -> None:
    capsule = package.open(FILE).rows().__arrow_c_stream__()
    assert type(capsule).__name__ == "PyCapsule"
    assert "arrow_array_stream" in repr(capsule)


def test_import_is_lazy() -> None:
    code = "import sys, msprobe; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"msprobe._native", "msprobe.analysis", "polars", "json"} & set(loaded)
