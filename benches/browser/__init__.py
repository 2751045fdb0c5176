"""The viewer on a file of a million nodes, in a real TensorBoard and Chromium, msProbe's viewer beside it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benches import places
from benches.result import Result, Table

ROOT = Path(__file__).parent.parent.parent
COPIES = 455
"""Passes of the rank: half a million nodes a side."""
WIDE = (12, 5_000)
"""The second rank: modules, and calls in each."""
FILES = 300
"""Files of the folder that is listed."""


def run() -> Result:
    """Makes the file, opens it in both viewers, and measures."""
    logdir = _file()
    measured: dict[str, Any] = {"ours": _measure("ours.mjs", logdir)}
    if os.environ.get("MSPROBE_REFERENCE_PYTHON"):
        measured["reference"] = _measure("reference.mjs", _copy(logdir))
    return _result(measured)


def _file() -> Path:
    """A log directory with the file, made unless it is there, and a folder of many small ones beside it."""
    logdir = places.WORK / "browser"
    if not list(logdir.glob("big/*.vis.db")):
        places.need_disk(9_000_000_000)
        sides = places.sides(COPIES)
        for side, folder in zip(("target", "golden"), sides, strict=True):
            step = places.WORK / f"browser_{side}" / "step0"
            step.mkdir(parents=True, exist_ok=True)
            (step / "rank0").unlink(missing_ok=True)
            (step / "rank0").symlink_to(folder)
            _wide(step / "rank1", 1.0 if side == "golden" else 1.001)
        words = ["-tp", str(places.WORK / "browser_target"), "-gp", str(places.WORK / "browser_golden")]
        subprocess.run([places.OURS, "graph_visualize", *words, "-o", str(logdir / "big")], check=True)
    many = places.WORK / "many"
    small = ROOT / "tests" / "data" / "visdb" / "build_overflow.vis.db"
    for number in range(FILES):
        place = many / f"run{number // 10}" / f"build_{number}.vis.db"
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(small, place)
    return logdir


def _copy(logdir: Path) -> Path:
    """A log directory with a copy of the file: msProbe's viewer changes what it opens."""
    copy = places.WORK / "browser_reference"
    shutil.rmtree(copy, ignore_errors=True)
    source = next(logdir.glob("big/*.vis.db"))
    places.need_disk(source.stat().st_size)
    (copy / "big").mkdir(parents=True)
    shutil.copy(source, copy / "big")
    return copy


def _wide(folder: Path, scale: float) -> None:
    """A rank whose modules have thousands of calls each."""
    folder.mkdir(exist_ok=True)
    tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 8], "Max": 1.5, "Min": -1.5, "Mean": 0.25 * scale, "Norm": 3.5}
    data, construct = {}, {}
    for module in range(WIDE[0]):
        parent = f"Module.wide.{module}.Wide.forward.0"
        for call in range(WIDE[1]):
            name = f"Torch.add.{module * WIDE[1] + call}.forward"
            data[name] = {"input_args": [tensor], "input_kwargs": {}, "output": [tensor]}
            construct[name] = parent
        data[parent] = {"input_args": [tensor], "input_kwargs": {}, "output": [tensor]}
        construct[parent] = None
    head = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None, "data": data}
    for file, content in (("dump", head), ("construct", construct), ("stack", {})):
        (folder / f"{file}.json").write_text(json.dumps(content))


def _measure(script: str, logdir: Path) -> dict[str, Any]:
    environment = {"MSPROBE_PYTHON": sys.executable, **os.environ}
    words = ["node", str(ROOT / "benches" / "browser" / script), str(logdir), str(places.WORK / "many")]
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    print(json.dumps(measured, indent=1), flush=True)
    return measured


BUDGETS = {
    "first paint, nothing cached": ("first_paint", "ms", 1000),
    "first paint again, in another tab": ("first_paint_again", "ms", 1000),
    "first paint over a slow line (50 ms, 10 Mbit/s)": ("first_paint_slow", "ms", 3000),
    "opening a node of 5,000 children": ("open_wide", "ms", 100),
    "search, from the key to the list": ("search", "ms", 200),
    "scrolling with 50,000 open nodes: frames a second": ("scroll", "fps", 60),
    "scrolling: longest drawing of a frame": ("scroll_draw", "ms", 16.7),
    "zooming with 50,000 open nodes: frames a second": ("zoom", "fps", 60),
    "largest response before compression": ("largest_response", "kB", 1000),
    "memory of the browser's tab": ("tab_memory", "MB", 300),
    "memory of the server above its start": ("server_memory", "MB", 300),
    "listing 300 files": ("list_files", "ms", 200),
}


def _result(measured: dict[str, Any]) -> Result:
    ours, reference = measured["ours"], measured.get("reference", {})
    rows = []
    for what, (key, unit, budget) in BUDGETS.items():
        limit = f"at least {budget}" if unit == "fps" else f"{budget:,} {unit}"
        theirs = "no end in 60 s" if key in reference.get("no_end", []) else _cell(reference.get(key), unit)
        rows.append([what, limit, _cell(ours.get(key), unit), theirs])
    facts = ours["file"]
    return Result(
        name="browser",
        order=60,
        title="In the browser",
        command="python -m benches browser",
        text=[
            f"A comparison of {facts['nodes']:,} nodes ({facts['bytes'] / 1e9:.1f} GB; rank 1 has {WIDE[0]} modules of {WIDE[1]:,} calls), "
            "in a real TensorBoard and headless Chromium without a graphics card, on two cores. Numbers that can be measured again are the "
            "median of several runs.",
        ],
        tables=[Table(["", "budget", "msprobe-rs", "msProbe 26.2"], rows)],
        notes=[
            "The memory of the tab is the proportional share (PSS) of the renderer process; that of the server is what TensorBoard with "
            "the plugin holds after all of this, less what it held before the first question. A node is opened after it was chosen, which "
            "is when the viewer asks for its children.",
            "msProbe's viewer on a copy of the file: opening a node and search are the answers of its server alone, without the drawing; "
            "its search begins by loading all names. Empty cells: it has no such function.",
        ],
        raw=measured,
    )


def _cell(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if unit == "fps" else f"{value:,.{1 if value < 20 else 0}f} {unit}"
