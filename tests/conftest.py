"""What all tests share: the installed command, and where the data lies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import write

# A runner in the background (`&`, `nohup`) ignores these, and so would every command that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"


def big_data() -> Path | None:
    """The folder with all recorded dumps and results, which is too large for the repository."""
    place = Path(os.environ.get("MSPROBE_SHARED") or ROOT.parent / "shared")
    return place if (place / "golden").is_dir() else None


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def error_lines(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("error: ")]


@dataclass(frozen=True)
class Command:
    """The command as pip has installed it."""

    program: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def __call__(
        self, *words: str | Path, cwd: Path | None = None, timeout: float = 120, environment: Mapping[str, str] | None = None
    ) -> Finished:
        done = subprocess.run(
            [self.program, *map(str, words)],
            cwd=cwd,
            env={**os.environ, **self.environment, **(environment or {})},
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="session")
def msprobe() -> Command:
    """`msprobe-rs` of this environment."""
    program = shutil.which("msprobe-rs", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.fail("msprobe-rs is not installed beside this Python; run `make test`")
    return Command(program, {"MSPROBE_LOG_LEVEL": "1"})


class Run:
    """Builds or compares into one output folder."""

    def __init__(self, msprobe: Command, out: Path) -> None:
        self.msprobe, self.out = msprobe, out

    def __call__(self, target: Path, golden: Path | None = None, *words: str) -> Finished:
        sides = ["-tp", str(target), *(["-gp", str(golden)] if golden else [])]
        return self.msprobe("graph_visualize", *sides, "-o", self.out, *words)

    def left(self) -> list[Path]:
        return list(self.out.iterdir()) if self.out.is_dir() else []

    def result(self, *arguments: Any, warnings: int = 0) -> Path:
        """The file of a run that must work, with so many lines of warning."""
        done = self(*arguments)
        assert done.status == 0, done.err
        assert len(done.err.splitlines()) == warnings, done.err
        (file,) = self.left()
        return file

    def refused(self, *arguments: Any, status: int = 1) -> str:
        """The one line of a run that must fail and leave nothing."""
        done = self(*arguments)
        assert (done.status, done.out) == (status, ""), (done.status, done.err[:2000])
        (line,) = done.err.splitlines()
        assert line.startswith("error: ")
        assert not self.left()
        return line


@pytest.fixture
def run(msprobe: Command, tmp_path: Path) -> Run:
    """Runs into `tmp_path / "out"`."""
    return Run(msprobe, tmp_path / "out")


@pytest.fixture
def rank(tmp_path: Path) -> Path:
    """The folder of a rank with a module and an API in it."""
    return write(tmp_path / "rank")


@pytest.fixture(scope="session")
def validator() -> Any:
    """The schema of the answer as JSON."""
    jsonschema = pytest.importorskip("jsonschema", reason="pip install -r requirements/test.txt")
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)
