"""Broken JSON and JSON that means nothing: one line that names the file and the place, nothing half-written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.dumps import API, ENTRY, MODULE, TENSOR, TREE, names, nodes, write

FILES = ["dump.json", "construct.json", "stack.json"]


def test_json_cut_off_at_any_byte(tmp_path: Path) -> None:
    """Every byte of all three files, in one process so that it is quick."""
    code = """
import json, pathlib, sys
from msprobe import _native
rank, out = map(pathlib.Path, sys.argv[1:])
request = json.dumps({"target": str(rank), "output": str(out), "stamp": "20260101000000"})
for name in ("dump.json", "construct.json", "stack.json"):
    whole = (rank / name).read_bytes().rstrip()
    for length in range(len(whole)):
        (rank / name).write_bytes(whole[:length])
        try:
            _native.graph_visualize(request)
        except _native.EngineError as error:
            status, message = error.args
            assert status == 1 and name in message and "\\n" not in message, (name, length, error.args)
        else:
            raise SystemExit(f"{name} cut off after {length} bytes was taken for whole")
        assert not out.exists() or not list(out.iterdir()), (name, length)
    (rank / name).write_bytes(whole)
_native.graph_visualize(request)
"""
    folder = write(tmp_path / "rank", data={API: ENTRY})
    (folder / "stack.json").write_text(json.dumps({"0": [[API], ["File a.py, line 1, in f"]]}))
    subprocess.run([sys.executable, "-c", code, folder, tmp_path / "out"], check=True, timeout=120)


NOT_JSON = [b"", b" ", b"[]", b"3", b'{"a": }', b'{"a": 1,}', b'{"a": 1} x', b'{"a": \xff}', b'{"\xc3": 1}', b"{'a': 1}"]
NOT_JSON += [b'{"a": 01}', b"\0"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [*NOT_JSON, b"[" * 200_000], ids=lambda content: repr(content[:9]))
def test_a_file_that_is_no_json_object(content: bytes, name: str, rank: Path, run: Run) -> None:
    (rank / name).write_bytes(content)
    assert str(rank / name) in run.refused(rank)


def test_an_error_says_where_in_the_file(rank: Path, run: Run) -> None:
    text = (rank / "dump.json").read_text()
    at = text.index('"output"')
    (rank / "dump.json").write_text(text[:at] + "?" + text[at:])
    assert str(at) in run.refused(rank)


def test_values_nested_deeper_than_any_stack(rank: Path, run: Run) -> None:
    deep = "[" * 200_000 + "]" * 200_000
    (rank / "dump.json").write_text(f'{{"task": "statistics", "data": {{"{API}": {{"input_args": {deep}}}}}}}')
    done = run(rank)
    assert done.status in (0, 1), done.err[:500]
    assert len(done.err.splitlines()) <= 1 + (done.status == 0)
    assert bool(run.left()) == (done.status == 0)


@pytest.mark.parametrize("name", FILES)
def test_byte_order_mark_and_windows_line_ends(name: str, rank: Path, run: Run) -> None:
    content = json.dumps(json.loads((rank / name).read_text()), indent=1)
    (rank / name).write_bytes(b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode())
    assert names(run.result(rank)) == [API, MODULE, "DefaultModel"]


def test_empty_construct(rank: Path, run: Run) -> None:
    (rank / "construct.json").write_text("{}")
    assert "construct.json" in run.refused(rank)


def test_empty_data_is_a_tree_without_rows(tmp_path: Path, run: Run) -> None:
    found = nodes(run.result(write(tmp_path / "rank", data={})))
    assert set(found) == {("NPU", name) for name in (API, MODULE, "DefaultModel")}
    assert {row["input_data"] for row in found.values()} == {"{}"}


def test_missing_framework_is_taken_for_pytorch_with_a_warning(tmp_path: Path, run: Run) -> None:
    folder = write(tmp_path / "rank", framework="absent")
    done = run(folder)
    assert done.status == 0
    assert "framework" in done.err
    assert "pytorch" in done.out.splitlines()[0]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(name: str, rank: Path, run: Run) -> None:
    (rank / name).unlink()
    assert str(rank / name) in run.refused(rank)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_where_a_file_should_be(name: str, rank: Path, run: Run) -> None:
    (rank / name).unlink()
    (rank / name).mkdir()
    (rank / "dump_tensor_data").mkdir()
    assert str(rank / name) in run.refused(rank)


def test_tasks_that_differ(tmp_path: Path, run: Run) -> None:
    line = run.refused(write(tmp_path / "t", task="statistics"), write(tmp_path / "g", task="tensor"))
    assert "statistics" in line
    assert "tensor" in line


def test_md5_against_statistics(tmp_path: Path, run: Run) -> None:
    with_md5 = {name: {"input_args": [{**TENSOR, "md5": "0badcafe"}], "output": []} for name in TREE}
    assert "md5" in run.refused(write(tmp_path / "t", data=with_md5), write(tmp_path / "g"))


def test_nothing_to_match(tmp_path: Path, run: Run) -> None:
    other: dict[str, str | None] = {"Module.x.X.forward.0": None}
    assert str(tmp_path / "g") in run.refused(write(tmp_path / "t"), write(tmp_path / "g", other))
