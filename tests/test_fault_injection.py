"""The first difference names the node that was made faulty, and nothing where nothing was.

`MSPROBE_FAULT_SEEDS` sets the number of faults and of controls for each recorded pair.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from tests import faults
from tests.conftest import big_data

SEEDS = int(os.environ.get("MSPROBE_FAULT_SEEDS", "10"))
PAIRS = (
    "ckpt_nonreentrant",
    "ckpt_reentrant",
    "gpt2_bf16_vs_fp32",
    "grad_accum3",
    "inplace_relu",
    "kwargs_nested",
    "llama_bf16_vs_fp32",
    "llama_perturbed",
    "model_list",
    "ms_cnn_L0",
    "ms_cnn_mix",
    "ms_decoder_fp16",
    "ms_decoder_mix",
    "resnet18_L0",
    "resnet18_mix",
)


def recorded(pair: str) -> faults.Recorded:
    folder = big_data()
    if folder is None:
        pytest.skip("the recorded results are not there: set MSPROBE_SHARED to their folder")
    return faults.load(folder / "golden" / pair / "compare.json.gz")


def first(path: Path) -> str | None:
    from msprobe import _native

    found: dict[str, str] | None = json.loads(_native.report(path, top=0))["first_difference"]
    return found["node"] if found else None


@pytest.mark.parametrize("pair", PAIRS)
def test_faults_are_named(pair: str, tmp_path: Path) -> None:
    run = recorded(pair)
    missed, above = [], 0
    for seed in range(SEEDS):
        chance = random.Random(f"{pair} {seed}")
        # Sizes from 1e-4 to 10, spread evenly over the logarithm whatever the number of seeds.
        fault = faults.draw(run, chance, 10 ** (-4 + 5 * (seed + chance.random()) / SEEDS))
        faults.write(run, tmp_path / "x.vis.db", chance, fault)
        found = first(tmp_path / "x.vis.db")
        if fault.error > faults.floor(run, fault):
            above += 1
            if found != fault.node:
                missed.append((seed, fault, found))
    assert above > 0
    assert len(missed) <= 0.02 * above, f"{len(missed)} of {above}: {missed[:5]}"


@pytest.mark.parametrize("pair", PAIRS)
def test_controls_are_silent(pair: str, tmp_path: Path) -> None:
    run = recorded(pair)
    false = []
    for seed in range(SEEDS):
        faults.write(run, tmp_path / "x.vis.db", random.Random(f"{pair} control {seed}"), None)
        if found := first(tmp_path / "x.vis.db"):
            false.append((seed, found))
    assert len(false) <= 0.01 * SEEDS, false[:5]
