"""What SQLite itself would take for the same file, and what merely copying it takes."""

from __future__ import annotations

import resource
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from benches import places
from benches.measure import cost
from benches.result import Result, Table, seconds, size


def run() -> Result:
    """Copies the result of the 200-copy comparison in three ways."""
    places.need_disk(5_000_000_000)
    target, golden = places.sides(200)
    places.clear()
    command: list[str | Path] = [places.OURS, "graph_visualize", "-tp", target, "-gp", golden, "-o", places.output()]
    ours = cost(command, 1)
    (file,) = places.output().glob("*.vis.db")
    copy = places.output() / "copy.db"
    found: dict[str, list[float]] = {}
    for _ in range(2):
        for name, step in _steps(file, copy):
            print(name, flush=True)
            found.setdefault(name, []).append(_cpu(step))
        copy.unlink()
        found.setdefault("copying the file", []).append(_cpu(lambda: shutil.copyfile(file, copy)))
        copy.unlink()
    total = size(file.stat().st_size)
    places.clear()
    rows = [["ours: the whole command", seconds(ours.cpu)], *([name, seconds(min(runs))] for name, runs in found.items())]
    return Result(
        name="floor",
        order=60,
        title="The floor: what SQLite and the system take",
        command="python -m benches floor",
        text=[
            f"The file of the 200-copy comparison ({total}) once more, without reading or comparing anything: by SQL (journal and syncing "
            "off, page size as ours), its indexes by SQL, and the bare bytes by the system.",
        ],
        tables=[Table(["", "CPU"], rows)],
        notes=[
            "Which index serves which question, by SQLite's plans for the statements that both viewers send when every one of their "
            "functions is used: `index1` the tree, `index2` a node by its name, `index3` the lists of one side, `index4` the lists of both "
            "sides (msProbe's viewer), `index6` the changed nodes (msProbe's viewer when it saves matches: it holds these alone), `index7` "
            "communication nodes (our writer of links; these alone). No statement of either viewer uses msProbe's `index5` (micro steps), "
            "which our files do without.",
        ],
        raw={"runs": found, "ours": ours.raw()},
    )


def _cpu(step: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_SELF)
    step()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _steps(file: Path, copy: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    db = sqlite3.connect(copy, isolation_level=None)
    db.executescript("PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536")
    db.execute("ATTACH ? AS source", (str(file),))
    schema = db.execute("SELECT type, sql FROM source.sqlite_master WHERE tbl_name = 'tb_nodes' AND sql IS NOT NULL").fetchall()
    for kind, sql in schema:
        if kind == "table":
            db.execute(sql)
    yield (
        "tb_nodes and its primary key by SQL",
        lambda: db.execute("INSERT INTO main.tb_nodes SELECT * FROM source.tb_nodes ORDER BY rowid"),
    )
    indexes = [sql for kind, sql in schema if kind == "index"]
    yield f"its {len(indexes)} indexes by SQL", lambda: [db.execute(sql) for sql in indexes]
    db.close()
