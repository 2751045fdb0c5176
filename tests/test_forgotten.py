"""What the target forgot, calls whose numbers are shifted, and a golden run that is the wrong side: the answer says so."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, Command, Run
from tests.dumps import ENTRY, TENSOR, write
from tests.recorded import unpacked
from tests.test_viewer_answer import asked

LLAMA = DATA / "dumps" / "llama_perturbed" / "golden" / "step0" / "rank0"


def forget(rank: Path, copy: Path, api: str, number: int) -> Path:
    """A copy of a dump by a program that does not make this call: those after it have the number before theirs."""

    def renamed(name: str) -> str | None:
        found = re.fullmatch(rf"{re.escape(api)}\.(\d+)(\..*)", name)
        if found is None:
            return name
        later = int(found[1]) > number
        return None if int(found[1]) == number else f"{api}.{int(found[1]) - later}{found[2]}"

    shutil.copytree(rank, copy)
    dump = json.loads((copy / "dump.json").read_text())
    dump["data"] = {name: value for key, value in dump["data"].items() if (name := renamed(key))}
    (copy / "dump.json").write_text(json.dumps(dump))
    tree = {name: parent for key, parent in json.loads((copy / "construct.json").read_text()).items() if (name := renamed(key))}
    (copy / "construct.json").write_text(json.dumps(tree))
    stacks = json.loads((copy / "stack.json").read_text())
    stacks = {key: [[name for old in names if (name := renamed(old))], frames] for key, (names, frames) in stacks.items()}
    (copy / "stack.json").write_text(json.dumps(stacks))
    return copy


def of(value: float, **more: Any) -> dict[str, Any]:
    """A tensor whose elements are all so large."""
    return {**TENSOR, "Max": value, "Min": value, "Mean": value, "Norm": value * 6**0.5, "requires_grad": False, **more}


def call(inputs: list[dict[str, Any]], output: dict[str, Any]) -> dict[str, Any]:
    return {"input_args": inputs, "input_kwargs": {}, "output": [output]}


ATTENTION = "Module.attention.Attention.forward.0"
MATMUL, SCALE, SOFTMAX = "Torch.matmul.0.forward", "Tensor.__mul__.0.forward", "Functional.softmax.0.forward"
SCALED = {
    MATMUL: call([of(2.0)], of(8.0)),
    SCALE: call([of(8.0)], of(1.0)),
    SOFTMAX: call([of(1.0)], of(0.5)),
    ATTENTION: call([of(2.0)], of(0.5)),
}
UNSCALED = {
    MATMUL: call([of(2.0)], of(8.0)),
    SOFTMAX: call([of(8.0)], of(0.25)),
    ATTENTION: call([of(2.0)], of(0.25)),
}


def attention(folder: Path) -> tuple[Path, Path]:
    """An attention that forgets to scale its scores, and one that does not."""
    target = write(folder / "target", {name: None if name == ATTENTION else ATTENTION for name in UNSCALED}, UNSCALED)
    golden = write(folder / "golden", {name: None if name == ATTENTION else ATTENTION for name in SCALED}, SCALED)
    frame = "File /home/user/train/model.py, line 12, in forward, \n scores = scores * self.scale"
    (golden / "stack.json").write_text(json.dumps({"0": [[SCALE], [frame]]}))
    return target, golden


def changed(file: Path, sql: str) -> None:
    with sqlite3.connect(file) as database:
        database.executescript(sql)
    database.close()


MISSING = f"    only in golden inside it: {SCALE}   /home/user/train/model.py:12 in forward: scores = scores * self.scale"


def test_a_call_that_the_target_forgot_is_named_with_goldens_line(validator: Any, msprobe: Command, run: Run, tmp_path: Path) -> None:
    target, golden = attention(tmp_path)
    done = run(target, golden, "--json")
    (file,) = run.left()
    document = json.loads(done.out)["report"]
    validator.validate(document)
    found = document["first_difference"]
    assert (found["what"], found["node"], found["evidence"]["node"]) == ("computation", ATTENTION, SOFTMAX)
    assert [node["node"] for node in found["only_golden"]["nodes"]] == [SCALE]
    told = msprobe("report", file).out.splitlines()
    assert MISSING in told
    assert not any("only in target" in line for line in told if line.startswith(" "))
    # The browser has a button for it that goes to the golden side.
    summary = asked(file.parent, "summary", path=file.name, step="0", rank="0")["first_difference"]["only_golden"]
    assert (summary["place"], [(node["name"], node["frame"]["line"]) for node in summary["nodes"]]) == ("inside", [(SCALE, 12)])
    # A file that says nothing of itself, as those of msProbe.
    own = "SELECT 'DROP TABLE ' || name FROM sqlite_master WHERE type = 'table' AND name LIKE 'msprobe%'"
    with sqlite3.connect(file) as database:
        drops = [statement for (statement,) in database.execute(own)]
    changed(file, ";".join(drops))
    assert json.loads(msprobe("report", file, "--json").out)["first_difference"] == found
    # Both have it: nothing is missing.
    changed(file, f"UPDATE tb_nodes SET matched_node_link = '[\"{MATMUL}\"]' WHERE node_name = '{SCALE}'")
    assert "only_golden" not in json.loads(msprobe("report", file, "--json").out)["first_difference"]


def test_the_page_lists_what_only_golden_has(msprobe: Command, run: Run, tmp_path: Path) -> None:
    file = run.result(*attention(tmp_path))
    assert msprobe("export", file, "-o", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text()
    assert MISSING in page
    assert "<h2>Only in golden (1)</h2>" in page
    assert f"<td>{SCALE}</td>" in page
    # The same the other way round has nothing of it.
    other = tmp_path / "other"
    msprobe("graph_visualize", "-tp", tmp_path / "golden", "-gp", tmp_path / "target", "-o", other)
    assert msprobe("export", next(other.iterdir()), "-o", tmp_path / "other.html").status == 0
    assert "Only in golden" not in (tmp_path / "other.html").read_text()


def test_what_only_golden_has_is_listed_as_unmatched(validator: Any, msprobe: Command, run: Run, tmp_path: Path) -> None:
    file = run.result(*attention(tmp_path))
    done = msprobe("report", file, "--only", "unmatched")
    assert done.out.splitlines()[-1].split() == ["2", SCALE, "only", "in", "golden"]
    for options in ((), ("--top", "0")):
        document = json.loads(msprobe("report", file, "--only", "unmatched", "--json", *options).out)
        validator.validate(document)
        (rank,) = document["ranks"]
        assert (rank["listed_total"], rank["listed_golden_total"]) == (0, 1)
        assert [(node["node"], node["matched"]) for node in rank.get("listed_golden", [])] == ([] if options else [(SCALE, False)])
    assert (
        msprobe("report", file, "--only", "unmatched", "--top", "0").out.splitlines()[-1] == "  and 1 more only in golden; --top shows them"
    )
    changed(file, "DROP TABLE msprobe_divergence")
    assert msprobe("report", file, "--only", "unmatched").out == done.out


@pytest.mark.parametrize(("only", "told"), [("error", "none"), ("unmatched", "none"), ("overflow", "none; the run did not look for it")])
def test_a_list_of_nothing_says_none(only: str, told: str, msprobe: Command, run: Run) -> None:
    file = run.result(LLAMA, LLAMA)
    assert msprobe("report", file, "--only", only).out.splitlines()[-1].startswith(f"--only {only}: {told}")


def test_overflow_that_was_looked_for_and_not_found_is_none(msprobe: Command, run: Run) -> None:
    run(LLAMA, LLAMA, "-oc")
    (file,) = run.left()
    changed(file, "UPDATE tb_nodes SET overflow_level = NULL; DROP TABLE msprobe_divergence")
    assert msprobe("report", file, "--only", "overflow").out.splitlines()[-1] == "--only overflow: none"


@pytest.mark.parametrize("sides", ["golden has one more", "the target has one more"])
def test_calls_whose_numbers_are_shifted_are_hinted_at(sides: str, validator: Any, msprobe: Command, run: Run, tmp_path: Path) -> None:
    less = forget(LLAMA, tmp_path / "less", "Tensor.__mul__", 3)
    target, golden = (less, LLAMA) if sides.startswith("golden") else (LLAMA, less)
    counts = [len(re.findall(r'"Tensor\.__mul__\.\d+\.forward": \{', (side / "dump.json").read_text())) for side in (golden, target)]
    assert abs(counts[0] - counts[1]) == 1
    hint = (
        f"hint     golden calls Tensor.__mul__ {counts[0]} times, the target {counts[1]} times: call numbers may be shifted against each "
        "other; try --match align"
    )
    done = run(target, golden)
    (file,) = run.left()
    assert hint in done.out.splitlines()
    assert hint in msprobe("report", file).out.splitlines()
    validator.validate(json.loads(msprobe("report", file, "--json").out))
    found = asked(file.parent, "summary", path=file.name, step="0", rank="0")["first_difference"]
    assert found["unlike_calls"] == {"api": "Tensor.__mul__", "golden": counts[0], "target": counts[1]}
    # Whoever has aligned them is not told to; nor are numbers that are no others.
    assert "hint" not in run(target, golden, "--match", "align").out
    assert "hint" not in run(DATA / "dumps" / "llama_perturbed" / "target", DATA / "dumps" / "llama_perturbed" / "golden").out


def test_what_only_golden_has_before_the_module_is_named(run: Run, tmp_path: Path) -> None:
    """One gradient is halved before all of them are clipped: the numbers of all calls after it are shifted."""
    norm, halve, clip = "Torch.vector_norm.0.forward", "Tensor.mul_.0.forward", "clip_grad"

    def clipped(gradient: float, first: int) -> dict[str, Any]:
        calls = {norm: call([of(gradient)], of(gradient / 2))}
        for at, (other, factor) in enumerate(((gradient, 0.5), (3.999, 1000.0), (300.0, 0.5))):
            calls[f"Tensor.mul_.{first + at}.forward"] = call([of(other)], of(other * factor))
        return calls

    target, golden = clipped(8.0, 0), {halve: call([of(8.0)], of(4.0)), **clipped(4.0, 1)}
    for side, calls in (("target", target), ("golden", golden)):
        tree = {name: clip if side == "target" or name != halve else None for name in calls} | {clip: None}
        write(tmp_path / side, tree, {**calls, clip: {}})
    frame = "File /home/user/train/train.py, line 41, in step, \n grad.mul_(0.5)"
    (tmp_path / "golden" / "stack.json").write_text(json.dumps({"0": [[halve], [frame]]}))
    told = run(tmp_path / "target", tmp_path / "golden").out.splitlines()
    assert any(line.startswith(f"first difference   {norm}") for line in told)
    assert f"    only in golden before it: {halve}   /home/user/train/train.py:41 in step: grad.mul_(0.5)" in told
    # The first difference is a call that is made equally often, the first verdict is not.
    verdict = next(line.split()[2] for line in told if line.startswith("first verdict"))
    assert verdict == "Tensor.mul_.1.forward"
    hint = (
        "hint     golden calls Tensor.mul_ 4 times, the target 3 times: call numbers may be shifted against each other; try --match align"
    )
    assert hint in told


NAN = "hint     the golden run holds NaN or infinity where the target does not (first: "


def test_sides_that_are_swapped_are_hinted_at(validator: Any, msprobe: Command, run: Run) -> None:
    sides = unpacked() / "ms_cnn_nan"
    done = run(sides / "golden", sides / "target", "-oc")
    (file,) = run.left()
    (line,) = (line for line in done.out.splitlines() if line.startswith("hint"))
    # README: the weight of fc1 holds an infinity, so its product is the first that does.
    assert line == f"{NAN}Primitive.matmul.MatMul.0.forward): is it the right side?"
    assert line in msprobe("report", file).out.splitlines()
    summary = asked(file.parent, "summary", path=file.name, step="0", rank="0")["first_difference"]
    assert summary["golden_overflow"]["name"] == "Primitive.matmul.MatMul.0.forward"
    document = json.loads(msprobe("report", file, "--json").out)
    validator.validate(document)
    found = document["ranks"]
    changed(file, "DROP TABLE msprobe_divergence")
    assert json.loads(msprobe("report", file, "--json").out)["ranks"] == found
    assert asked(file.parent, "summary", path=file.name, step="0", rank="0")["first_difference"] == summary
    # The right way round, and NaN on both sides.
    for pair in (("target", "golden"), ("target", "target")):
        assert "hint" not in run(sides / pair[0], sides / pair[1]).out


def test_a_mask_of_golden_is_no_overflow(run: Run, tmp_path: Path) -> None:
    nodes = {"Torch.where.0.forward": None, "Torch.exp.0.forward": None}
    target = write(tmp_path / "target", nodes, {name: call([of(1.0)], of(1.0, Min=-3.0)) for name in nodes})
    golden = write(tmp_path / "golden", nodes, {name: call([of(1.0)], of(1.0, Min=float("-inf"))) for name in nodes})
    done = run(target, golden)
    assert "NaN or infinity on one side" in done.out
    assert "hint" not in done.out


def steps(folder: Path, count: int) -> tuple[Path, Path]:
    """So many steps of two sides, all alike."""
    for side in ("target", "golden"):
        for step in range(count):
            write(folder / side / f"step{step}" / "rank0")
    return folder / "target", folder / "golden"


def test_what_was_looked_at_is_told_of_all_steps(run: Run, tmp_path: Path) -> None:
    done = run(*steps(tmp_path, 3), "--json")
    totals = json.loads(done.out)["report"]["totals"]
    # Two nodes of one input and one output a step.
    assert (totals["compared_rows"], totals["compared_nodes"]) == (12, 6)
    assert "none: identical; 12 parameter pairs of 6 nodes looked at" in run(tmp_path / "target", tmp_path / "golden").out


def test_steps_that_are_left_out_are_told_by_the_file_too(validator: Any, msprobe: Command, run: Run, tmp_path: Path) -> None:
    target, golden = steps(tmp_path, 3)
    for step in (0, 2):
        (target / f"step{step}" / "rank0" / "dump.json").write_text("{")
    done = run(target, golden)
    assert done.status == 3
    (file,) = run.left()
    told = [line for line in done.out.splitlines() if "not valid JSON" in line]
    assert told[0].startswith("left out 2 of 3: step0/rank0: ")
    assert told[1].startswith("         step2/rank0: ")
    again = msprobe("report", file)
    assert [line for line in again.out.splitlines() if "not valid JSON" in line] == told
    document = json.loads(msprobe("report", file, "--json").out)
    validator.validate(document)
    left_out = document["left_out"]
    assert msprobe("export", file, "-o", tmp_path / "page.html").status == 0
    assert "left out 2 of 3: step0/rank0: " in (tmp_path / "page.html").read_text()
    assert [(one["step"], one["rank"]) for one in left_out] == [(0, 0), (2, 0)]
    assert "left_out" not in json.loads(msprobe("report", file, "--json", "--step", "1").out)


def test_the_tree_is_that_of_the_first_difference(msprobe: Command, run: Run, tmp_path: Path) -> None:
    target, golden = steps(tmp_path, 3)
    name = "Torch.add.0.forward"
    data = {"Module.m.M.forward.0": ENTRY, name: call([of(1.0)], of(2.0))}
    other = {"Module.m.M.forward.0": ENTRY, name: call([of(1.0)], of(3.0))}
    tree = {"Module.m.M.forward.0": None, name: "Module.m.M.forward.0"}
    write(target / "step1" / "rank0", tree, other)
    write(golden / "step1" / "rank0", tree, data)
    file = run.result(target, golden)
    for _ in range(2):
        head, *lines = msprobe("tree", file).out.splitlines()
        assert head == "step 1, rank 0 of 3 ranks and steps"
        assert any(line.endswith("<- first difference") for line in lines)
        document = json.loads(msprobe("tree", file, "--json").out)
        assert (document["step"], document["rank"], document["places"]) == (1, 0, 3)
        assert msprobe("tree", file, "--step", "2").out.startswith("step 2, rank 0 of 3 ranks and steps\n")
        # The rows tell it too.
        changed(file, "DROP TABLE IF EXISTS msprobe_divergence")
    alone = run.out.parent / "alone"
    done = msprobe("graph_visualize", "-tp", target / "step1", "-gp", golden / "step1", "-o", alone)
    assert done.status == 0
    assert not msprobe("tree", next(alone.iterdir())).out.startswith("step")


def test_an_argument_that_differs_is_a_value_and_flows_on(run: Run, tmp_path: Path) -> None:
    norm, after = "Functional.layer_norm.0.forward", "Functional.relu.0.forward"

    def side(name: str, epsilon: float, result: float) -> Path:
        argument = {"type": "float", "value": epsilon}
        data = {norm: call([of(1.0), argument], of(result)), after: call([of(result)], of(result))}
        return write(tmp_path / name, dict.fromkeys(data), data)

    done = run(side("target", 1e-6, 4.5), side("golden", 1e-5, 4.0))
    told = done.out.splitlines()
    assert any(line.startswith("    argument: input.1 value 1e-05 -> 1e-06 (x 0.1, noise ") for line in told)
    assert f"    flows into {after}" in told


def test_integers_are_known_by_their_extremes_only(validator: Any, run: Run, tmp_path: Path) -> None:
    name = "Functional.embedding.0.forward"
    ids = {**TENSOR, "dtype": "torch.int64", "Max": 9, "Min": 0, "Mean": None, "Norm": None, "requires_grad": False}

    def side(name_of_side: str, result: float) -> Path:
        return write(tmp_path / name_of_side, {name: None}, {name: call([ids, of(1.0)], of(result))})

    validator.validate(json.loads(run(side("target", 4.5), side("golden", 4.0), "--json").out)["report"])
    done = run(tmp_path / "target", tmp_path / "golden")
    assert "computation: inputs have the same statistics; of input.0 (torch.int64) only Max and Min are known; output.0 " in done.out


def test_alarms_without_nan_say_so(msprobe: Command, run: Run, tmp_path: Path) -> None:
    name = "Torch.exp.0.forward"
    jump = {name: call([of(1.0)], of(1000.0))}
    done = run(write(tmp_path / "target", {name: None}, jump), None, "-oc")
    line = "overflow 0 critical   1 high   0 medium   none of them NaN or infinite"
    assert line in done.out.splitlines()
    (file,) = run.left()
    assert line in msprobe("report", file).out.splitlines()


def test_further_runner_ups_are_counted(msprobe: Command, run: Run, tmp_path: Path) -> None:
    names = [f"Torch.f{number}.0.forward" for number in range(12)]

    def side(name: str, factor: float) -> Path:
        data = {name: call([of(number + 1.0)], of((number + 50.0) * factor)) for number, name in enumerate(names)}
        return write(tmp_path / name, dict.fromkeys(data), data)

    done = run(side("target", 1.5), side("golden", 1.0))
    (file,) = run.left()
    (line,) = (line for line in done.out.splitlines() if line.startswith("runner-up"))
    # Twelve differ: the first one, the one in this line, and ten more.
    assert line.endswith(f"   10 more: msprobe-rs report {file} --top 11")
    assert [line for line in msprobe("report", file).out.splitlines() if "more" in line] == ["  and 6 more; --top 11 shows them"]
    assert msprobe("report", file, "--top", "11").out.count("runner-up") == 11
