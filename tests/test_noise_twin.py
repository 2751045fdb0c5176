"""A second golden run as the measure of noise: whose noise a node has, and which comparisons are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.dumps import TENSOR, write
from tests.recorded import unpacked


def dump(folder: Path, first: str, second: str, norms: tuple[float, float], md5: bool = False) -> Path:
    """Two modules, whose outputs have these norms."""

    def entry(at: int, norm: float) -> dict[str, Any]:
        given: dict[str, Any] = {**TENSOR, "Max": 3.0 + at}
        made: dict[str, Any] = {**TENSOR, "Max": 9.0, "Min": -9.0, "Mean": 0.0, "Norm": norm}
        for tensor in (given, made) if md5 else ():
            tensor["md5"] = f"{int(tensor['Norm']):08x}"
        return {"input_args": [given], "input_kwargs": {}, "output": [made]}

    names = (f"Module.{first}.A.forward.0", f"Module.{second}.B.forward.0")
    data = {name: entry(at, norm) for at, (name, norm) in enumerate(zip(names, norms, strict=True))}
    return write(folder, dict.fromkeys(names), data)


def compare(msprobe: Command, target: Path, golden: Path, out: Path, *words: str | Path) -> dict[str, Any]:
    done = msprobe("graph_visualize", "-tp", target, "-gp", golden, "-o", out, "--json", *words)
    assert done.status == 0, done.err
    document: dict[str, Any] = json.loads(done.out)
    return document


MAPPING = "TopLayer:\n  one: first\n  two: second\n"


@pytest.mark.parametrize(
    ("names", "words"),
    [(("first", "second"), []), (("one", "two"), ["-lm", "mapping.yaml"]), (("one", "two"), ["--match", "align"])],
    ids=["name", "mapping", "alignment"],
)
def test_noise_is_that_of_the_golden_partner(names: tuple[str, str], words: list[str], msprobe: Command, tmp_path: Path) -> None:
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    words = [str(tmp_path / word) if word.endswith("yaml") else word for word in words]
    golden = dump(tmp_path / "golden", "first", "second", (100.0, 100.0))
    again = dump(tmp_path / "again", "first", "second", (101.0, 100.0))
    target = dump(tmp_path / "target", *names, (105.0, 105.0))
    # Without the second run the first node is the first difference.
    alone = compare(msprobe, target, golden, tmp_path / "alone", *words)
    assert alone["report"]["totals"]["matched"] == 2
    assert alone["report"]["first_difference"]["node"] == f"Module.{names[0]}.A.forward.0"

    told = compare(msprobe, target, golden, tmp_path / "told", *words, "--noise-twin", again)["report"]
    # By hand: the golden runs differ by 1/101 in the norm of the first node and by nothing in the second. The window holds both, so the
    # first may differ by 6 * 1/101 = 0.0594 and the second by 6 * sqrt((1/101)^2 / 2) = 0.0420; both differ by 5/105 = 0.0476.
    found = told["first_difference"]
    assert (found["node"], found["golden_node"]) == (f"Module.{names[1]}.B.forward.0", "Module.second.B.forward.0")
    assert math.isclose(found["evidence"]["error"], 5 / 105, rel_tol=1e-6)
    assert math.isclose(found["evidence"]["noise"], 6 / 101 / math.sqrt(2), rel_tol=1e-6)
    assert told["noise"]["twin_nodes"] == {"found": 2, "not_found": 0}

    # The finished files say the same, whoever wrote them.
    twin = compare(msprobe, again, golden, tmp_path / "twin")["output"]
    read = json.loads(msprobe("report", alone["output"], "--json", "--noise-twin", twin).out)
    for one in (read, told):
        del one["noise"]["twin"], one["file"]
    assert read == told


def refused(msprobe: Command, *words: str | Path) -> str:
    done = msprobe(*words)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    return done.err


def test_a_twin_without_sizes_is_refused(msprobe: Command, tmp_path: Path) -> None:
    golden, target = (dump(tmp_path / name, "first", "second", (100.0, norm)) for name, norm in (("golden", 100.0), ("target", 105.0)))
    file = compare(msprobe, target, golden, tmp_path / "out")["output"]
    sums, others = (dump(tmp_path / name, "first", "second", (100.0, 100.0), md5=True) for name in ("sums", "others"))
    md5 = compare(msprobe, others, sums, tmp_path / "md5")["output"]
    frames = [
        write(tmp_path / name / "rank", {"Module.m.M.forward.0": None}, {"Module.m.M.forward.0": {}}, task="structure")
        for name in ("a", "b")
    ]
    structure = compare(msprobe, frames[0], frames[1], tmp_path / "structure")["output"]
    build = json.loads(msprobe("graph_visualize", "-tp", target, "-o", tmp_path / "build", "--json").out)["output"]
    for twin, what in (
        (md5, "compares checksums"),
        (structure, "compares the structure alone"),
        (build, "holds one run and no comparison"),
    ):
        text = f"{twin}: {what}, which shows no size of noise"
        assert text in refused(msprobe, "report", file, "--noise-twin", twin)
        words = ("graph_visualize", "-tp", target, "-gp", golden, "-o", tmp_path / "more", "--noise-twin", twin)
        assert text in refused(msprobe, *words)
    words = ("graph_visualize", "-tp", others, "-gp", sums, "-o", tmp_path / "more", "--noise-twin", others)
    assert f"{others}: compares checksums, which shows no size of noise" in refused(msprobe, *words)
    assert list((tmp_path / "more").iterdir()) == []
    # And the other way round: a run that has no use for it.
    twin = compare(msprobe, golden, golden, tmp_path / "twin")["output"]
    assert "the run itself compares checksums" in refused(msprobe, "report", md5, "--noise-twin", twin)


def test_a_twin_of_other_dumps_is_refused(msprobe: Command, tmp_path: Path) -> None:
    golden, target = (dump(tmp_path / name, "first", "second", (100.0, norm)) for name, norm in (("golden", 100.0), ("target", 105.0)))
    file = compare(msprobe, target, golden, tmp_path / "out")["output"]
    strangers = unpacked() / "inplace_relu"
    foreign = compare(msprobe, strangers / "target", strangers / "golden", tmp_path / "foreign")["output"]
    line = refused(msprobe, "report", file, "--noise-twin", foreign)
    assert f"{foreign}: its golden run is not that of {file}: no node has the same name in step 0, rank 0" in line
    # The same network with other numbers.
    other = dump(tmp_path / "other", "first", "second", (70.0, 80.0))
    twin = compare(msprobe, golden, other, tmp_path / "twin")["output"]
    line = refused(msprobe, "report", file, "--noise-twin", twin)
    assert f"{twin}: its golden run is not that of {file}: of 2 nodes looked at 2 hold other numbers" in line
    # A run is written all the same.
    done = msprobe("graph_visualize", "-tp", target, "-gp", golden, "-o", tmp_path / "told", "--noise-twin", twin)
    assert done.status == 0
    assert done.err.count(f"the first difference cannot be told: {twin}: its golden run is not that of") == 1
