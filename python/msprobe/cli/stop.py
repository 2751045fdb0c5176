"""Signals that end a command: one line, and the status of the signal, whatever comes and however often."""

from __future__ import annotations

import os
import signal
import time

from msprobe.cli.exits import Exit, Stopped

SIGNALS = {
    signal.SIGINT: ("interrupted", Exit.INTERRUPTED),
    signal.SIGTERM: ("terminated", Exit.TERMINATED),
    signal.SIGHUP: ("the terminal is gone", Exit.HUNG_UP),
}

CLEAN_UP = 5.0
"""Seconds that a run may take to remove what it began."""

_since: float | None = None
"""When the first signal came."""

_kept: str | None = None
"""The file that is complete, if there is one."""


def watch() -> None:
    """From now on a signal raises `Stopped`, the first time. One that the parent has ignored (`nohup`, `&`) stays ignored."""
    global _since, _kept
    _since, _kept = None, None
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def kept(file: str) -> None:
    """The result is in `file`, and stays there: from now on a signal cuts the answer short, nothing else."""
    global _kept  # noqa: PLW0603
    _kept = file


def message(status: Exit, file: str | None) -> str:
    """What to say to the signal that ends with `status`, when `file` is complete."""
    word = next(word for word, its in SIGNALS.values() if its == status)
    return f"{word}; {f'{file} is complete' if file else 'nothing was left behind'}"


def over() -> None:
    """The work is over and at most a line is left to be said: from now on a signal ends the process without a word."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def _stop(number: int, _frame: object) -> None:
    global _since  # noqa: PLW0603
    status = SIGNALS[signal.Signals(number)][1]
    if _since is None:
        _since = time.monotonic()
        raise Stopped(message(status, _kept), status)
    # Whoever presses Ctrl-C twice does not want to wait. Others often send a signal twice, to the process and to its group.
    if number == signal.SIGINT or time.monotonic() - _since > CLEAN_UP:
        _end(number, None)


def _end(number: int, _frame: object) -> None:
    os._exit(SIGNALS[signal.Signals(number)][1])
