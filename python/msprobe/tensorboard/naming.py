"""Which name the plugin takes: TensorBoard refuses to start when two plugins share one."""

from __future__ import annotations

import logging
from importlib import metadata

REFERENCE_NAME = "graph_ascend"
OWN_NAME = "graph_msprobe"
GROUP = "tensorboard_plugins"
OWN_MODULE = "msprobe.tensorboard"

logger = logging.getLogger(__name__)


def choose(entry_points: list[metadata.EntryPoint] | None = None) -> str:
    """The reference's name, unless another installed package already answers to it.

    Args:
        entry_points: Installed entry points of TensorBoard's group; asked from the installation when absent.
    """
    if entry_points is None:
        entry_points = list(metadata.entry_points(group=GROUP))
    others = [point for point in entry_points if point.name == REFERENCE_NAME and not point.value.startswith(OWN_MODULE)]
    if not others:
        return REFERENCE_NAME
    logger.warning("the tab %s belongs to %s; msprobe-rs registers as %s", REFERENCE_NAME, others[0].value, OWN_NAME)
    return OWN_NAME
