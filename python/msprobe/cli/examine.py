"""What is in a dump, and what is wrong with it: it is read as for a result, which is then thrown away."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msprobe.cli import alike, log, request
from msprobe.cli.exits import Exit, Refusal
from msprobe.cli.places import Places

FILES = ("dump.json", "construct.json", "stack.json")
HEAD = 65536
"""Bytes of dump.json in which its facts stand."""
FACT = re.compile(r'"(task|level|framework)"\s*:\s*"([^"]*)"')


def dump(path: str) -> Exit:
    """Prints what is in the dump and what is wrong; 1 if something is.

    Raises:
        Refusal: There is no such folder.
    """
    root = Path(path)
    if problem := request.no_dump(path):
        if not root.is_dir():
            raise Refusal(f"{path}: {problem}")
        log.answer(log.one_line(f"problem   {path}: {problem}"))
        return Exit.FAILED
    problems = 0
    for rank in _ranks(root):
        missing = [name for name in FILES if not (rank / name).is_file()]
        facts = _facts(rank / "dump.json")
        size = sum(file.stat().st_size for file in rank.glob("*.json"))
        tensors = sum(1 for _ in (rank / "dump_tensor_data").glob("*")) if (rank / "dump_tensor_data").is_dir() else 0
        words = [facts.get("framework", "framework not named"), f"task {facts.get('task', '?')}", f"level {facts.get('level', '?')}"]
        words += [f"{size / 1e6:,.1f} MB", f"{tensors:,} tensor files" if tensors else ""]
        log.answer(log.one_line(f"{rank}   {'   '.join(word for word in words if word)}"))
        for name in missing:
            problems += 1
            log.answer(
                log.one_line(f"problem   {rank / name} is missing: the run ended before debugger.step(), or the copy is not complete")
            )
    return Exit.FAILED if _read(path) + problems else Exit.DONE


def _ranks(root: Path) -> Iterator[Path]:
    """Folders that hold a file of a rank, at most two levels down."""
    for pattern in (".", "*", "*/*"):
        for folder in sorted(root.glob(pattern)) if pattern != "." else [root]:
            if folder.is_dir() and any((folder / name).is_file() for name in FILES):
                yield folder


def _facts(file: Path) -> dict[str, str]:
    """Task, level and framework, which stand at the head of the file."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return dict(FACT.findall(opened.read(HEAD)))
    except OSError:
        return {}


def _read(path: str) -> int:
    """Reads everything; the number of problems."""
    from msprobe import _native

    with tempfile.TemporaryDirectory() as folder:
        request = {"target": path, "output": folder, "stamp": time.strftime("%Y%m%d%H%M%S")}
        try:
            summary = json.loads(_native.graph_visualize(json.dumps(request), drift=False))
        except _native.EngineError as error:
            log.answer(log.one_line(f"problem   {error.args[1]}"))
            return 1
    nodes = sum(part["target_nodes"] for part in summary["parts"])
    ranks = "1 rank" if len(summary["parts"]) == 1 else str(Places(summary["parts"]))
    log.answer(f"read      {ranks}   {nodes:,} nodes   {summary['seconds']:.2f} s")
    for warning in alike.warnings(summary["warnings"]):
        log.answer(log.one_line(f"note      {warning}"))
    for missing in summary["left_out"]:
        log.answer(log.one_line(f"problem   {missing['reason']}"))
    if not summary["left_out"]:
        log.answer("all good")
    return len(summary["left_out"])
