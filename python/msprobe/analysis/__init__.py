"""The engine for Python: compare, build and open results as Polars frames."""

from msprobe.analysis.result import MsprobeError, Result, open  # noqa: A004
from msprobe.analysis.run import build, compare

__all__ = ["MsprobeError", "Result", "build", "compare", "open"]
