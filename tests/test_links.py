"""Communication calls of several ranks, linked in the file."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.conftest import Run
from tests.dumps import TENSOR, write

ALL_REDUCE = "Distributed.all_reduce.0.forward"


def call(**keywords: Any) -> dict[str, Any]:
    values = {key: {"type": "int", "value": value} if isinstance(value, int) else value for key, value in keywords.items()}
    return {"input_args": [TENSOR], "input_kwargs": values, "output": [TENSOR]}


def ranks(folder: Path, *calls: dict[str, Any]) -> Path:
    """One rank folder per argument, with these calls beside each other."""
    for rank, data in enumerate(calls):
        write(folder / f"rank{rank}", dict.fromkeys(data), data)
    return folder


def links(file: Path) -> dict[tuple[str, int, int, str], Any]:
    """Links by side, step, rank and name of the node."""
    query = "select data_source, step, rank, node_name, matched_distributed from tb_nodes where is_distributed = 1"
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        assert [row for (row,) in connection.execute("pragma integrity_check")] == ["ok"]
        return {(side, step, rank, name): json.loads(text) for side, step, rank, name, text in connection.execute(query)}


def partner(rank: int, name: str, index: str = "Nan") -> dict[str, Any]:
    return {str(rank): [index, name]}


def test_links_show_the_verdict_of_the_partner_and_its_level(tmp_path: Path, run: Run) -> None:
    bad = {**TENSOR, "Max": float("nan")}
    target = ranks(tmp_path / "t", {ALL_REDUCE: call()}, {ALL_REDUCE: {**call(), "output": [bad]}})
    golden = ranks(tmp_path / "g", {ALL_REDUCE: call()}, {ALL_REDUCE: call()})
    found = links(run.result(target, golden))
    assert found["NPU", 0, 0, ALL_REDUCE] == {"communications_type": "send_receive", "nodes_info": partner(1, ALL_REDUCE, "1")}
    assert found["NPU", 0, 1, ALL_REDUCE]["nodes_info"] == partner(0, ALL_REDUCE, "0")
    assert found["Bench", 0, 0, ALL_REDUCE]["nodes_info"] == partner(1, ALL_REDUCE)
    for file in run.out.iterdir():
        file.unlink()
    found = links(run.result(target, golden, "-oc"))
    assert found["NPU", 0, 0, ALL_REDUCE]["nodes_info"] == partner(1, ALL_REDUCE, "critical")
    assert found["NPU", 0, 1, ALL_REDUCE]["nodes_info"] == partner(0, ALL_REDUCE)


def test_steps_are_linked_each_on_its_own(tmp_path: Path, run: Run) -> None:
    for step, name in enumerate(("Distributed.send.0.forward", "Distributed.send.9.forward")):
        ranks(tmp_path / "t" / f"step{step}", {name: call(dst=1)}, {f"Distributed.recv.{step}.forward": call(src=0)})
    found = links(run.result(tmp_path / "t"))
    assert found["NPU", 1, 0, "Distributed.send.9.forward"] == {
        "communications_type": "send",
        "nodes_info": partner(1, "Distributed.recv.1.forward"),
    }
    assert found["NPU", 0, 1, "Distributed.recv.0.forward"]["nodes_info"] == partner(0, "Distributed.send.0.forward")


def test_one_line_says_what_could_not_be_linked(tmp_path: Path, run: Run) -> None:
    send, group = "Distributed.send.0.forward", {"type": "torch.ProcessGroup", "group_ranks": [1, 5], "group_id": "x"}
    target = ranks(tmp_path / "t", {ALL_REDUCE: call(), send: call(dst=1)}, {ALL_REDUCE: call(group=group)})
    done = run(target)
    (line,) = done.err.splitlines()
    assert "3 of 3 communication calls are not linked across ranks" in line
    assert "1 the other rank is not here, 2 the other rank has no such call" in line
    assert all(found == {} for found in links(run.left()[0]).values())


def test_a_rank_alone_is_not_linked_and_not_told_so(tmp_path: Path, run: Run) -> None:
    folder = ranks(tmp_path / "t", {ALL_REDUCE: call()})
    assert links(run.result(folder)) == {("NPU", 0, 0, ALL_REDUCE): {}}


def test_a_rank_that_was_left_out_is_missing_only_where_it_is_needed(tmp_path: Path, run: Run) -> None:
    folder = ranks(tmp_path / "t", {ALL_REDUCE: call()}, {ALL_REDUCE: call()}, {ALL_REDUCE: call()})
    (folder / "rank1" / "dump.json").write_text('{"data": {')
    done = run(folder)
    assert done.status == 3
    found = links(run.left()[0])
    assert found["NPU", 0, 0, ALL_REDUCE]["nodes_info"] == partner(2, ALL_REDUCE)
    assert found["NPU", 0, 2, ALL_REDUCE]["nodes_info"] == partner(0, ALL_REDUCE)


def test_names_of_any_kind(tmp_path: Path, run: Run) -> None:
    names = ['Distributed.a\\"b.0.forward', "Distributed.通信\n.0.forward", "Distributed.%s' --.0.forward", "Distributed.\0.0.forward"]
    names.append("Distributed." + "x" * 100_000 + ".0.forward")
    group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "77849d8c"}
    calls = {name: call(group=group) for name in names}
    found = links(run.result(ranks(tmp_path / "t", calls, calls)))
    assert {name: found["NPU", 0, 0, name]["nodes_info"] for name in names} == {name: partner(1, name) for name in names}


def test_very_many_calls(tmp_path: Path, run: Run) -> None:
    """With work for every pair of calls this would not end."""
    count = 30_000
    sends = {f"Distributed.send.{i}.forward": call(dst=1) for i in range(count)}
    receives = {f"Distributed.recv.{i}.forward": call(src=0) for i in range(count)}
    found = links(run.result(ranks(tmp_path / "t", sends, receives)))
    assert all(found["NPU", 0, 0, name]["nodes_info"] == partner(1, name.replace("send", "recv")) for name in sends)
