"""Writes the attack files beside this script. Each is harmless to look at and must cost a reader one clear error."""

import io
import pathlib
import pickle
import struct
import zipfile
from collections.abc import Iterable

HERE = pathlib.Path(__file__).parent
HEAD = b"\x80\x02"
STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x03tQ"
EMPTY = b"ccollections\nOrderedDict\n)R"


def number(value: int) -> bytes:
    return pickle.dumps(value, protocol=2)[2:-1]


def tensor(offset: int = 0, size: tuple[int, ...] = (3,), stride: tuple[int, ...] = (1,), storage: bytes = STORAGE) -> bytes:
    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(number(v) for v in values) + b"t"

    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + numbers(size) + numbers(stride) + b"\x89" + EMPTY + b"tR"


def archive(program: bytes, data: bytes = struct.pack("<3f", 1, 2, 3), method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, content in (("data.pkl", program), ("byteorder", b"little"), ("data/0", data), ("version", b"3\n")):
            z.writestr(zipfile.ZipInfo(f"a/{name}", (1980, 1, 1, 0, 0, 0)), content, method)
    return out.getvalue()


def program(body: bytes) -> bytes:
    return archive(HEAD + body + b".")


def npy(header: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def many_wide_tensors() -> bytes:
    """20,000 tensors of the same 30,000 dimensions."""
    wide = b"(" + b"K\x01" * 30_000 + b"tq\x03"
    made = b"ctorch._utils\n_rebuild_tensor_v2\nq\x01(" + STORAGE + b"K\x00" + wide + b"h\x03\x89Ntq\x02R"
    return made + b"0h\x01h\x02R" * 20_000


def many_long_calls() -> bytes:
    """20,000 calls with the same 30,000 arguments."""
    return b"ccollections\nOrderedDict\nq\x01(" + b"N" * 30_000 + b"tq\x02R" + b"0h\x01h\x02R" * 20_000


def many_look_ups() -> bytes:
    """15,000 tensors with the same metadata of 30,000 entries."""
    made = b"ctorch._utils\n_rebuild_tensor_v2\nq\x01(" + STORAGE + b"K\x00K\x03\x85K\x01\x85\x89N}("
    return made + b"K\x01N" * 30_000 + b"utq\x02R" + b"0h\x01h\x02R" * 15_000 + b"\x85"


def overlapping() -> bytes:
    """The record of data/0 in the directory points into data.pkl's local header."""
    raw = bytearray(archive(HEAD + tensor() + b"."))
    directory = raw.index(b"PK\x01\x02")
    record = raw.index(b"a/data/0", directory) - 46
    raw[record + 42 : record + 46] = struct.pack("<I", 1)
    return bytes(raw)


def bomb() -> bytes:
    """64 MiB of zeros in 64 kB."""
    zeros = 1 << 24
    storage = STORAGE.replace(b"K\x03tQ", number(zeros) + b"tQ")
    return archive(HEAD + tensor(size=(zeros,), storage=storage) + b".", bytes(4 * zeros), zipfile.ZIP_DEFLATED)


def lying_size() -> bytes:
    """A deflated entry that says it is 12 bytes and inflates to 32 kB."""
    raw = bytearray(archive(HEAD + tensor() + b".", bytes(32768), zipfile.ZIP_DEFLATED))
    directory = raw.index(b"PK\x01\x02")
    record = raw.index(b"a/data/0", directory) - 46
    raw[record + 24 : record + 28] = struct.pack("<I", 12)
    return bytes(raw)


# The tar form of torch before 0.2. Keys: tensor 1, storage 2.
TAR_SYSTEM = pickle.dumps({"protocol_version": 1000, "little_endian": True}, 2)
TAR_OBJECT = HEAD + b"U\x011Q."
TAR_STORAGE = HEAD + b"K\x02U\x03cpuctorch\nFloatStorage\n\x87."


def member(name: str, content: bytes, kind: bytes = b"0", size: bytes | None = None) -> bytes:
    """A ustar header and the content in whole blocks; `size` is written instead of the true one."""
    head = bytearray(512)
    head[: len(name)] = name.encode()
    head[124:136] = size or b"%011o\0" % len(content)
    head[148:156] = b" " * 8
    head[156:157] = kind
    head[257:265] = b"ustar\x0000"
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + content + bytes(-len(content) % 512)


def tar_tensors(dims: Iterable[int] = (3,), strides: Iterable[int] = (1,), count: int = 1, ndim: int | None = None) -> bytes:
    sizes, steps = list(dims), list(strides)
    record = HEAD + b"K\x01K\x02ctorch\nFloatTensor\n\x87."
    return pickle.dumps(count, 2) + record + struct.pack(f"<ii{len(sizes + steps) + 1}q", ndim or len(sizes), 0, *sizes, *steps, 0)


def tar_storages(count: int = 1, elements: int = 3, views: Iterable[object] = ()) -> bytes:
    return pickle.dumps(count, 2) + TAR_STORAGE + struct.pack("<q3f", elements, 1, 2, 3) + pickle.dumps(list(views), 2)


def tar(changed: dict[str, bytes] | None = None, first: bytes = b"", last: bytes = bytes(1024)) -> bytes:
    """A sound archive, with other members in place of some, and other bytes around."""
    members = {"sys_info": TAR_SYSTEM, "pickle": TAR_OBJECT, "tensors": tar_tensors(), "storages": tar_storages()} | (changed or {})
    return first + b"".join(member(name, content) for name, content in members.items()) + last


FILES = {
    "os_system.pt": program(b"cos\nsystem\nX\x04\x00\x00\x00true\x85R"),
    "builtins_eval.pt": program(b"cbuiltins\neval\nX\x03\x00\x00\x001+1\x85R"),
    "stack_global.pt": archive(b"\x80\x04\x8c\x05posix\x8c\x06system\x93."),
    "load_from_bytes.pt": program(b"ctorch.storage\n_load_from_bytes\nU\x01x\x85R"),
    "inst_opcode.pt": program(b"(X\x04\x00\x00\x00trueios\nsystem\n"),
    "ext_opcode.pt": program(b"\x82\x01"),
    "call_a_tensor.pt": program(tensor() + b")R"),
    "negative_stride.pt": program(tensor(offset=2, stride=(-1,))),
    "negative_size.pt": program(tensor(size=(-3,))),
    "negative_offset.pt": program(tensor(offset=-1)),
    "huge_shape.pt": program(tensor(size=(1 << 40, 1 << 40), stride=(0, 0))),
    "huge_integer.pt": program(tensor(size=(1 << 100,))),
    "huge_stride.pt": program(tensor(size=(2, 2), stride=((1 << 63) - 1, (1 << 63) - 1))),
    "many_dimensions.pt": program(tensor(size=(1,) * 65, stride=(1,) * 65)),
    "expanded_forever.pt": program(tensor(size=(1 << 40, 2), stride=(0, 0))),
    "memo_loop.pt": program(b"]q\x00" + b"h\x00h\x00a" * 40000),
    "deep_tuples.pt": program(b"N" + b"\x85" * 70000),
    "many_opcodes.pt": program(b"N0" * 140000 + b"N"),
    "many_wide_tensors.pt": program(many_wide_tensors()),
    "many_long_calls.pt": program(many_long_calls()),
    "many_look_ups.pt": program(many_look_ups()),
    "text_of_4_gigabytes.pt": program(b"X\xff\xff\xff\xff"),
    "stack_underflow.pt": program(b"0000"),
    "mark_only.pt": program(b"(((("),
    "overlapping.pt": overlapping(),
    "bomb.pt": bomb(),
    "lying_size.pt": lying_size(),
    "tar_expanded_forever.pt": tar({"tensors": tar_tensors((1 << 40, 2), (0, 0))}),
    "tar_os_system.pt": tar({"pickle": HEAD + b"cos\nsystem\nX\x04\x00\x00\x00true\x85R."}),
    "tar_os_system_in_storages.pt": tar({"storages": HEAD + b"cos\nsystem\nX\x04\x00\x00\x00true\x85R."}),
    "tar_huge_count_of_tensors.pt": tar({"tensors": tar_tensors(count=10**18)}),
    "tar_huge_count_of_storages.pt": tar({"storages": tar_storages(count=10**18)}),
    "tar_count_that_is_not_there.pt": tar({"tensors": tar_tensors(count=60_000)}),
    "tar_huge_storage.pt": tar({"storages": tar_storages(elements=1 << 61)}),
    "tar_negative_storage.pt": tar({"storages": tar_storages(elements=-1)}),
    "tar_huge_dimensions.pt": tar({"tensors": tar_tensors(ndim=1 << 30)}),
    "tar_negative_stride.pt": tar({"tensors": tar_tensors((3,), (-1,))}),
    "tar_view_beyond.pt": tar({"storages": tar_storages(views=[(3, 2, 2, 2)])}),
    "tar_big_endian.pt": tar({"sys_info": pickle.dumps({"little_endian": False}, 2)}),
    "tar_member_beyond.pt": tar(first=member("sys_info", b"", size=b"77777777777\0")),
    "tar_member_of_exbibytes.pt": tar(first=member("sys_info", b"", size=b"\x80\0\0\0\x7f" + b"\xff" * 7)),
    "tar_member_of_negative_size.pt": tar(first=member("sys_info", b"", size=b"\xff" * 12)),
    "tar_pax_member_of_exbibytes.pt": tar(first=member("x", b"28 size=9223372036854775807\n", b"x")),
    "tar_two_members.pt": tar(first=member("pickle", TAR_OBJECT)),
    "tar_many_members.pt": tar(first=member("", b"") * 64),
    "tar_hard_link.pt": tar(first=member("pickle", b"", b"1")),
    "tar_symbolic_link.pt": tar(first=member("pickle", b"", b"2")),
    "tar_device.pt": tar(first=member("pickle", b"", b"3")),
    "tar_sparse.pt": tar(first=member("pickle", b"", b"S")),
    "tar_checksum.pt": tar(first=member("pickle", b"").replace(b"pickle", b"Pickle")),
    "tar_without_end.pt": tar(last=b""),
    "huge_shape.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"),
    "huge_count.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,), }", bytes(16)),
    "negative_shape.npy": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", bytes(16)),
    "code_in_header.npy": npy("{'descr': __import__('os').system('true'), 'fortran_order': False, 'shape': (1,), }", bytes(16)),
    "object.npy": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", pickle.dumps([1])),
    "header_of_4_gigabytes.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
}

if __name__ == "__main__":
    for name, content in FILES.items():
        (HERE / name).write_bytes(content)
