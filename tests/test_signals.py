"""Signals: one line at most, the status of the signal, and nothing left behind, whenever they come and however often."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import DATA, Command

TARGET = DATA / "dumps" / "llama_perturbed" / "target" / "step0" / "rank0"
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.fixture
def many_ranks(tmp_path: Path) -> Iterator[Path]:
    """Enough ranks to be interrupted in the middle of them."""
    step = tmp_path / "step0"
    step.mkdir()
    for rank in range(400):
        (step / f"rank{rank}").symlink_to(TARGET)
    yield step
    shutil.rmtree(step)


@pytest.fixture
def large_file(tmp_path: Path) -> Path:
    """A file whose export takes a while."""
    file = tmp_path / "large.vis.db"
    shutil.copy(DATA / "visdb" / "compare_tensor.vis.db", file)
    with sqlite3.connect(file) as database:
        columns = [name for _, name, *_ in database.execute("PRAGMA table_info(tb_nodes)")]
        copied = ", ".join("rank + n" if name == "rank" else "NULL" if name == "id" else name for name in columns)
        database.execute(
            f"WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 400) "
            f"INSERT INTO tb_nodes SELECT {copied} FROM tb_nodes, count"
        )
    database.close()
    return file


def begun(running: subprocess.Popen[str], sign: Callable[[], bool]) -> None:
    """Waits until there is a sign that the work has begun."""
    deadline = time.monotonic() + 120
    while not sign():
        assert running.poll() is None, "it was over before it could be interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def start(*words: str | Path, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    full = {**os.environ, "MSPROBE_LOG_LEVEL": "1", **(environment or {})}
    return subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=full)


@pytest.mark.parametrize(("number", "status"), SIGNALS)
def test_a_signal_ends_it_at_once_and_leaves_nothing(number: int, status: int, msprobe: Command, many_ranks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = start(msprobe.program, "graph_visualize", "-tp", many_ranks, "-gp", many_ranks, "-o", out, "--jobs", "1", "--json")
    begun(running, lambda: any(file.suffix == ".partial" for file in (out.iterdir() if out.is_dir() else ())))
    running.send_signal(number)
    output, error = running.communicate(timeout=120)
    assert running.returncode == status
    (line,) = error.splitlines()
    assert json.loads(output) == {"schema": 1, "exit_status": status, "error": line.removeprefix("error: ")}
    assert not out.exists() or not list(out.iterdir())


@pytest.mark.parametrize("between", [0, 0.001, 0.02])
def test_two_terminations_are_one(between: float, msprobe: Command, many_ranks: Path, tmp_path: Path) -> None:
    """As supervisors do that tell a process and its group."""
    out = tmp_path / "out"
    running = start(msprobe.program, "graph_visualize", "-tp", many_ranks, "-gp", many_ranks, "-o", out, "--jobs", "1")
    begun(running, lambda: any(file.suffix == ".partial" for file in (out.iterdir() if out.is_dir() else ())))
    for _ in range(2):
        running.send_signal(signal.SIGTERM)
        time.sleep(between)
    _, error = running.communicate(timeout=120)
    assert (running.returncode, error) == (143, "error: terminated; nothing was left behind\n")
    assert not out.exists() or not list(out.iterdir())


HOOK = """
import os, signal, sys

class Interrupting:
    seen = None

    def find_spec(self, name, path=None, target=None):
        if name == "msprobe.cli.streams":
            Interrupting.seen = 0
        if Interrupting.seen is not None:
            Interrupting.seen += 1
            if Interrupting.seen == int(os.environ["INTERRUPT_AT"]):
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
"""
"""Sends an interrupt at one of the imports that follow the first line of main()."""


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5, 6, 8, 12, 20, 40, 60])
def test_an_interrupt_while_it_starts_is_one_line(at: int, msprobe: Command, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    environment = {"PYTHONPATH": str(tmp_path), "INTERRUPT_AT": str(at), "PYTHONDONTWRITEBYTECODE": "1"}
    done = msprobe("report", DATA / "visdb" / "compare_tensor.vis.db", environment=environment)
    assert (done.status, done.out, done.err) == (130, "", "error: interrupted; nothing was left behind\n")


def test_nothing_is_imported_before_an_interrupt_can_be_answered(msprobe: Command) -> None:
    """What Python and pip's script do before that is not ours."""
    code = "import sys; before = set(sys.modules); import msprobe.cli.main; print(*sorted(set(sys.modules) - before))"
    python = Path(msprobe.program).parent / "python"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["__future__", "msprobe", "msprobe.cli", "msprobe.cli.main", "msprobe.installation"]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_an_export_can_be_interrupted(ending: str, msprobe: Command, large_file: Path, tmp_path: Path) -> None:
    running = start(msprobe.program, "export", large_file, "-o", tmp_path / f"x.{ending}")
    begun(running, lambda: any(file.name.startswith(".export-") for file in tmp_path.iterdir()))
    running.send_signal(signal.SIGINT)
    output, error = running.communicate(timeout=60)
    assert (running.returncode, output, error) == (130, "", "error: interrupted; nothing was left behind\n")
    assert list(tmp_path.iterdir()) == [large_file]


def test_a_question_can_be_interrupted(msprobe: Command, large_file: Path) -> None:
    running = start(msprobe.program, "report", large_file)
    begun(running, lambda: str(large_file) in open_files(running.pid))
    running.send_signal(signal.SIGINT)
    output, error = running.communicate(timeout=60)
    assert (running.returncode, output, error) == (130, "", "error: interrupted; nothing was left behind\n")


def open_files(process: int) -> list[str]:
    found = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            found.append(str(link.readlink()))
        except OSError:  # noqa: PERF203 - closed meanwhile
            continue
    return found


def test_a_terminal_that_goes_away_does_not_end_the_work(msprobe: Command, many_ranks: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [msprobe.program, "graph_visualize", "-tp", str(many_ranks), "-o", str(out), "--jobs", "1"]
    ours, theirs = os.openpty()
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    assert os.read(ours, 1) == b"\r", "the bar was never drawn"
    os.close(ours)
    assert running.wait(timeout=60) == 0
    assert [file.suffix for file in out.iterdir()] == [".db"]


def test_what_is_complete_is_said_to_be(msprobe: Command, tmp_path: Path) -> None:
    """A signal while the folder of the result is synced: the file has its name by then."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace, which can slow one system call down")
    out = tmp_path / "out"
    slowly = ["strace", "-f", "-o", os.devnull, "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=700000"]
    running = start(*slowly, msprobe.program, "graph_visualize", "--quiet", "-tp", TARGET, "-o", out)
    begun(running, lambda: bool(list(out.glob("*.vis.db"))))
    (child,) = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGTERM)
    output, error = running.communicate(timeout=120)
    (file,) = out.iterdir()
    assert (running.returncode, output, error) == (143, "", f"error: terminated; {file} is complete\n")
