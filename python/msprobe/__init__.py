"""msprobe-rs: finds where two training runs first part.

import msprobe

result = msprobe.compare("target", "golden", output="out")
print(result.first_difference())
result.parameters()  # a Polars frame
"""

from __future__ import annotations

from msprobe.installation import conflict

# Every command starts here, and `typing` would be half of what this import costs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from msprobe._native import __version__
    from msprobe.analysis import MsprobeError, Result, build, compare, open  # noqa: A004

__all__ = ["MsprobeError", "Result", "__version__", "build", "compare", "open"]

if _problem := conflict():
    import logging

    logging.getLogger(__name__).warning(_problem)


def __getattr__(name: str) -> Any:
    """The names above, each loaded when it is first asked for."""
    if name == "__version__":
        from msprobe._native import __version__

        return __version__
    if name in __all__:
        from msprobe import analysis

        return getattr(analysis, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
