"""Several ranks and steps: which are found, what is left out, in which order they are stored."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Command, Run
from tests.dumps import API, ENTRY, MODULE, write
from tests.recorded import unpacked

FILES = ["dump.json", "construct.json", "stack.json"]


def ranks(root: Path, count: int, make: Callable[[Path], object] = write) -> Path:
    for number in range(count):
        make(root / f"rank{number}")
    return root


def stored(file: Path) -> set[tuple[int, int]]:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        return set(connection.execute("select distinct step, rank from tb_nodes"))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("golden", [False, True], ids=["build", "compare"])
def test_one_corrupt_rank_among_eight(golden: bool, name: str, tmp_path: Path, run: Run) -> None:
    target = ranks(tmp_path / "t", 8)
    (target / "rank5" / name).write_text("{")
    done = run(target, ranks(tmp_path / "g", 8) if golden else None)
    assert done.status == 3
    (line,) = done.error_lines
    assert "rank5" in line
    assert name in line
    (file,) = run.left()
    assert stored(file) == {(0, number) for number in range(8) if number != 5}
    document = json.loads(run(target, None, "--json").out)
    assert document["exit_status"] == 3
    assert [(left["step"], left["rank"]) for left in document["left_out"]] == [(0, 5)]


def test_no_rank_that_can_be_read(tmp_path: Path, run: Run) -> None:
    target = ranks(tmp_path / "t", 3)
    for number in range(3):
        (target / f"rank{number}" / "dump.json").write_text("{")
    done = run(target)
    assert done.status == 1
    assert not run.left()


def test_files_beside_real_folders_are_passed_over(tmp_path: Path, run: Run) -> None:
    target = ranks(tmp_path / "t" / "step0", 2).parent
    for place in (target, target / "step0"):
        (place / ".DS_Store").write_text("x")
        (place / "junk").write_text("x")
    done = run(target)
    assert done.status == 0, done.err
    (file,) = run.left()
    assert stored(file) == {(0, 0), (0, 1)}


@pytest.mark.parametrize("name", ["rank1x", "junk"])
def test_a_folder_that_could_be_a_misspelt_rank_is_named(name: str, tmp_path: Path, run: Run) -> None:
    target = ranks(tmp_path / "t", 2)
    (target / name).mkdir()
    assert name in run.refused(target)


def test_rank10_comes_after_rank2(tmp_path: Path, run: Run) -> None:
    for number in (10, 2, 0, 1):
        write(tmp_path / "t" / f"rank{number}")
    file = run.result(tmp_path / "t")
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        (listed,) = connection.execute("select rank_list from tb_config").fetchone()
        order = [number for (number,) in connection.execute("select rank from tb_nodes order by rowid")]
    assert json.loads(listed) == [0, 1, 2, 10]
    assert order == sorted(order)


def test_leading_zeros_are_numbers(tmp_path: Path, run: Run) -> None:
    for name in ("rank00", "rank01"):
        write(tmp_path / "t" / name)
    assert stored(run.result(tmp_path / "t")) == {(0, 0), (0, 1)}


def test_two_ranks_with_one_number(tmp_path: Path, run: Run) -> None:
    for name in ("rank", "rank0"):
        write(tmp_path / "t" / name)
    assert "rank0" in run.refused(tmp_path / "t")


def test_ranks_of_one_side_only_are_named(tmp_path: Path, run: Run) -> None:
    target, golden = ranks(tmp_path / "t", 3), ranks(tmp_path / "g", 2)
    done = run(target, golden)
    assert done.status == 0
    (line,) = done.err.splitlines()
    assert line.startswith("warning: ")
    assert "rank 2" in line


def test_two_runs_in_one_second_have_two_names(rank: Path, msprobe: Command, tmp_path: Path) -> None:
    words = [msprobe.program, "graph_visualize", "-tp", str(rank), "-o", str(tmp_path / "out")]
    running = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert len(list((tmp_path / "out").iterdir())) == 4


@pytest.mark.parametrize("jobs", ["1", "2", "7"])
def test_the_rows_do_not_depend_on_the_number_of_workers(jobs: str, msprobe: Command, tmp_path: Path) -> None:
    step = unpacked() / "ddp_gloo_2rank"
    dumps = []
    for number in ("4", jobs):
        out = tmp_path / number
        done = msprobe("graph_visualize", "-tp", step / "target", "-gp", step / "golden", "-o", out, "-oc", "--jobs", number)
        assert done.status == 0
        (file,) = out.iterdir()
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
            dumps.append([*connection.execute("select rowid, * from tb_nodes"), *connection.execute("select rowid, * from tb_stack")])
    assert dumps[0] == dumps[1]


@pytest.mark.parametrize(
    ("layout", "told", "place"),
    [
        # A rank alone, whatever its folder is called.
        (".", "", ""),
        ("step0/rank0", "", ""),
        ("step0/rank3", "step0/rank3", "rank 3, "),
        ("step0/rank0 step0/rank1", "2 ranks", "rank 0, "),
        ("step0/rank0 step1/rank0", "2 steps, 1 rank", "step 0, rank 0, "),
        ("step0/rank0 step0/rank1 step1/rank0 step1/rank1", "2 steps, 2 ranks", "step 0, rank 0, "),
        ("step0/rank0 step0/rank1 step1/rank0", "2 steps, 3 ranks together", "step 0, rank 0, "),
    ],
)
def test_steps_and_ranks_are_counted(layout: str, told: str, place: str, tmp_path: Path, run: Run, msprobe: Command) -> None:
    changed = json.loads(json.dumps(ENTRY))
    changed["output"][0]["Norm"] = 3.0
    folders = layout.split()
    for folder in folders:
        write(tmp_path / "t" / folder, data={MODULE: ENTRY, API: changed})
        write(tmp_path / "g" / folder)
    done = run(tmp_path / "t", tmp_path / "g")
    assert done.status == 0, done.err
    (file,) = run.left()
    nodes = f"{3 * len(folders)} nodes"
    for text in (done.out, msprobe("report", file).out):
        lines = text.splitlines()
        (target,) = (line for line in lines if line.startswith("target "))
        assert f"{target}   ".startswith(f"target   {told}   {nodes}   " if told else f"target   {nodes}   ")
        (found,) = (line for line in lines if line.startswith("first difference"))
        assert found.split("   ")[-1].startswith(f"({place}node ")
    examined = msprobe("doctor", tmp_path / "t").out
    assert f"read      {'1 rank' if len(folders) == 1 else told}   {nodes}" in examined


def test_the_rank_that_was_asked_for_is_named(tmp_path: Path, run: Run, msprobe: Command) -> None:
    ranks(tmp_path / "t", 2)
    told = msprobe("report", run.result(tmp_path / "t"), "--rank", "0").out
    assert told.split("   ")[:2] == ["target", "step0/rank0"]


def test_the_rank_that_is_left_of_several_is_named(tmp_path: Path, run: Run) -> None:
    ranks(tmp_path / "t", 2)
    (tmp_path / "t/rank1/construct.json").unlink()
    done = run(tmp_path / "t")
    assert (done.status, done.out.splitlines()[0].split("   ")[:2]) == (3, ["target", "step0/rank0"])


@pytest.mark.parametrize(
    ("folders", "others"),
    [
        ([f"step{step}/rank0" for step in range(3)], "step1/rank0, step2/rank0"),
        ([f"rank{rank}" for rank in range(6)], "step0/rank1, step0/rank2, step0/rank3 and 2 more"),
    ],
)
def test_where_nothing_can_be_used_all_are_named(folders: list[str], others: str, run: Run, tmp_path: Path) -> None:
    for folder in folders:
        (write(tmp_path / "dump" / folder) / "dump.json").write_text("{")
    line = run.refused(tmp_path / "dump")
    assert line.startswith(f"error: {tmp_path}/dump/{folders[0]}/dump.json: not valid JSON at byte 1")
    assert line.endswith(f" (nor could {others} be used)")
