"""What is right where the recorded result of the reference is not: expectations written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.dumps import nodes
from tests.parity import load
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


def partners(file: Path) -> dict[str, str | None]:
    """The golden node that each target node faces."""
    rows = ((name, json.loads(row["matched_node_link"] or "[]")) for (side, name), row in nodes(file).items() if side == "NPU")
    return {name: link[-1] if link else None for name, link in rows}


def test_a_mapping_that_is_a_list_is_an_error_that_names_the_line(msprobe: Command, tmp_path: Path) -> None:
    case = cases()["c08_layer_mapping_bad_yaml"]
    words = [str(tmp_path / "out") if word == "<OUT>" else word for word in case.words]
    done = msprobe("graph_visualize", *words, cwd=case.folder)
    assert done.status == 1
    assert done.error_lines == ["error: mapping.yaml:1: a list stands where `class:` and its rules should"]
    assert not (tmp_path / "out").exists()


def test_a_mapping_is_followed_although_the_target_has_no_stacks(msprobe: Command, tmp_path: Path) -> None:
    found = partners(result(cases()["c09_layer_mapping_empty_stack"], msprobe, tmp_path))
    mlp = "Module.module.module.language_model.encoder.layers.0.mlp"
    golden = "Module.model.module.decoder.layers.0.mlp"
    assert found[f"{mlp}.ParallelMLP.forward.0"] == f"{golden}.MLP.forward.0"
    assert found[f"{mlp}.dense_h_to_4h.ColumnParallelLinear.backward.0"] == f"{golden}.linear_fc1.TELinear.backward.0"
    assert found["Torch.matmul.1.forward"] == "Torch.matmul.7.forward"
    assert found["Module.module.module.language_model.TransformerLanguageModel.forward.0"] is None


def test_calls_are_mapped_in_their_order_whatever_function_of_the_framework_made_them(msprobe: Command, tmp_path: Path) -> None:
    # The recorded result follows the texts of old stacks: relu to relu, gelu to gelu. A mapping never depends on stack.json, whose
    # texts change with the version of the framework.
    found = partners(result(cases()["c10_layer_mapping_old_stack"], msprobe, tmp_path))
    assert found["Torch.add.0.forward"] == "Torch.add.3.forward"
    assert found["Torch.add.1.forward"] == "Torch.add.4.forward"


def test_numbered_gradients_are_mapped_like_those_without_a_number(msprobe: Command, tmp_path: Path) -> None:
    found = partners(result(cases()["c13_layer_mapping_parameters_grad"], msprobe, tmp_path))
    for end in ("forward.0", "backward.0", "parameters_grad", "parameters_grad.0"):
        assert found[f"Module.a.b.B.{end}"] == f"Module.a.c.C.{end}"


def test_a_golden_node_that_two_target_nodes_face_shows_the_first(msprobe: Command, tmp_path: Path) -> None:
    file = result(cases()["c25_layer_mapping_two_to_one"], msprobe, tmp_path)
    assert partners(file)["Module.a.x.X.forward.0"] == partners(file)["Module.a.y.Y.forward.0"] == "Module.a.z.Z.forward.0"
    back = json.loads(nodes(file)["Bench", "Module.a.z.Z.forward.0"]["matched_node_link"])
    assert back == ["DefaultModel", "Module.a.A.forward.0", "Module.a.x.X.forward.0"]


def test_fuzzy_match_does_not_switch_the_mapping_off(msprobe: Command, tmp_path: Path) -> None:
    found = partners(result(cases()["c26_fuzzy_wins_over_layer_mapping"], msprobe, tmp_path))
    assert found["Module.a.x.X.forward.0"] == "Module.a.z.Z.forward.0"


def test_a_pytorch_target_is_compared_with_a_mindspore_run(msprobe: Command, tmp_path: Path) -> None:
    case = cases()["e05_pytorch_target_mindspore_golden"]
    assert all(name == partner for name, partner in partners(result(case, msprobe, tmp_path)).items())


@pytest.mark.parametrize("name", ["ms_vs_pt_L0", "ms_vs_pt_mix"])
def test_modules_face_each_other_as_with_the_mapping_alone(name: str, msprobe: Command, tmp_path: Path) -> None:
    # The recorded run with both options has matched nothing but the roots.
    both = cases().get(f"{name}/compare_lm_fm")
    if both is None:
        pytest.skip("the folder with all recorded results is not here")
    mapped = cases()[f"{name}/compare_lm"].expected
    assert mapped is not None
    ours = nodes(result(both, msprobe, tmp_path))
    looked_at = 0
    for row in load(str(mapped))["tb_nodes"].values():
        if row["data_source"] == "NPU" and row["node_type"] == "0" and row["matched_node_link"] not in (None, "[]"):
            mine = ours["NPU", row["node_name"]]
            assert json.loads(mine["matched_node_link"]) == json.loads(row["matched_node_link"])
            assert (mine["precision_index"] is None) == (row["precision_index"] is None)
            looked_at += 1
    assert looked_at > 20
