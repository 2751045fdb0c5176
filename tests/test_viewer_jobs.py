"""Conversions that the viewer's server runs: none outlives it, whatever it does with signals."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from msprobe.tensorboard import jobs
from msprobe.tensorboard.jobs import Jobs

PATIENCE = 60.0
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(3600)"
POLITE = """
import signal, sys, time
def end(*_):
    print("cleaned", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
time.sleep(3600)
"""


class Scripts(Jobs):
    """Runs the script that a request names instead of a conversion."""

    def _command(self, request: dict[str, object]) -> tuple[list[str], Path]:
        return [str(request.get("interpreter", sys.executable)), "-c", str(request["script"])], self._logdir


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripts]:
    monkeypatch.setattr(jobs, "CANCEL_PATIENCE", 0.3)
    runner = Scripts(tmp_path)
    yield runner
    runner.stop_all()


def becomes(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "never holds"
        time.sleep(0.02)


def started(runner: Scripts, script: str) -> tuple[str, int]:
    job = str(runner.start({"script": script})["id"])
    becomes(lambda: "ready" in runner.facts(job)["log"])
    process = runner._jobs[job].process
    assert process is not None
    return job, process.pid


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_end_of_the_server_ends_deaf_and_stopped_ones(scripts: Scripts) -> None:
    deaf, first = started(scripts, DEAF)
    stopped, second = started(scripts, POLITE)
    os.kill(second, signal.SIGSTOP)
    scripts.stop_all()
    assert not is_alive(first)
    assert not is_alive(second)
    assert {scripts.facts(job)["state"] for job in (deaf, stopped)} == {"cancelled"}


def test_one_that_was_just_cancelled_is_not_forgotten(scripts: Scripts, monkeypatch: pytest.MonkeyPatch) -> None:
    job, pid = started(scripts, DEAF)
    monkeypatch.setattr(jobs, "CANCEL_PATIENCE", 3600.0)
    scripts.cancel(job)
    monkeypatch.setattr(jobs, "CANCEL_PATIENCE", 0.3)
    scripts.stop_all()
    assert not is_alive(pid)


def test_a_cancelled_one_may_clean_up_and_a_deaf_one_is_killed(scripts: Scripts, monkeypatch: pytest.MonkeyPatch) -> None:
    deaf, pid = started(scripts, DEAF)
    assert scripts.cancel(deaf)["state"] == "cancelled"
    becomes(lambda: not is_alive(pid))
    monkeypatch.setattr(jobs, "CANCEL_PATIENCE", PATIENCE)
    polite, _ = started(scripts, POLITE)
    scripts.cancel(polite)
    becomes(lambda: "cleaned" in scripts.facts(polite)["log"])
    becomes(lambda: scripts.facts(polite)["exit_status"] == 0)


def test_what_cannot_be_started_fails_with_its_reason(scripts: Scripts) -> None:
    facts = scripts.start({"script": "", "interpreter": "/nowhere/python"})
    assert facts["state"] == "failed"
    assert "/nowhere/python" in facts["log"][0]
