"""Tensor files, `.pt` of torch and `.npy` of NumPy: read and compared without either, and nothing in them is executed.

from msprobe.tensors import compare_tensors, read_tensor, tensor_info

tensor_info("a.pt").shape
read_tensor("a.pt").numpy()
compare_tensors("a.pt", "b.pt").metrics["Cosine"]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike
from typing import Any

from msprobe import _native

Path = str | PathLike[str]

NUMPY_LACKS = ("bfloat16", "float4", "float8", "complex32", "bcomplex32")
"""How the types begin that NumPy has only with `ml_dtypes`, half precision complex ones from its version 0.6 on."""


class TensorFileError(ValueError):
    """A file that cannot be used: missing, broken, hostile, of a kind that is not supported. The text says which and why."""


@dataclass(frozen=True)
class TensorInfo:
    """What a file holds."""

    dtype: str
    """The element type as torch names it, without `torch.`."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Elements between neighbours along each dimension."""
    offset: int
    """The first element, in elements of the storage."""
    container: str
    """`pt` or `npy`."""
    big_endian: bool


@dataclass(frozen=True)
class TensorData:
    """The elements of a file."""

    dtype: str
    """The element type as torch names it, without `torch.`; packed pairs of 4 bit floats are taken apart to `float4_e2m1fn`."""
    shape: tuple[int, ...]
    data: bytes
    """Row-major, native byte order."""

    def numpy(self) -> Any:
        """A read-only NumPy array; needs `ml_dtypes` for bfloat16 and the smaller floats.

        Raises:
            TypeError: This NumPy, or this `ml_dtypes`, has no such type.
        """
        import numpy

        kind: Any = self.dtype
        if self.dtype.startswith(NUMPY_LACKS):
            import ml_dtypes

            kind = getattr(ml_dtypes, self.dtype, None)
            if kind is None:
                raise TypeError(f"ml_dtypes {ml_dtypes.__version__} has no type {self.dtype}")
        return numpy.frombuffer(self.data, numpy.dtype(kind)).reshape(self.shape)

    def torch(self) -> Any:
        """A tensor of torch, with memory of its own.

        Raises:
            TypeError: This torch has no such type.
        """
        import torch

        dtype = getattr(torch, self.dtype, None)
        if dtype is None:
            raise TypeError(f"torch {torch.__version__} has no type {self.dtype}")
        if not math.prod(self.shape):
            return torch.empty(self.shape, dtype=dtype)
        return torch.frombuffer(bytearray(self.data), dtype=dtype).reshape(self.shape)


@dataclass(frozen=True)
class Comparison:
    """The numbers of two tensors; docs/tensors.md says what they mean."""

    metrics: dict[str, float | str]
    """The six columns: a number, or the word that stands for it."""
    message: str
    """The message that msProbe 26.2 logs for the pair."""
    reason: str | None
    """Why the pair could not be compared, or not in full."""
    largest_at: tuple[int, ...] | None = None
    """Index of a largest difference; None if all elements are equal."""
    equal: float | None = None
    """Share of elements with the same bits; None, as all below, if the elements were not looked at."""
    nan: tuple[int, int] | None = None
    """NaN of the target and of golden."""
    inf: tuple[int, int] | None = None
    """Infinities of the target and of golden."""
    ulp: float | None = None
    """Largest difference in units in the last place of the coarser type."""


def tensor_info(path: Path, dtype: str | None = None) -> TensorInfo:
    """What a file holds, without reading its elements.

    Args:
        path: A `.pt` or `.npy` file.
        dtype: The element type of a `.npy` file that says only how many bytes an element has.

    Raises:
        TensorFileError: The file cannot be used.
    """
    info = _ask(_native.tensor_info, path, dtype)
    return TensorInfo(**info | {"shape": tuple(info["shape"]), "strides": tuple(info["strides"])})


def read_tensor(path: Path, dtype: str | None = None, limit: int | None = None) -> TensorData:
    """The elements of a file.

    Args:
        path: A `.pt` or `.npy` file.
        dtype: The element type of a `.npy` file that says only how many bytes an element has.
        limit: Refuse tensors of more bytes (a view can be larger than its file).

    Raises:
        TensorFileError: The file cannot be used, or is larger than `limit`.
    """
    name, shape, data = _ask(_native.read_tensor, path, dtype, *(() if limit is None else (limit,)))
    return TensorData(name, tuple(shape), data)


def compare_tensors(target: Path, golden: Path, target_dtype: str | None = None, golden_dtype: str | None = None) -> Comparison:
    """The numbers of two files, as a comparison of dumps of task `tensor` has them.

    Args:
        target: The `.pt` or `.npy` file under test.
        golden: The one to trust.
        target_dtype: The target's element type, if its file says only how many bytes an element has.
        golden_dtype: The same for golden.

    Raises:
        TensorFileError: One of the files cannot be used.
    """
    found = _ask(_native.compare_tensors, target, golden, target_dtype, golden_dtype)
    lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    return Comparison(**found | lists)


def _ask(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _native.EngineError as error:
        raise TensorFileError(error.args[1]) from None
