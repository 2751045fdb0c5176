"""The built front end: read once, kept with its compressed form, served by exact name only."""

from __future__ import annotations

import gzip
import mimetypes
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("static")
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8"}

NOT_BUILT = """\
export function render() {
  document.body.style.cssText = 'font: 15px/1.6 system-ui, sans-serif; margin: 48px; max-width: 640px';
  const heading = document.createElement('h2');
  heading.textContent = %(title)s;
  const text = document.createElement('pre');
  text.style.cssText = 'white-space: pre-wrap';
  text.textContent = %(text)s;
  document.body.append(heading, text);
}
"""
HOW_TO_BUILD = (
    "This copy of msprobe-rs was built without its front end, so the viewer is missing.\n\n"
    "In the source tree, build it (Node 20.19, 22.12 or newer) and install again:\n"
    "    make plugin && pip install .\n\n"
    "Until then, `msprobe-rs report FILE.vis.db` prints the answer in the terminal."
)


@dataclass(frozen=True)
class Asset:
    """One file of the front end."""

    body: bytes
    compressed: bytes
    content_type: str
    immutable: bool


def load(folder: Path = FOLDER) -> dict[str, Asset]:
    """All files of the front end by their path below `folder`; a page that tells how to build them if there are none."""
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if (folder / "index.js").is_file() else []
    assets = {path.relative_to(folder).as_posix(): _asset(path, hashed=path.parent != folder) for path in files}
    return assets or {"index.js": message("The viewer is not built", HOW_TO_BUILD)}


def message(title: str, text: str) -> Asset:
    """A module that shows a text instead of the viewer."""
    import json

    body = (NOT_BUILT % {"title": json.dumps(title), "text": json.dumps(text)}).encode()
    return Asset(body, gzip.compress(body, mtime=0), TYPES[".js"], immutable=False)


def _asset(path: Path, *, hashed: bool) -> Asset:
    body = path.read_bytes()
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Asset(body, gzip.compress(body, mtime=0), kind, immutable=hashed)
