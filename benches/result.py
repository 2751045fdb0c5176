"""What a bench found: its section of BENCHMARKS.md and the raw numbers behind it, kept as `results/<name>.json`."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass
class Table:
    """A table; cells are texts, ready to be shown."""

    columns: list[str]
    rows: list[list[str]]
    title: str = ""


@dataclass
class Result:
    """One section of BENCHMARKS.md."""

    name: str
    """Of the file below `results/`."""
    order: int
    """Place of the section: small numbers first."""
    title: str
    command: str
    """What a reader types to get these numbers again."""
    text: list[str] = field(default_factory=list)
    """Paragraphs before the tables."""
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Paragraphs behind the tables."""
    raw: Any = None
    """The single runs."""
    machine: str = ""
    date: str = ""

    def save(self) -> None:
        """Writes `results/<name>.json`."""
        self.machine = self.machine or machine()
        self.date = self.date or time.strftime("%Y-%m-%d")
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self.name}.json").write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")


def load() -> list[Result]:
    """All results there are, in the order of their sections."""
    results = []
    for path in RESULTS.glob("*.json"):
        fields = json.loads(path.read_text())
        fields["tables"] = [Table(**table) for table in fields["tables"]]
        results.append(Result(**fields))
    return sorted(results, key=lambda result: (result.order, result.name))


def machine() -> str:
    """Processor, cores, memory and system in one line."""
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    cores = sum(line.startswith("processor") for line in Path("/proc/cpuinfo").read_text().splitlines())
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    return f"{cpu}, {cores} cores, {memory:.0f} GiB, Linux {platform.release().split('-')[0]}, Python {platform.python_version()}"


def seconds(value: float) -> str:
    """`0.12 s`, `34.7 s`."""
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def size(count: int) -> str:
    """`532 MB`, `1.92 GB`."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def ratio(ours: float, theirs: float) -> str:
    """How many times less: `8.4 x`, `21 x`."""
    times = theirs / ours
    return f"{times:.1f} x" if times < 10 else f"{times:.0f} x"
