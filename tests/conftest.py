"""What all tests share: the installed command, and where the data lies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

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

    def __call__(self, *words: str | Path, cwd: Path | None = None, timeout: float = 120, **environment: str) -> Finished:
        done = subprocess.run(
            [self.program, *map(str, words)],
            cwd=cwd,
            env={**os.environ, **self.environment, **environment},
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
