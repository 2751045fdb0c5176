"""One run of the engine: progress while it works, the answer or one line of error at its end."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from msprobe.cli import answer, gate, log, progress, request, stop
from msprobe.cli.exits import Exit, Refusal, Stopped
from msprobe.cli.places import place

if TYPE_CHECKING:
    from msprobe.cli.algorithms import Algorithms


def run(options: request.Options) -> Exit:
    """Does what `options` ask for and returns the exit status.

    Raises:
        Refusal: The run failed; nothing usable was written.
    """
    try:
        summary = _engine(options)
    except Refusal as refusal:
        if options.json and refusal.status is not Exit.USAGE:
            log.answer(json.dumps(answer.failure(str(refusal), refusal.status)))
        raise
    if summary["warnings"]:
        from msprobe.cli import alike

        for text in alike.warnings(summary["warnings"]):
            log.warning(text)
    if summary["report"]:
        from msprobe.cli import difference

        for text in difference.warnings(summary["report"]):
            log.warning(text)
    for missing in summary["left_out"]:
        log.error(f"left out {place(missing)}: {missing['reason']}")
    status = _status(summary, options.fail_on)
    if options.json:
        log.answer(json.dumps(answer.document(summary, status)))
    else:
        for line in answer.lines(summary, options.overflow_check):
            log.answer(log.one_line(line))
    return status


def _engine(options: request.Options) -> answer.Summary:
    """The engine's summary."""
    for text in request.check(options):
        log.warning(text)
    text = request.to_json(options, time.strftime("%Y%m%d%H%M%S"))
    from msprobe import _native

    algorithms = _algorithms(options)
    with progress.reporter(options) as reporter:
        try:
            request.check_folders(options)
            summary: answer.Summary = json.loads(
                _native.graph_visualize(text, reporter.tell, reporter.log if options.tensor_log else None, algorithms, drift=options.json)
            )
            stop.kept(summary["output"])
        except _native.EngineError as error:
            status, message = error.args
            reporter.fail(message)
            raise Refusal(message, Exit(status)) from error
        except Refusal as refusal:
            reporter.fail(str(refusal))
            raise
        except Stopped as stopped:
            message = stopped.message
            if through := getattr(stopped, "summary", None):
                message = stop.message(stopped.status, json.loads(through)["output"])
            reporter.fail(message)
            raise Refusal(message, stopped.status) from None
        reporter.finish([f"left out {place(missing)}: {missing['reason']}" for missing in summary["left_out"]])
    if algorithms:
        summary["warnings"] += algorithms.warnings()
    return summary


def _algorithms(options: request.Options) -> Algorithms | None:
    """The user's further columns, loaded before anything else is done."""
    if not (options.algorithms and options.golden):
        return None
    from msprobe.cli.algorithms import Algorithms

    return Algorithms(os.path.expanduser(options.algorithms), [options.target, options.golden])  # noqa: PTH111 - as paths elsewhere


def _status(summary: answer.Summary, fail_on: str | None) -> Exit:
    """3 goes before 4: a result with holes is no verdict."""
    if summary["left_out"]:
        return Exit.INCOMPLETE
    if not summary["compare"]:
        return Exit.DONE
    return gate.status(fail_on, answer.totals(summary), summary["report"])
