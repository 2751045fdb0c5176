"""Tensors in the tar form of torch before 0.2, which torch still loads: ours are equal to torch's, and nothing is unpickled."""

from __future__ import annotations

import io
import itertools
import pickle
import struct
import tarfile
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from msprobe.tensors import TensorFileError, compare_tensors, read_tensor, tensor_info
from tests.test_tensor_files import VIEWS, filled, plain_bytes

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
]
"""All that have a storage class of their own; the form knows no others."""

ORDER = ("sys_info", "pickle", "tensors", "storages")
SYSTEM = {"protocol_version": 1000, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 8}}


class Pickler(pickle.Pickler):
    """Leaves tensors out of an object: their keys stand in their places."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=2)
        self.met: dict[int, torch.Tensor] = {}

    def persistent_id(self, thing: Any) -> str | None:
        if type(thing) is not torch.Tensor:
            return None
        # An address, as torch took it for a key.
        self.met[thing._cdata] = thing
        return str(thing._cdata)

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is torch.nn.Parameter:
            return torch.nn.Parameter, (thing.data, thing.requires_grad), (thing.requires_grad, False, OrderedDict())
        return NotImplemented


def members(thing: Any, others: Iterable[torch.Tensor] = (), margin: int | None = None) -> dict[str, bytes]:
    """What torch 0.1 put into its four members for an object.

    `others` are stored, though the object does not name them. With a `margin`, every storage is a view: of one that has so
    many more elements in front of it.
    """
    pickled = io.BytesIO()
    pickler = Pickler(pickled)
    pickler.dump(thing)
    tensors = {**{tensor._cdata: tensor for tensor in others}, **pickler.met}
    described, stored = io.BytesIO(), io.BytesIO()
    pickle.dump(len(tensors), described, 2)
    storages: dict[int, torch.Tensor] = {}
    for key, tensor in tensors.items():
        storage = tensor.untyped_storage()
        storages[storage._cdata] = tensor
        described.write(pickle.dumps((key, storage._cdata, getattr(torch, storage_class(tensor))), 2))
        described.write(struct.pack("<ii", tensor.dim(), 0))
        described.write(struct.pack(f"<{2 * tensor.dim() + 1}q", *tensor.size(), *tensor.stride(), tensor.storage_offset()))
    pickle.dump(len(storages), stored, 2)
    views = []
    for key, tensor in storages.items():
        count = tensor.untyped_storage().nbytes() // tensor.element_size()
        raw = bytes(torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).tolist())
        before = bytes(255 for _ in range((margin or 0) * tensor.element_size()))
        stored.write(pickle.dumps((key + (margin is not None), "cpu", getattr(torch, storage_class(tensor))), 2))
        stored.write(struct.pack("<q", count + (margin or 0)) + before + raw)
        if margin is not None:
            views.append((key, key + 1, margin, count))
    pickle.dump(views, stored, 2)
    return {
        "sys_info": pickle.dumps(SYSTEM, 2),
        "pickle": pickled.getvalue(),
        "tensors": described.getvalue(),
        "storages": stored.getvalue(),
    }


def storage_class(tensor: torch.Tensor) -> str:
    return str(tensor._typed_storage()._pickle_storage_type())


def archived(path: Path, contents: dict[str, bytes], order: Iterable[str] = ORDER, form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, "w:", format=form) as archive:
        for name in order:
            info = tarfile.TarInfo(name)
            info.size = len(contents[name])
            # A fraction, as torch wrote it, makes a pax header of its own.
            info.mtime = 1491933030.25
            archive.addfile(info, io.BytesIO(contents[name]))
    return path


def of_torch(path: Path) -> torch.Tensor:
    """As torch loads it. It refuses to do so without the full pickle machine."""
    loaded = torch.load(path, weights_only=False)
    assert isinstance(loaded, torch.Tensor)
    return loaded.detach()


def read_alike(path: Path, tensor: torch.Tensor) -> None:
    """What torch reads is the tensor that was written, and so is what we read."""
    expected = of_torch(path)
    assert (expected.dtype, expected.stride()) == (tensor.dtype, tensor.stride())
    assert plain_bytes(expected) == plain_bytes(tensor)
    data, info = read_tensor(path), tensor_info(path)
    assert (data.shape, data.data) == (tuple(expected.shape), plain_bytes(expected))
    assert (info.dtype, info.shape, info.container) == (str(expected.dtype).removeprefix("torch."), tuple(expected.shape), "pt")
    assert (info.strides, info.offset) == (expected.stride(), expected.storage_offset())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_type(dtype: torch.dtype, tmp_path: Path) -> None:
    tensor = filled(dtype, 3, 5, 2)
    read_alike(archived(tmp_path / "a.pt", members(tensor)), tensor)


LAZY = {"conjugated", "conjugated, strided", "negated"}
"""Marks that this form cannot carry."""


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in LAZY])
def test_views_and_the_like(name: str, tmp_path: Path) -> None:
    tensor = VIEWS[name]()
    if type(tensor) is torch.nn.Buffer:
        tensor = tensor.data
    read_alike(archived(tmp_path / "a.pt", members(tensor)), tensor.detach())


@pytest.mark.parametrize("margin", [0, 1, 7])
def test_views_of_storages(margin: int, tmp_path: Path) -> None:
    tensor = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)[1:]
    path = archived(tmp_path / "a.pt", members(tensor, margin=margin))
    assert torch.equal(of_torch(path), tensor)
    assert torch.equal(read_tensor(path).torch(), tensor)
    assert tensor_info(path).offset == tensor.storage_offset()


def test_one_of_many_that_share_their_storages(tmp_path: Path) -> None:
    whole, other = torch.arange(1000.0), torch.arange(100)
    tensor = whole[500:600:7]
    path = archived(tmp_path / "a.pt", members(tensor, others=[whole, whole[3:], other, other.view(10, 10).t()]))
    read_alike(path, tensor)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_form_of_tar_and_order_of_members(form: int, tmp_path: Path) -> None:
    tensor = torch.randn(5, 7).t()
    contents = members(tensor)
    for number, order in enumerate(itertools.permutations(ORDER)):
        read_alike(archived(tmp_path / f"{number}.pt", contents, order, form), tensor)


def test_a_file_that_is_mapped(tmp_path: Path) -> None:
    tensor = torch.randn(300, 301).t()[::3]
    path = archived(tmp_path / "a.pt", members(tensor, others=[torch.randn(1000) for _ in range(100)]))
    torch.save(tensor, tmp_path / "b.pt")
    assert torch.equal(of_torch(path), tensor)
    assert read_tensor(path) == read_tensor(tmp_path / "b.pt")
    found = compare_tensors(path, tmp_path / "b.pt")
    assert (found.equal, found.metrics["MaxAbsErr"]) == (1, 0)


NESTED: dict[str, Callable[[torch.Tensor], Any]] = {
    "a dict": lambda tensor: {"weight": tensor, "nested": [tensor[1:], {"deep": tensor.double()}]},
    "a list": lambda tensor: [tensor, (tensor.t(), None)],
    "a tuple": lambda tensor: (tensor, torch.nn.Parameter(tensor)),
}


@pytest.mark.parametrize("name", NESTED)
def test_what_is_no_tensor_is_refused_by_name(name: str, tmp_path: Path) -> None:
    thing = NESTED[name](torch.randn(3, 4))
    path = archived(tmp_path / "a.pt", members(thing))
    loaded = torch.load(path, weights_only=False)
    assert repr(loaded) == repr(thing)
    with pytest.raises(TensorFileError) as refused:
        read_tensor(path)
    assert str(refused.value) == f"{path}: holds {name}, not a tensor"


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_nothing_is_called(tmp_path: Path) -> None:
    path = archived(tmp_path / "a.pt", members(Bomb(tmp_path / "made")))
    with pytest.raises(TensorFileError, match="is not allowed"):
        read_tensor(path)
    assert not (tmp_path / "made").exists()
    # The file would have done it.
    torch.load(path, weights_only=False)
    assert (tmp_path / "made").exists()


def test_cut_at_every_kilobyte(tmp_path: Path) -> None:
    path = archived(tmp_path / "a.pt", members(torch.randn(200, 300)))
    whole = path.read_bytes()
    # The archive ends with two empty blocks; tarfile fills up the last ten kilobytes with more of them.
    end = len(whole.rstrip(b"\0")) // 512 * 512 + 3 * 512
    for size in [*range(0, end, 1024), end - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(TensorFileError) as refused:
            read_tensor(path)
        assert str(refused.value).startswith(f"{path}: ")
        assert len(str(refused.value).splitlines()) == 1
    path.write_bytes(whole[:end])
    assert len(read_tensor(path).data) == 4 * 200 * 300


def test_the_byte_order_of_the_writer(tmp_path: Path) -> None:
    tensor = torch.randn(3, 4)
    contents = members(tensor)
    contents["sys_info"] = pickle.dumps({**SYSTEM, "little_endian": False}, 2)
    with pytest.raises(TensorFileError, match="big endian"):
        read_tensor(archived(tmp_path / "a.pt", contents))
    # The form of consecutive pickles is little endian whoever wrote it.
    torch.save(tensor, tmp_path / "b.pt", _use_new_zipfile_serialization=False)
    raw = (tmp_path / "b.pt").read_bytes()
    changed = raw.replace(b"little_endianq\x02\x88", b"little_endianq\x02\x89")
    assert changed != raw
    (tmp_path / "b.pt").write_bytes(changed)
    assert torch.equal(torch.load(tmp_path / "b.pt"), tensor)
    assert torch.equal(read_tensor(tmp_path / "b.pt").torch(), tensor)
