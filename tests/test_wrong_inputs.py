"""Wrong words and wrong files: one line that says what, where, and what to do; nothing written."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import msprobe as package
from tests.conftest import DATA, Command
from tests.dumps import write

RESULT = DATA / "visdb" / "compare_tensor.vis.db"
QUESTIONS = (["report"], ["tree"], ["export", "-o", "x.csv"], ["export", "-o", "x.xlsx"], ["export", "-o", "x.html"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with one of everything that somebody may name by mistake."""
    write(tmp_path / "dump")
    (tmp_path / "steps" / "step0" / "rank0").mkdir(parents=True)
    for side in ("target", "golden"):
        write(tmp_path / "runs" / side / "step0" / "rank0")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "out").mkdir()
    shutil.copy(RESULT, tmp_path / "out" / "compare_1.vis.db")
    (tmp_path / "text.vis.db").write_text("hello\n")
    (tmp_path / "empty.vis.db").touch()
    shutil.copy(tmp_path / "dump" / "dump.json", tmp_path / "my dump.json")
    (tmp_path / "answer.json").write_text('{"schema": 1, "exit_status": 0}\n')
    (tmp_path / "cut.vis.db").write_bytes(RESULT.read_bytes()[:100_000])
    with sqlite3.connect(tmp_path / "other.vis.db") as database:
        database.execute("CREATE TABLE something (else_)")
    database.close()
    return tmp_path


def refused(msprobe: Command, place: Path, *words: str, status: int = 1) -> str:
    """The line of a command that must fail and leave everything as it is."""
    before = sorted(place.rglob("*"))
    done = msprobe(*words, cwd=place)
    assert (done.status, done.out) == (status, ""), (done.status, done.out, done.err[:2000])
    (line,) = done.err.splitlines()
    assert line.startswith("error: ")
    assert "os error" not in line
    assert sorted(place.rglob("*")) == before
    return line.removeprefix("error: ")


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("out/compare_2.vis.db", "out/compare_2.vis.db: no such file; in out there is out/compare_1.vis.db"),
        ("nowhere/x.vis.db", "nowhere/x.vis.db: no such file"),
        ("out", "out: is a folder; name the file in it: out/compare_1.vis.db"),
        ("dump", "dump: is a dump, not a result; make one: msprobe-rs graph_visualize -tp dump -gp GOLDEN -o out"),
        ("steps", "steps: is a dump, not a result; make one: msprobe-rs graph_visualize -tp steps -gp GOLDEN -o out"),
        ("steps/step0", "steps/step0: is a dump, not a result; make one: msprobe-rs graph_visualize -tp steps/step0 -gp GOLDEN -o out"),
        (
            "dump/dump.json",
            "dump/dump.json: is a file of a dump, not a result; make one: msprobe-rs graph_visualize -tp dump -gp GOLDEN -o out",
        ),
        (
            "dump/stack.json",
            "dump/stack.json: is a file of a dump, not a result; make one: msprobe-rs graph_visualize -tp dump -gp GOLDEN -o out",
        ),
        ("my dump.json", "my dump.json: is a file of a dump, not a result; make one: msprobe-rs graph_visualize -tp . -gp GOLDEN -o out"),
        ("answer.json", "answer.json: is not a SQLite database, so no *.vis.db file"),
        ("nothing", "nothing: is a folder; name a *.vis.db file"),
        ("text.vis.db", "text.vis.db: is not a SQLite database, so no *.vis.db file"),
        ("other.vis.db", "other.vis.db: has no table tb_nodes, so it is no *.vis.db file of msProbe 26.2 or this tool"),
        ("empty.vis.db", "empty.vis.db: is empty; the run that should have written it did not finish"),
        ("cut.vis.db", "cut.vis.db: is truncated"),
    ],
)
def test_what_is_no_finished_file(question: list[str], file: str, told: str, msprobe: Command, place: Path) -> None:
    line = refused(msprobe, place, question[0], file, *question[1:])
    assert line == told or (told.endswith("truncated") and line.startswith(told))


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_of_several_files_the_newest_is_named(question: list[str], msprobe: Command, place: Path) -> None:
    for number, seconds in ((2, 3000), (3, 2000), (1, 1000)):
        file = place / "out" / f"compare_{number}.vis.db"
        shutil.copy(RESULT, file)
        os.utime(file, (seconds, seconds))
    files = [f"out/compare_{number}.vis.db" for number in (1, 2, 3)]
    line = refused(msprobe, place, question[0], *files, *question[1:], status=2)
    assert line == "3 files are given, name one (newest: out/compare_2.vis.db)"
    line = refused(msprobe, place, question[0], "out", *question[1:])
    assert line == "out: is a folder; name a file in it (newest: out/compare_2.vis.db)"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("-tp missing", "-tp missing: no such folder; name the folder of a rank, of ranks or of steps"),
        ("-tp runs", "-tp runs: holds two runs; name runs/target and runs/golden"),
        ("-tp dump -gp runs", "-gp runs: holds two runs; name runs/target and runs/golden"),
        ("-tp dump -gp missing", "-gp missing: no such folder; name the folder of a rank, of ranks or of steps"),
        ("-tp text.vis.db", "-tp text.vis.db: is a finished file, not a dump; look at it: msprobe-rs report text.vis.db"),
        ("-tp dump/dump.json", "-tp dump/dump.json: is a file; name the folder it lies in: dump"),
        ("-tp dump -gp dump --noise-twin missing", "--noise-twin missing: no such folder; name the folder of a rank, of ranks or of steps"),
        ("-tp dump -gp dump --noise-twin text.vis.db", "--noise-twin text.vis.db: is neither a dump nor a finished comparison (*.vis.db)"),
    ],
)
def test_what_is_no_dump(words: str, told: str, msprobe: Command, place: Path) -> None:
    assert refused(msprobe, place, "graph_visualize", *words.split(), "-o", "new") == told


WANTED = "name the folder of a rank, of ranks or of steps"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "-tp a/step1 -gp b",
            "a/step1: is a folder of ranks, but b is a folder of steps; name two of the same kind, such as a/step1 and b/step1",
        ),
        (
            "-tp a -gp b/step0",
            "a: is a folder of steps, but b/step0 is a folder of ranks; name two of the same kind, such as a/step0 and b/step0",
        ),
        (
            "-tp a/step1/rank1 -gp b",
            "a/step1/rank1: is one rank, but b is a folder of steps; name two of the same kind, such as a/step1/rank1 and b/step1/rank1",
        ),
        ("-tp a/step1/rank1 -gp out", f"out: holds no dump, but a finished result (compare_1.vis.db); {WANTED}"),
        ("-tp texts", f"texts: holds no dump; {WANTED}"),
    ],
)
def test_folders_that_do_not_fit_say_which_do(words: str, told: str, msprobe: Command, place: Path) -> None:
    for folder in ("a/step0/rank0", "a/step0/rank1", "a/step1/rank0", "a/step1/rank1"):
        write(place / folder)
        write(place / folder.replace("a", "b", 1))
    (place / "texts").mkdir()
    (place / "texts" / "readme.txt").touch()
    assert refused(msprobe, place, "graph_visualize", *words.split(), "-o", "new") == told


OLDER = ["-f", "pytorch", "graph", "-i", "compare.json", "-o", "new"]


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        ({"npu_path": "missing"}, "npu_path missing: no such folder; name the folder of a rank, of ranks or of steps"),
        (
            {"npu_path": "dump", "bench_path": "missing"},
            "bench_path missing: no such folder; name the folder of a rank, of ranks or of steps",
        ),
        ({"npu_path": "dump", "bench_path": "runs"}, "bench_path runs: holds two runs; name runs/target and runs/golden"),
        ({"npu_path": ""}, "npu_path is empty; give a folder"),
    ],
)
def test_the_older_form_names_its_own_words(paths: dict[str, str], told: str, msprobe: Command, place: Path) -> None:
    (place / "compare.json").write_text(json.dumps(paths))
    assert refused(msprobe, place, *OLDER) == told


def test_the_older_form_warns_in_its_own_words(msprobe: Command, place: Path) -> None:
    (place / "compare.json").write_text(json.dumps({"npu_path": "dump"}))
    done = msprobe(*OLDER, "-f", "-lm", cwd=place)
    assert (done.status, done.err) == (0, "warning: -f, -lm without bench_path has no effect\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("reprot x", "unknown command reprot; did you mean report? commands are "),
        ("out/compare_1.vis.db", "out/compare_1.vis.db is no command; to look at it: msprobe-rs report out/compare_1.vis.db;"),
        ("dump", "dump is no command; to look at it: msprobe-rs graph_visualize -tp dump -o out;"),
        ("graph_visualize -tp dump", "-o/--output_path is missing; see msprobe-rs graph_visualize --help"),
        ("graph_visualize --taget dump", "unknown option --taget (did you mean --target_path?); see msprobe-rs graph_visualize --help"),
        ("graph_visualize --tp my/dump -gp dump -o new", "--tp: 'my/dump' is no whole number (did you mean -tp?); see msprobe-rs "),
        ("graph_visualize --tp=my/dump -o new", "--tp: 'my/dump' is no whole number (did you mean -tp?); see msprobe-rs "),
        ("graph_visualize -tp dump -o new --tp", "--tp needs a value (did you mean -tp?); see msprobe-rs "),
        ("graph_visualize -tp dump -o new --pp a", "--pp: 'a' is no whole number; see msprobe-rs "),
        ("graph_visualize -tp dump --o new", "--o could be -o, --output_path, --overflow_check, --order; see msprobe-rs "),
        ("graph_visualize --gp dump -tp dump -o new", "unknown option --gp (did you mean -gp?); see msprobe-rs "),
        ("graph_visualize -tp dump -o new --jobs 0", "--jobs: 0 is less than 1;"),
        ("graph_visualize -tp dump -o new --noise-twin dump", "--noise-twin needs -gp"),
        ("report", "FILE.vis.db is missing; see msprobe-rs report --help"),
        ("report a b", "b: one word too many;"),
        ("report a --rnk 1", "unknown option --rnk (did you mean --rank?);"),
        ("report a --rank -1", "--rank: -1 is less than 0;"),
        ("report a --top -1", "--top: -1 is less than 0;"),
        (
            "export -o out/compare_1.vis.db x.csv",
            "-o out/compare_1.vis.db: the ending must be one of .html, .csv, .json, .xlsx, .parquet; did you mean ",
        ),
        ("export out/compare_1.vis.db -o x.html --rank 0", "-o x.html: a page shows all of the file;"),
        ("mapping suggest -tp dump", "-gp/--golden_path is missing;"),
        ("mapping -tp dump -gp 'a b'", "mapping does one thing, suggest: msprobe-rs mapping suggest -tp dump -gp 'a b'"),
        ("mapping -o m.yaml --gol=x", "mapping does one thing, suggest: msprobe-rs mapping suggest -tp DIR -gp x -o m.yaml"),
        ("mapping sugest -tp a -gp b", "mapping sugest: there is only mapping suggest: msprobe-rs mapping suggest -tp a -gp b"),
        ("mapping", "mapping does one thing, suggest: msprobe-rs mapping suggest -tp DIR -gp DIR"),
    ],
)
def test_wrong_usage(words: str, told: str, msprobe: Command, place: Path) -> None:
    assert refused(msprobe, place, *shlex.split(words), status=2).startswith(told)


@pytest.mark.parametrize("file", ["missing", "text.vis.db", "dump/dump.json"])
def test_doctor_and_mapping_say_the_same(file: str, msprobe: Command, place: Path) -> None:
    line = refused(msprobe, place, "doctor", file)
    assert line.startswith(f"{file}: ")
    assert refused(msprobe, place, "mapping", "suggest", "-tp", file, "-gp", "dump") == f"-tp {line}"


def test_a_node_that_is_nearly_right_is_found(msprobe: Command, place: Path) -> None:
    line = refused(msprobe, place, "tree", "out/compare_1.vis.db", "FC.linear")
    told = "no node FC.linear in step 0, rank 0; there are "
    assert told in line
    names = line.split(told)[1].split(", ")
    with sqlite3.connect(RESULT) as database:
        sql = "SELECT node_name FROM tb_nodes WHERE data_source = 'NPU' AND node_name LIKE '%fc.linear%'"
        found = sorted((name for (name,) in database.execute(sql)), key=lambda name: (len(name), name))
    assert names == found[:3] != []
    assert refused(msprobe, place, "tree", "out/compare_1.vis.db", "nowhere").endswith("no node nowhere in step 0, rank 0")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Module.blocks.0.1.BatchNorm2d.foward.0", "Module.blocks.0.1.BatchNorm2d.forward.0"),
        ("Modul.blocks.0.1.BatchNorm2d.forward.0", "Module.blocks.0.1.BatchNorm2d.forward.0"),
        ("module.pool.AvgPool2d.forward.0", "Module.pool.AdaptiveAvgPool2d.forward.0"),
        # A piece is missing, and one too many.
        ("Module.blocks.1.1.forward.0", "Module.blocks.1.1.BatchNorm2d.forward.0"),
        ("Module.model.blocks.1.1.BatchNorm2d.backward.0", "Module.blocks.1.1.BatchNorm2d.backward.0"),
        ("Functional.conv2d.7.backward", "Functional.conv2d.1.backward"),
    ],
)
@pytest.mark.parametrize("side", [(), ("--golden",), ("--step", "0", "--rank", "0")])
def test_a_slip_in_the_name_of_a_node_is_seen(typed: str, meant: str, side: tuple[str, ...], msprobe: Command, place: Path) -> None:
    line = refused(msprobe, place, "tree", "out/compare_1.vis.db", typed, *side)
    told = f"no node {typed} in step 0, rank 0; did you mean "
    assert told in line
    named = line.removesuffix("?").split(told)[1].split(" or ")
    assert meant in named
    assert len(named) <= 3
    with sqlite3.connect(RESULT) as database:
        assert set(named) <= {name for (name,) in database.execute("SELECT node_name FROM tb_nodes")}


@pytest.mark.parametrize("typed", ["nowhere", "no.where", "Tensor.nowhere.0.forward" * 1000, ".", "a b", "x." * 50_000])
def test_a_name_like_no_other_is_not_guessed_at(typed: str, msprobe: Command, place: Path) -> None:
    done = msprobe("tree", "out/compare_1.vis.db", typed, cwd=place)
    assert "did you mean" not in done.err
    assert (done.status, done.err.count("\n")) == (1, 1)


def test_programs_are_told_too(msprobe: Command, place: Path) -> None:
    for command in ("report", "tree"):
        done = msprobe(command, "missing.vis.db", "--json", cwd=place)
        assert json.loads(done.out)["error"] == done.error_lines[0].removeprefix("error: ")


NO_FOLDER = "no such folder; name the folder of a rank, of ranks or of steps"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: package.open("none.vis.db"), "none.vis.db: no such file; name a *.vis.db that a run has written"),
        (lambda: package.open("dump"), "dump: is a folder; name a *.vis.db file in it"),
        (lambda: package.build("none", output="new"), f"none: {NO_FOLDER}"),
        (lambda: package.compare("none", "dump", output="new"), f"none: {NO_FOLDER}"),
        (lambda: package.compare("dump", "none", output="new"), f"none: {NO_FOLDER}"),
        (lambda: package.compare("dump", "dump", output="new", noise_twin="none"), f"none: {NO_FOLDER}"),
        (
            lambda: package.compare("dump", "dump", output="new", layer_mapping="none.yaml"),
            "none.yaml: cannot be read: no such file or folder",
        ),
        (
            lambda: package.build("nothing", output="new"),
            "nothing: the folder is empty; name the folder of a rank, of ranks or of steps",
        ),
        (
            lambda: package.build("dump", output="text.vis.db/new"),
            "text.vis.db/new: cannot be used as the output folder: something on the way to it is a file and no folder",
        ),
        (
            lambda: package.build("dump", output="n" * 300),
            "cannot be used as the output folder: the name is too long, or has characters that cannot be in one",
        ),
        (
            lambda: package.open("out/compare_1.vis.db").report(noise_twin="none"),
            "none: no such file; name a *.vis.db that a run has written",
        ),
    ],
)
def test_python_says_what_is_missing_in_plain_words(
    call: Callable[[], object], told: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    with pytest.raises(package.MsprobeError) as caught:
        call()
    assert str(caught.value).endswith(told)
    assert "\n" not in str(caught.value)


def test_a_dump_without_a_file_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    (place / "dump" / "construct.json").unlink()
    with pytest.raises(package.MsprobeError) as caught:
        package.build("dump", output="new")
    assert str(caught.value) == "dump/construct.json: is missing; the folder of a rank holds dump.json, construct.json and stack.json"


WRONG_CELLS = {
    "a name that is bytes": "node_name = x'ff'",
    "a name that is no UTF-8": "node_name = CAST(x'ff' AS TEXT)",
    "a verdict that is a text": "precision_index = 'x'",
    "parameters that are bytes": "input_data = x'ff'",
    "parameters that are no JSON": "output_data = '{'",
}


@pytest.mark.parametrize("change", WRONG_CELLS.values(), ids=WRONG_CELLS)
def test_a_damaged_cell_is_told_in_plain_words(change: str, msprobe: Command, place: Path) -> None:
    with contextlib.closing(sqlite3.connect(place / "out" / "compare_1.vis.db")) as database, database:
        database.execute(f"UPDATE tb_nodes SET {change} WHERE node_order = 3 AND data_source = 'NPU'")
    told = 0
    for command, *words in QUESTIONS:
        # What reads on over such a cell says what it makes of it; nothing else is asked of it here.
        if msprobe(command, "out/compare_1.vis.db", *words, cwd=place).status == 0:
            continue
        line = refused(msprobe, place, command, "out/compare_1.vis.db", *words)
        assert line.startswith("out/compare_1.vis.db: is damaged: ")
        assert line.endswith("; write it again")
        told += 1
    assert told > 0
