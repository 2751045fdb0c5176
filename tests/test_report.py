"""Where two runs first part: the answer for recorded pairs, whoever wrote the file."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest

from msprobe._native import Viewer
from msprobe._native import report as native_report
from tests.conftest import DATA, Command, Run, big_data
from tests.recorded import LOSING, unpacked

# What the READMEs beside the dumps say was changed: dump, node, what differs, and where it is looked at.
PARAMETER, COMPUTATION, INPUT, STRUCTURE = "parameter", "computation", "input", "structure"
BUNDLED = {
    "llama_perturbed": (PARAMETER, "Module.model.layers.1.mlp.down_proj.Linear.forward.0"),
    "llama_md5": (PARAMETER, "Module.model.layers.1.self_attn.o_proj.Linear.forward.0"),
    "grad_accum3": (INPUT, "Module.blocks.0.Mlp.forward.1"),
    "inplace_relu": (COMPUTATION, "Functional.dropout.0.forward"),
    "kwargs_nested": (COMPUTATION, "Tensor.masked_fill.0.forward"),
    "model_list": (PARAMETER, "Module.1.blocks.0.up.Linear.forward.0"),
    "ms_cnn_L0": (PARAMETER, "Cell.network.block2.conv.Conv2d.forward.0"),
    "ms_cnn_nan": (PARAMETER, "Cell.network.fc1.Dense.forward.0"),
    "ms_jit_mix": (PARAMETER, "Cell.net.head.Dense.forward.0"),
    "structure_extra_layer": (STRUCTURE, "Torch.arange.1.forward"),
    "ckpt_nonreentrant": None,
    "ckpt_reentrant": None,
    "ms_no_rank": None,
}
OTHERS = {
    "llama_overflow": (COMPUTATION, "Tensor.__mul__.12.forward"),
    "llama_tensor": (PARAMETER, "Module.model.layers.0.self_attn.v_proj.Linear.forward.0"),
    "resnet18_mix": (PARAMETER, "Module.layer3.0.conv2.Conv2d.forward.0"),
    "ms_cnn_mix": (PARAMETER, "Cell.network.fc1.Dense.forward.0"),
    "ms_cnn_mix_tensor": (PARAMETER, "Cell.network.block1.conv.Conv2d.forward.0"),
    "ms_decoder_mix": (PARAMETER, "Cell.network.layers.1.attention.out_proj.Dense.forward.0"),
    "ms_decoder_md5": (PARAMETER, "Cell.network.layers.0.feed_forward.projection.Dense.forward.0"),
    "ms_dist2": (PARAMETER, "Cell.network.fc2.Dense.forward.0"),
    # The same weights in a coarser type: rounding is no difference.
    "gpt2_bf16_vs_fp32": None,
    "llama_bf16_vs_fp32": None,
    "ms_decoder_fp16": None,
}
EXPECTED: dict[str, tuple[str, str] | None] = {**BUNDLED, **OTHERS}


def recorded(pair: str) -> Path:
    """What msProbe wrote for the pair."""
    inside = DATA / "golden" / pair / "compare.json.gz"
    if inside.exists():
        return inside
    folder = big_data()
    if folder is None:
        pytest.skip("the recorded results are not there: set MSPROBE_SHARED to their folder")
    return folder / "golden" / pair / "compare.json.gz"


def restored(record: Path, path: Path) -> Path:
    """The recorded tables as the file that msProbe had written."""
    with gzip.open(record) as file:
        content = json.load(file)
    with sqlite3.connect(path) as database:
        for statement in content["schema"]:
            database.execute(statement)
        for name, table in content["tables"].items():
            marks = ", ".join("?" * len(table["columns"]))
            database.executemany(f"INSERT INTO {name} VALUES ({marks})", table["rows"])
    database.close()
    return path


def answer(msprobe: Command, file: Path, *words: str) -> dict[str, Any]:
    done = msprobe("report", file, "--json", *words)
    assert (done.status, done.err) == (0, ""), done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def first(document: dict[str, Any]) -> tuple[str, str] | None:
    found = document["first_difference"]
    return found and (found["what"], found["node"])


@pytest.mark.parametrize("pair", EXPECTED)
def test_a_file_that_msprobe_wrote_names_what_was_changed(pair: str, msprobe: Command, tmp_path: Path) -> None:
    assert first(answer(msprobe, restored(recorded(pair), tmp_path / "x.vis.db"))) == EXPECTED[pair]


@pytest.mark.parametrize("pair", BUNDLED)
def test_our_file_and_the_one_of_msprobe_give_one_answer(pair: str, msprobe: Command, run: Run, tmp_path: Path) -> None:
    dumps = unpacked() / pair
    target, golden = (min(min((dumps / side).iterdir()).iterdir()) for side in ("target", "golden"))
    done = run(target, golden)
    assert done.status == 0, done.err
    (file,) = run.left()
    ours = answer(msprobe, file)
    theirs = answer(msprobe, restored(recorded(pair), tmp_path / "x.vis.db"))
    assert first(ours) == first(theirs) == EXPECTED[pair]
    if pair in LOSING:
        return
    if ours["task"] == "structure":
        # Nothing is compared; msProbe calls collections of nothing a pass.
        ours["totals"].pop("verdicts"), theirs["totals"].pop("verdicts")
    for name in ("first_difference", "first_verdict", "totals"):
        assert ours[name] == theirs[name], name


def test_the_run_the_file_and_the_report_say_the_same(msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked() / "llama_perturbed"
    done = msprobe("graph_visualize", "-tp", dumps / "target", "-gp", dumps / "golden", "-o", tmp_path, "--json")
    document = json.loads(done.out)
    file = Path(document["output"])
    told = answer(msprobe, file)
    assert document["report"] == told
    totals = document["totals"]
    assert {name: told["totals"][name] for name in ("matched", "only_target", "only_golden")} == {
        name: totals[name] for name in ("matched", "only_target", "only_golden")
    }
    assert told["totals"]["verdicts"] == {name: totals[name] for name in told["totals"]["verdicts"]}
    (rank,) = told["ranks"]
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT kind, position, node_name, node_order, detail FROM msprobe_divergence").fetchall()
        drift = database.execute("SELECT half, nodes_per_point, node_order, error, noise FROM msprobe_drift").fetchall()
    stored = {(kind, position): (name, order, json.loads(detail)) for kind, position, name, order, detail in rows}
    found = rank["first_difference"]
    assert stored["first_difference", 0] == (found["node"], found["order"], found)
    assert [stored["flows_into", at][2] for at in range(len(rank["flows_into"]))] == rank["flows_into"]
    assert stored["first_verdict", 0][2] == rank["first_verdict"]
    for half, per_point, order, error, noise in drift:
        series = {"nodes_per_point": per_point, "order": json.loads(order), "error": json.loads(error), "noise": json.loads(noise)}
        assert series == rank["drift"][half]


def test_text_names_evidence_and_source_line(msprobe: Command, tmp_path: Path) -> None:
    file = restored(recorded("llama_perturbed"), tmp_path / "x.vis.db")
    done = msprobe("report", file)
    lines = done.out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("first difference"))
    assert lines[at].split()[2:5] == ["Module.model.layers.1.mlp.down_proj.Linear.forward.0", "in", "model.layers.1.mlp"]
    assert lines[at + 1].strip().startswith("parameter: parameters.weight ")
    assert ".py:" in lines[at + 2]
    assert "flows into Functional.linear.13.forward" in lines[at + 3]
    assert lines[at + 4].split()[:3] == ["first", "verdict", "Functional.linear.14.forward"]


INSERTED = {
    "file": "/home/user/train/networks.py",
    "line": 50,
    "function": "forward",
    "code": "h[0, 0, 0] = self.spoil",
}


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training whose feed-forward part writes a NaN into its activation (tests/data/README.md), and its sound steps."""
    folder = tmp_path_factory.mktemp("faults")
    with tarfile.open(DATA / "faults.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "transformer"


def test_what_only_the_target_has_inside_is_named_with_its_own_line(spoiled: Path, msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", spoiled / "step14" / "rank0", "-gp", spoiled / "step0" / "rank0", "-o", tmp_path)
    line = (
        "    only in target inside it: Tensor.__setitem__.0.forward   /home/user/train/networks.py:50 in forward: h[0, 0, 0] = self.spoil"
    )
    assert line in done.out.splitlines()
    (file,) = tmp_path.iterdir()
    assert line in msprobe("report", file).out.splitlines()
    stored = answer(msprobe, file)
    inside = stored["first_difference"]["unmatched_inside"]
    assert (inside["node"], inside["matched"], inside["frame"]) == ("Tensor.__setitem__.0.forward", False, INSERTED)
    # The rows tell the same.
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE msprobe_divergence")
    assert answer(msprobe, file)["first_difference"] == stored["first_difference"]
    with sqlite3.connect(file) as database:
        database.execute("UPDATE tb_nodes SET matched_node_link = NULL WHERE node_name = 'Module.layers.0.mlp.fc1.Linear.forward.0'")
        database.execute("UPDATE tb_nodes SET matched_node_link = NULL WHERE node_name = 'Tensor.__add__.3.forward'")
    # Neither what ran before the module nor what runs after it.
    assert answer(msprobe, file)["first_difference"] == stored["first_difference"]
    with sqlite3.connect(file) as database:
        link = database.execute("SELECT matched_node_link FROM tb_nodes WHERE node_name = 'Functional.gelu.1.forward'").fetchone()
        database.execute("UPDATE tb_nodes SET matched_node_link = ? WHERE node_name = 'Tensor.__setitem__.0.forward'", link)
    assert "unmatched_inside" not in answer(msprobe, file)["first_difference"]


def test_the_answer_of_a_run_says_that_there_is_more(msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked()
    pair = dumps / "grad_accum3"
    done = msprobe("graph_visualize", "-tp", pair / "target", "-gp", pair / "golden", "-o", tmp_path / "out")
    (line,) = (line for line in done.out.splitlines() if line.startswith("runner-up"))
    (file,) = (tmp_path / "out").iterdir()
    shown = [line for line in msprobe("report", file).out.splitlines() if line.startswith("runner-up")]
    assert (line, len(shown)) == (f"{shown[0]}   2 more: msprobe-rs report {file}", 2)
    # A gradient is named after its module.
    assert "Module.blocks.0.down.Linear.parameters_grad.1 and 1 more gradient   (" in line
    # What there is has been shown: nothing to call.
    pair = dumps / "ms_cnn_nan"
    done = msprobe("graph_visualize", "-tp", pair / "target", "-gp", pair / "golden", "-o", tmp_path / "all")
    (line,) = (line for line in done.out.splitlines() if line.startswith("runner-up"))
    assert line.endswith("Cell.network.fc2.Dense.forward.0 in network   (node 39 of 88)")
    pair = dumps / "llama_perturbed"
    done = msprobe("graph_visualize", "-tp", pair / "target", "-gp", pair / "golden", "-o", tmp_path / "one")
    assert "runner-up" not in done.out


@pytest.mark.parametrize(
    ("pair", "words"), [("kwargs_nested", "inputs have the same statistics; "), ("inplace_relu", "inputs have the same statistics; ")]
)
def test_statistics_that_are_the_same_are_not_called_equal_inputs(pair: str, words: str, msprobe: Command, tmp_path: Path) -> None:
    # README: in kwargs_nested another mask is given, whose Max and Min are the same.
    done = msprobe("report", restored(recorded(pair), tmp_path / "x.vis.db"))
    assert f"computation: {words}" in done.out
    assert "equal" not in done.out


def test_a_single_dump_cannot_fail(msprobe: Command) -> None:
    done = msprobe("report", DATA / "visdb" / "build_overflow.vis.db", "--fail-on", "error")
    assert (done.status, "--fail-on has no effect: one dump alone has no verdicts" in done.err) == (0, True)


def test_ranks_that_meet_name_the_one_that_parted(msprobe: Command, run: Run) -> None:
    dumps = unpacked() / "ddp_gloo_2rank"
    file = run.result(dumps / "target", dumps / "golden")
    document = answer(msprobe, file)
    # README: the input of rank 1 is scaled by 1.01.
    assert (document["first_difference"]["rank"], document["first_difference"]["what"]) == (1, INPUT)
    (alone,) = answer(msprobe, file, "--rank", "0")["ranks"]
    assert alone["first_difference"]["is_communication"]


def test_overflow_is_named_without_a_golden_run(msprobe: Command, tmp_path: Path) -> None:
    target = unpacked() / "ms_cnn_nan" / "target"
    done = msprobe("graph_visualize", "-tp", target, "-o", tmp_path, "-oc")
    assert done.status == 0
    assert any(line.startswith("first overflow ") for line in done.out.splitlines())


def test_overflow_is_counted_for_the_target_alone(msprobe: Command, tmp_path: Path) -> None:
    sides = unpacked() / "ms_cnn_nan"
    healthy, broken = sides / "golden", sides / "target"
    told = msprobe("graph_visualize", "-tp", healthy, "-gp", broken, "-o", tmp_path, "-oc")
    assert "overflow none" in told.out.splitlines()
    (file,) = tmp_path.iterdir()
    assert "overflow" not in msprobe("report", file).out


def test_what_is_not_compared_has_no_verdict_and_no_partner_to_miss(msprobe: Command) -> None:
    told = msprobe("report", DATA / "visdb" / "build_overflow.vis.db", "--only", "overflow").out.splitlines()
    listed = [line.split() for line in told if re.match(r" {4} *\d", line)]
    assert {tuple(words[2:]) for words in listed} <= {("critical",), ("high",), ("medium",)}
    assert len(listed) == 5


def compared(file: Path) -> set[str]:
    """Target nodes with a difference that is a number."""
    with sqlite3.connect(file) as database:
        rows = database.execute("SELECT node_name, input_data, output_data FROM tb_nodes WHERE data_source = 'NPU' AND node_type <> '9'")
        cells = {name: [*json.loads(inputs or "{}").values(), *json.loads(outputs or "{}").values()] for name, inputs, outputs in rows}
    return {name for name, of in cells.items() if any(re.match(r"-?\d", str(row.get("Max diff", ""))) for row in of)}


def test_a_twin_says_what_it_does_not_have(msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked() / "llama_perturbed"
    shutil.copytree(dumps / "golden", tmp_path / "twin")
    for file in (tmp_path / "twin").rglob("*.json"):
        file.write_text(file.read_text().replace("Module.model.layers.1.", "Module.model.blocks.1."))
    words = ("graph_visualize", "-tp", dumps / "target", "-gp", dumps / "golden", "--noise-twin", tmp_path / "twin")
    done = msprobe(*words, "-o", tmp_path / "json", "--json")
    found = json.loads(done.out)["report"]["noise"]["twin_nodes"]
    (file,) = (tmp_path / "json").iterdir()
    # What the two golden runs have in common, without our reading of it.
    msprobe("graph_visualize", "-tp", tmp_path / "twin", "-gp", dumps / "golden", "-o", tmp_path / "golden")
    (twin,) = (tmp_path / "golden").iterdir()
    names, known = compared(file), compared(twin)
    assert 20 < len(names - known) < len(names) / 2
    assert found == {"found": len(names & known), "not_found": len(names - known)}
    # The file remembers, and says it in words.
    (line,) = (line for line in msprobe("report", file).out.splitlines() if line.startswith("noise "))
    assert f"{len(names & known)} of {len(names)} compared nodes; {len(names - known)} whose golden partner it does not have" in line
    assert line in msprobe(*words, "-o", tmp_path / "words").out.splitlines()


@pytest.mark.parametrize(
    ("renamed", "warned"), [(r"(Module\.model\.layers\.1)\.", False), (r"(Module\.model|Functional|Tensor|Torch)\.", True)]
)
def test_a_twin_that_knows_fewer_than_half_of_the_nodes_is_warned_of(renamed: str, warned: bool, msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked() / "llama_perturbed"
    shutil.copytree(dumps / "golden", tmp_path / "twin")
    for file in (tmp_path / "twin").rglob("*.json"):
        file.write_text(re.sub(renamed, r"\1.other_", file.read_text()))
    words = ("graph_visualize", "-tp", dumps / "target", "-gp", dumps / "golden", "--noise-twin", tmp_path / "twin")
    told = msprobe(*words, "-o", tmp_path / "out")
    assert told.status == 0
    (file,) = (tmp_path / "out").iterdir()
    asked = msprobe("report", file, "--json")
    nodes = json.loads(asked.out)["noise"]["twin_nodes"]
    assert (nodes["found"] < nodes["not_found"]) == warned
    line = f"warning: --noise-twin {tmp_path / 'twin'}: has only {nodes['found']} of {nodes['found'] + nodes['not_found']} compared nodes"
    for done in (told, asked, msprobe("report", file)):
        assert [text.split(": is it")[0] for text in done.err.splitlines()] == ([line] if warned else [])


def test_a_twin_takes_away_what_it_explains(msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked() / "llama_perturbed"
    words = ("graph_visualize", "-tp", dumps / "target", "-gp", dumps / "golden", "-o", tmp_path / "out", "--json", "--noise-twin")
    # The target as its own twin: all that differs is noise.
    done = msprobe(*words, dumps / "target")
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert (document["report"]["noise"]["method"], document["report"]["first_difference"]) == ("twin", None)
    # A rerun that gave the same again explains nothing.
    shutil.copytree(dumps / "golden", tmp_path / "again")
    document = json.loads(msprobe(*words, tmp_path / "again").out)
    assert first(document["report"]) == EXPECTED["llama_perturbed"]
    whole = document["report"]["noise"]["twin_nodes"]
    assert (whole["found"] > 300, whole["not_found"]) == (True, 0)
    assert len(list((tmp_path / "out").iterdir())) == 2, "comparisons of the golden runs are not left behind"


@pytest.mark.parametrize(("level", "status"), [("error", 4), ("warning", 4), ("difference", 4), (None, 0)])
def test_fail_on(level: str | None, status: int, msprobe: Command, tmp_path: Path) -> None:
    file = restored(recorded("llama_md5"), tmp_path / "x.vis.db")
    assert msprobe("report", file, *(["--fail-on", level] if level else [])).status == status


def test_only_lists_what_was_asked_for(msprobe: Command, tmp_path: Path) -> None:
    file = restored(recorded("llama_md5"), tmp_path / "x.vis.db")
    (rank,) = answer(msprobe, file, "--only", "error", "--top", "3")["ranks"]
    assert rank["listed_total"] == rank["counts"]["verdicts"]["error"]
    assert [node["verdict"] for node in rank["listed"]] == ["error"] * 3


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"", "is empty"), (b"x" * 5000, "not a SQLite database"), (None, "no such file")],
    ids=["empty", "text", "absent"],
)
def test_what_is_no_result_is_one_line(content: bytes | None, text: str, msprobe: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.vis.db"
    if content is not None:
        file.write_bytes(content)
    done = msprobe("report", file)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert text in done.err
    assert str(file) in done.err


# The JSON document


@pytest.mark.parametrize("words", [(), ("--only", "unmatched"), ("--only", "error", "--top", "2"), ("--top", "0")], ids=" ".join)
@pytest.mark.parametrize("pair", ["llama_perturbed", "llama_md5", "inplace_relu", "structure_extra_layer", "ms_no_rank", "ms_cnn_nan"])
def test_the_document_is_as_the_schema_says(pair: str, words: tuple[str, ...], validator: Any, msprobe: Command, tmp_path: Path) -> None:
    validator.validate(answer(msprobe, restored(recorded(pair), tmp_path / "x.vis.db"), *words))


@pytest.mark.parametrize("name", ["compare_tensor", "build_overflow"])
def test_documents_of_other_files_too(name: str, validator: Any, msprobe: Command) -> None:
    validator.validate(answer(msprobe, DATA / "visdb" / f"{name}.vis.db"))


def test_the_document_of_a_run_holds_one(validator: Any, msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked() / "ddp_gloo_2rank"
    done = msprobe("graph_visualize", "-tp", dumps / "target", "-gp", dumps / "golden", "-o", tmp_path, "--json")
    validator.validate(json.loads(done.out)["report"])


def test_the_document_of_what_only_the_target_has(spoiled: Path, validator: Any, msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", spoiled / "step14" / "rank0", "-gp", spoiled / "step0" / "rank0", "-o", tmp_path, "--json")
    document = json.loads(done.out)["report"]
    validator.validate(document)
    del document["first_difference"]["unmatched_inside"]["node"]
    assert not validator.is_valid(document)


def test_the_schema_allows_nothing_else(validator: Any, msprobe: Command, tmp_path: Path) -> None:
    document = answer(msprobe, restored(recorded("llama_perturbed"), tmp_path / "x.vis.db"))
    for place in (document, document["first_difference"], document["ranks"][0]["drift"]["forward"]):
        place["unknown"] = 1
        assert not validator.is_valid(document)
        del place["unknown"]
    assert validator.is_valid(document)


def test_the_stored_answer_is_the_measured_one(msprobe: Command, tmp_path: Path) -> None:
    """Without its tables the same file gives the same answer from its rows; after a match by hand the tables do not count."""
    dumps = unpacked() / "ddp_gloo_2rank"
    done = msprobe("graph_visualize", "-tp", dumps / "target", "-gp", dumps / "golden", "-o", tmp_path, "--json")
    file = Path(json.loads(done.out)["output"])
    told = answer(msprobe, file)
    with sqlite3.connect(file) as database:
        database.execute("UPDATE msprobe_divergence SET detail = '{}' WHERE kind = 'counts'")
    assert answer(msprobe, file) == told
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE msprobe_divergence")
    assert answer(msprobe, file) == told


KINDS = ("error", "warning", "unmatched", "overflow")
QUESTIONS = [("--top", top) for top in ("0", "1", "6", "100000")] + [
    ("--only", kind, *top) for kind in KINDS for top in ((), ("--top", "0"), ("--top", "40"), ("--top", "100000"))
]


@pytest.mark.parametrize("words", [(), ("-oc",), ("--match", "align")], ids=" ".join)
@pytest.mark.parametrize("pair", [*BUNDLED, "ddp_gloo_2rank", "resnet18_L0"])
def test_whatever_is_asked_the_stored_answer_is_the_measured_one(
    pair: str, words: tuple[str, ...], msprobe: Command, tmp_path: Path
) -> None:
    sides = unpacked() / pair
    done = msprobe("graph_visualize", "-tp", sides / "target", "-gp", sides / "golden", "-o", tmp_path, "--json", *words)
    file = Path(json.loads(done.out)["output"])
    with sqlite3.connect(file) as database:
        step, rank = database.execute("SELECT min(step), max(rank) FROM tb_nodes").fetchone()
    questions = [*QUESTIONS, ("--rank", str(rank), "--only", "warning"), ("--step", str(step), "--top", "20")]
    # What is not in the tables cannot be read from the rows any more.
    hidden = shutil.copy(file, tmp_path / "hidden.vis.db")
    with sqlite3.connect(hidden) as database:
        database.execute("UPDATE tb_nodes SET input_data = '{', output_data = '{'")
    bare = shutil.copy(file, tmp_path / "bare.vis.db")
    with sqlite3.connect(bare) as database:
        database.execute("DROP TABLE msprobe_divergence")
    for question in questions:
        stored, measured = (report_file(Path(path), question) for path in (hidden, bare))
        assert stored.pop("file") != measured.pop("file")
        assert stored == measured, question


def report_file(file: Path, words: tuple[str, ...]) -> dict[str, Any]:
    """The answer without a process of its own."""
    options: dict[str, Any] = {
        name[2:]: value if name == "--only" else int(value) for name, value in zip(words[::2], words[1::2], strict=True)
    }
    found: dict[str, Any] = json.loads(native_report(file, **options))
    return found


def test_a_file_that_keeps_fewer_runner_ups_tells_the_rest_from_its_rows(msprobe: Command, tmp_path: Path) -> None:
    """Files used to hold five runner-ups and did not say whether there were more."""
    sides = unpacked() / "resnet18_L0"
    done = msprobe("graph_visualize", "-tp", sides / "target", "-gp", sides / "golden", "-o", tmp_path, "--json")
    file = Path(json.loads(done.out)["output"])
    told = [report_file(file, ("--top", str(top))) for top in range(9)]
    assert len(told[-1]["ranks"][0]["runner_ups"]) > 5
    total = len(report_file(file, ("--top", "1000"))["ranks"][0]["runner_ups"])
    with sqlite3.connect(file) as database:
        database.execute("DELETE FROM msprobe_divergence WHERE kind = 'runner_ups' OR kind = 'runner_up' AND position >= 5")
    found = [report_file(file, ("--top", str(top))) for top in range(9)]
    assert [one["ranks"][0].pop("runner_ups_total") for one in told] == [total] * 9
    assert [one["ranks"][0].pop("runner_ups_total", None) is None for one in found] == [True] * 6 + [False] * 3
    assert found == told


def test_the_viewer_begins_on_the_rank_that_parts_first(msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked() / "ddp_gloo_2rank"
    done = msprobe("graph_visualize", "-tp", dumps / "target", "-gp", dumps / "golden", "-o", tmp_path, "--json")
    file = Path(json.loads(done.out)["output"])
    told = answer(msprobe, file)["first_difference"]
    assert told["rank"] == 1  # its input is another one
    status, body = Viewer(tmp_path).answer("start", [("path", file.name)])
    begun = json.loads(body)
    assert (status, begun["step"], begun["rank"]) == (200, told["step"], 1)
    status, body = Viewer(tmp_path).answer("start", [("path", file.name), ("step", "0"), ("rank", "0")])
    assert json.loads(body)["rank"] == 0


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("gpt2_bf16_vs_fp32", "rounding to bfloat16"),
        ("llama_bf16_vs_fp32", "rounding to bfloat16"),
        # The floor of extremes is raised there, so it is no longer that of a type.
        ("ms_decoder_fp16", "rounding"),
        ("llama_perturbed", ""),
    ],
)
def test_colours_without_a_difference_are_explained(pair: str, told: str, msprobe: Command, tmp_path: Path) -> None:
    """The pairs whose one side is of the coarser type; a pair with a difference needs no explanation."""
    done = msprobe("report", restored(recorded(pair), tmp_path / "x.vis.db"))
    hint = f"hint     all warnings and errors are within noise, {told} explains the largest of them: docs/noise.md"
    assert [line for line in done.out.splitlines() if line.startswith("hint")] == ([hint] if told else [])


def test_colours_without_another_number_are_explained(msprobe: Command, tmp_path: Path) -> None:
    """Checkpointing takes requires_grad from what is computed anew; the numbers stay."""
    told = msprobe("report", restored(recorded("ckpt_reentrant"), tmp_path / "x.vis.db")).out.splitlines()
    assert any(
        line.startswith("first difference   none: identical wherever nodes face each other (report --only unmatched lists the others); ")
        for line in told
    )
    assert [line.split("; ")[0] for line in told if line.startswith("hint")] == ["hint     warnings and errors hold the same numbers"]


def test_a_way_that_was_gone_is_not_proposed(msprobe: Command, tmp_path: Path) -> None:
    folder = unpacked() / "structure_extra_layer"

    def hints(*words: str) -> list[str]:
        done = msprobe("graph_visualize", "-tp", folder / "target", "-gp", folder / "golden", "-o", tmp_path, *words)
        return [line for line in done.out.splitlines() if line.startswith("hint")]

    assert len(hints()) == 1
    assert not hints("--match", "align")
