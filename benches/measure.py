"""What a command costs: CPU time, peak memory, wall time.

CPU time (user and system, of the command and all its children) is what can be compared on a machine that does other things at the
same time; the least of several runs is the one least disturbed. Anonymous memory is what the command itself holds; resident memory
counts the pages of mapped files too, which the system takes back when it needs them.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

INTERVAL = 0.004
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Usage:
    """Seconds and bytes of one run."""

    user: float
    system: float
    wall: float
    resident: int
    anonymous: int

    @property
    def cpu(self) -> float:
        return self.user + self.system


@dataclass(frozen=True)
class Cost:
    """Several runs of one command."""

    command: list[str]
    runs: list[Usage]

    @property
    def cpu(self) -> float:
        return min(run.cpu for run in self.runs)

    @property
    def wall(self) -> float:
        return min(run.wall for run in self.runs)

    @property
    def resident(self) -> int:
        return max(run.resident for run in self.runs)

    @property
    def anonymous(self) -> int:
        return max(run.anonymous for run in self.runs)

    def raw(self) -> dict[str, Any]:
        """The runs as they are kept in the results; folders of this machine are left out."""
        shown = [re.sub("(^|=)/.*/", r"\1", word) for word in self.command]
        return {"command": shown, "runs": [asdict(run) for run in self.runs]}


def cost(command: Sequence[str | Path], repeat: int = 3, before: Any = None) -> Cost:
    """Runs `command` `repeat` times, calling `before` ahead of each."""
    words = [str(word) for word in command]
    runs = []
    for _ in range(repeat):
        if before:
            before()
        runs.append(_run(words))
    return Cost(words, runs)


def _run(command: list[str]) -> Usage:
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        anonymous = 0
        while True:
            # wait4 also counts the children that the command has waited for.
            pid, status, used = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            anonymous = max(anonymous, sum(map(_anonymous, _family(child.pid))))
            time.sleep(INTERVAL)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            errors.seek(0)
            raise SystemExit(f"{' '.join(command)}\nended with {child.returncode}: {errors.read().decode(errors='replace')[-2000:]}")
    return Usage(used.ru_utime, used.ru_stime, wall, used.ru_maxrss * 1024, anonymous)


def _family(pid: int) -> list[int]:
    """A process and its children, all generations."""
    family = [pid]
    for member in family:
        with suppress(OSError):  # it has ended
            for task in Path(f"/proc/{member}/task").glob("*/children"):
                family += map(int, task.read_text().split())
    return family


def _anonymous(pid: int) -> int:
    """Anonymous memory of a process in bytes."""
    with suppress(OSError):  # it has ended
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0
