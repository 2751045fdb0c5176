"""Trees and names of shapes that nobody expects, all of them legal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import Command, Run
from tests.dumps import API, MODULE, TREE, names, nodes, write


def chain(length: int) -> dict[str, str | None]:
    modules = [f"Module.m{i}.M.forward.0" for i in range(length)]
    return dict(zip(modules, [None, *modules], strict=False))


def test_a_chain_of_20_000_modules_stays_linear(tmp_path: Path, msprobe: Command) -> None:
    sizes = []
    for length in (10_000, 20_000):
        run = Run(msprobe, tmp_path / f"out{length}")
        folder = write(tmp_path / f"rank{length}", chain(length), data={})
        file = run.result(folder, folder)
        assert len(names(file)) == length + 1
        sizes.append(file.stat().st_size)
    assert sizes[1] < 2.2 * sizes[0]


def test_200_000_siblings(tmp_path: Path, run: Run) -> None:
    tree: dict[str, str | None] = {MODULE: None, **{f"Torch.add.{i}.forward": MODULE for i in range(200_000)}}
    folder = write(tmp_path / "rank", tree, data={})
    file = run.result(folder, folder)
    assert len(json.loads(nodes(file)["NPU", MODULE]["sub_nodes"])) == 200_000


def test_circles_and_nodes_that_are_their_own_parents_are_kept(tmp_path: Path, run: Run) -> None:
    circle = {"Module.a.A.forward.0": "Module.b.B.forward.0", "Module.b.B.forward.0": "Module.a.A.forward.0"}
    tree = {**TREE, **circle, "Module.self.S.forward.0": "Module.self.S.forward.0"}
    done = run(write(tmp_path / "rank", tree))
    assert done.status == 0, done.err
    (file,) = run.left()
    assert set(names(file)) == {*tree, "DefaultModel"}
    assert len(names(file)) == len(tree) + 1
    assert "warning" in done.err
    assert any(name in done.err for name in (*circle, "Module.self.S.forward.0"))


ODD = [
    "quote'\"`;--",
    "nul\0nul",
    "per%cent%s%n",
    "line\nbreak\r\ttab",
    "(.*)[a-z]+$^\\d{3}|",
    "层\U0001f525",
    "../../etc",
    "\u202e\x1b[31m",
]


@pytest.mark.parametrize("part", ODD, ids=ascii)
def test_odd_names_are_only_names(part: str, tmp_path: Path, run: Run) -> None:
    name = f"Module.{part}.M.forward.0"
    folder = write(tmp_path / "rank", {name: None, API: name})
    file = run.result(folder, folder)
    assert names(file) == [API, name, "DefaultModel"]
    assert json.loads(nodes(file)["NPU", API]["matched_node_link"]) == ["DefaultModel", name, API]


def test_a_name_of_ten_megabytes(tmp_path: Path, run: Run) -> None:
    name = f"Module.{'x' * 10_000_000}.M.forward.0"
    folder = write(tmp_path / "rank", {name: None}, data={})
    assert names(run.result(folder, folder)) == [name, "DefaultModel"]


def test_an_odd_name_stays_on_one_line_of_a_message(tmp_path: Path, run: Run) -> None:
    folder = write(tmp_path / "a\nb")
    (folder / "stack.json").unlink()
    assert "a_b" in run.refused(folder)


def test_the_last_of_repeated_keys_counts_in_the_first_ones_place(rank: Path, run: Run) -> None:
    (rank / "construct.json").write_text(f'{{"{API}": null, "{MODULE}": null, "{API}": "{MODULE}"}}')
    assert names(run.result(rank)) == [API, MODULE, "DefaultModel"]


def test_numbers_beyond_every_type(tmp_path: Path, run: Run) -> None:
    folder = write(tmp_path / "rank")
    text = (folder / "dump.json").read_text().replace('"Max": 1.0', f'"Max": {10**40}').replace('"Min": -1.0', '"Min": -1e999')
    (folder / "dump.json").write_text(text)
    row = json.loads(nodes(run.result(folder))["NPU", API]["input_data"])[f"{API}.input.0"]
    assert (row["Max"], row["Min"]) == (str(10**40), "-inf")
    shutil.rmtree(run.out)
    assert run(folder, folder).status == 0
