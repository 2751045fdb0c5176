"""Layer mappings as the user meets them: unusable files, and what the answer says of the rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.dumps import write

NETWORK = "Module.network.Network.forward.0"
LAYER = "Module.network.layer.Layer.forward.0"
TREE = {NETWORK: None, LAYER: NETWORK}
GOLDEN_TREE = {NETWORK: None, "Module.network.block.Layer.forward.0": NETWORK}

LAUGHS = "a: &a [lol, lol]\n" + "".join(f"b{n}: &b{n} [*{'a' if n == 0 else f'b{n - 1}'}, *a]\n" for n in range(30))

UNUSABLE = {
    "empty": ("", ": holds no rule; leave the file out to match by place"),
    "list": ("- a\n- b\n", ":1: a list stands where `class:` and its rules should"),
    "text": ("just a text\n", ":1: a single text stands where `class:` and its rules should"),
    "class without rules": (
        "Network:\nLayer:\n  a: b\n",
        ':1: nothing stands where the rules of "Network" should: `child: golden child`, one a line',
    ),
    "list of rules": (
        "Network:\n- layer: block\n",
        ':2: a list stands where the rules of "Network" should: `child: golden child`, one a line',
    ),
    "number": ("Network:\n  layer: 3\n", ':2: the value of "layer" is a number in YAML, not a text: write "3"'),
    "nested": ("Network:\n  layer:\n    a: b\n", ':3: a mapping stands where the value of "layer" should'),
    "class twice": ("Network:\n  a: b\nNetwork:\n  c: d\n", ':3: class "Network" stands here a second time, first in line 1'),
    "key twice": ("Network:\n  a: b\n  a: c\n", ':3: key "a" of "Network" stands here a second time, first in line 2'),
    "tab": ("Network:\n\tlayer: block\n", ":2: not valid YAML: "),
    "anchor": ("Network: &n\n  a: b\nLayer: *n\n", ":1: anchors (&) are not read in a layer mapping; write the rules out"),
    "circle": ("Network: &n\n  a: *n\n", ":1: anchors (&) are not read in a layer mapping; write the rules out"),
    "billion laughs": (LAUGHS, ':1: a list stands where the rules of "a" should: `child: golden child`, one a line'),
    "100 MB": ("x" * 100_000_000, ": is larger than the 4194304 bytes a layer mapping may have"),
}


@pytest.fixture
def dumps(tmp_path: Path) -> list[str]:
    target, golden = write(tmp_path / "target", TREE), write(tmp_path / "golden", GOLDEN_TREE)
    return ["graph_visualize", "-tp", str(target), "-gp", str(golden), "-o", str(tmp_path / "out")]


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_mapping_is_one_line_and_no_result(name: str, dumps: list[str], msprobe: Command, tmp_path: Path) -> None:
    text, wanted = UNUSABLE[name]
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(text)
    done = msprobe(*dumps, "-lm", mapping)
    assert done.status == 1
    (line,) = done.error_lines
    assert line.startswith(f"error: {mapping}{wanted}"), line
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["missing.yaml", "rules.txt", "folder.yaml"])
def test_a_mapping_that_is_no_yaml_file_is_one_line(name: str, dumps: list[str], msprobe: Command, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("Network:\n  layer: block\n")
    (tmp_path / "folder.yaml").mkdir()
    done = msprobe(*dumps, "-lm", tmp_path / name)
    assert done.status == 1
    assert [line.startswith(f"error: {tmp_path / name}: ") for line in done.error_lines] == [True]


def answer(msprobe: Command, dumps: list[str], tmp_path: Path, text: str | None, *more: str) -> dict[str, object]:
    mapping = tmp_path / "mapping.yaml"
    if text is not None:
        mapping.write_text(text)
    done = msprobe(*dumps, "--json", *([] if text is None else ["-lm", str(mapping)]), *more)
    assert done.status == 0, done.err
    found: dict[str, object] = json.loads(done.out)
    found["warnings"] = [str(warning).removeprefix(f"{mapping}:") for warning in found["warnings"]]  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("Network:\n  layer: block\n", []),
        (
            "Network:\n  layr: block\n",
            ['2: rule `layr: block` matches nothing: no "Network" of the target has a child "layr" (did you mean "layer"?)'],
        ),
        (
            "Netwrk:\n  layer: block\n",
            ['2: rule `layer: block` matches nothing: the target has no module of class "Netwrk" (did you mean "Network"?)'],
        ),
        (
            "Network:\n  layer: blok\n",
            ['2: rule `layer: blok` matches nothing: the golden side has no "blok" where the rule leads (did you mean "block"?)'],
        ),
        (
            "TopLayer:\n  network.layer: network.block\nNetwork:\n  layer: other\n",
            [
                '4: rule `layer: other` gives way: "network.layer" is claimed by `network.layer: network.block` of line 2 too, '
                "which starts higher up"
            ],
        ),
    ],
)
def test_rules_that_do_nothing_are_named(text: str, warnings: list[str], dumps: list[str], msprobe: Command, tmp_path: Path) -> None:
    assert answer(msprobe, dumps, tmp_path, text)["warnings"] == warnings


def test_two_target_nodes_on_one_golden_node_are_named(msprobe: Command, tmp_path: Path) -> None:
    other = "Module.network.other.Layer.forward.0"
    target = write(tmp_path / "target", {**TREE, other: NETWORK})
    golden = write(tmp_path / "golden", GOLDEN_TREE)
    dumps = ["graph_visualize", "-tp", str(target), "-gp", str(golden), "-o", str(tmp_path / "out")]
    found = answer(msprobe, dumps, tmp_path, "Network:\n  layer: block\n  other: block\n")
    assert found["warnings"] == [
        f"step 0 rank 0: '{LAYER}' and '{other}' both face 'Module.network.block.Layer.forward.0', which shows the first"
    ]


def test_the_ways_of_matching_are_counted(dumps: list[str], msprobe: Command, tmp_path: Path) -> None:
    def ways(*options: str, text: str | None = None) -> dict[str, int]:
        totals = answer(msprobe, dumps, tmp_path, text, *options)["totals"]
        assert isinstance(totals, dict)
        return {name: totals[f"matched_by_{name}"] for name in ("name", "fuzzy", "mapping", "alignment") if totals[f"matched_by_{name}"]}

    assert ways() == {"name": 1}
    assert ways(text="Network:\n  layer: block\n") == {"name": 1, "mapping": 1}
    (tmp_path / "moved").mkdir()
    moved = write(tmp_path / "moved", {LAYER: None, NETWORK: None})
    dumps[2] = str(moved)
    write(tmp_path / "golden", TREE)
    assert ways("-fm") == {"name": 1, "fuzzy": 1}


def test_matching_options_without_a_golden_dump_are_said_to_do_nothing(dumps: list[str], msprobe: Command) -> None:
    done = msprobe(*dumps[:3], *dumps[5:], "-fm", "-lm")
    assert done.status == 0
    assert "-fm, -lm without -gp has no effect" in done.err


def test_alignment_finds_a_renamed_module_and_says_so(dumps: list[str], msprobe: Command, tmp_path: Path) -> None:
    totals = answer(msprobe, dumps, tmp_path, None, "--match", "align")["totals"]
    assert isinstance(totals, dict)
    assert (totals["matched"], totals["matched_by_name"], totals["matched_by_alignment"]) == (2, 1, 1)
    assert "matched  2 (1 by name, 1 by alignment)" in msprobe(*dumps, "--match=align").out


@pytest.mark.parametrize("other", ["-fm", "-lm"])
def test_alignment_goes_without_the_other_ways(other: str, dumps: list[str], msprobe: Command) -> None:
    done = msprobe(*dumps, "--match", "align", other)
    assert done.status == 2
    assert done.error_lines == [f"error: --match align goes without {other}; use one of them"]


def test_alignment_brings_frameworks_together(msprobe: Command, tmp_path: Path) -> None:
    target = write(
        tmp_path / "target",
        {name.replace("Module", "Cell"): parent and parent.replace("Module", "Cell") for name, parent in TREE.items()},
        framework="mindspore",
    )
    golden = write(tmp_path / "golden", TREE)
    dumps = ["graph_visualize", "-tp", str(target), "-gp", str(golden), "-o", str(tmp_path / "out")]
    assert msprobe(*dumps).status == 1
    assert answer(msprobe, dumps, tmp_path, None, "--match", "align")["totals"]["matched"] == 2  # type: ignore[index]
