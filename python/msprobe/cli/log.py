"""Lines for people on standard error, and the log line that other programs read."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from typing import TextIO

DEBUG, INFO, WARNING, ERROR, NOTHING = range(5)

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def level() -> int:
    """`MSPROBE_LOG_LEVEL` (0 debug, 1 info, 2 warnings, 3 errors, 4 nothing); 1 if unset or not one of these."""
    text = os.environ.get("MSPROBE_LOG_LEVEL", "")
    return int(text) if text in ("0", "1", "2", "3", "4") else INFO


def one_line(text: str) -> str:
    """The text with control characters replaced: a name from a dump must not start a line of its own or move the cursor."""
    return CONTROL.sub("_", text)


LONGEST = 2000
"""Characters of a message at most: a name in a dump may have millions."""


def message(text: str) -> str:
    """The text as one line of bearable length; where it is longer the middle gives way."""
    line = one_line(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST * 3 // 4]} ... {line[-LONGEST // 4 :]}"


def warning(text: str) -> None:
    """Says what the user should know."""
    if level() <= WARNING:
        say(f"warning: {message(text)}")


def error(text: str) -> None:
    """Says why the command failed."""
    if level() <= ERROR:
        say(f"error: {message(text)}")


def say(line: str) -> None:
    """Prints to standard error, whatever the terminal can show; to nobody if it cannot be written: that must not end the work."""
    with suppress(OSError):
        _write(sys.stderr, line)


def draw(text: str) -> None:
    """Writes to the terminal as it is, without a line end. A terminal that is gone must not end the work."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def answer(line: str) -> None:
    """Prints to standard output: the answer, and lines for other programs."""
    _write(sys.stdout, line)


def _write(stream: TextIO, line: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def record(text: str) -> str:
    """`text` as a log line of level INFO: `YYYY-MM-DD HH:MM:SS (pid) [INFO] text`."""
    return f"{time.strftime('%Y-%m-%d %H:%M:%S')} ({os.getpid()}) [INFO] {one_line(text)}"
