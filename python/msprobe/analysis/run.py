"""Running the engine from Python."""

from __future__ import annotations

import json
import logging
import time
from os import PathLike, fspath

from msprobe import _native
from msprobe.analysis.result import MsprobeError, Result

LOG = logging.getLogger("msprobe")


def compare(
    target: str | PathLike[str],
    golden: str | PathLike[str],
    *,
    output: str | PathLike[str],
    overflow_check: bool = False,
    fuzzy_match: bool = False,
    layer_mapping: str | PathLike[str] | None = None,
    align: bool = False,
    noise_twin: str | PathLike[str] | None = None,
    jobs: int | None = None,
) -> Result:
    """Compares two dumps and writes a `*.vis.db`, as `msprobe-rs graph_visualize` does.

    Args:
        target: The dump to look at: of one rank, a folder of ranks, or a folder of steps.
        golden: The dump to trust.
        output: Folder of the result; made if missing.
        overflow_check: Mark where NaN and infinity come from.
        fuzzy_match: Match although call numbers differ.
        layer_mapping: Match layers of different names by this file; the empty text: by their place.
        align: Align the two trees: find what was inserted, deleted, renamed, counted anew or wrapped. Goes without the two above.
        noise_twin: A second golden run: what it differs by from the first is noise.
        jobs: Work on so many cores; as many as the input is worth when absent.

    Raises:
        MsprobeError: Nothing usable was written.
        ValueError: `align` beside `fuzzy_match` or `layer_mapping`.
    """
    if align and (fuzzy_match or layer_mapping is not None):
        raise ValueError("align goes without fuzzy_match and layer_mapping; use one of them")
    return _run(
        target,
        output,
        golden=fspath(golden),
        overflow_check=overflow_check,
        fuzzy_match=fuzzy_match,
        layer_mapping=None if layer_mapping is None else fspath(layer_mapping),
        align=align,
        noise_twin=None if noise_twin is None else fspath(noise_twin),
        jobs=jobs,
    )


def build(target: str | PathLike[str], *, output: str | PathLike[str], overflow_check: bool = False, jobs: int | None = None) -> Result:
    """Shows one dump alone; see `compare`."""
    return _run(target, output, overflow_check=overflow_check, jobs=jobs)


def _run(target: str | PathLike[str], output: str | PathLike[str], **options: object) -> Result:
    request = {"target": fspath(target), "output": fspath(output), "stamp": time.strftime("%Y%m%d%H%M%S"), **options}
    try:
        # The callback lets Ctrl-C through.
        summary = json.loads(_native.graph_visualize(json.dumps(request), lambda _: None, drift=False))
    except _native.EngineError as error:
        raise MsprobeError(error.args[1]) from None
    for warning in summary["warnings"]:
        LOG.warning(warning)
    for missing in summary["left_out"]:
        LOG.error("left out step %s, rank %s: %s", missing["step"], missing["rank"], missing["reason"])
    return Result(summary["output"])
