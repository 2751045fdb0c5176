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


def watch() -> None:
    """From now on a signal raises `Stopped`, the first time. One that the parent has ignored (`nohup`, `&`) stays ignored."""
    global _since  # noqa: PLW0603 - signals belong to the process
    _since = None
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def over() -> None:
    """The work is over and at most a line is left to be said: from now on a signal ends the process without a word."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def _stop(number: int, _frame: object) -> None:
    global _since  # noqa: PLW0603
    word, status = SIGNALS[signal.Signals(number)]
    if _since is None:
        _since = time.monotonic()
        raise Stopped(f"{word}; nothing was left behind", status)
    # Whoever presses Ctrl-C twice does not want to wait. Others often send a signal twice, to the process and to its group.
    if number == signal.SIGINT or time.monotonic() - _since > CLEAN_UP:
        _end(number, None)


def _end(number: int, _frame: object) -> None:
    os._exit(SIGNALS[signal.Signals(number)][1])
