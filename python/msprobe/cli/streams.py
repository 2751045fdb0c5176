"""What the process was started with: its words, and standard streams that can be written to whatever they are."""

from __future__ import annotations

import os
import sys


def open_missing() -> None:
    """Puts the null device in the place of standard streams that are closed (`2>&-`, some daemons).

    Python has None for them, and the next file that is opened gets their number: the result would receive what others print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # noqa: PERF203 - three rounds
            # Takes the lowest free number, which is this one.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def typed_words() -> list[str]:
    """The words after the program's name as UTF-8, the encoding of paths here; Python has read them by the locale, which may be another."""
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]
