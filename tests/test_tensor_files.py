"""Files that torch, NumPy and ml_dtypes write here and now are read back equal, bit by bit, and compare as equal."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from msprobe.tensors import TensorData, TensorFileError, compare_tensors, read_tensor, tensor_info

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
"""torch warns of prototypes and of its own deprecations."""

ZIP, LEGACY = True, False


def dtypes() -> Iterator[torch.dtype]:
    """Every element type of this torch that it can put into a tensor and into a file."""
    found = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    for dtype in sorted(found, key=str):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.save(torch.empty(1, dtype=dtype), io.BytesIO())
        except (RuntimeError, AttributeError, KeyError, TypeError, NotImplementedError):
            continue
        yield dtype


SAVED = list(dtypes())
NAMES_OF_BITS = {"bits16": "uint16", "bits8": "uint8", "bits1x8": "uint8", "bits2x4": "uint8", "bits4x2": "uint8"}


def filled(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """A tensor of every byte value there is; booleans are 0 or 1."""
    count = int(np.prod(shape)) * torch.empty(0, dtype=dtype).element_size()
    raw = torch.arange(count, dtype=torch.int64).mul(37).remainder(2 if dtype == torch.bool else 256).to(torch.uint8)
    return raw.view(dtype).reshape(shape)


def plain_bytes(tensor: torch.Tensor) -> bytes:
    """The elements, row-major, as torch itself lays them out."""
    return bytes(tensor.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8).tolist())


def saved(path: Path, thing: Any, form: bool = ZIP) -> Path:
    torch.save(thing, path, _use_new_zipfile_serialization=form)
    return path


def test_the_types_are_many() -> None:
    assert {torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.uint64, torch.complex32, torch.bool} <= set(SAVED)
    assert len(SAVED) >= 20


@pytest.mark.parametrize("form", [ZIP, LEGACY], ids=["zip", "legacy"])
@pytest.mark.parametrize("dtype", SAVED, ids=str)
def test_every_type_that_torch_saves(dtype: torch.dtype, form: bool, tmp_path: Path) -> None:
    tensor = filled(dtype, 3, 5, 2)
    path = saved(tmp_path / "a.pt", tensor, form)
    info, data = tensor_info(path), read_tensor(path)
    name = str(dtype).removeprefix("torch.")
    assert info.dtype == NAMES_OF_BITS.get(name, name)
    assert (info.shape, info.strides, info.offset) == ((3, 5, 2), (10, 2, 1), 0)
    if dtype == torch.float4_e2m1fn_x2:
        assert (data.dtype, data.shape) == ("float4_e2m1fn", (3, 5, 2, 2))
        assert data.data == bytes(half for pair in plain_bytes(tensor) for half in (pair & 15, pair >> 4))
    else:
        assert data.shape == (3, 5, 2)
        assert data.data == plain_bytes(tensor)
    found = compare_tensors(path, path)
    assert (found.equal, found.largest_at, found.ulp) == (1, None, 0)


SMALL_FLOATS = [dtype for dtype in SAVED if dtype.is_floating_point and dtype.itemsize < 4 and dtype != torch.float4_e2m1fn_x2]


@pytest.mark.parametrize("dtype", SMALL_FLOATS, ids=str)
def test_every_code_of_the_small_floats_means_what_torch_means(dtype: torch.dtype, tmp_path: Path) -> None:
    size = dtype.itemsize
    codes = torch.arange(256**size, dtype=torch.int64).to(torch.uint16 if size == 2 else torch.uint8).view(dtype)
    target = saved(tmp_path / "t.pt", codes)
    golden = saved(tmp_path / "g.pt", codes.to(torch.float32))
    found = compare_tensors(target, golden)
    # The places of NaN and infinity agree, and no number differs.
    assert (found.metrics["MaxAbsErr"], found.metrics["EucDist"]) == (0.0, 0.0)
    wide = codes.to(torch.float32)
    assert found.nan == (int(wide.isnan().sum()),) * 2
    assert found.inf == (int(wide.isinf().sum()),) * 2


def base() -> torch.Tensor:
    return torch.arange(120, dtype=torch.float32).reshape(4, 5, 6) - 17.25


VIEWS: dict[str, Callable[[], torch.Tensor]] = {
    "transposed": lambda: base().permute(2, 0, 1),
    "slice": lambda: base()[1:, ::2, 1:-1],
    "offset": lambda: base()[2, 3, 4:],
    "one element of many": lambda: base()[3, 4, 5],
    "expanded": lambda: base()[:, :1, :].expand(4, 7, 6),
    "expanded number": lambda: torch.tensor(2.5).expand(3, 3),
    "channels last": lambda: torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    "overlapping windows": lambda: torch.arange(10.0).unfold(0, 4, 1),
    "as strided": lambda: base().as_strided((3, 2), (7, 11), 5),
    "flipped": lambda: base().flip(0),
    "0-d": lambda: torch.tensor(-3.5),
    "empty": lambda: torch.empty(0, 3),
    "empty in the middle": lambda: torch.empty(2, 0, 5),
    "65536 elements": lambda: torch.randn(2, 3, 1 << 14),
    "mapped and strided": lambda: torch.randn(300, 301).t()[::3],
    "requires grad": lambda: base().requires_grad_(),
    "result of an operation": lambda: 2 * base().requires_grad_(),
    "parameter": lambda: torch.nn.Parameter(base()),
    "parameter without grad": lambda: torch.nn.Parameter(torch.arange(5), requires_grad=False),
    "buffer": lambda: torch.nn.Buffer(base()),
    "conjugated": lambda: torch.randn(3, 4, dtype=torch.complex64).conj(),
    "conjugated, strided": lambda: torch.randn(3, 4, dtype=torch.complex128).t().conj(),
    "negated": lambda: torch.randn(3, 4, dtype=torch.complex64).conj().imag,
    "real part": lambda: torch.randn(3, 4, dtype=torch.complex64).real,
    "view of bits": lambda: torch.randn(4, 4).view(torch.int32),
    "numpy memory": lambda: torch.from_numpy(np.arange(12, dtype=np.int16).reshape(3, 4)),
}


@pytest.mark.parametrize("form", [ZIP, LEGACY], ids=["zip", "legacy"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_and_the_like(name: str, form: bool, tmp_path: Path) -> None:
    tensor = VIEWS[name]()
    data = read_tensor(saved(tmp_path / "a.pt", tensor, form))
    assert data.shape == tuple(tensor.shape)
    assert data.data == plain_bytes(tensor)
    assert torch.equal(data.torch(), tensor.detach())


def test_attributes_of_a_tensor_are_passed_over(tmp_path: Path) -> None:
    tensor = base()
    tensor.note = {"why": ["nested", ("things", 1.5)]}
    assert torch.equal(read_tensor(saved(tmp_path / "a.pt", tensor)).torch(), tensor)


def test_a_view_of_a_storage_that_others_share(tmp_path: Path) -> None:
    whole = torch.arange(1000.0)
    one, other = whole[10:20], whole[500:600:7]
    assert torch.equal(read_tensor(saved(tmp_path / "a.pt", one)).torch(), one)
    assert torch.equal(read_tensor(saved(tmp_path / "b.pt", other)).torch(), other)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol(protocol: int, tmp_path: Path) -> None:
    torch.save(base(), tmp_path / "a.pt", pickle_protocol=protocol)
    assert torch.equal(read_tensor(tmp_path / "a.pt").torch(), base())


def test_a_deflated_archive(tmp_path: Path) -> None:
    stored = saved(tmp_path / "a.pt", torch.randn(100, 100))
    with zipfile.ZipFile(stored) as source, zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as packed:
        for entry in source.namelist():
            packed.writestr(entry, source.read(entry))
    assert read_tensor(tmp_path / "b.pt") == read_tensor(stored)


@pytest.fixture(scope="module")
def mesh() -> Iterator[Any]:
    """Two processes of which there is one: nothing is ever sent."""
    distributed = pytest.importorskip("torch.distributed")
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    distributed.init_process_group("fake", store=fake.FakeStore(), rank=0, world_size=2)
    yield pytest.importorskip("torch.distributed.device_mesh").init_device_mesh("cpu", (2,))
    distributed.destroy_process_group()


@pytest.mark.parametrize("form", [ZIP, LEGACY], ids=["zip", "legacy"])
@pytest.mark.parametrize("kind", ["Shard", "Replicate", "Partial"])
@pytest.mark.parametrize("wrapped", [False, True], ids=["tensor", "parameter"])
def test_of_a_distributed_tensor_the_local_part_is_read(mesh: Any, kind: str, wrapped: bool, form: bool, tmp_path: Path) -> None:
    spread = pytest.importorskip("torch.distributed.tensor")
    local = base()[1:, ::2].to(torch.bfloat16)
    placement = spread.Shard(1) if kind == "Shard" else getattr(spread, kind)()
    tensor = spread.DTensor.from_local(local, mesh, [placement], run_check=False)
    path = saved(tmp_path / "a.pt", torch.nn.Parameter(tensor) if wrapped else tensor, form)
    assert torch.equal(read_tensor(path).torch(), local)


NOT_A_TENSOR: dict[str, Callable[[], Any]] = {
    "a dict": lambda: {"weight": base(), "nested": [base(), {"deep": base()}]},
    "a list": lambda: [base(), base()],
    "None": lambda: None,
    "a number": lambda: 1.5,
    "text": lambda: "text",
    "torch.nn.modules.linear.Linear": lambda: torch.nn.Linear(2, 2),
    "sparse": lambda: torch.eye(3).to_sparse(),
    "quantized": lambda: torch.quantize_per_tensor(base(), 0.1, 0, torch.qint8),
    "nested": lambda: torch.nested.nested_tensor([base(), base()[1:]]),
    "nested tensors": lambda: torch.nested.nested_tensor([base(), base()[1:]], layout=torch.jagged),
    "meta": lambda: torch.empty(3, device="meta"),
}


@pytest.mark.parametrize("form", [ZIP, LEGACY], ids=["zip", "legacy"])
@pytest.mark.parametrize("name", NOT_A_TENSOR)
def test_what_is_no_tensor_is_refused_by_name(name: str, form: bool, tmp_path: Path) -> None:
    path = saved(tmp_path / "a.pt", NOT_A_TENSOR[name](), form)
    with pytest.raises(TensorFileError) as refused:
        read_tensor(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert name in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_script_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("model/data.pkl", b"\x80\x02N.")
        archive.writestr("model/version", b"3\n")
        archive.writestr("model/constants.pkl", b"\x80\x02).")
        archive.writestr("model/code/__torch__.py", b"")
    with pytest.raises(TensorFileError, match="TorchScript"):
        read_tensor(tmp_path / "a.pt")


# NumPy

NUMPY = [*"?bBhHiIqQefdFD", ">i4", ">f2", ">f4", ">f8", ">c8", ">c16"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("code", NUMPY)
def test_every_type_of_numpy(code: str, order: Any, tmp_path: Path) -> None:
    dtype = np.dtype(code)
    raw: Any = np.arange(24 * dtype.itemsize) * 37 % (2 if code == "?" else 256)
    array = np.asarray(raw.astype(np.uint8).view(dtype).reshape(2, 3, 4), order=order)
    np.save(tmp_path / "a.npy", array)
    data = read_tensor(tmp_path / "a.npy")
    assert (data.shape, data.dtype) == ((2, 3, 4), dtype.newbyteorder("=").name)
    assert data.data == array.astype(dtype.newbyteorder("=")).tobytes("C")
    info = tensor_info(tmp_path / "a.npy")
    assert (info.container, info.big_endian) == ("npy", code.startswith(">"))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_npy(version: tuple[int, int], tmp_path: Path) -> None:
    array: Any = np.arange(6, dtype=np.float32).reshape(2, 3)
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array(file, array, version)
    assert np.array_equal(read_tensor(tmp_path / "a.npy").numpy(), array)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2)])
def test_odd_shapes_of_npy(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.full(shape, 7, np.int64))
    data = read_tensor(tmp_path / "a.npy")
    assert data.shape == shape
    assert np.array_equal(data.numpy(), np.full(shape, 7))


EXTENSIONS = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize("name", EXTENSIONS)
def test_types_of_ml_dtypes(name: str, tmp_path: Path) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    codes = np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    np.save(tmp_path / "t.npy", codes)
    np.save(tmp_path / "g.npy", codes.astype(np.float32))
    # The file says only how many bytes an element has; the dump says the rest.
    data = read_tensor(tmp_path / "t.npy", name)
    assert data.dtype == name
    assert data.data == codes.tobytes()
    assert data.numpy().dtype == dtype
    found = compare_tensors(tmp_path / "t.npy", tmp_path / "g.npy", target_dtype=name)
    assert (found.metrics["MaxAbsErr"], found.metrics["EucDist"]) == (0.0, 0.0)


def test_a_tensor_of_torch_against_an_array_of_numpy(tmp_path: Path) -> None:
    tensor = torch.randn(10, 20)
    np.save(tmp_path / "g.npy", tensor.numpy().T.copy().T)
    assert compare_tensors(saved(tmp_path / "t.pt", tensor), tmp_path / "g.npy").equal == 1


# The entry points


def test_the_limit(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.pt", torch.zeros(1).expand(1000))
    assert len(read_tensor(path, limit=4000).data) == 4000
    with pytest.raises(TensorFileError, match="4000 bytes"):
        read_tensor(path, limit=3999)


def test_numbers_against_those_of_torch(tmp_path: Path) -> None:
    torch.manual_seed(0)
    golden = torch.randn(50, 60)
    target = golden + torch.randn(50, 60) / 1000
    found = compare_tensors(saved(tmp_path / "t.pt", target), saved(tmp_path / "g.pt", golden))
    n, b = target.double(), golden.double()
    relative = ((target - golden) / golden).abs()
    metrics = found.metrics
    assert metrics["EucDist"] == pytest.approx(float((n - b).norm()), rel=1e-12)
    assert metrics["Cosine"] == pytest.approx(float((n * b).sum() / n.norm() / b.norm()), abs=1e-6)
    assert metrics["MaxAbsErr"] == round(float((n - b).abs().max()), 12)
    assert metrics["MaxRelativeErr"] == round(float(relative.max()), 12)
    assert metrics["One Thousandth Err Ratio"] == round(float((relative < 0.001).double().mean()), 12)
    assert found.largest_at == tuple(int(i) for i in np.unravel_index(int((n - b).abs().argmax()), (50, 60)))


def test_words_and_reasons(tmp_path: Path) -> None:
    one, other = saved(tmp_path / "a.pt", torch.ones(2)), saved(tmp_path / "b.pt", torch.ones(3))
    found = compare_tensors(one, other)
    assert found.metrics["Cosine"] == "shape unmatched"
    assert found.reason == "shape [2] vs [3]"
    assert found.equal is None
    assert found.message == "Shape of NPU and bench tensor do not match. Skipped."


@pytest.mark.parametrize("function", [tensor_info, read_tensor, lambda path: compare_tensors(path, path)])
def test_errors_name_the_file(function: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "missing.pt"
    with pytest.raises(TensorFileError) as refused:
        function(path)
    assert str(refused.value) == f"{path}: the file does not exist"


def test_packed_floats_become_an_array(tmp_path: Path) -> None:
    packed = torch.arange(256, dtype=torch.int64).to(torch.uint8).view(torch.float4_e2m1fn_x2)
    array = read_tensor(saved(tmp_path / "a.pt", packed)).numpy()
    assert array.shape == (256, 2)
    # The sixteen numbers of the format.
    values = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert array.astype(np.float32)[:16, 0].tolist() == [*values, *(-value for value in values)]


@pytest.mark.parametrize("name", ["float8_e9m9", "complex7"])
def test_types_that_do_not_exist(name: str) -> None:
    data = TensorData(name, (1,), b"\0")
    with pytest.raises(TypeError, match=name):
        data.numpy()
    with pytest.raises(TypeError, match=name):
        data.torch()


def test_information_is_json_when_asked(tmp_path: Path) -> None:
    info = tensor_info(saved(tmp_path / "a.pt", base().permute(1, 2, 0)))
    assert json.loads(json.dumps(vars(info))) == {
        "dtype": "float32",
        "shape": [5, 6, 4],
        "strides": [6, 1, 30],
        "offset": 0,
        "container": "pt",
        "big_endian": False,
    }
