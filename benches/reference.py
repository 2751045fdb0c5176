"""msProbe 26.2 as a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

VENV = Path(__file__).parent / ".venv-reference"
PACKAGE = "mindstudio-probe==26.2.0"


def command() -> str:
    """The command: the one that MSPROBE_REFERENCE names, else that of `benches/.venv-reference`, which is made if missing."""
    if given := os.environ.get("MSPROBE_REFERENCE"):
        return given
    msprobe = VENV / "bin" / "msprobe"
    if not msprobe.exists():
        print(f"installing {PACKAGE} into {VENV}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "--quiet", PACKAGE], check=True)
    return str(msprobe)


def with_torch() -> str:
    """The same command, able to read tensors: torch is installed beside it if it is ours to install, and must be there otherwise."""
    msprobe = command()
    python = Path(msprobe).parent / "python"
    if subprocess.run([python, "-c", "import torch"], check=False, capture_output=True).returncode:
        if os.environ.get("MSPROBE_REFERENCE"):
            raise SystemExit(f"{python} cannot import torch, which msProbe needs to compare tensors")
        subprocess.run([VENV / "bin" / "pip", "install", "--quiet", "torch"], check=True)
    return msprobe
