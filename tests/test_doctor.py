"""doctor on dumps."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import DATA, Command
from tests.dumps import write
from tests.recorded import unpacked


def test_a_sound_dump(msprobe: Command) -> None:
    done = msprobe("doctor", DATA / "dumps" / "llama_perturbed" / "target")
    lines = done.out.splitlines()
    assert (done.status, len(lines), lines[-1]) == (0, 3, "all good")
    assert "pytorch   task statistics   level mix" in lines[0]
    assert "1 rank   424 nodes" in lines[1]


def test_ranks_are_listed(msprobe: Command) -> None:
    done = msprobe("doctor", unpacked() / "ddp_gloo_2rank" / "target")
    assert done.status == 0
    assert [line.split()[0].rsplit("/", 1)[1] for line in done.out.splitlines()[:2]] == ["rank0", "rank1"]


def test_what_is_missing_is_named(msprobe: Command, rank: Path) -> None:
    (rank / "stack.json").unlink()
    done = msprobe("doctor", rank)
    assert done.status == 1
    (line,) = (line for line in done.out.splitlines() if line.startswith("problem "))
    assert f"{rank}/stack.json is missing" in line


def test_each_missing_file_is_named_once(msprobe: Command, tmp_path: Path) -> None:
    ranks = [write(tmp_path / "step" / f"rank{number}") for number in range(3)]
    (ranks[0] / "stack.json").unlink()
    (ranks[1] / "dump.json").write_text("{")
    for words in (["step"], ["./step/"]):
        done = msprobe("doctor", *words, cwd=tmp_path)
        problems = [line.removeprefix("problem   ") for line in done.out.splitlines() if line.startswith("problem ")]
        assert done.status == 1
        assert len(problems) == 2
        assert problems[0].startswith("step/rank0/stack.json is missing: ")
        assert "step/rank1/dump.json: not valid JSON" in problems[1]
    # Nothing can be read: every reason is told all the same.
    (ranks[2] / "construct.json").unlink()
    (ranks[2] / "stack.json").unlink()
    done = msprobe("doctor", "step", cwd=tmp_path)
    problems = [line.split()[1].removesuffix(":") for line in done.out.splitlines() if line.startswith("problem ")]
    files = ["rank0/stack.json", "rank2/construct.json", "rank2/stack.json", "rank1/dump.json"]
    assert (done.status, problems) == (1, [f"step/{file}" for file in files])
    for file in ranks[1].iterdir():
        file.unlink()
    done = msprobe("doctor", "step", cwd=tmp_path)
    problems = [line.split()[1] for line in done.out.splitlines() if line.startswith("problem ")]
    assert problems == [
        "step/rank0/stack.json",
        *(f"step/rank1/{name}" for name in ("dump.json", "construct.json", "stack.json")),
        *(f"step/rank2/{name}" for name in ("construct.json", "stack.json")),
    ]


def test_a_broken_file_is_named_with_its_place(msprobe: Command, rank: Path) -> None:
    text = (rank / "dump.json").read_text()
    (rank / "dump.json").write_text(text[: len(text) // 2])
    done = msprobe("doctor", rank)
    assert done.status == 1
    assert any(line.startswith("problem ") and "dump.json" in line for line in done.out.splitlines())
    assert "Traceback" not in done.err


def test_folders_of_several_dumps_are_a_problem(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("doctor", DATA / "dumps" / "llama_perturbed")
    assert (done.status, done.err) == (1, "")
    assert done.out.startswith("problem   ")
    assert "holds two runs; name " in done.out
    for name in ("a", "b"):
        (tmp_path / name / "target" / "step0" / "rank0").mkdir(parents=True)
    done = msprobe("doctor", tmp_path)
    assert (done.status, done.err) == (1, "")
    told = "holds 2 folders that are no ranks or steps (a, b); name the folder of a rank, of ranks or of steps"
    assert done.out == f"problem   {tmp_path}: {told}\n"


def test_no_folder_is_one_line(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("doctor", tmp_path / "absent")
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
