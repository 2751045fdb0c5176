"""Exit statuses, the same for every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the status of a finished command says."""

    DONE = 0
    FAILED = 1
    """Nothing usable was written."""
    USAGE = 2
    """The words on the command line make no sense."""
    INCOMPLETE = 3
    """Finished, but part of the work was left out; it is named."""
    TOO_BAD = 4
    """`--fail-on`: the comparison is that bad or worse."""
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class Refusal(Exception):
    """One line for the user: what is wrong, where, what to do. Ends the command with `status`."""

    def __init__(self, message: str, status: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.status = status


class Stopped(BaseException):
    """A signal asks to end. Not an `Exception`: nothing but the command itself may catch it."""

    def __init__(self, message: str, status: Exit) -> None:
        super().__init__(message)
        self.message, self.status = message, status
