"""`export`: a finished file as one page."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.conftest import DATA, Command, Run, big_data
from tests.dumps import write

VOID = {"meta", "br", "hr", "link", "img", "input"}


class Page(HTMLParser):
    """Checks that elements nest, and keeps what a reader sees and what a browser would load or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.deepest = 0
        self.text = ""
        self.suspicious: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if tag in ("script", "iframe", "object", "embed", "link", "img", "form", "base") or any(name.startswith("on") for name in names):
            self.suspicious.append(tag)
        if "src" in names or "href" in names:
            self.suspicious.append(tag)
        if tag not in VOID:
            self.open.append(tag)
            self.deepest = max(self.deepest, len(self.open))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def test_page_of_a_recorded_comparison(msprobe: Command, tmp_path: Path) -> None:
    shared = big_data()
    if shared is None:
        pytest.skip("needs the recorded files of MSPROBE_SHARED or ../shared")
    done = msprobe("export", shared / "golden/visdb/compare_statistics.vis.db", "-o", tmp_path / "report.html")
    assert (done.status, done.err) == (0, "")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.suspicious == []
    assert "default-src 'none'" in text
    # As the README of the file counts, and all nodes are in the tree.
    assert re.search(r"9 error\s+26 warning\s+318 pass", page.text)
    assert len(re.findall(r'<i class="[neupw]" title', text)) == 471
    assert "mlp.fc2" in page.text
    assert "comparison (statistics)" in page.text
    assert page.text.count("first difference") >= 1
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o640


def test_names_are_no_html(run: Run, msprobe: Command, tmp_path: Path) -> None:
    name = "Module.a.<script>alert(1)</script>\"'&.forward.0"
    target = write(tmp_path / "rank", {name: None})
    file = run.result(target)
    done = msprobe("export", file, "-o", tmp_path / "report.html")
    assert done.status == 0, done.err
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.suspicious == []
    assert name in page.text


def test_large_files_stay_small_and_shallow(run: Run, msprobe: Command, tmp_path: Path) -> None:
    names = [f"Module.m{at}.M.forward.0" for at in range(30_000)]
    construct: dict[str, str | None] = {name: names[at + 1] if at < 1_000 else None for at, name in enumerate(names)}
    target = write(tmp_path / "rank", construct, {})
    done = msprobe("export", run.result(target), "-o", tmp_path / "report.html")
    assert done.status == 0, done.err
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.deepest < 250
    assert (tmp_path / "report.html").stat().st_size < 6_000_000
    assert "more nodes are in the file" in page.text or "nodes below agree" in page.text


def test_refusals(msprobe: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.vis.db"
    shutil.copy(DATA / "visdb" / "build_overflow.vis.db", file)
    wrong = msprobe("export", file, "-o", tmp_path / "x.pdf")
    assert (wrong.status, len(wrong.error_lines)) == (2, 1)
    assert ".html" in wrong.error_lines[0]
    nowhere = msprobe("export", file, "-o", tmp_path / "no/such/x.html")
    assert (nowhere.status, len(nowhere.error_lines)) == (1, 1)
    missing = msprobe("export", tmp_path / "none.vis.db", "-o", tmp_path / "x.html")
    assert (missing.status, len(missing.error_lines)) == (1, 1)
    file.write_bytes(b"no database")
    assert msprobe("export", file, "-o", tmp_path / "x.html").status == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.vis.db"]
