"""Makes small dumps of any shape, and reads results."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TENSOR = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": 1.0, "Min": -1.0, "Mean": 0.5, "Norm": 2.0}
ENTRY = {"input_args": [{**TENSOR, "requires_grad": False}], "input_kwargs": {}, "output": [{**TENSOR, "requires_grad": False}]}
HEAD = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}

MODULE, API = "Module.m.M.forward.0", "Torch.add.0.forward"
TREE: Mapping[str, str | None] = {MODULE: None, API: MODULE}


def write(folder: Path, tree: Mapping[str, Any] = TREE, data: Mapping[str, Any] | None = None, **head: Any) -> Path:
    """Writes the three files of a rank and returns its folder. Without `data` every node has one input and one output."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = dict.fromkeys(tree, ENTRY) if data is None else data
    known = {name: value for name, value in {**HEAD, **head}.items() if value != "absent"}
    (folder / "dump.json").write_text(json.dumps({**known, "data": entries}))
    (folder / "construct.json").write_text(json.dumps(tree))
    (folder / "stack.json").write_text("{}")
    return folder


def nodes(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of tb_nodes by data source and name."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        return {(row["data_source"], row["node_name"]): dict(row) for row in connection.execute("select * from tb_nodes")}


def names(file: Path) -> list[str]:
    """The target's nodes in their order."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        found = connection.execute("select node_name from tb_nodes where data_source = 'NPU' order by step, rank, node_order")
        return [name for (name,) in found]
