"""msprobe-rs: finds where two training runs first part."""

from msprobe.installation import conflict

__all__ = ["__version__"]

if _problem := conflict():
    import logging

    logging.getLogger(__name__).warning(_problem)


def __getattr__(name: str) -> str:
    """`__version__`, without loading the native module for everybody who does not ask."""
    if name == "__version__":
        from msprobe._native import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
