"""The reviewed numbers of accepted.json, each worked out a second time without our engine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.acceptances import Recorded, Review
from tests.test_parity import ACCEPTED, CASES

UNMERGED = [name for name, case in CASES.items() if case.expected and "--rank_size" not in case.words]
"""Merged ranks have trees that no single dump shows."""


@pytest.mark.parametrize("name", UNMERGED)
def test_the_dump_and_the_recorded_result_justify_every_acceptance(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    expected = case.expected
    assert expected is not None
    if expected.suffix == ".db":
        # Marked WAL: SQLite would want to write beside it.
        expected = Path(shutil.copy(expected, tmp_path))
    target, golden = (case.folder / case.words[case.words.index(side) + 1] if side in case.words else None for side in ("-tp", "-gp"))
    assert target is not None
    found = Review(Recorded(expected, target, golden), losing=case.kept)()
    assert found == json.loads(ACCEPTED.read_text()).get(name, {})
