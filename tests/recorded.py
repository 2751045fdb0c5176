"""The results that msProbe 26.2 recorded for real and miniature dumps, as cases to run.

A case is one command line of the reference and what its `*.vis.db` held. The ones in `tests/data` are always there; all others are
taken from the folder with the big data if it exists.
"""

from __future__ import annotations

import atexit
import json
import re
import shlex
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.conftest import DATA, big_data

LOSING = {"inplace_relu", "resnet18_L0", "resnet18_mix", "ckpt_nonreentrant", "b13_parameters_grad", "b19_lost_nodes"}
"""Dumps with nodes that the reference loses: unreachable subtrees, entries without a place in construct.json. Ours keeps them."""

OVERTURNED = {
    "b20_forward_word_in_module_name",
    "c08_layer_mapping_bad_yaml",
    "c09_layer_mapping_empty_stack",
    "c10_layer_mapping_old_stack",
    "c13_layer_mapping_parameters_grad",
    "c25_layer_mapping_two_to_one",
    "c26_fuzzy_wins_over_layer_mapping",
    "e05_pytorch_target_mindspore_golden",
    "e06_layout_mismatch",
    "e10_file_beside_steps",
    "ms_vs_pt_L0/compare_lm_fm",
    "ms_vs_pt_mix/compare_lm_fm",
}
"""Cases whose recorded result is wrong for a user. test_overturned.py says by hand what is right."""


@dataclass(frozen=True)
class Case:
    """One recorded run."""

    name: str
    words: tuple[str, ...]
    """After the command's name; `<OUT>` stands for the output folder."""
    folder: Path
    """Where to run it."""
    expected: Path | None
    """The recorded tables; None if the reference failed."""
    status: int = 0
    kept: bool = False

    def missing(self) -> str | None:
        """The feature this case needs and that is still to come, or None."""
        if "--rank_size" in self.words:
            return "merge"
        return None


@cache
def unpacked() -> Path:
    """A folder of this process with all dumps of `tests/data/dumps`, most of which are stored as archives."""
    folder = Path(tempfile.mkdtemp(prefix="recorded-dumps-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for place in sorted((DATA / "dumps").iterdir()):
        if place.is_dir():
            (folder / place.name).symlink_to(place)
        else:
            with tarfile.open(place) as archive:
                archive.extractall(folder)
    return folder


def cases() -> dict[str, Case]:
    """All cases by name, the bundled ones first."""
    found: dict[str, Case] = {}
    for root in filter(None, (DATA, big_data())):
        mini = root / "mini" if root == DATA else root / "golden" / "mini"
        dumps = unpacked() if root == DATA else root / "dumps"
        for case in (*_miniatures(mini), *_real(root / "golden", dumps), *_written(root / "golden" / "visdb")):
            found.setdefault(case.name, case)
    return found


def _miniatures(root: Path) -> Iterator[Case]:
    for folder in sorted(root.glob("*/")):
        words = shlex.split((folder / "command.txt").read_text())[1:]
        error = folder / "expected_error.json"
        status = json.loads(error.read_text())["exit_code"] if error.exists() else 0
        line = tuple("<OUT>" if word == "out" else word for word in words)
        packed = folder / "expected.json.gz"
        expected = packed if packed.exists() else folder
        yield Case(folder.name, line, folder, None if status else expected, status, folder.name in LOSING)


def _real(golden: Path, dumps: Path) -> Iterator[Case]:
    for commands in sorted(golden.glob("*/command.txt")):
        name = commands.parent.name
        root = dumps if name.startswith("megatron_") else dumps / name
        for variant, line in re.findall(r"^(\w+): msprobe graph_visualize (.*)$", commands.read_text(), re.MULTILINE):
            expected = commands.parent / f"{variant}.json.gz"
            # Exports of merged dumps and failing merges have no tables.
            if expected.exists() and not variant.startswith("json") and not variant.endswith("_error"):
                words = tuple(line.replace("<ROOT>", str(root)).split())
                yield Case(f"{name}/{variant}", words, root, expected, kept=name in LOSING)


def _written(root: Path) -> Iterator[Case]:
    """Files that the reference itself wrote, with the dumps it wrote them from."""
    rank = "step0/rank0"
    lines = {
        "build_overflow": ("-oc", f"tf_overflow/{rank}", None),
        "compare_statistics": (None, f"tf_mixed/{rank}", f"tf_base/{rank}"),
        "compare_tensor": (None, f"cnn_mixed/{rank}", f"cnn_base/{rank}"),
        "compare_md5": (None, f"md5_mixed/{rank}", f"md5_base/{rank}"),
        "compare_multirank": ("-oc", "mr_noisy", "mr_base"),
    }
    for name, (flag, target, golden) in lines.items():
        expected = root / f"{name}.vis.db"
        if expected.exists():
            words = ["-tp", str(root / "dumps" / target), "-o", "<OUT>"]
            words += ["-gp", str(root / "dumps" / golden)] if golden else []
            yield Case(f"visdb/{name}", (*words, *([flag] if flag else [])), root, expected)
