"""The installed command: help, streams, exit statuses, answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msprobe.cli import doctor, gate
from tests.conftest import DATA, ROOT, Command
from tests.dumps import API, ENTRY, MODULE, TENSOR, TREE, write
from tests.recorded import unpacked

LLAMA = DATA / "dumps" / "llama_perturbed"
TARGET, GOLDEN = LLAMA / "target" / "step0" / "rank0", LLAMA / "golden" / "step0" / "rank0"
RANKS = unpacked() / "ddp_gloo_2rank"
NAME = re.compile(r"(build|compare)_\d{14}(_\d+)?\.vis\.db")

HEAVY = {"rich", "pydantic", "numpy", "polars", "pandas", "torch", "mindspore", "tensorboard", "msprobe._native"}


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    assert NAME.fullmatch(file.name)
    return file


# Help and versions


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"], ["-f", "pytorch"], ["-f", "mindspore", "-h"]])
def test_help(words: list[str], msprobe: Command) -> None:
    done = msprobe(*words)
    assert (done.status, done.err) == (0, "")
    assert "graph_visualize" in done.out


@pytest.mark.parametrize("words", [["graph_visualize", "-h"], ["doctor", "--help"], ["graph", "-h"], ["-f", "pytorch", "graph", "-h"]])
def test_help_of_a_command(words: list[str], msprobe: Command) -> None:
    done = msprobe(*words)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Usage: msprobe-rs ")


@pytest.mark.parametrize("words", [[], ["graph_visualize"], ["report"], ["graph"]])
def test_help_is_the_same_in_every_run(words: list[str], msprobe: Command) -> None:
    texts = {msprobe(*words, "-h", environment={"PYTHONHASHSEED": str(seed)}).out for seed in range(8)}
    assert len(texts) == 1
    assert re.search(r"^  -h, --help +Show this message and exit\.$", texts.pop(), re.MULTILINE)


def test_help_names_every_option(msprobe: Command) -> None:
    text = msprobe("graph_visualize", "-h").out
    options = "-tp --target_path -o --output_path -gp --golden_path -lm --layer_mapping -oc --overflow_check -fm --fuzzy_match "
    options += "-tensor_log --is_print_compare_log -progress_log --is_print_progress_log --rank_size --tp --pp --vpp --order "
    options += "--file_type --jobs --quiet --algorithms "
    for option in (options + "--json --fail-on -h --help").split():
        assert re.search(rf"(?<!\S){option}\b", text), option
    assert "Examples:" in text


@pytest.mark.parametrize("option", ["-V", "--version", "--ver"])
def test_version(option: str, msprobe: Command) -> None:
    assert re.fullmatch(r"msprobe-rs \d+\.\d+\.\d+\n", msprobe(option).out)


def test_module_and_both_scripts_are_one_program(msprobe: Command) -> None:
    module = subprocess.run([sys.executable, "-m", "msprobe", "-V"], capture_output=True, text=True, check=True)
    assert module.stdout == msprobe("-V").out
    script = shutil.which("msprobe", path=str(Path(msprobe.program).parent))
    assert script is not None
    assert subprocess.run([script, "-V"], capture_output=True, text=True, check=True).stdout == msprobe("-V").out


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from msprobe.cli.main import main; main(['--help']); print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stderr.split())


# Wrong usage


@pytest.mark.parametrize(
    "words",
    [
        *[["nonsense"], ["--nonsense"], ["graph_visualize"], ["graph_visualize", "-tp", "x"], ["-f", "tensorflow", "graph"]],
        *[["graph_visualize", "-tp", "x", "-o", "y", "-t", "z"], ["graph_visualize", "-tp", "x", "-o", "y", "--rank_size", "a"]],
        *[["graph_visualize", "-tp", "x", "-o", "y", "--json", "-progress_log"], ["-f", "pytorch", "compare", "-i", "x"]],
        ["graph_visualize", "-tp", "x", "-o", "y", "--file_type", "xml"],
        *(["graph_visualize", "-tp", "x", "-o", "y", "--jobs", number] for number in ("0", "-1", "1000000", "9" * 20, "9" * 5000)),
    ],
)
def test_wrong_usage_is_one_line_and_2(words: list[str], msprobe: Command, tmp_path: Path) -> None:
    done = msprobe(*words, cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("error: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--rank_size 8", "merging ranks (--rank_size) is not supported by this version yet; run without it"),
        ("--rank_size 2 2", "merging ranks (--rank_size) is not supported by this version yet; run without it"),
        ("--rank_size 8 --tp 2 --pp 1", "merging ranks (--rank_size) is not supported by this version yet; run without it"),
        ("--file_type json -gp g", "--file_type json exports one merged run; leave -gp out, or use --file_type db"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(words: str, text: str, msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", TARGET, "-o", tmp_path / "out", *words.split())
    assert (done.status, done.out, done.err) == (1, "", f"error: {text}\n")
    assert not (tmp_path / "out").exists()


# The answer


def test_answer_of_a_comparison(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", TARGET, "-gp", GOLDEN, "-o", tmp_path / "out")
    assert done.status == 0
    lines = dict(line.split(maxsplit=1) for line in done.out.splitlines() if not line.startswith(("first ", "    ")))
    assert list(lines) == ["target", "golden", "matched", "verdict", "wrote", "view"]
    # Counted in the recorded result: 424 nodes, all matched.
    assert lines["target"] == "424 nodes   statistics   pytorch"
    assert lines["golden"] == "424 nodes"
    assert lines["matched"] == "423   only in target 0   only in golden 0"
    assert lines["wrote"].startswith(str(only_file(tmp_path / "out")))
    assert lines["view"] == f"tensorboard --logdir {tmp_path / 'out'}"


def test_answer_of_several_ranks_is_worst_first(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", RANKS / "target", "-gp", RANKS / "golden", "-o", tmp_path)
    assert done.status == 0
    document = json.loads(msprobe("graph_visualize", "-tp", RANKS / "target", "-gp", RANKS / "golden", "-o", tmp_path, "--json").out)
    errors = [part["verdicts"]["error"] for part in document["parts"]]
    assert errors == sorted(errors, reverse=True)
    assert len(errors) == 2
    places = [f"step{part['step']}/rank{part['rank']}" for part in document["parts"]]
    assert [line.split()[0] for line in done.out.splitlines()[:2]] == places
    assert "target   2 ranks   176 nodes" in done.out


def counted(expected: dict[str, Any]) -> dict[str, int]:
    """Target nodes by verdict in a recorded result."""
    table = expected["tables"]["tb_nodes"]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    matched = [row for row in rows if row["data_source"] == "NPU" and row["matched_node_link"] != "[]" and row["up_node"]]
    found = [row["precision_index"] for row in matched]
    return {"pass": found.count(0), "warning": found.count(0.5), "error": found.count(1), "not_compared": found.count(None)}


def test_json_document(msprobe: Command, tmp_path: Path) -> None:
    import gzip

    done = msprobe("graph_visualize", "-tp", TARGET, "-gp", GOLDEN, "-o", tmp_path / "out", "--json")
    assert (done.status, done.err) == (0, "")
    document = json.loads(done.out)
    file = only_file(tmp_path / "out")
    assert document["output"] == str(file)
    assert document["bytes"] == file.stat().st_size
    assert (document["schema"], document["exit_status"], document["compare"], document["task"]) == (1, 0, True, "statistics")
    recorded = json.loads(gzip.decompress((DATA / "golden" / "llama_perturbed" / "compare.json.gz").read_bytes()))
    assert {name: document["totals"][name] for name in counted(recorded)} == counted(recorded)
    assert document["totals"]["target_nodes"] == document["parts"][0]["target_nodes"] == 424


def test_json_document_of_a_failure(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", tmp_path / "nowhere", "-o", tmp_path / "out", "--json")
    assert done.status == 1
    document = json.loads(done.out)
    assert document == {"schema": 1, "exit_status": 1, "error": done.err.removeprefix("error: ").rstrip("\n")}


@pytest.mark.parametrize(
    ("dump", "limit", "status"),
    # The recorded result of llama_perturbed holds warnings and no error, that of llama_md5 errors.
    [
        *[("llama_perturbed", "difference", 4), ("llama_perturbed", "warning", 4), ("llama_perturbed", "error", 0)],
        *[("llama_md5", "difference", 4), ("llama_md5", "warning", 4), ("llama_md5", "error", 4)],
    ],
)
def test_fail_on(dump: str, limit: str, status: int, msprobe: Command, tmp_path: Path) -> None:
    target, golden = (unpacked() / dump / side / "step0" / "rank0" for side in ("target", "golden"))
    done = msprobe("graph_visualize", "-tp", target, "-gp", golden, "-o", tmp_path / "out", "--fail-on", limit)
    assert done.status == status
    assert only_file(tmp_path / "out")
    same = msprobe("graph_visualize", "-tp", target, "-gp", target, "-o", tmp_path / "same", "--fail-on", limit)
    assert same.status == 0


@pytest.fixture
def weight(tmp_path: Path) -> dict[str, Path]:
    """Two ranks that agree but for a weight, an input to the verdict rules: outputs that agree are none the worse for it."""
    places = {}
    for side, norm in (("target", 2.78), ("golden", 2.0)):
        module = {**ENTRY, "parameters": {"weight": [{**TENSOR, "Norm": norm}]}}
        places[side] = write(tmp_path / side, data={MODULE: module, API: ENTRY})
    return places


@pytest.mark.parametrize(("limit", "status"), [("error", 0), ("warning", 0), ("difference", 4)])
def test_a_gate_may_stop_at_a_difference_without_a_verdict(
    limit: str, status: int, weight: dict[str, Path], msprobe: Command, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = msprobe("graph_visualize", "-tp", weight["target"], "-gp", weight["golden"], "-o", out, "--fail-on", limit)
    assert "parameter: parameters.weight.0 Norm 2 -> 2.78 (off by 28 %" in done.out
    assert "0 error   0 warning" in done.out
    again = msprobe("report", only_file(out), "--fail-on", limit)
    told = f"warning: --fail-on {limit} goes by verdicts alone, so the first difference passes; --fail-on difference stops at it\n"
    assert (done.status, done.err) == (again.status, again.err) == (status, "" if status else told)
    document = json.loads(
        msprobe("graph_visualize", "-tp", weight["target"], "-gp", weight["golden"], "-o", out, "--fail-on", limit, "--json").out
    )
    assert document["exit_status"] == status


def test_a_gate_without_anything_to_judge_says_so(msprobe: Command, tmp_path: Path) -> None:
    sides = [write(tmp_path / side, {API: None}, {API: {"input_args": [], "input_kwargs": {}, "output": []}}) for side in "tg"]
    done = msprobe("graph_visualize", "-tp", sides[0], "-gp", sides[1], "-o", tmp_path / "out", "--fail-on", "difference")
    assert (done.status, done.err) == (0, "warning: --fail-on difference: nothing was compared, so nothing could be found\n")


@pytest.mark.parametrize(
    ("level", "counts", "report", "status"),
    [
        ("difference", {"error": 1}, None, 4),
        ("difference", {"pass": 1}, None, 3),
        ("error", {"pass": 1}, None, 0),
        (None, {"error": 1}, {"first_difference": {}}, 0),
    ],
)
def test_a_gate_that_does_not_know_is_not_open(
    level: str | None, counts: dict[str, int], report: dict[str, Any] | None, status: int
) -> None:
    assert gate.status(level, {"error": 0, "warning": 0, "pass": 0, **counts}, report) == status


def test_a_gate_that_cannot_close_says_so(msprobe: Command, tmp_path: Path) -> None:
    target = unpacked() / "llama_perturbed" / "target"
    done = msprobe("graph_visualize", "-tp", target, "-o", tmp_path, "--fail-on", "error")
    assert (done.status, "--fail-on without -gp has no effect" in done.err) == (0, True)
    done = msprobe("graph_visualize", "-tp", target, "-gp", target, "-o", tmp_path, "--noise-twin", target)
    assert (done.status, "--noise-twin is the golden run itself" in done.err) == (0, True)


@pytest.mark.parametrize("command", ["report", "tree"])
def test_json_document_of_a_file_that_cannot_be_read(command: str, msprobe: Command, tmp_path: Path) -> None:
    done = msprobe(command, tmp_path / "nowhere.vis.db", "--json")
    assert done.status == 1
    assert json.loads(done.out) == {"schema": 1, "exit_status": 1, "error": done.err.removeprefix("error: ").rstrip("\n")}
    assert done.err.count("\n") == 1


def test_quiet_leaves_only_the_answer(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", TARGET, "-gp", GOLDEN, "-o", tmp_path, "--quiet")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("target ")


def test_the_answer_helps_on_when_names_differ(msprobe: Command, tmp_path: Path) -> None:
    dumps = unpacked() / "renamed_modules_lm"
    words: list[str | Path] = ["graph_visualize", "-tp", dumps / "target", "-gp", dumps / "golden", "-o", tmp_path]
    (hint,) = (line for line in msprobe(*words).out.splitlines() if line.startswith("hint "))
    assert "--match align" in hint
    # With the mapping most have one; what is left is of another kind: two additions that only the target makes.
    (hint,) = (line for line in msprobe(*words, "-lm", dumps / "mapping.yaml").out.splitlines() if line.startswith("hint "))
    assert "Tensor.__add__ 2 times, the target 4 times" in hint
    assert "hint " not in msprobe(*words, "--match", "align").out
    assert "hint " not in msprobe("graph_visualize", "-tp", TARGET, "-gp", GOLDEN, "-o", tmp_path).out


def test_no_overflow_is_an_answer_too(msprobe: Command, tmp_path: Path) -> None:
    assert "overflow none" in msprobe("graph_visualize", "-tp", RANKS / "target", "-o", tmp_path, "-oc").out.splitlines()
    assert "overflow none" not in msprobe("graph_visualize", "-tp", RANKS / "target", "-o", tmp_path).out.splitlines()


# Progress


RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+\) \[INFO\] PROGRESS: (\{.*\})")


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(found[1]) for line in text.splitlines() if (found := RECORD.fullmatch(line))]


def test_progress_records(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", TARGET, "-gp", GOLDEN, "-o", tmp_path, "-progress_log")
    found = records(done.out)
    assert [set(record) for record in found] == [{"current_progress", "process_running", "error_msg"}] * len(found)
    assert found[0] == {"current_progress": 0, "process_running": True, "error_msg": []}
    assert found[-1] == {"current_progress": 100, "process_running": False, "error_msg": []}
    assert all(record["process_running"] for record in found[:-1])
    numbers = [record["current_progress"] for record in found]
    assert numbers == sorted(numbers)


def test_progress_records_of_a_failure(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("graph_visualize", "-tp", tmp_path / "nowhere", "-o", tmp_path / "out", "-progress_log")
    assert done.status == 1
    last = records(done.out)[-1]
    assert not last["process_running"]
    assert len(last["error_msg"]) == 1
    assert "nowhere" in last["error_msg"][0]


# The older form


def test_older_form(msprobe: Command, tmp_path: Path) -> None:
    paths = tmp_path / "compare.json"
    paths.write_text(json.dumps({"npu_path": str(TARGET), "bench_path": str(GOLDEN), "is_print_compare_log": False}))
    done = msprobe("-f", "pytorch", "graph", "-i", paths, "-o", tmp_path / "out", "-cs")
    assert done.status == 0
    assert only_file(tmp_path / "out").name.startswith("compare_")
    paths.write_text(json.dumps({"npu_path": str(TARGET), "bench_path": None, "parallel_merge": {"npu": {}}}))
    done = msprobe("-f", "mindspore", "graph", "-i", paths, "-o", tmp_path / "alone", "-oc")
    assert done.status == 0
    assert only_file(tmp_path / "alone").name.startswith("build_")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "not valid JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "`npu_path` is missing"),
        ('{"npu_path": 3}', "`npu_path` must be a text"),
        ('{"npu_path": "x", "is_print_compare_log": "yes"}', "`is_print_compare_log` must be a true or false"),
        ('{"npu_path": "x", "parallel_merge": {"npu": {"rank_size": 2, "tp": 1, "pp": 2}}}', "merging ranks"),
        ("[" * 100000, "not valid JSON"),
    ],
)
def test_older_form_with_a_bad_file(content: str, text: str, msprobe: Command, tmp_path: Path) -> None:
    paths = tmp_path / "compare.json"
    paths.write_text(content)
    done = msprobe("-f", "pytorch", "graph", "-i", paths, "-o", tmp_path / "out")
    assert done.status == 1
    assert len(done.err.splitlines()) == 1
    assert text in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("-f mindspore graph", "msprobe-rs -f mindspore graph --help"),
        ("--framework pytorch graph -o out --bogus", "msprobe-rs --framework pytorch graph --help"),
        ("-f pytorch graph -i a -o b c", "msprobe-rs -f pytorch graph --help"),
        ("-f pytorch graph -i nowhere -o out", "msprobe -f pytorch graph --help"),
        ("-f pytorch graph -i README.md -o out", "msprobe -f pytorch graph --help"),
        ("-f pytorch compare -i x", "msprobe -f pytorch graph --help"),
        ("-f caffe graph -i x", "msprobe -f pytorch graph --help"),
        ("graph", "msprobe-rs graph --help"),
    ],
)
def test_the_older_form_names_its_own_help(words: str, named: str, msprobe: Command) -> None:
    done = msprobe(*words.split(), cwd=ROOT)
    (line,) = done.error_lines
    assert line.endswith(f" see {named}")
    program, *help_words = named.split()
    shown = Command(str(Path(msprobe.program).with_name(program)))(*help_words)
    assert (shown.status, shown.out.splitlines()[0]) == (0, f"Usage: {named.removesuffix(' --help')} -i FILE -o DIR [OPTIONS]")


def test_older_form_with_a_file_without_end(msprobe: Command, tmp_path: Path) -> None:
    done = msprobe("-f", "pytorch", "graph", "-i", "/dev/zero", "-o", tmp_path / "out", timeout=20)
    assert (done.status, done.err) == (1, "error: /dev/zero: is larger than a compare.json can be\n")


def test_a_reader_that_leaves_early_is_no_crash(msprobe: Command, tmp_path: Path) -> None:
    line = f"{msprobe.program} graph_visualize -tp {TARGET} -o {tmp_path} -progress_log | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


GOOD = f"graph_visualize -tp {TARGET} -o out"


@pytest.mark.parametrize(
    ("line", "status"),
    [(GOOD, 0), (f"{GOOD} --json", 0), (f"{GOOD} -progress_log", 0), ("graph_visualize -tp nowhere -o out --json", 1), ("--nonsense", 2)],
)
@pytest.mark.parametrize("closed", [">&-", "2>&-", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_missing_stream_changes_nothing_else(closed: str, line: str, status: int, msprobe: Command, tmp_path: Path) -> None:
    done = subprocess.run(["bash", "-c", f"{msprobe.program} {line} {closed}"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "defect" not in done.stderr
    if status == 0:
        with sqlite3.connect(only_file(tmp_path / "out")) as connection:
            assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("words", [GOOD, "graph_visualize -h", "-V", "doctor"])
def test_a_full_disk_behind_standard_output_is_no_defect_of_ours(words: str, msprobe: Command, tmp_path: Path) -> None:
    line = f"{msprobe.program} {words} >/dev/full"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: standard output: No space left on device\n")


@pytest.mark.parametrize("locale", [{"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_locale_that_lacks_the_letters_of_a_path(locale: dict[str, str], msprobe: Command, tmp_path: Path) -> None:
    shutil.copytree(TARGET, tmp_path / "目标")
    done = msprobe("graph_visualize", "-tp", tmp_path / "目标", "-o", tmp_path / "结果", environment={"LC_ALL": "C", **locale})
    assert done.status == 0, done.err
    assert only_file(tmp_path / "结果")


def test_a_dump_cannot_steer_the_terminal(msprobe: Command, tmp_path: Path) -> None:
    write(tmp_path / "rank", task="\x1b[2Jstatistics\nerror")
    done = msprobe("graph_visualize", "-tp", tmp_path / "rank", "-o", tmp_path / "out")
    assert (done.status, len(done.out.splitlines())) == (0, 3), done.err
    assert "\x1b" not in done.out


def test_a_name_of_a_million_letters_does_not_fill_the_terminal(msprobe: Command, tmp_path: Path) -> None:
    long = f"Torch.{'x' * 1_000_000}.0.forward"
    folder = write(tmp_path / "rank", data={**dict.fromkeys(TREE, ENTRY), long: ENTRY})
    done = msprobe("graph_visualize", "-tp", folder, "-o", tmp_path / "out")
    assert done.status == 0, done.err[:3000]
    (line,) = done.err.splitlines()
    assert "Torch.xxx" in line
    assert len(line) < 3000


# Installation


def test_the_other_distribution_is_noticed(msprobe: Command, tmp_path: Path) -> None:
    (tmp_path / "mindstudio_probe-26.2.0.dist-info").mkdir()
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = msprobe("doctor", environment={"PYTHONPATH": path})
    assert done.status == 1
    assert "pip uninstall -y mindstudio-probe msprobe-rs, then install the one you want again" in done.out
    imported = subprocess.run(
        [sys.executable, "-c", "import msprobe"], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert imported.stderr.count("\n") == 1
    assert "mindstudio-probe is installed too" in imported.stderr


def test_doctor_is_content_with_this_installation(msprobe: Command) -> None:
    done = msprobe("doctor")
    assert (done.status, done.err) == (0, "")
    assert not any(line.startswith("problem") for line in done.out.splitlines())


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("tensorboard", [True, False])
def test_doctor_names_what_the_browser_needs(
    built: bool, tensorboard: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "VIEWER", tmp_path / "index.js")
    monkeypatch.setattr(doctor, "_version", lambda name: "9.9" if tensorboard or name != "tensorboard" else None)
    if built:
        (tmp_path / "index.js").touch()
    assert doctor.doctor(None) == 0
    lines = capsys.readouterr().out.splitlines()
    told = dict(line.split(maxsplit=1) for line in lines[:-1])
    assert told["viewer"] == ("built" if built else "not built: run make plugin in the source folder and install again")
    assert told["tensorboard"] == ("9.9" if tensorboard else "not installed: pip install tensorboard")
    assert (lines[-1] == "all good") == (built and tensorboard)
    assert ("TensorBoard is not installed" in lines[-1]) == (not tensorboard)
    assert ("the viewer is not built" in lines[-1]) == (not built)


def test_debug_level_shows_where_an_error_comes_from(msprobe: Command, tmp_path: Path) -> None:
    words = ["graph_visualize", "-tp", str(tmp_path / "nowhere"), "-o", str(tmp_path / "out")]
    assert "Traceback" not in msprobe(*words).err
    assert "Traceback" in msprobe(*words, environment={"MSPROBE_LOG_LEVEL": "0"}).err
    assert msprobe(*words, environment={"MSPROBE_LOG_LEVEL": "4"}).err == ""
