"""msProbe's own viewer opens our files and shows what it shows of its own.

Its server is asked the recorded questions about files that we made from the recorded dumps, and must give the recorded
answers. Needs an interpreter that has msProbe 26.2 and TensorBoard installed, named by `MSPROBE_REFERENCE_PYTHON`:

    python3 -m venv reference && reference/bin/pip install mindstudio-probe==26.2.0 tensorboard
    MSPROBE_REFERENCE_PYTHON=$PWD/reference/bin/python python -m pytest tests/test_reference_viewer.py
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, big_data

REFERENCE = os.environ.get("MSPROBE_REFERENCE_PYTHON", "")
SHARED = big_data()
PATIENCE = 120.0

pytestmark = [
    pytest.mark.skipif(not REFERENCE, reason="needs msProbe 26.2: name its Python in MSPROBE_REFERENCE_PYTHON"),
    pytest.mark.skipif(SHARED is None, reason="needs the recorded dumps of MSPROBE_SHARED or ../shared"),
]

ONE_RANK = "step0/rank0"
FILES = {
    "build_overflow": (["-tp", f"tf_overflow/{ONE_RANK}"], ["-oc"]),
    "compare_statistics": (["-tp", f"tf_mixed/{ONE_RANK}", "-gp", f"tf_base/{ONE_RANK}"], []),
    "compare_md5": (["-tp", f"md5_mixed/{ONE_RANK}", "-gp", f"md5_base/{ONE_RANK}"], []),
    "compare_multirank": (["-tp", "mr_noisy", "-gp", "mr_base"], ["-oc"]),
}


class Server:
    """TensorBoard with msProbe's plugin on a log directory."""

    def __init__(self, logdir: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}/data/plugin/graph_ascend/"
        words = ["-m", "tensorboard.main", "--logdir", str(logdir), "--port", str(port), "--host", "127.0.0.1"]
        self.process = subprocess.Popen([REFERENCE, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self.answers():
            if time.monotonic() > end or self.process.poll() is not None:
                pytest.fail("msProbe's TensorBoard does not start")
            time.sleep(0.2)

    def answers(self) -> bool:
        try:
            self.ask("load_meta_dir", None, {})
        except (urllib.error.URLError, ConnectionError):
            return False
        return True

    def ask(self, route: str, query: dict[str, str] | None, body: dict[str, Any] | None) -> Any:
        address = self.address + route
        if query:
            address += "?" + urllib.parse.urlencode(query)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)


@pytest.fixture(scope="module", params=FILES)
def shown(request: pytest.FixtureRequest, msprobe: Command, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Server]]:
    """One file of ours in front of msProbe's viewer."""
    name = request.param
    assert SHARED is not None
    sides, options = FILES[name]
    dumps = SHARED / "golden/visdb/dumps"
    words = [word if word.startswith("-") else str(dumps / word) for word in sides]
    folder = tmp_path_factory.mktemp(name)
    done = msprobe("graph_visualize", *words, "-o", folder / "out", *options)
    assert done.status == 0, done.err
    (file,) = (folder / "out").glob("*.vis.db")
    (folder / "logs/golden").mkdir(parents=True)
    shutil.copy(file, folder / f"logs/golden/{name}.vis.db")
    server = Server(folder / "logs")
    try:
        server.wait()
        yield name, server
    finally:
        server.stop()


def test_gives_the_recorded_answers(shown: tuple[str, Server]) -> None:
    name, server = shown
    assert SHARED is not None
    questions = json.loads((SHARED / f"golden/visdb/expected/{name}.json").read_text())
    assert len(questions) > 10
    differing = []
    for number, question in enumerate(questions):
        answer = comparable(server.ask(question["route"], question.get("query"), question.get("body")))
        recorded = comparable(question["answer"])
        if answer != recorded:
            differing.append((number, question["route"], difference(recorded, answer)))
    assert differing == []


def comparable(answer: Any) -> Any:
    """An answer without what we do better: gradients have an overflow level, links hold more partners."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if isinstance(data, list):
        return [one for one in data if not (one.get("status") == "high" and ".parameters_grad" in one["name"])]
    if isinstance(data, dict):
        for node in data.values():
            if isinstance(node, dict):
                node.pop("matched_distributed", None)
                node.pop("matchedDistributed", None)
    return answer


def difference(recorded: Any, ours: Any, path: str = "") -> str:
    """Where two answers first differ."""
    if isinstance(recorded, dict) and isinstance(ours, dict):
        for key in [*recorded, *ours]:
            if recorded.get(key) != ours.get(key):
                return difference(recorded.get(key), ours.get(key), f"{path}/{key}")
    if isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
        for place, (left, right) in enumerate(zip(recorded, ours, strict=True)):
            if left != right:
                return difference(left, right, f"{path}/{place}")
    return f"{path}: {json.dumps(recorded)[:300]} recorded, {json.dumps(ours)[:300]} now"
