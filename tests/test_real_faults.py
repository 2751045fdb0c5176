"""Faults in real training steps, dumped by msProbe 26.2: the report names the module where each one is.

`tests/capture/record_faults.py` made the dumps and can make them again.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, Command

ARCHIVE = DATA / "faults.tar.xz"


def listed() -> list[dict[str, Any]]:
    with tarfile.open(ARCHIVE) as archive:
        file = archive.extractfile("faults.json")
        assert file is not None
        found: list[dict[str, Any]] = json.load(file)
        return found


FAULTS = [fault for fault in listed() if fault["step"]]


@pytest.fixture(scope="session")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            if member.isfile():
                content = archive.extractfile(member)
                assert content is not None
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())
    return folder


def is_in(module: str, node: str) -> bool:
    """Whether the node is the module, or belongs to it."""
    return node == f"Module.{module}" or node.startswith(f"Module.{module}.")


def test_there_are_enough() -> None:
    assert len([fault for fault in FAULTS if fault["what"] != "the same again"]) >= 20


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault['network']}: {fault['what']}")
def test_the_report_names_the_module(fault: dict[str, Any], dumps: Path, msprobe: Command, tmp_path: Path) -> None:
    network = dumps / fault["network"]
    sides = ("-tp", network / f"step{fault['step']}" / "rank0", "-gp", network / "step0" / "rank0")
    done = msprobe("graph_visualize", *sides, "-o", tmp_path, "--json")
    assert done.status == 0, done.err
    report = json.loads(done.out)["report"]
    found = report["first_difference"]
    if fault["what"] == "the same again":
        assert found is None
        assert report["ranks"][0]["nearest_miss"]["why"] == "identical"
        return
    named = f"{found['node']} in {found['parent']}"
    if fault["module"]:
        assert is_in(fault["module"], found["node"]) or is_in(fault["module"], found["parent"]), named
    elif "images" in fault["what"]:
        assert (found["what"], found["parent"]) == ("input", "DefaultModel"), named
    else:
        # The loss is made outside of every module.
        assert found["parent"].startswith("Apis_Between_Modules."), named
        assert any(word in found["node"] for word in ("cross_entropy", "__mul__")), named
