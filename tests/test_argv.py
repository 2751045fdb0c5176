"""The argv normaliser against argparse, which is what users of the reference know."""

from __future__ import annotations

import argparse
import contextlib
import io
from typing import Any
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import msprobe.cli.run
from msprobe.cli.main import main
from msprobe.cli.request import Merge, Options

USAGE = 2


def oracle() -> argparse.ArgumentParser:
    """The options as they are documented, in the hands of argparse itself."""
    parser = argparse.ArgumentParser(prog="oracle")
    parser.add_argument("-tp", "--target_path", required=True)
    parser.add_argument("-o", "--output_path", required=True)
    parser.add_argument("-gp", "--golden_path", default="")
    parser.add_argument("-lm", "--layer_mapping", nargs="?", const=True)
    parser.add_argument("-oc", "--overflow_check", action="store_true")
    parser.add_argument("-fm", "--fuzzy_match", action="store_true")
    parser.add_argument("-tensor_log", "--is_print_compare_log", action="store_true")
    parser.add_argument("-progress_log", "--is_print_progress_log", action="store_true")
    for name in ("rank_size", "tp", "pp", "vpp"):
        parser.add_argument(f"--{name}", type=int, nargs="+", default=[])
    parser.add_argument("--order", nargs="+", default=[])
    parser.add_argument("--file_type", choices=["db", "json"], default="db")
    # Options of ours take part in what may be shortened.
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--algorithms", default="")
    parser.add_argument("--fail-on", choices=["error", "warning", "difference"])
    return parser


def expected(words: list[str]) -> Options | int:
    """What argparse makes of the words: options, or the exit status."""
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            found = oracle().parse_args(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    mapping = {None: None, True: "", "": None}.get(found.layer_mapping, found.layer_mapping)
    return Options(
        target=found.target_path,
        output=found.output_path,
        golden=found.golden_path,
        layer_mapping=mapping,
        overflow_check=found.overflow_check,
        fuzzy_match=found.fuzzy_match,
        merge=Merge(found.rank_size, found.tp, found.pp, found.vpp, found.order),
        file_type=found.file_type,
        jobs=found.jobs,
        quiet=found.quiet,
        json=found.json,
        fail_on=found.fail_on,
        tensor_log=found.is_print_compare_log,
        progress_log=found.is_print_progress_log,
        algorithms=found.algorithms,
    )


def ours(words: list[str], command: str = "graph_visualize") -> Options | int:
    """What the command makes of the words: the options it would run with, or the exit status."""
    seen: list[Options] = []

    def run(options: Options) -> int:
        seen.append(options)
        return 0

    line = ["-f", "pytorch", command] if command == "graph" else [command]
    quiet = io.StringIO()
    with mock.patch.object(msprobe.cli.run, "run", run), contextlib.redirect_stderr(quiet), contextlib.redirect_stdout(quiet):
        status = main([*line, *words])
    return seen[0] if seen else status


VALUES = st.sampled_from(
    ["out", "a b", "-a b", "8", "-1", "-2.5", "0", "x=y", "", "=", "层", "db", "json", "error", "tp-cp", "1_0", " 7", "-", "~"]
)
FLAGS = ["-oc", "--overflow_check", "-fm", "--fuzzy_match", "-tensor_log", "-progress_log", "--quiet", "--json"]
FLAGS += ["--is_print_compare_log", "--is_print_progress_log", "-f", "-te", "-p", "--over", "--fuzz", "--q", "--js", "--is_print_p"]
ONE = ["-tp", "--target_path", "--target", "--ta", "-o", "--output_path", "--out", "-gp", "--golden_path", "-g", "--g", "-tp", "-o"]
ONE += ["--file_type", "--fi", "--jobs", "--fail-on", "--fa", "--algorithms", "--a"]
SEVERAL = ["--rank_size", "--rank", "--r", "--tp", "--pp", "--p", "--vpp", "--v", "--order", "--or"]
WRONG = ["-t", "--t", "--is_print", "--o", "--f", "-x", "--nonsense", "--nonsense=3", "-oc=1", "--quiet=", "stray"]


@st.composite
def pieces(draw: st.DrawFn) -> list[str]:
    """One option in one of its spellings with values that may or may not suit it."""
    kind = draw(st.sampled_from(["flag", "one", "one", "attached", "several", "mapping", "joined", "wrong"]))
    if kind == "flag":
        return [draw(st.sampled_from(FLAGS))]
    if kind == "one":
        return [draw(st.sampled_from(ONE)), *draw(st.lists(VALUES, min_size=1, max_size=1))]
    if kind == "attached":
        exact = [name for name in ONE if name.startswith("--") or name in ("-tp", "-o", "-gp")]
        return [f"{draw(st.sampled_from([*exact, *SEVERAL, '-lm', '--layer']))}={draw(VALUES)}"]
    if kind == "several":
        numbers = st.sampled_from(["8", "4", "-1", "0", "1_0", "x"]) if draw(st.booleans()) else VALUES
        return [draw(st.sampled_from(SEVERAL)), *draw(st.lists(numbers, max_size=3))]
    if kind == "mapping":
        return [draw(st.sampled_from(["-lm", "--layer_mapping", "--layer", "-l"])), *draw(st.lists(VALUES, max_size=1))]
    if kind == "joined":
        return [draw(st.sampled_from(["-oout", "-o8", "-o-", "-oX=3"]))]
    return [draw(st.sampled_from(WRONG))] if draw(st.integers(0, 4)) == 0 else []


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command line; most have the two options that must be there, some have `--`."""
    parts = draw(st.lists(pieces(), max_size=5))
    if draw(st.integers(0, 9)):
        parts.append([draw(st.sampled_from(["-tp", "--target"])), "target"])
        parts.append(["-o=out"])
    if draw(st.integers(0, 19)) == 0:
        parts.append(["--"])
    return [word for part in draw(st.permutations(parts)) for word in part]


@settings(max_examples=600, deadline=None)
@given(lines())
def test_every_line_means_what_argparse_says(words: list[str]) -> None:
    want = expected(words)
    # Smaller than 1 is refused for --jobs by us alone.
    assume(isinstance(want, int) or want.jobs is None or want.jobs > 0)
    # A lone `--` at the end is an error to some versions of argparse only.
    assume(words[-1:] != ["--"])
    assert ours(words) == want


BASE = Options(target="t", output="o")


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("--rank_size 8 4 --tp 2 1 --pp -1", {"merge": Merge([8, 4], [2, 1], [-1])}),
        ("--rank_size 8 --rank_size 4 2", {"merge": Merge([4, 2])}),
        ("--order tp-cp pp", {"merge": Merge(order=["tp-cp", "pp"])}),
        ("-lm", {"layer_mapping": ""}),
        ("-lm -oc", {"layer_mapping": "", "overflow_check": True}),
        ("-lm map.yaml -oc", {"layer_mapping": "map.yaml", "overflow_check": True}),
        ("-gp=g", {"golden": "g"}),
        ("--golden g", {"golden": "g"}),
        ("-gp a -gp b", {"golden": "b"}),
        ("-tensor_log -progress_log -fm", {"tensor_log": True, "progress_log": True, "fuzzy_match": True}),
        ("--is_print_compare_log", {"tensor_log": True}),
        ("--is_print_progress", {"progress_log": True}),
        ("--file_type json", {"file_type": "json"}),
        ("--fail-on error --jobs 3 --json --quiet", {"fail_on": "error", "jobs": 3, "json": True, "quiet": True}),
    ],
)
def test_spellings(words: str, change: dict[str, Any]) -> None:
    assert ours(["-tp", "t", "-o", "o", *words.split()]) == Options(**{**vars(BASE), **change})


def test_empty_golden_counts_as_not_given() -> None:
    assert ours(["-tp", "t", "-o", "o", "-gp", ""]) == BASE


@pytest.mark.parametrize(
    "words",
    [
        *["-tp t", "-tp t -o o -t x", "-tp t -o o --rank_size a", "-tp t -o o --file_type xml", "-tp t -o o --nonsense", "-tp t -o"],
        *["-tp t -o o --jobs 0", "-tp t -o o --fail-on pass", "-tp t -o o stray", "-tp t -o o --quiet=yes", "-tp t -o o --is_print"],
    ],
)
def test_wrong_usage(words: str) -> None:
    assert ours(words.split()) == USAGE


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["-tp", "t", "-h"], ["--he"], ["--nonsense", "-h"], ["-o", "x", "--help", "-tp"]])
def test_help_wins_over_what_follows_it(words: list[str]) -> None:
    assert ours(words) == expected(words) == 0
