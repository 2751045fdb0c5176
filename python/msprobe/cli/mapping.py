"""`mapping suggest`: proposes a layer mapping for two dumps."""

from __future__ import annotations

import json
import os
from typing import Annotated

import typer

from msprobe.cli.exits import Exit, Refusal

EXAMPLES = """\
Examples:
  propose, read, correct, use:
      msprobe-rs mapping suggest -tp run_a/step0 -gp run_b/step0 -o mapping.yaml
      msprobe-rs graph_visualize -tp run_a -gp run_b -o out -lm mapping.yaml

Exit status: 0 done, 1 failed, 2 wrong usage.
"""

SUGGEST = "suggest"

INPUT = "Dumps"
OUTPUT = "Output"


def whole(target: str, golden: str, output: str) -> str:
    """The command that was meant."""
    from shlex import join

    words = ["msprobe-rs", "mapping", SUGGEST, "-tp", target, "-gp", golden]
    return join([*words, "-o", output] if output else words)


def check_action(words: list[str]) -> None:
    """Raises a `Refusal` with the whole command if nothing says what to do; `words` are normalised."""
    if "--" in words or "--help" in words:
        return
    given = dict(word.split("=", 1) for word in words)
    command = whole(given.get("--target_path", "DIR"), given.get("--golden_path", "DIR"), given.get("--output_path", ""))
    raise Refusal(f"mapping does one thing, {SUGGEST}: {command}", Exit.USAGE)


def mapping(
    action: Annotated[str, typer.Argument(metavar="suggest", help="What to do: suggest.")],
    target_path: Annotated[str, typer.Option("-tp", "--target_path", metavar="DIR", rich_help_panel=INPUT, help="The dump to look at.")],
    golden_path: Annotated[str, typer.Option("-gp", "--golden_path", metavar="DIR", rich_help_panel=INPUT, help="The dump to trust.")],
    output_path: Annotated[
        str,
        typer.Option(
            "-o", "--output_path", metavar="FILE", rich_help_panel=OUTPUT, help="The new .yaml file; without it the proposal is printed."
        ),
    ] = "",
) -> int:
    """Propose a layer mapping (-lm of graph_visualize) from the modules of two dumps.

    Modules are brought together by their classes, names, order and what lies in them; each rule has a remark that says how sure
    it is. Of several ranks or steps the first that both dumps have is looked at.
    """
    from msprobe.cli import log
    from msprobe.cli.request import no_dump

    if action != SUGGEST:
        raise Refusal(f"mapping {action}: there is only mapping {SUGGEST}: {whole(target_path, golden_path, output_path)}", Exit.USAGE)
    if output_path and not output_path.endswith((".yaml", ".yml")):
        raise Refusal(f"-o {output_path}: a layer mapping is a .yaml file", Exit.USAGE)
    from msprobe import _native

    expand = os.path.expanduser
    for option, path in (("-tp", target_path), ("-gp", golden_path)):
        if problem := no_dump(path):
            raise Refusal(f"{option} {path}: {problem}")
    try:
        found = json.loads(_native.suggest_mapping(expand(target_path), expand(golden_path)))
    except _native.EngineError as error:
        status, message = error.args
        raise Refusal(message, Exit(status)) from error
    if output_path:
        try:
            # Never over a mapping that somebody may have corrected by hand.
            with open(expand(output_path), "x", encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs start-up time here
                file.write(found["text"])
        except OSError as error:
            raise Refusal(f"{output_path}: cannot be written: {error.strerror}; name a new file") from None
        rules = found["sure"] + found["likely"] + found["guess"]
        log.answer(f"wrote    {output_path}   {rules} rules: {found['sure']} sure, {found['likely']} likely, {found['guess']} guess")
    else:
        log.answer(found["text"].rstrip("\n"))
    return Exit.DONE
