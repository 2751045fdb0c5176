"""From options to the engine's request: what goes together, what does not exist yet."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from msprobe.cli.exits import Exit, Refusal


@dataclass(repr=False)
class Merge:
    """How the ranks of one parallel run are merged; one value per side."""

    rank_size: list[int] = field(default_factory=list)
    tp: list[int] = field(default_factory=list)
    pp: list[int] = field(default_factory=list)
    vpp: list[int] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    def given(self) -> list[str]:
        """The options that were given, as typed."""
        values = vars(self)
        return [f"--{name}" for name in values if values[name]]


class Spelling(NamedTuple):
    """How the user has called what messages speak of."""

    target: str = "-tp"
    golden: str = "-gp"
    fuzzy_match: str = "-fm"


@dataclass(repr=False)
class Options:
    """What the user asked for."""

    target: str
    output: str
    golden: str = ""
    layer_mapping: str | None = None
    """None: off; empty: by place; else the mapping file."""
    overflow_check: bool = False
    fuzzy_match: bool = False
    align: bool = False
    merge: Merge = field(default_factory=Merge)
    file_type: str = "db"
    jobs: int | None = None
    noise_twin: str = ""
    quiet: bool = False
    json: bool = False
    fail_on: str | None = None
    tensor_log: bool = False
    progress_log: bool = False
    algorithms: str = ""
    """Folder of the user's `alg_*.py` files."""
    spelling: Spelling = field(default_factory=Spelling)


NOT_YET = "{} is not supported by this version yet; run without it"


WANTED = "name the folder of a rank, of ranks or of steps"


def on_disk(path: str) -> bytes:
    """The path as the system takes it: words are read as UTF-8 here, whatever the locale."""
    return os.path.expanduser(path).encode("utf-8", "surrogateescape")  # noqa: PTH111


def no_folder(path: str) -> str:
    """What is wrong with a dump that is no folder, and what to do."""
    if not os.path.exists(on_disk(path)):  # noqa: PTH110 - pathlib costs start-up time here
        return f"no such folder; {WANTED}"
    if path.endswith(".vis.db"):
        return f"is a finished file, not a dump; look at it: msprobe-rs report {path}"
    if path.endswith(".json"):
        return f"is a file; name the folder it lies in: {os.path.dirname(path) or '.'}"  # noqa: PTH120
    return f"is a file; {WANTED}"


def no_dump(path: str) -> str:
    """What is wrong with a dump by the look of its place; empty if nothing is."""
    name = on_disk(path)
    if not os.path.isdir(name):  # noqa: PTH112
        return no_folder(path)
    sides = [os.path.join(path, side) for side in ("target", "golden")]  # noqa: PTH118
    both = all(os.path.isdir(on_disk(side)) for side in sides)  # noqa: PTH112
    if both and not os.path.exists(os.path.join(name, b"dump.json")):  # noqa: PTH110, PTH118
        return f"holds two runs; name {sides[0]} and {sides[1]}"
    return ""


def check_folders(options: Options) -> None:
    """Raises a `Refusal` for a dump that is no folder, before anything is begun."""
    called = options.spelling
    for option, path in ((called.target, options.target), (called.golden, options.golden), ("--noise-twin", options.noise_twin)):
        name = on_disk(path)
        if option == "--noise-twin" and os.path.isfile(name):  # noqa: PTH113
            with open(name, "rb") as file:  # noqa: PTH123
                if file.read(len(SQLITE)) != SQLITE:
                    raise Refusal(f"{option} {path}: is neither a dump nor a finished comparison (*.vis.db)")
        elif path and (problem := no_dump(path)):
            raise Refusal(f"{option} {path}: {problem}")


SQLITE = b"SQLite format 3\0"
"""How a `*.vis.db` begins."""


def check(options: Options) -> Iterator[str]:
    """Yields warnings.

    Raises:
        Refusal: Options that contradict each other (usage) or belong to features that are still to come.
    """
    if options.json and options.progress_log:
        raise Refusal("--json and -progress_log both write to standard output; use one of them", Exit.USAGE)
    if options.noise_twin and not options.golden:
        raise Refusal("--noise-twin needs -gp, the golden run that it is a second run of", Exit.USAGE)
    merge = options.merge
    if merge.rank_size:
        raise Refusal(NOT_YET.format("merging ranks (--rank_size)"))
    if options.file_type == "json" and options.golden:
        raise Refusal("--file_type json exports one merged run; leave -gp out, or use --file_type db")
    called = options.spelling
    matching = {"--match align": options.align, called.fuzzy_match: options.fuzzy_match, "-lm": options.layer_mapping is not None}
    given = [option for option in matching if matching[option]]
    if options.align and len(given) > 1:
        raise Refusal(f"--match align goes without {' and '.join(given[1:])}; use one of them", Exit.USAGE)
    if given and not options.golden:
        yield f"{', '.join(given)} without {called.golden} has no effect"
    if options.algorithms and not options.golden:
        yield "--algorithms without -gp has no effect"
    if options.fail_on and not options.golden:
        yield "--fail-on without -gp has no effect: one dump alone has no verdicts"
    if options.noise_twin and options.golden and os.path.realpath(options.noise_twin) == os.path.realpath(options.golden):
        yield "--noise-twin is the golden run itself, so it shows no noise"
    if unused := merge.given():
        yield f"{', '.join(unused)} without --rank_size has no effect"
    if options.file_type == "json":
        yield "--file_type json without --rank_size has no effect, writing a *.vis.db"


def to_json(options: Options, stamp: str) -> str:
    """The request as the engine reads it; `stamp` is the start as `YYYYMMDDHHMMSS`.

    Raises:
        Refusal: A path that is empty or no text.
    """
    return json.dumps(
        {
            "target": _path(options.spelling.target, options.target),
            "golden": _path(options.spelling.golden, options.golden) if options.golden else None,
            "output": _path("-o", options.output),
            "stamp": stamp,
            "overflow_check": options.overflow_check,
            "fuzzy_match": options.fuzzy_match,
            "align": options.align,
            "layer_mapping": options.layer_mapping and _path("-lm", options.layer_mapping),
            "jobs": options.jobs,
            "noise_twin": _path("--noise-twin", options.noise_twin) if options.noise_twin else None,
        },
        ensure_ascii=False,
    )


def _path(option: str, text: str) -> str:
    if not text:
        raise Refusal(f"{option} is empty; give a folder")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal(f"{option} {text!r} is not valid UTF-8; rename the folder or give another way to it") from None
    return os.path.expanduser(text)  # noqa: PTH111 - pathlib would drop a trailing slash and cost start-up time
