"""The browser and the terminal give one answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from msprobe._native import Viewer
from tests.conftest import DATA, Command, Run
from tests.dumps import API, MODULE, write
from tests.recorded import unpacked


def asked(folder: Path, route: str, **pairs: str) -> dict[str, Any]:
    viewer = Viewer(folder)
    status, body = viewer.answer(route, list(pairs.items()))
    while status == 202:
        status, body = viewer.answer(route, list(pairs.items()))
    assert status == 200, body
    answer: dict[str, Any] = json.loads(body)
    return answer


@pytest.mark.parametrize("name", ["compare_tensor", "llama_perturbed", "llama_md5", "ddp_gloo_2rank", "renamed_modules_lm"])
def test_both_count_the_same(name: str, msprobe: Command, run: Run) -> None:
    if name == "compare_tensor":
        run.out.mkdir()
        # One that msProbe wrote.
        file = Path(shutil.copy(DATA / "visdb" / "compare_tensor.vis.db", run.out))
    else:
        file = run.result(unpacked() / name / "target", unpacked() / name / "golden")
    for rank in json.loads(msprobe("report", file, "--json").out)["ranks"]:
        place = {"path": file.name, "step": str(rank["step"]), "rank": str(rank["rank"])}
        summary = asked(file.parent, "summary", **place)
        verdicts, counts = rank["counts"]["verdicts"], rank["counts"]
        told = [verdicts[word] for word in ("not_compared", "pass", "warning", "error")]
        assert summary["target"]["status"] == [*told, counts["only_target"]]
        assert summary["golden"]["status"][4] == counts["only_golden"]
        assert summary["target"]["nodes"] == counts["target_nodes"]
        found = asked(file.parent, "search", **place, side="target", status="none", limit="1")
        assert found["total"] == verdicts["not_compared"]


def test_what_only_golden_has_is_the_first_difference(msprobe: Command, tmp_path: Path) -> None:
    entry: dict[str, Any] = {}
    target = write(tmp_path / "target", {MODULE: None}, {MODULE: entry}, task="structure")
    golden = write(tmp_path / "golden", {MODULE: None, API: MODULE}, {MODULE: entry, API: entry}, task="structure")
    done = msprobe("graph_visualize", "-tp", target, "-gp", golden, "-o", tmp_path / "out", "--json")
    file = Path(json.loads(done.out)["output"])
    found = asked(file.parent, "summary", path=file.name, step="0", rank="0")["first_difference"]
    assert (found["name"], found["side"], found["what"]) == (API, "golden", "structure")
    assert "structure: only the golden run has it" in msprobe("report", file).out
