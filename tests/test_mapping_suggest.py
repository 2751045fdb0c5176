"""`mapping suggest`: a proposal that graph_visualize takes as it is."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import DATA, Command
from tests.recorded import cases

MINI = DATA / "mini" / "c06_layer_mapping_yaml"
DUMPS = ("-tp", str(MINI / "target/step0/rank0"), "-gp", str(MINI / "golden/step0/rank0"))


def test_the_proposal_is_printed_or_written(msprobe: Command, tmp_path: Path) -> None:
    printed = msprobe("mapping", "suggest", *DUMPS)
    assert printed.status == 0, printed.err
    assert "  module: model  # " in printed.out
    file = tmp_path / "mapping.yaml"
    written = msprobe("mapping", "suggest", *DUMPS, "-o", file)
    assert written.status == 0, written.err
    assert file.read_text() == printed.out
    assert written.out.startswith(f"wrote    {file}   ")


def test_the_proposal_brings_together_what_the_mapping_by_hand_does(msprobe: Command, tmp_path: Path) -> None:
    case = cases()["renamed_modules_lm/compare_lm"]
    dumps = [word for word in case.words if word not in ("-o", "<OUT>", "-lm") and not word.endswith("mapping.yaml")]
    by_hand = str(Path(case.words[case.words.index("-lm") + 1]))
    proposed = str(tmp_path / "proposed.yaml")
    assert msprobe("mapping", "suggest", *dumps, "-o", proposed, cwd=case.folder).status == 0

    def matched(mapping: str) -> int:
        done = msprobe("graph_visualize", *dumps, "-o", tmp_path / "out", "-lm", mapping, "--json", cwd=case.folder)
        assert done.status == 0, done.err
        found: int = json.loads(done.out)["totals"]["matched"]
        return found

    assert matched(proposed) >= matched(by_hand) > 80


def test_a_file_that_exists_is_not_overwritten(msprobe: Command, tmp_path: Path) -> None:
    file = tmp_path / "mapping.yaml"
    file.write_text("mine")
    done = msprobe("mapping", "suggest", *DUMPS, "-o", file)
    assert done.status == 1
    assert done.error_lines == [f"error: {file}: cannot be written: File exists; name a new file"]
    assert file.read_text() == "mine"


def test_what_makes_no_sense_is_wrong_usage(msprobe: Command, tmp_path: Path) -> None:
    assert msprobe("mapping", "suggest", *DUMPS, "-o", tmp_path / "mapping.txt").status == 2
    assert msprobe("mapping", "invent", *DUMPS).status == 2
    assert msprobe("mapping", *DUMPS).status == 2
    assert msprobe("mapping", "suggest", *DUMPS[:2]).status == 2
    missing = msprobe("mapping", "suggest", "-tp", tmp_path / "missing", *DUMPS[2:])
    assert missing.status == 1
    assert len(missing.error_lines) == 1
