"""Further columns for dumps of task `tensor`, computed by the user's own `alg_*.py` files (docs/tensors.md).

A file `alg_<name>.py` defines two functions:

    def column_name():      # the name of the column
    def compare(n, b):      # an int, a float or a text for the tensors of the target and of golden

The files come from a folder that the user names, never from a dump.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msprobe.cli.exits import Refusal

FILE_NAME = re.compile(r"alg_[a-z0-9_]+\.py")

METRICS = ("Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio")
VERDICT = ("Requires_grad Consistent", "Result", "Err_message")
FIELDS = ("type", "dtype", "shape", "Max", "Min", "Mean", "Norm", "requires_grad", "data_name", "md5", "value")
OTHERS = ("group_ranks", "group_id", "class_type", "op", "peer", "tag")
TAKEN = frozenset(METRICS + VERDICT + FIELDS + OTHERS)
"""Keys that a row may have already."""

Cell = tuple[bool, str] | None
"""Whether the cell is a text, and the text of the cell; None if the algorithm failed."""

Side = tuple[str, list[int], int, int]
"""Element type, shape, first byte in the buffer, number of elements."""


class Algorithm:
    """One file."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem.removeprefix("alg_")
        module = _load(path)
        column = _function(path, module, "column_name", 0)()
        if not isinstance(column, str) or not column.strip():
            raise Refusal(f"{path}: column_name() gives {column!r}; it must give a text that is not blank")
        if column in TAKEN:
            raise Refusal(f"{path}: a row has a column {column!r} already; give another name")
        self.column = column
        self.compare = _function(path, module, "compare", 2)
        self.lock = threading.Lock()
        self.failures = 0
        self.first_failure = ""

    def cell(self, target: Any, golden: Any) -> Cell:
        """What the algorithm makes of two tensors."""
        try:
            answer = self.compare(target, golden)
            if isinstance(answer, str):
                return True, str(answer)
            if isinstance(answer, int) and not isinstance(answer, bool):
                return False, int.__repr__(answer)
            if isinstance(answer, float):
                return False, float.__repr__(answer)
            raise TypeError(f"an int, a float or a text is expected, not {type(answer).__name__}")
        except Exception as error:
            with self.lock:
                self.failures += 1
                self.first_failure = self.first_failure or f"{type(error).__name__}: {error}"
            return None


class Algorithms:
    """All files of a folder, in the order of their names."""

    def __init__(self, folder: str, dumps: list[str]) -> None:
        """Loads the files of `folder`.

        Raises:
            Refusal: The folder lies in one of the `dumps`, holds no algorithm, or one that cannot be used.
        """
        root = Path(os.path.realpath(folder))
        if not root.is_dir():
            raise Refusal(f"--algorithms {folder}: no such folder")
        for dump in dumps:
            if root.is_relative_to(os.path.realpath(dump)):
                raise Refusal(
                    f"--algorithms {folder}: lies in the dump {dump}, and nothing is imported from a dump; copy the files elsewhere"
                )
        files = sorted(path for path in root.iterdir() if path.name.startswith("alg_") and path.suffix == ".py")
        if not files:
            raise Refusal(f"--algorithms {folder}: holds no file alg_<name>.py")
        for path in files:
            if not FILE_NAME.fullmatch(path.name):
                raise Refusal(f"{path}: the name must be alg_<name>.py, in small letters, digits and underscores")
        self.algorithms = [Algorithm(path) for path in files]
        self.columns = [algorithm.column for algorithm in self.algorithms]
        for path, column in zip(files, self.columns, strict=True):
            if self.columns.count(column) > 1:
                raise Refusal(f"{path}: another algorithm has the column {column!r} too")
        self.tensor, self.context = _library()
        self.lock = threading.Lock()
        self.pairs = 0

    def measure(self, buffer: bytearray, pairs: list[tuple[Side, Side]]) -> list[list[Cell]]:
        """The cells of each pair; called by the engine. The tensors share the memory of `buffer`."""
        with self.lock:
            self.pairs += len(pairs)
        with self.context():
            return [self._cells(buffer, target, golden) for target, golden in pairs]

    def _cells(self, buffer: bytearray, target: Side, golden: Side) -> list[Cell]:
        n, b = self.tensor(buffer, *target), self.tensor(buffer, *golden)
        return [algorithm.cell(n, b) for algorithm in self.algorithms]

    def warnings(self) -> Iterator[str]:
        """One line for each algorithm that failed."""
        for algorithm in self.algorithms:
            if algorithm.failures:
                yield f"algorithm {algorithm.name} failed for {algorithm.failures} of {self.pairs} pairs: {algorithm.first_failure}"


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"msprobe_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise Refusal(f"{path}: cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Refusal(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def _function(path: Path, module: Any, name: str, arguments: int) -> Callable[..., Any]:
    """The function `name` of the module, which must take exactly so many positional arguments."""
    function = getattr(module, name, None)
    if not callable(function):
        raise Refusal(f"{path}: defines no function {name}")
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind not in VARIABLE]
    if len(required) != arguments or any(p.kind not in positional for p in required):
        raise Refusal(f"{path}: {name} must take {('no argument', 'one argument', 'two arguments, the target and golden')[arguments]}")
    result: Callable[..., Any] = function
    return result


VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _library() -> tuple[Callable[..., Any], Callable[[], Any]]:
    """How a tensor is made of a part of the buffer, and the context in which algorithms run: those of torch, else of NumPy."""
    with contextlib.suppress(ImportError):
        import torch

        def tensor(buffer: bytearray, dtype: str, shape: list[int], start: int, count: int) -> Any:
            return torch.frombuffer(buffer, dtype=getattr(torch, dtype), count=count, offset=start).reshape(shape)

        return tensor, torch.no_grad
    with contextlib.suppress(ImportError):
        import numpy

        def array(buffer: bytearray, dtype: str, shape: list[int], start: int, count: int) -> Any:
            return numpy.frombuffer(buffer, dtype, count, start).reshape(shape)

        return array, contextlib.nullcontext
    raise Refusal("--algorithms needs torch, or at least NumPy: pip install torch")
