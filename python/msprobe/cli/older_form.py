"""The older form `msprobe -f pytorch graph -i compare.json -o out`, kept working."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from msprobe.cli.argv import NO_VALUE
from msprobe.cli.exits import Exit, Refusal

LARGEST = 1 << 20
"""Characters of a compare.json at most; anything larger is another file, or a device without an end."""

FRAMEWORKS = ("pytorch", "mindspore")

EXAMPLES = """\
Examples:
  compare.json holds {"npu_path": "run_a/step0", "bench_path": "run_b/step0"}:
      msprobe -f pytorch graph -i compare.json -o out
  the same today:
      msprobe-rs graph_visualize -tp run_a/step0 -gp run_b/step0 -o out
"""

INPUT, OUTPUT, MATCHING = "Dumps", "Output", "Matching and checks"


HELP = "see msprobe -f pytorch graph --help"


def called(words: list[str]) -> str:
    """`-f pytorch graph` as it was typed, for those who call the command so; else empty."""
    return " ".join(words[:3]) if words[0:1] in (["-f"], ["--framework"]) and words[2:3] == ["graph"] else ""


def today(words: list[str]) -> list[str]:
    """Takes `-f pytorch` off the front; the words themselves if they do not start with it."""
    if not words or words[0] not in ("-f", "--framework"):
        return words
    if len(words) < 3:
        return ["--help"]
    if words[1] not in FRAMEWORKS:
        raise Refusal(f"{words[0]} {words[1]}: must be {' or '.join(FRAMEWORKS)}; {HELP}", Exit.USAGE)
    if words[2] not in ("graph", "-h", "--help"):
        raise Refusal(f"{words[0]} {words[1]} {words[2]}: of the older commands only `graph` is known here; {HELP}", Exit.USAGE)
    return words[2:]


def graph(
    input_path: Annotated[
        str, typer.Option("-i", "--input_path", metavar="FILE", rich_help_panel=INPUT, help="compare.json: npu_path, bench_path, ...")
    ],
    output_path: Annotated[
        str, typer.Option("-o", "--output_path", metavar="DIR", rich_help_panel=OUTPUT, help="Where the *.vis.db goes.")
    ],
    layer_mapping: Annotated[
        str | None, typer.Option("-lm", "--layer_mapping", metavar="[FILE]", rich_help_panel=MATCHING, help="As in graph_visualize.")
    ] = None,
    overflow_check: Annotated[
        bool, typer.Option("-oc", "--overflow_check", rich_help_panel=MATCHING, help="As in graph_visualize.")
    ] = False,
    fuzzy_match: Annotated[bool, typer.Option("-f", "--fuzzy_match", rich_help_panel=MATCHING, help="As -fm in graph_visualize.")] = False,
    complete_stack: Annotated[  # noqa: ARG001 - stacks are always shown in full
        bool, typer.Option("-cs", "--complete_stack", rich_help_panel=OUTPUT, help="Accepted; stacks are always complete.")
    ] = False,
) -> int:
    """The older form of graph_visualize: the paths stand in a JSON file."""
    from msprobe.cli.request import Merge, Options, Spelling
    from msprobe.cli.run import run

    paths = _read(input_path)
    mapping = None if layer_mapping in (None, "") else "" if layer_mapping == NO_VALUE else layer_mapping
    sides = [side for side in (paths["npu"], paths["bench"]) if side]
    return run(
        Options(
            target=paths["npu_path"],
            output=output_path,
            golden=paths["bench_path"],
            layer_mapping=mapping,
            overflow_check=overflow_check,
            fuzzy_match=fuzzy_match,
            tensor_log=paths["is_print_compare_log"],
            spelling=Spelling("npu_path", "bench_path", "-f"),
            merge=Merge(*([side[name] for side in sides if name in side] for name in ("rank_size", "tp", "pp", "vpp", "order")))
            if paths["npu"]
            else Merge(),
        )
    )


def _read(path: str) -> dict[str, Any]:
    """The fields of compare.json, each of the right kind.

    Raises:
        Refusal: The file cannot be read, or a field is missing or of the wrong kind.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123 - pathlib costs start-up time here
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise Refusal(f"{path}: is larger than a compare.json can be")
        content = json.loads(text)
    except OSError as error:
        raise Refusal(f"{path}: cannot be read: {error.strerror}; -i takes a compare.json, {HELP}") from None
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path}: not valid JSON: {error}; -i takes a compare.json, {HELP}") from None
    if not isinstance(content, dict):
        raise Refusal(f"{path}: must be a JSON object with `npu_path` and, to compare, `bench_path`")
    merge = _field(path, content, "parallel_merge", dict, {})
    return {
        "npu_path": _field(path, content, "npu_path", str, None),
        "bench_path": _field(path, content, "bench_path", str, ""),
        "is_print_compare_log": _field(path, content, "is_print_compare_log", bool, True),
        "npu": _field(path, merge, "npu", dict, {}),
        "bench": _field(path, merge, "bench", dict, {}),
    }


def _field(path: str, content: dict[str, Any], name: str, kind: type, default: object) -> Any:
    value = content.get(name, default)
    if value is None and default is not None:
        value = default
    if not isinstance(value, kind):
        found = "is missing" if value is None else f"must be a {KINDS[kind]}"
        raise Refusal(f"{path}: `{name}` {found}")
    return value


KINDS = {dict: "JSON object", str: "text", bool: "true or false"}
