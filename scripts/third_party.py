"""Writes THIRD-PARTY.md: every crate that is linked into the wheel, with its licence.

usage: third_party.py [--check]

With --check nothing is written; the exit status is 1 if the file is out of date or a licence is not allowed by deny.toml.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "THIRD-PARTY.md"

HEAD = """\
# Third-party software

The wheel of msprobe-rs links these Rust crates. Where a crate offers several licences, any one of them may be chosen; the texts lie
in the crates' own sources. SQLite, compiled into `libsqlite3-sys`, is in the public domain.

| crate | version | licence |
|---|---|---|
"""


def linked_crates() -> list[dict[str, Any]]:
    """The crates that the extension module is built from, ours left out, by name and version."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    links = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    ours = set(metadata["workspace_members"])
    waiting, seen = [name for name in ours if packages[name]["name"] == "msprobe-py"], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [link["pkg"] for link in links[name] if any(kind["kind"] is None for kind in link["dep_kinds"])]
    return sorted((packages[name] for name in seen - ours), key=lambda package: (package["name"], package["version"]))


def allowed() -> set[str]:
    """The licences that deny.toml allows."""
    text = (ROOT / "deny.toml").read_text()
    block = re.search(r"^allow = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    if block is None:
        sys.exit("deny.toml: no list `allow`")
    return set(re.findall(r'"([^"]+)"', block[1]))


def acceptable(expression: str, licences: set[str]) -> bool:
    """Whether an SPDX expression can be satisfied with the licences."""
    tokens = re.findall(r"\(|\)|\bOR\b|\bAND\b|/|[\w.+-]+(?: WITH [\w.-]+)?", expression)
    words = [{"OR": "or", "/": "or", "AND": "and", "(": "(", ")": ")"}.get(t, str(t in licences)) for t in tokens]
    return bool(eval(" ".join(words), {"__builtins__": {}}))


def main() -> None:
    """Writes or checks the list."""
    crates = linked_crates()
    refused = [f"{crate['name']} {crate['license']}" for crate in crates if not acceptable(crate["license"] or "", allowed())]
    if refused:
        sys.exit(f"licences that deny.toml does not allow: {', '.join(refused)}")
    rows = [f"| {c['name']} | {c['version']} | {c['license']} |\n" for c in crates]
    text = HEAD + "".join(rows)
    if sys.argv[1:] != ["--check"]:
        LIST.write_text(text)
    elif LIST.read_text() != text:
        sys.exit("THIRD-PARTY.md is out of date: run scripts/third_party.py")


if __name__ == "__main__":
    main()
