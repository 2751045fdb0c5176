"""Our results against those that msProbe 26.2 recorded, row by row and column by column.

Differences that are meant are accepted by named rules (tests/parity.py), and how often each rule is needed is written down in
tests/data/accepted.json: another number fails until somebody has looked. After looking: `python -m tests.test_parity`.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from msprobe import open as open_result
from tests.conftest import DATA, Command, big_data
from tests.parity import Check, load
from tests.recorded import OVERTURNED, Case, cases

ACCEPTED = DATA / "accepted.json"

CASES = {name: case for name, case in cases().items() if name not in OVERTURNED and case.missing() is None}


def run(case: Case, program: str, out: Path) -> tuple[int, str]:
    """Exit status and standard error of our run."""
    words = [str(out) if word == "<OUT>" else word for word in case.words]
    done = subprocess.run([program, "graph_visualize", *words], cwd=case.folder, capture_output=True, timeout=300, check=False)
    return done.returncode, done.stderr.decode()


def compared(case: Case, out: Path, scratch: Path) -> Any:
    """The finished check of our result."""
    (result,) = out.iterdir()
    expected = case.expected
    assert expected is not None
    if expected.suffix == ".db":
        # Marked WAL: SQLite would want to write beside it.
        expected = Path(shutil.copy(expected, scratch))
    return Check(load(str(expected)), load(str(result)), strict=False, kept=case.kept).run()


@pytest.mark.parametrize("name", CASES)
def test_recorded_result(name: str, msprobe: Command, tmp_path: Path) -> None:
    case, out = CASES[name], tmp_path / "out"
    status, err = run(case, msprobe.program, out)
    assert status == case.status, err
    if case.expected is None:
        assert not out.exists() or not list(out.iterdir())
        return
    check = compared(case, out, tmp_path)
    shown = "\n".join(f"{where} | {column}\n   want {want}\n   got  {got}" for where, column, want, got in check.diffs[:10])
    assert not check.diffs, f"{len(check.diffs)} differences\n{shown}"
    assert dict(check.accepted) == json.loads(ACCEPTED.read_text()).get(name, {})
    assert check.same > 0
    assert_read_answer_is_stored_answer(next(out.iterdir()))


def assert_read_answer_is_stored_answer(file: Path) -> None:
    """The answer was found while the rows were written; the finished rows must give the same one."""
    stored = open_result(file).report()
    with sqlite3.connect(file) as database:
        database.execute("DROP TABLE IF EXISTS msprobe_divergence")
    database.close()
    assert open_result(file).report() == stored


def test_every_reviewed_number_belongs_to_a_case() -> None:
    if big_data() is None:
        pytest.skip("the folder with all recorded results is not here")
    assert set(json.loads(ACCEPTED.read_text())) <= set(CASES)


def record() -> None:
    """Runs every case and writes down how often each rule was needed, for somebody to review."""
    program = shutil.which("msprobe-rs", path=str(Path(sys.executable).parent)) or sys.exit("msprobe-rs is not installed")
    old: dict[str, dict[str, int]] = json.loads(ACCEPTED.read_text()) if ACCEPTED.exists() else {}
    new: dict[str, dict[str, int]] = {}
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "out"
            status, err = run(case, program, out)
            if status != case.status:
                print(f"{name}: exit status {status}, not {case.status}: {err.strip()}")
            elif case.expected is not None:
                check = compared(case, out, Path(scratch))
                if check.accepted:
                    new[name] = dict(sorted(check.accepted.items()))
                if check.diffs:
                    print(f"{name}: {len(check.diffs)} differences, first {str(check.diffs[0])[:600]}")
                if new.get(name) != old.get(name):
                    print(f"{name}: accepted {old.get(name)} -> {new.get(name)}")
    ACCEPTED.write_text(json.dumps(dict(sorted(new.items())), indent=1) + os.linesep)


if __name__ == "__main__":
    record()
