"""The commands in docs/ give the output that stands below them.

`MSPROBE_WRITE_DOCS=1 pytest tests/test_docs.py` writes the output anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = ("tutorial", "report", "tree", "export", "doctor", "vis_db")
VARYING = (
    (re.compile(r"_\d{14}(_\d+)?\.vis\.db"), "_<time>.vis.db"),
    (re.compile(r"\d[\d,.]* MB"), "<size> MB"),
    (re.compile(r"[\d,]+ bytes"), "<size> bytes"),
    (re.compile(r"\d+\.\d\d s\b"), "<seconds> s"),
)
INDENT = "    "


def steady(text: str) -> str:
    """Times and sizes differ from run to run."""
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


def output(command: str, folder: Path) -> list[str]:
    """What a user sees, in an environment where our command and Python come first."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "MSPROBE_LOG_LEVEL": "1"}
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("page", PAGES)
def test_commands_give_their_output(page: str, tmp_path: Path) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    file = ROOT / "docs" / f"{page}.md"
    lines = file.read_text().splitlines()
    written: list[str] = []
    commands = 0
    at = 0
    while at < len(lines):
        line = lines[at]
        written.append(line)
        at += 1
        if not line.startswith(INDENT + "$ "):
            continue
        commands += 1
        shown = []
        while at < len(lines) and lines[at].startswith(INDENT) and not lines[at].startswith(INDENT + "$ "):
            shown.append(lines[at].removeprefix(INDENT))
            at += 1
        found = output(line.removeprefix(INDENT + "$ "), tmp_path)
        written += [INDENT + text for text in found]
        if "MSPROBE_WRITE_DOCS" not in os.environ:
            assert steady("\n".join(found)) == steady("\n".join(shown)), line
    assert commands > 0
    if "MSPROBE_WRITE_DOCS" in os.environ:
        file.write_text("\n".join(written) + "\n")


def test_every_page_is_listed() -> None:
    """A page with commands is a page that is tried."""
    with_commands = {path.stem for path in (ROOT / "docs").glob("*.md") if re.search(r"^    \$ ", path.read_text(), re.MULTILINE)}
    assert with_commands == set(PAGES)
    assert shutil.which("bash")
