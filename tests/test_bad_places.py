"""Paths, permissions, full disks and violent ends: one line, nothing that looks finished."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import DATA, Command, Run
from tests.dumps import MODULE, names, write

FILES = ["dump.json", "construct.json", "stack.json"]


PLACES = ["with blank", "中文路径", "plus+and'quote", "-leading-dash", "%s%n"]


@pytest.mark.parametrize("place", PLACES)
def test_paths_with_odd_characters(place: str, tmp_path: Path, msprobe: Command) -> None:
    run = Run(msprobe, tmp_path / place / "out")
    folder = write(tmp_path / place / "rank")
    run.result(folder, folder)


def test_home_is_expanded(tmp_path: Path, msprobe: Command) -> None:
    write(tmp_path / "rank")
    done = msprobe("graph_visualize", "-tp", "~/rank", "-gp=~/rank", "-o", "~/out", environment={"HOME": str(tmp_path)})
    assert done.status == 0, done.err
    assert len(list((tmp_path / "out").iterdir())) == 1


def without_override(program: str, folder: Path) -> Command:
    """The command as a user whom permissions bind, even if the tests run as root."""
    if os.geteuid() != 0:
        return Command(program)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.fail("setpriv is missing: install util-linux")
    wrapper = folder / "msprobe-rs"
    wrapper.write_text(f'#!/bin/sh\nexec {setpriv} --bounding-set -dac_override,-dac_read_search "{program}" "$@"\n')
    wrapper.chmod(0o755)
    return Command(str(wrapper))


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_may_not_be_read(name: str, rank: Path, msprobe: Command, tmp_path: Path) -> None:
    (rank / name).chmod(0)
    run = Run(without_override(msprobe.program, tmp_path), tmp_path / "out")
    assert str(rank / name) in run.refused(rank)


def test_a_dump_that_may_only_be_read_is_enough(rank: Path, msprobe: Command, tmp_path: Path) -> None:
    for name in FILES:
        (rank / name).chmod(0o400)
    rank.chmod(0o500)
    run = Run(without_override(msprobe.program, tmp_path), tmp_path / "out")
    run.result(rank, rank)
    rank.chmod(0o700)


def test_an_output_folder_that_may_not_be_written(rank: Path, msprobe: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o500)
    assert str(out) in Run(without_override(msprobe.program, tmp_path), out).refused(rank)


def test_a_file_in_the_place_of_the_output_folder(rank: Path, msprobe: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("mine")
    done = Run(msprobe, out)(rank)
    assert done.status == 1
    assert len(done.err.splitlines()) == 1
    assert str(out) in done.err
    assert out.read_text() == "mine"


def test_an_input_that_is_a_file_or_nowhere(rank: Path, run: Run, tmp_path: Path) -> None:
    assert "dump.json" in run.refused(rank / "dump.json")
    assert "nowhere" in run.refused(rank, tmp_path / "nowhere")


def test_without_input_no_folder_is_made(rank: Path, run: Run, tmp_path: Path) -> None:
    run.refused(tmp_path / "nowhere")
    run.refused(rank, tmp_path / "nowhere")
    assert not run.out.exists()


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 3)


def overwrite(file: Path) -> None:
    with file.open("r+b") as bytes_of_it:
        bytes_of_it.write("中".encode() * (file.stat().st_size // 3))


@pytest.mark.parametrize("change", [cut, overwrite])
def test_a_dump_that_changes_while_it_is_read(change: Callable[[Path], None], msprobe: Command, tmp_path: Path) -> None:
    apis = {f"Torch.add.{number}.forward": MODULE for number in range(20_000)}
    whole = write(tmp_path / "whole", {MODULE: None, **apis}) / "dump.json"
    folder, out = tmp_path / "rank", tmp_path / "out"
    words = [msprobe.program, "graph_visualize", "-tp", str(folder), "-gp", str(folder), "-o", str(out), "--quiet"]
    for wait in (0, 0.05, 0.1, 0.2, 0.3, 0.5):
        shutil.copytree(whole.parent, folder)
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while running.poll() is None and not (out.is_dir() and any(file.suffix == ".partial" for file in out.iterdir())):
            time.sleep(0.005)
        time.sleep(wait)
        change(folder / "dump.json")
        _, error = running.communicate(timeout=60)
        assert running.returncode in (0, 1), error
        if running.returncode:
            assert len(error.splitlines()) == 1, error
            assert "dump.json" in error
            assert not list(out.iterdir())
        shutil.rmtree(folder)
        shutil.rmtree(out)


def test_a_fifo_does_not_block(rank: Path, run: Run) -> None:
    (rank / "stack.json").unlink()
    os.mkfifo(rank / "stack.json")
    assert str(rank / "stack.json") in run.refused(rank)


LLAMA = DATA / "dumps" / "llama_perturbed" / "target" / "step0" / "rank0"
GOLDEN = DATA / "dumps" / "llama_perturbed" / "golden" / "step0" / "rank0"


def test_a_file_size_limit(msprobe: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = f'ulimit -f 100; exec "{msprobe.program}" graph_visualize -tp "{LLAMA}" -o "{out}"'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(out) in done.stderr
    assert not list(out.iterdir())


def test_a_file_size_limit_wherever_it_is_met(msprobe: Command, tmp_path: Path) -> None:
    words = f'"{msprobe.program}" graph_visualize --quiet -tp "{LLAMA}" -gp "{GOLDEN}" -o'
    whole = Run(msprobe, tmp_path / "whole").result(LLAMA, GOLDEN).stat().st_size
    for short in (0, 1, 8, 32, 64, 128, 256, 512):
        out = tmp_path / f"short{short}"
        line = f'ulimit -f {(whole + 1023) // 1024 - short}; exec {words} "{out}"'
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)
        if short == 0:
            assert done.returncode == 0, done.stderr
            continue
        assert done.returncode == 1, (short, done.stderr)
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"error: {out}")
        assert not list(out.iterdir())


def test_a_late_signal_leaves_nothing(msprobe: Command, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace, which can slow one system call down")
    slowly = ["strace", "-f", "-o", os.devnull, "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=1500000"]
    out = tmp_path / "out"
    words = [*slowly, msprobe.program, "graph_visualize", "--quiet", "-tp", str(LLAMA), "-o", str(out)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while not list(tmp_path.glob("out/*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        # The file is written by now or soon, and waits for the disk.
        time.sleep(0.7)
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGINT)
        assert process.stderr
        told = process.stderr.read()
    assert process.returncode == 130, told
    assert "nothing was left behind" in told
    assert not list(out.iterdir())


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 kB; needs the right to mount."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", place], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here; test_a_file_size_limit stands for it")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk(tiny_disk: Path, msprobe: Command) -> None:
    assert str(tiny_disk) in Run(msprobe, tiny_disk / "out").refused(LLAMA)


def test_a_violent_end_leaves_no_file_that_looks_finished(msprobe: Command, tmp_path: Path) -> None:
    step = tmp_path / "step0"
    step.mkdir()
    for number in range(60):
        (step / f"rank{number}").symlink_to(LLAMA)
    out = tmp_path / "out"
    words = [msprobe.program, "graph_visualize", "-tp", str(step), "-gp", str(step), "-o", str(out)]
    started = time.monotonic()
    subprocess.run(words, check=True, capture_output=True)
    whole = time.monotonic() - started
    (finished,) = out.iterdir()
    rows = len(names(finished))
    finished.unlink()
    dice = random.Random(7)
    killed = 0
    for _ in range(12):
        running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0, whole))
        running.send_signal(signal.SIGKILL)
        running.wait()
        killed += running.returncode == -signal.SIGKILL
        for file in out.glob("*.vis.db"):
            assert len(names(file)) == rows
            file.unlink()
    assert killed > 3
