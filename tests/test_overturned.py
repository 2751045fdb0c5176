"""What is right where the recorded result of the reference is not: expectations written by hand."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Command
from tests.dumps import nodes
from tests.recorded import Case, cases


def result(case: Case, msprobe: Command, out: Path) -> Path:
    words = [str(out) if word == "<OUT>" else word for word in case.words]
    done = msprobe("graph_visualize", *words, cwd=case.folder)
    assert done.status == 0, done.err
    (file,) = out.iterdir()
    return file


def test_a_backward_api_below_a_module_called_feed_forward_finds_its_parent(msprobe: Command, tmp_path: Path) -> None:
    file = result(cases()["b20_forward_word_in_module_name"], msprobe, tmp_path)
    found = nodes(file)
    assert found["NPU", "Torch.add.0.backward"]["up_node"] == "Module.feed_forward.F.backward.0"
    assert json.loads(found["NPU", "Module.feed_forward.F.backward.0"]["sub_nodes"]) == ["Torch.add.0.backward"]
    top = ["Module.feed_forward.F.forward.0", "Module.feed_forward.F.backward.0"]
    assert json.loads(found["NPU", "DefaultModel"]["sub_nodes"]) == top
    order = ["Torch.add.0.forward", top[0], "Torch.add.0.backward", top[1], "DefaultModel"]
    assert sorted((row["node_order"], name) for (_, name), row in found.items()) == list(enumerate(order))


def test_a_folder_with_one_rank_is_compared_with_that_rank_of_another_run(msprobe: Command, tmp_path: Path) -> None:
    found = nodes(result(cases()["e06_layout_mismatch"], msprobe, tmp_path))
    assert json.loads(found["NPU", "Torch.add.0.forward"]["matched_node_link"])[-1] == "Torch.add.0.forward"
    assert {(row["step"], row["rank"]) for row in found.values()} == {(0, 0)}


def test_a_file_beside_step_folders_is_passed_over(msprobe: Command, tmp_path: Path) -> None:
    case = cases()["e10_file_beside_steps"]
    file = result(case, msprobe, tmp_path)
    assert set(nodes(file)) == {("NPU", name) for name in ("DefaultModel", "Module.m.M.forward.0", "Torch.add.0.forward")}
    file.unlink()
    assert "note.log" in msprobe("graph_visualize", "-tp", "target", "-o", tmp_path, cwd=case.folder).err
