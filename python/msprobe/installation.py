"""What else is installed beside us.

Both `msprobe-rs` and `mindstudio-probe` own the package `msprobe`: whichever was installed last has overwritten files of
the other, and removing one breaks the other. pip does not notice, so we do.
"""

from __future__ import annotations

import os
import sys

OTHER = "mindstudio-probe"

ADVICE = (
    f"{OTHER} is installed too ({{place}}) and owns the same package `msprobe`, so files of both are mixed; "
    f"keep one: pip uninstall -y {OTHER} msprobe-rs, then install the one you want again"
)


def other_distribution() -> str | None:
    """The folder that records an installed `mindstudio-probe`, or None.

    Looks at file names only: `importlib.metadata` would cost more than the rest of our start-up.
    """
    for place in sys.path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208 - pathlib costs start-up time here
        except OSError:
            continue  # a zip file, or a folder that is not there
        for name in names:
            if name.lower().replace("_", "-").startswith(f"{OTHER}-") and name.endswith((".dist-info", ".egg-info")):
                return os.path.join(place, name)  # noqa: PTH118
    return None


def conflict() -> str | None:
    """One line about another distribution that owns our package, or None."""
    place = other_distribution()
    return None if place is None else ADVICE.format(place=place)
