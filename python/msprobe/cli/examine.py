"""What is in a dump, and what is wrong with it: it is read as for a result, which is then thrown away."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msprobe.cli import alike, log, request
from msprobe.cli.exits import Exit, Refusal
from msprobe.cli.places import Places

FILES = ("dump.json", "construct.json", "stack.json")
HEAD = 65536
"""Bytes of dump.json in which its facts stand."""
RANK = re.compile(r"(rank|proc)\d*", re.ASCII)
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
    absent: list[Path] = []
    ranks = [*_ranks(root)]
    for rank in ranks:
        missing = [name for name in FILES if not (rank / name).is_file()]
        facts = _facts(rank / "dump.json")
        size = sum(file.stat().st_size for file in rank.glob("*.json"))
        tensors = sum(1 for _ in (rank / "dump_tensor_data").glob("*")) if (rank / "dump_tensor_data").is_dir() else 0
        words = [facts.get("framework", "framework not named"), f"task {facts.get('task', '?')}", f"level {facts.get('level', '?')}"]
        words += [f"{size / 1e6:,.1f} MB", f"{tensors:,} tensor files" if tensors else ""]
        log.answer(log.one_line(f"{rank}   {'   '.join(word for word in words if word)}"))
        for name in missing:
            absent.append(rank / name)
            log.answer(
                log.one_line(f"problem   {rank / name} is missing: the run ended before debugger.step(), or the copy is not complete")
            )
    summary, reasons = _read(path)
    if summary:
        _tell(summary)
    elif len(ranks) > 1:
        # One reason was given for all of them; those that lack a file have theirs already.
        whole = [rank for rank in ranks if rank not in {file.parent for file in absent}]
        reasons = [reason for rank in whole for reason in _read(str(rank))[1]] or reasons
    problems = [reason for reason in reasons if Path(reason.partition(": is missing")[0]) not in absent]
    for reason in problems:
        log.answer(log.one_line(f"problem   {reason}"))
    if not (problems or absent):
        log.answer("all good")
    return Exit.FAILED if problems or absent else Exit.DONE


def _ranks(root: Path) -> Iterator[Path]:
    """Folders that hold a file of a rank or are called like one, at most two levels down."""
    for pattern in (".", "*", "*/*"):
        for folder in sorted(root.glob(pattern)) if pattern != "." else [root]:
            named = folder != root and RANK.fullmatch(folder.name)
            if folder.is_dir() and (named or any((folder / name).is_file() for name in FILES)):
                yield folder


def _facts(file: Path) -> dict[str, str]:
    """Task, level and framework, which stand at the head of the file."""
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return dict(FACT.findall(opened.read(HEAD)))
    except OSError:
        return {}


def _read(path: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Reads everything: what was read, if anything was, and why something could not be."""
    from msprobe import _native

    with tempfile.TemporaryDirectory() as folder:
        request = {"target": path, "output": folder, "stamp": time.strftime("%Y%m%d%H%M%S")}
        try:
            summary: dict[str, Any] = json.loads(_native.graph_visualize(json.dumps(request), drift=False))
        except _native.EngineError as error:
            return None, [error.args[1]]
    return summary, [missing["reason"] for missing in summary["left_out"]]


def _tell(summary: dict[str, Any]) -> None:
    nodes = sum(part["target_nodes"] for part in summary["parts"])
    ranks = "1 rank" if len(summary["parts"]) == 1 else str(Places(summary["parts"]))
    log.answer(f"read      {ranks}   {nodes:,} nodes   {summary['seconds']:.2f} s")
    for warning in alike.warnings(summary["warnings"]):
        log.answer(log.one_line(f"note      {warning}"))
