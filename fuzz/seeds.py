"""Makes the seed corpus of the fuzz targets from the files in `tests/data`: `python3 fuzz/seeds.py`.

Files go to `fuzz/corpus/<target>`, named by their content, so that running it again changes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

FUZZ = Path(__file__).parent
DATA = FUZZ.parent / "tests" / "data"
LARGEST_SEED = 16_384
"""Bytes. Larger seeds slow the fuzzer down and cover nothing new."""
ENTRIES_PER_DUMP = 8
TAR_MEMBERS = ("sys_info", "pickle", "tensors", "storages")


FIRST_ROWS = ("SELECT * FROM tb_config", "SELECT * FROM tb_nodes LIMIT 4", "SELECT * FROM tb_stack LIMIT 4")
"""Queries of the tables in the order of their numbers."""


def seeds() -> Iterator[tuple[str, bytes]]:
    """Target and content of every seed."""
    for path in sorted(DATA.glob("visdb/*.vis.db")):
        yield "result_file", b"\0" + path.read_bytes()[:LARGEST_SEED]
        yield "result_file", b"\1" + b"\xff".join(rows(path))
    for path in sorted(DATA.glob("**/mapping*.yaml")):
        yield "mapping_file", path.read_bytes()
    yield from tensors()
    for file in ("dump", "construct", "stack"):
        for path in sorted(DATA.glob(f"**/{file}.json")):
            content = path.read_bytes()
            if len(content) > LARGEST_SEED:
                continue
            yield f"{file}_file", content
            if file == "dump":
                yield from entries(content)


def tensors() -> Iterator[tuple[str, bytes]]:
    """Sound, odd and hostile tensor files, and the pickles in them."""
    for path in sorted(DATA.glob("**/*.pt")):
        content = path.read_bytes()
        if len(content) <= LARGEST_SEED:
            yield "pt_file", content
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    if entry.filename.endswith("data.pkl") and entry.file_size <= LARGEST_SEED:
                        with contextlib.suppress(zipfile.BadZipFile):
                            yield "pt_pickle", archive.read(entry)
        with contextlib.suppress(tarfile.TarError, ValueError), tarfile.open(path, "r:") as members:
            contents = {member.name: members.extractfile(member) for member in members if member.isfile()}
            yield "pt_tar", b"|tar".join(content.read() if (content := contents.get(name)) else b"" for name in TAR_MEMBERS)
    for path in sorted(DATA.glob("**/*.npy")):
        content = path.read_bytes()
        if len(content) < LARGEST_SEED:
            yield "npy_file", b"\0" + content
            yield "npy_file", b"\1" + content


def entries(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The first entries of a dump.json, alone and under their names."""
    data = json.loads(content).get("data", {})
    for name, entry in list(data.items())[:ENTRIES_PER_DUMP]:
        text = json.dumps(entry)
        yield "json_value", text.encode()
        yield "rows", f"{name}\n{text}".encode()


def rows(path: Path) -> Iterator[bytes]:
    """The first rows of a result file's tables, as the target `result_file` reads them."""
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as connection:
        for number, query in enumerate(FIRST_ROWS):
            for row in connection.execute(query):
                yield bytes([number]) + b"\xfe".join(map(cell, row))


def cell(value: int | str | None) -> bytes:
    """A cell with its type in front."""
    if isinstance(value, int):
        return b"i" + value.to_bytes(8, "big", signed=True)
    return b"" if value is None else b"t" + value.encode()


def main() -> None:
    """Writes the corpus and says how much there is."""
    count = 0
    for target, content in seeds():
        folder = FUZZ / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(content).hexdigest()).write_bytes(content)
        count += 1
    sys.stdout.write(f"{count} seeds in {FUZZ / 'corpus'}\n")


if __name__ == "__main__":
    main()
