"""The entry of `msprobe-rs`, `msprobe` and `python -m msprobe`: words in, exit status out, never a traceback."""

from __future__ import annotations

import os
import sys

# `typing` is large: what comes before the first line of main() cannot be interrupted without a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GLOBAL_OPTIONS = ("-V", "--version")


def main(words: list[str] | None = None) -> int:
    """Runs one command and returns its exit status.

    Args:
        words: The words after the program's name; those of the process if None.
    """
    own = words is None
    try:
        from msprobe.cli import stop, streams

        streams.open_missing()
        if own:
            stop.watch()
        status = _run(streams.typed_words() if words is None else words)
        if own:
            stop.over()
    except BaseException as error:
        from msprobe.cli import stop

        if own:
            stop.over()
        return _failed(error)
    return status


def _run(words: list[str]) -> int:
    import gc

    # Loading makes thousands of objects and no garbage worth looking for.
    gc.set_threshold(50_000)
    command, prog_name, words = _command(words)
    if command is None:
        return 0
    _warn_of_conflict()
    status = command.main(args=words, prog_name=prog_name, standalone_mode=False)
    return int(status or 0)


def _command(words: list[str]) -> tuple[Any, str, list[str]]:
    """The Typer command that `words` call, its name, and its words; no command if they have been answered already."""
    import typer

    from msprobe.cli import argv, older_form
    from msprobe.cli.app import COMMANDS, app
    from msprobe.cli.help import options_of

    older = older_form.called(words)
    words = older_form.today(words) or ["--help"]
    prog_name = _program()
    if words[0] == "-" or not words[0].startswith("-"):
        name, rest = words[0], words[1:]
        if name not in COMMANDS:
            raise argv.UsageProblem(_unknown(name, [known for known in COMMANDS if not COMMANDS[known].hidden]))
        program: Any = typer.main.get_command(app(name))
        command, prog_name = program.commands[name], f"{prog_name} {older or name}"
        words = argv.normalise(rest, options_of(command.params))
        if name == "mapping":
            from msprobe.cli import mapping

            mapping.check_action(words)
        if "--" in words and COMMANDS[name].reads_result:
            from msprobe.cli import finished

            finished.check_one(words[words.index("--") :])
    else:
        # Only options that need no command; the first one answers.
        table = [argv.Option(GLOBAL_OPTIONS, argv.Takes.NONE), argv.Option(("-h", "--help"), argv.Takes.NONE)]
        words = argv.normalise(words[:1], table)
        if words == ["--version"]:
            from msprobe._native import __version__

            typer.echo(f"msprobe-rs {__version__}")
            return None, prog_name, []
        command = typer.main.get_command(app())
    return command, prog_name, words


def _unknown(name: str, commands: list[str]) -> str:
    """What to say to a word that is no command."""
    from difflib import get_close_matches

    if os.path.exists(name):  # noqa: PTH110 - pathlib costs start-up time here
        command = f"report {name}" if name.endswith(".vis.db") else f"graph_visualize -tp {name} -o out"
        return f"{name} is no command; to look at it: {_program()} {command}"
    close = get_close_matches(name, commands, n=1)
    told = f"did you mean {close[0]}? " if close else ""
    return f"unknown command {name}; {told}commands are {', '.join(commands)}"


def _program() -> str:
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 - pathlib costs start-up time here
    return name if name in ("msprobe", "msprobe-rs") else "msprobe-rs"


def _warn_of_conflict() -> None:
    """`import msprobe` warns too, unless the other distribution has overwritten that very file."""
    import msprobe
    from msprobe.cli import log
    from msprobe.installation import conflict

    if "conflict" not in vars(msprobe) and (problem := conflict()):
        log.warning(problem)


def _failed(error: BaseException) -> int:
    """One line for any exception, and its exit status."""
    from msprobe.cli import log
    from msprobe.cli.exits import Exit, Refusal, Stopped

    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, Stopped):
        log.error(error.message)
        return error.status
    if isinstance(error, BrokenPipeError):
        # Whoever read our answer has gone (`| head`). Nothing to say, and nowhere to say it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    if log.level() == log.DEBUG:
        import traceback

        traceback.print_exc()
    if isinstance(error, Refusal):
        log.error(str(error))
        return error.status
    import typer

    from msprobe.cli.argv import UsageProblem

    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        log.error("interrupted; nothing was left behind")
        return Exit.INTERRUPTED
    # BadParameter is the public name; its base is what Typer raises for all wrong usage.
    if isinstance(error, (UsageProblem, typer.BadParameter.__base__ or typer.BadParameter)):
        log.error(f"{_wrong_usage(error)}; see {_program()} {_called()}--help")
        return Exit.USAGE
    if isinstance(error, OSError):
        # A full disk behind standard output, for example: the system's fault, not ours.
        log.error(f"{error.filename or 'standard output'}: {error.strerror or error}")
        return Exit.FAILED
    if isinstance(error, MemoryError):
        log.error("not enough memory")
        return Exit.FAILED
    log.error(f"a defect of ours: {type(error).__name__}: {error}; please report it with the output of MSPROBE_LOG_LEVEL=0")
    return Exit.FAILED


def _wrong_usage(error: BaseException) -> str:
    """What Typer found, in the words of the normaliser."""
    parameter = getattr(error, "param", None)
    text = str(getattr(error, "format_message", error.__str__)()).rstrip(".")
    if parameter is None:
        words = text.removeprefix("Got unexpected extra argument(s) (").removeprefix("Got unexpected extra argument (")
        return f"{words.removesuffix(')')}: one word too many" if words != text else text
    name = "/".join(parameter.opts) if parameter.param_type_name == "option" else parameter.metavar
    return f"{name} is missing" if text.startswith("Missing") else f"{name}: {getattr(error, 'message', text)}"


def _called() -> str:
    """The command whose help is meant, as it was typed."""
    from msprobe.cli import older_form
    from msprobe.cli.app import COMMANDS

    if older := older_form.called(sys.argv[1:]):
        return f"{older} "
    return f"{sys.argv[1]} " if len(sys.argv) > 1 and sys.argv[1] in COMMANDS else ""
