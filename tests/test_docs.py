"""The commands in docs/ give the output that stands below them.

`MSPROBE_WRITE_DOCS=1 pytest tests/test_docs.py` writes the output anew.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import typer

from msprobe import _native
from msprobe.cli.app import app
from msprobe.cli.help import options_of
from tests.conftest import ROOT, Run
from tests.recorded import unpacked

PAGES = ("tutorial", "graph_visualize", "report", "tree", "export", "mapping", "doctor", "vis_db")
VARYING = (
    (re.compile(r"_\d{14}(_\d+)?\.vis\.db"), "_<time>.vis.db"),
    (re.compile(r"\d[\d,.]* MB"), "<size> MB"),
    (re.compile(r"[\d,]+ bytes"), "<size> bytes"),
    (re.compile(r"\d+\.\d\d s\b"), "<seconds> s"),
)
INDENT = "    "
WRITE = "MSPROBE_WRITE_DOCS" in os.environ


def steady(text: str) -> str:
    """Times and sizes differ from run to run."""
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


def sizes(lines: list[str]) -> list[float]:
    """Those of results, in MB: they may differ a little, or they are those of long ago."""
    return [float(found) for found in re.findall(r"([\d.]+) MB", "\n".join(lines))]


def output(command: str, folder: Path) -> list[str]:
    """What a user sees, in an environment where our command and Python come first."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "MSPROBE_LOG_LEVEL": "1"}
    done = subprocess.run(
        ["/bin/bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout.splitlines()


def tried(page: str, folder: Path) -> list[str]:
    """The lines of the page with what its commands give in `folder`; that must be what stands there, unless the page is written anew."""
    lines = (ROOT / "docs" / f"{page}.md").read_text().splitlines()
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
        found = output(line.removeprefix(INDENT + "$ "), folder)
        written += [INDENT + text for text in found]
        if not WRITE:
            assert steady("\n".join(found)) == steady("\n".join(shown)), line
            assert sizes(found) == pytest.approx(sizes(shown), rel=0.5), line
    assert commands > 0
    return written


@pytest.mark.parametrize("page", PAGES)
def test_commands_give_their_output(page: str, tmp_path: Path) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    written = tried(page, tmp_path)
    if WRITE:
        (ROOT / "docs" / f"{page}.md").write_text("\n".join(written) + "\n")


@pytest.mark.skipif(WRITE, reason="the pages are written anew")
def test_a_reader_may_try_one_page_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    for page in PAGES:
        tried(page, tmp_path)


def test_the_answer_in_the_readme_is_that_of_its_command() -> None:
    """It is that of docs/graph_visualize.md, which is tried."""
    answer = re.search(r"The demo ends like this:\n\n((?: {4}.*\n)+)", (ROOT / "README.md").read_text())
    assert answer
    page = (ROOT / "docs" / "graph_visualize.md").read_text()
    assert steady(answer[1]).replace("out/demo", "out") in steady(page)
    assert sizes([answer[1]]) == pytest.approx(sizes([page])[:1], rel=0.5)


def test_the_node_that_the_viewer_needs_is_named() -> None:
    """The lock file knows what building it needs; vitest, which only its tests need, asks for more."""
    packages = json.loads((ROOT / "tb_plugin" / "package-lock.json").read_text())["packages"]
    needed = {packages[f"node_modules/{name}"]["engines"]["node"] for name in ("vite", "rolldown")}
    assert needed == {"^20.19.0 || >=22.12.0"}
    places = ("README.md", "CONTRIBUTING.md", "Makefile", "tb_plugin/README.md", "python/msprobe/tensorboard/assets.py")
    assert [place for place in places if "Node 20.19, 22.12 or newer" not in (ROOT / place).read_text()] == []


def commands() -> dict[str, Any]:
    """The commands that the help shows."""
    program: Any = typer.main.get_command(app())
    return {name: command for name, command in program.commands.items() if not command.hidden}


@pytest.mark.parametrize("name", commands())
def test_every_command_has_a_page_with_every_option(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    assert f"    $ msprobe-rs {name} " in page
    options = [
        spelling for option in options_of(commands()[name].params) for spelling in option.spellings if spelling not in ("-h", "--help")
    ]
    assert [option for option in options if not re.search(rf"`{option}[` ]", page)] == []


def test_every_command_is_in_the_readme_with_its_page() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [name for name in commands() if f"docs/{name}.md" not in readme] == []


@pytest.mark.parametrize("name", [*commands(), "graph"])
def test_help_has_examples_and_fits_a_terminal(name: str) -> None:
    text = output(f"msprobe-rs {name} --help", ROOT)
    assert "Examples:" in text
    assert [line for line in text if len(line) > 80] == []


def test_the_tables_of_a_file_are_described(run: Run) -> None:
    """Those of a comparison of real tensors, and those that a change by hand adds."""
    dumps = unpacked() / "ms_graph_L0_tensor"
    run.result(dumps / "target", dumps / "golden")
    (file,) = run.left()
    with sqlite3.connect(file) as database:
        pair = (
            "SELECT node_name FROM tb_nodes WHERE data_source = 'NPU' AND matched_node_link LIKE '%' || node_name || '%' AND up_node <> ''"
        )
        (name,) = database.execute(pair).fetchone()
    change = {"step": 0, "rank": 0, "action": {"unmatch": {"target": name, "golden": name}}}
    status, answer = _native.Viewer(run.out).edit(file.name, json.dumps(change))
    assert status == 200, answer
    page = (ROOT / "docs" / "vis_db.md").read_text()
    described = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    with sqlite3.connect(file) as database:
        found = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert found == described


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    for side in ("target", "golden"):
        (tmp_path / side).symlink_to(ROOT / "tests" / "data" / "dumps" / "llama_perturbed" / side)
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", (ROOT / "docs" / "python.md").read_text(), re.MULTILINE)
    names: dict[str, Any] = {}
    for block in blocks:
        # Every statement that is an expression must give something.
        for statement in ast.parse(textwrap.dedent(block)).body:
            code = ast.unparse(statement)
            if isinstance(statement, ast.Expr):
                assert eval(code, names) is not None, code
            else:
                exec(code, names)
    assert names["result"].first_difference()["node"] == "Module.model.layers.1.mlp.down_proj.Linear.forward.0"
    assert len(blocks) >= 2


def test_the_columns_of_a_table_are_described(tmp_path: Path) -> None:
    file = shutil.copy(ROOT / "tests" / "data" / "visdb" / "compare_tensor.vis.db", tmp_path)
    assert output(f"msprobe-rs export {file} -o rows.csv", tmp_path)[0].startswith("wrote")
    described = (ROOT / "docs" / "export.md").read_text().split("## Columns")[1]
    columns = (tmp_path / "rows.csv").read_text().splitlines()[0].split(",")
    assert columns == [name for name in columns if f"`{name}`" in described]
    assert set(columns) >= set(re.findall(r"`([a-z_]+_(?:difference|error))`", described))


def test_every_page_is_listed() -> None:
    """A page with commands is a page that is tried."""
    with_commands = {path.stem for path in (ROOT / "docs").glob("*.md") if re.search(r"^    \$ ", path.read_text(), re.MULTILINE)}
    assert with_commands == set(PAGES)
    assert shutil.which("bash")
