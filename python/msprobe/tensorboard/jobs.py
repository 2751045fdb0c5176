"""Conversions started from the browser: the command of the terminal as a process of its own, one id each.

Nothing a request says reaches a shell: the command is a list, paths are absolute and checked to lie below the log directory,
numbers are numbers.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msprobe.tensorboard.origin import RefusedError

MOST_RUNNING = 2
MOST_KEPT = 30
LOG_LINES = 400
LINE_LENGTH = 2_000
PROGRESS = re.compile(r"PROGRESS:\s*(\{.*\})")
ORDER = re.compile(r"[a-z]{2,4}(-[a-z]{2,4}){0,7}")
CANCEL_PATIENCE = 5.0
"""Seconds a cancelled process may take to clean up."""


@dataclass
class Job:
    """One conversion."""

    id: str
    command: list[str]
    output: Path
    started: float = field(default_factory=time.time)
    ended: float | None = None
    state: str = "running"
    progress: float = 0.0
    exit_status: int | None = None
    log: deque[str] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    process: subprocess.Popen[str] | None = None

    def facts(self, logdir: Path) -> dict[str, Any]:
        """What the browser shows."""
        now = self.ended or time.time()
        spent = now - self.started
        left = spent * (100 - self.progress) / self.progress if self.state == "running" and self.progress > 5 else None
        return {
            "id": self.id,
            "state": self.state,
            "progress": self.progress,
            "seconds": round(spent, 1),
            "seconds_left": None if left is None else round(left),
            "exit_status": self.exit_status,
            "log": list(self.log),
            "command": " ".join(self.command[1:]),
            "result": self._result(logdir) if self.state in ("done", "partial") else None,
        }

    def _result(self, logdir: Path) -> str | None:
        fresh = [path for path in self.output.glob("*.vis.db") if path.stat().st_mtime >= self.started - 1]
        newest = max(fresh, key=lambda path: path.stat().st_mtime, default=None)
        return newest.resolve().relative_to(logdir.resolve()).as_posix() if newest else None


class Jobs:
    """All conversions of one server."""

    def __init__(self, logdir: Path) -> None:
        self._logdir = logdir
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        atexit.register(self.stop_all)

    def start(self, request: dict[str, object]) -> dict[str, Any]:
        """Starts a conversion.

        Raises:
            RefusedError: When the request is not acceptable, or enough are running.
        """
        command, output = self._command(request)
        with self._lock:
            if sum(job.state == "running" for job in self._jobs.values()) >= MOST_RUNNING:
                raise RefusedError(429, "busy", f"{MOST_RUNNING} conversions are running; wait for one or cancel it")
            for old in [job.id for job in self._jobs.values() if job.state != "running"][:-MOST_KEPT]:
                del self._jobs[old]
            job = Job(secrets.token_hex(8), command, output)
            self._jobs[job.id] = job
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        try:
            # A list without a shell; every path was checked by `_command`.
            job.process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            job.state, job.ended = "failed", time.time()
            what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
            job.log.append(f"error: the conversion cannot be started: {what}")
            return job.facts(self._logdir)
        threading.Thread(target=self._follow, args=(job,), daemon=True).start()
        return job.facts(self._logdir)

    def all(self) -> list[dict[str, Any]]:
        """All conversions, newest first, without their logs."""
        jobs = sorted(self._jobs.values(), key=lambda job: -job.started)
        return [{**job.facts(self._logdir), "log": []} for job in jobs]

    def facts(self, job_id: str) -> dict[str, Any]:
        """One conversion.

        Raises:
            RefusedError: When there is none of this id.
        """
        return self._find(job_id).facts(self._logdir)

    def cancel(self, job_id: str) -> dict[str, Any]:
        """Ends a conversion; it removes what it has half written, and is killed if it takes too long to.

        Not by SIGINT: what a server in the background (`tensorboard &`) starts ignores it.
        """
        job = self._find(job_id)
        if job.state == "running":
            job.state = "cancelled"
            _signal(job, signal.SIGTERM)
            timer = threading.Timer(CANCEL_PATIENCE, _signal, (job, signal.SIGKILL))
            timer.daemon = True
            timer.start()
        return job.facts(self._logdir)

    def stop_all(self) -> None:
        """Ends everything that runs and kills what has not ended in time: the server ends, and leaves nothing behind."""
        alive = [job for job in self._jobs.values() if job.process is not None and job.process.poll() is None]
        for job in alive:
            job.state = "cancelled"
            _signal(job, signal.SIGTERM)
        end = time.monotonic() + CANCEL_PATIENCE
        for job in alive:
            _wait(job, end - time.monotonic())
            _signal(job, signal.SIGKILL)
        for job in alive:
            _wait(job, 1.0)

    def _find(self, job_id: str) -> Job:
        job = self._jobs.get(job_id)
        if job is None:
            raise RefusedError(404, "no_job", "there is no such conversion; the server may have been started again")
        return job

    def _follow(self, job: Job) -> None:
        process = job.process
        if process is None or process.stdout is None:
            return
        for line in process.stdout:
            found = PROGRESS.search(line)
            if found is None:
                job.log.append(line.rstrip("\n")[:LINE_LENGTH])
                continue
            try:
                job.progress = max(0.0, min(100.0, float(json.loads(found[1])["current_progress"])))
            except (ValueError, KeyError, TypeError):
                job.log.append(line.rstrip("\n")[:LINE_LENGTH])
        job.exit_status = process.wait()
        job.ended = time.time()
        if job.state == "running":
            job.state = {0: "done", 3: "partial"}.get(job.exit_status, "failed")
            job.progress = 100.0 if job.state in ("done", "partial") else job.progress

    def _command(self, request: dict[str, object]) -> tuple[list[str], Path]:
        known = {"target", "golden", "output", "layer_mapping", "overflow_check", "fuzzy_match", "print_log", "merge"}
        unknown = set(request) - known
        if unknown:
            raise RefusedError(400, "parameter", f"{min(unknown)}: is not an option")
        output = self._below(request, "output", must_exist=False)
        command = [sys.executable, "-m", "msprobe", "graph_visualize", "-tp", str(self._below(request, "target"))]
        if request.get("golden"):
            command += ["-gp", str(self._below(request, "golden"))]
        command += ["-o", str(output), "-progress_log"]
        if request.get("layer_mapping"):
            command += ["-lm", str(self._below(request, "layer_mapping"))]
        for name, option in (("overflow_check", "-oc"), ("fuzzy_match", "-fm"), ("print_log", "-tensor_log")):
            value = request.get(name, False)
            if not isinstance(value, bool):
                raise RefusedError(400, "parameter", f"{name}: is neither true nor false")
            command += [option] if value else []
        return command + _merge(request.get("merge"), compare=bool(request.get("golden"))), output

    def _below(self, request: dict[str, object], name: str, *, must_exist: bool = True) -> Path:
        value = request.get(name)
        if not isinstance(value, str) or not value or len(value) > 4096 or any(ord(letter) < 32 for letter in value):
            raise RefusedError(400, "parameter", f"{name}: must be a path below the log directory")
        root = self._logdir.resolve()
        path = (root / value).resolve()
        if Path(value).is_absolute() or not path.is_relative_to(root):
            raise RefusedError(403, "outside", f"{name}: only paths below the log directory can be used")
        if must_exist and not path.exists():
            raise RefusedError(404, "no_file", f"{name}: {value} does not exist")
        return path


def _merge(merge: object, *, compare: bool) -> list[str]:
    if merge is None:
        return []
    sides = ["target", "golden"] if compare else ["target"]
    if not isinstance(merge, dict) or any(not isinstance(merge.get(side), dict) for side in sides):
        raise RefusedError(400, "parameter", "merge: needs the sizes of each side")
    words: list[str] = []
    for name, option in (("rank_size", "--rank_size"), ("tp", "--tp"), ("pp", "--pp"), ("vpp", "--vpp")):
        values = [merge[side].get(name, 1) for side in sides]
        if any(type(value) is not int or not 1 <= value <= 1_000_000 for value in values):
            raise RefusedError(400, "parameter", f"merge {name}: must be a whole number from 1")
        words += [option, *map(str, values)]
    orders = [merge[side].get("order", "tp-cp-ep-dp-pp") for side in sides]
    if any(not isinstance(order, str) or not ORDER.fullmatch(order) for order in orders):
        raise RefusedError(400, "parameter", "merge order: must be like tp-cp-ep-dp-pp")
    return [*words, "--order", *orders]


def _wait(job: Job, seconds: float) -> None:
    if job.process is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(max(0.0, seconds))


def _signal(job: Job, number: signal.Signals) -> None:
    """Sends a signal to the session of a job, which was started as its leader, and to nothing else."""
    if job.process is not None and job.process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.process.pid, number)
