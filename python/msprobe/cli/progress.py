"""Progress on standard error: a live bar on a terminal, plain lines elsewhere; `PROGRESS:` lines for other programs."""

from __future__ import annotations

import json
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msprobe.cli import log

if TYPE_CHECKING:
    from msprobe.cli.request import Options

PHASES = {"compare": "comparing", "finish": "finishing"}

PLAIN_EVERY = 5.0
"""Seconds between two plain lines: a log file wants a sign of life, not a film."""

WIDTH = 30
"""Characters of the bar itself."""


class Reporter:
    """Says nothing; the ones below say something."""

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def tell(self, snapshot: str) -> None:
        """Called by the engine, at most ten times a second, with where it stands."""

    def log(self, lines: list[str]) -> None:
        """Called by the engine with new lines of the tensor log."""
        if log.level() <= log.INFO:
            self.close()
            log.say("\n".join(log.record(line) for line in lines))

    def fail(self, message: str) -> None:
        """The run failed."""

    def finish(self, errors: list[str]) -> None:
        """The run is done; `errors` name what was left out."""

    def close(self) -> None:
        """Leaves the terminal clean."""


class Several(Reporter):
    """Tells several."""

    def __init__(self, *reporters: Reporter) -> None:
        self.reporters = reporters

    def tell(self, snapshot: str) -> None:
        for reporter in self.reporters:
            reporter.tell(snapshot)

    def fail(self, message: str) -> None:
        for reporter in self.reporters:
            reporter.fail(message)

    def finish(self, errors: list[str]) -> None:
        for reporter in self.reporters:
            reporter.finish(errors)

    def close(self) -> None:
        for reporter in self.reporters:
            reporter.close()


class Lines(Reporter):
    """Plain lines on standard error, every few seconds."""

    def __init__(self, compare: bool) -> None:
        self.phases = PHASES if compare else PHASES | {"compare": "building"}
        self.phase = ""
        self.began = self.said = time.monotonic()
        self.percent_at_start = 0.0

    def tell(self, snapshot: str) -> None:
        state = json.loads(snapshot)
        now = time.monotonic()
        if state["phase"] != self.phase:
            self.phase, self.began, self.percent_at_start = state["phase"], now, state["percent"]
        self.show(state, now)

    def show(self, state: dict[str, Any], now: float) -> None:
        """Shows one state."""
        if now - self.said >= PLAIN_EVERY:
            self.said = now
            log.say(self.text(state, now))

    def text(self, state: dict[str, Any], now: float) -> str:
        """`comparing   42 %   3 of 8 ranks   1,234,567 nodes   0:12 left`."""
        words = [self.phases.get(self.phase, self.phase), f"{state['percent']:.0f} %"]
        if state["ranks"] > 1:
            words.append(f"{state['ranks_done']} of {state['ranks']} ranks")
        words.append(f"{state['nodes']:,} nodes")
        done = state["percent"] - self.percent_at_start
        if self.phase == "compare" and done > 0:
            left = (now - self.began) * (100 - state["percent"]) / done
            words.append(f"{int(left) // 60}:{int(left) % 60:02} left")
        return "   ".join(words)


class Bar(Lines):
    """One live bar on the terminal, gone when the work is done."""

    drawn = False

    def show(self, state: dict[str, Any], now: float) -> None:
        full = int(state["percent"] / 100 * WIDTH)
        log.draw(f"\r\x1b[K[{'#' * full}{'-' * (WIDTH - full)}] {self.text(state, now)}")
        self.drawn = True

    def close(self) -> None:
        if self.drawn:
            log.draw("\r\x1b[K")


class Records(Reporter):
    """`PROGRESS: {json}` log lines on standard output, for the program that started us."""

    def __init__(self) -> None:
        self.percent: float | int = 0
        self.print(running=True, errors=[])

    def tell(self, snapshot: str) -> None:
        percent = round(json.loads(snapshot)["percent"], 2)
        if percent > self.percent:
            self.percent = percent
            self.print(running=True, errors=[])

    def fail(self, message: str) -> None:
        self.print(running=False, errors=[message])

    def finish(self, errors: list[str]) -> None:
        self.percent = 100
        self.print(running=False, errors=errors)

    def print(self, *, running: bool, errors: list[str]) -> None:
        """Prints one line."""
        state = {"current_progress": self.percent, "process_running": running, "error_msg": errors}
        log.answer(log.record(f"PROGRESS: {json.dumps(state)}"))


def reporter(options: Options) -> Reporter:
    """What fits the options and the terminal."""
    records = [Records()] if options.progress_log else []
    if options.quiet or log.level() > log.INFO:
        return Several(*records)
    return Several(*records, (Bar if sys.stderr.isatty() else Lines)(bool(options.golden)))
