"""Records faults in real training steps with msProbe 26.2, one step folder each, and packs them as tests/data/faults.tar.xz.

    pip install mindstudio-probe==26.2.0 torch
    python -m tests.capture.record_faults

Step 0 is the golden run; every other step starts from the same weights and data and has one fault. `faults.json` in the archive says
which, and the module where it is.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.capture.networks import Convolutional, Transformer

ARCHIVE = Path(__file__).parents[1] / "data" / "faults.tar.xz"

Setting = Callable[[Any, dict[str, Any]], object]
"""Changes the network, or the training: `inputs`, `labels`, `smoothing`, `loss_scale`."""


@dataclass(frozen=True)
class Fault:
    """What is wrong, and the module that the report has to name; empty: the whole network, or the loss."""

    what: str
    module: str
    make: Setting


def scaled(path: str, factor: float) -> Setting:
    """A parameter with noise of that relative size."""

    def make(net: Any, _: dict[str, Any]) -> None:
        parameter = net.get_parameter(path)
        generator = torch.Generator().manual_seed(7)
        parameter.data *= 1 + factor * torch.randn(parameter.shape, generator=generator)

    return make


def element(path: str, place: tuple[int, ...], value: float) -> Setting:
    def make(net: Any, _: dict[str, Any]) -> None:
        net.get_parameter(path).data[place] = value

    return make


def attribute(module: str, name: str, value: Any) -> Setting:
    return lambda net, _: setattr(net.get_submodule(module), name, value)


def trained(name: str, change: Callable[[Any], Any]) -> Setting:
    def make(_: Any, training: dict[str, Any]) -> None:
        training[name] = change(training[name])

    return make


def turned(path: str) -> Setting:
    """The same numbers at other places: no statistic of the parameter shows it."""

    def make(net: Any, _: dict[str, Any]) -> None:
        parameter = net.get_parameter(path)
        parameter.data = parameter.data.flip(0, 1).contiguous()

    return make


def other_token(ids: torch.Tensor) -> torch.Tensor:
    changed = ids.clone()
    changed[0, 3] = 63 - changed[0, 3]
    return changed


NOTHING = Fault("nothing", "", lambda *_: None)
TRANSFORMER = [
    NOTHING,
    Fault("the same again", "", lambda *_: None),
    Fault("weight with 5 % noise", "layers.1.mlp.fc2", scaled("layers.1.mlp.fc2.weight", 0.05)),
    Fault("weight with 0.01 % noise", "layers.0.attn.k", scaled("layers.0.attn.k.weight", 1e-4)),
    Fault("one element of a weight", "layers.0.attn.q", element("layers.0.attn.q.weight", (3, 5), 0.9)),
    Fault("weight turned around", "layers.0.attn.v", turned("layers.0.attn.v.weight")),
    Fault("one row of the embedding", "emb", lambda net, _: net.emb.weight.data[5].mul_(1.1)),
    Fault("weight of the head with 0.1 % noise", "head", scaled("head.weight", 1e-3)),
    Fault("scale of the last norm with 1 % noise", "norm", scaled("norm.weight", 0.01)),
    Fault("infinity in a weight", "layers.0.mlp.fc1", element("layers.0.mlp.fc1.weight", (0, 0), float("inf"))),
    Fault("NaN in a bias", "layers.1.attn.proj", element("layers.1.attn.proj.bias", (4,), float("nan"))),
    Fault("dropped bias", "layers.1.attn.proj", attribute("layers.1.attn.proj", "bias", None)),
    Fault("wrong epsilon", "layers.0.ln2", attribute("layers.0.ln2", "eps", 0.1)),
    Fault("epsilon 1e-6 instead of 1e-5", "layers.1.ln1", attribute("layers.1.ln1", "eps", 1e-6)),
    Fault("NaN put into an activation", "layers.1.mlp", attribute("layers.1.mlp", "spoil", float("nan"))),
    Fault("infinity put into an activation", "layers.0.mlp", attribute("layers.0.mlp", "spoil", float("inf"))),
    Fault("tanh approximation of gelu", "layers.1.mlp", attribute("layers.1.mlp", "approximate", "tanh")),
    Fault("relu instead of gelu", "layers.0.mlp", attribute("layers.0.mlp", "relu", True)),
    Fault("attention scale", "layers.1.attn", attribute("layers.1.attn", "scale", 1 / 3)),
    Fault("mask shows one position more", "layers.0.attn", attribute("layers.0.attn", "diagonal", 2)),
    Fault("cast to bfloat16 and back", "layers.1.attn", attribute("layers.1.attn", "half", True)),
    Fault("residual branch scaled", "layers.0", attribute("layers.0", "residual", 0.9)),
    Fault("dropout with another probability", "layers.1.drop", attribute("layers.1.drop", "p", 0.2)),
    Fault("dropout with another seed", "layers.0.drop", attribute("", "noise_seed", 9)),
    Fault("scaled gradient", "layers.0.mlp", attribute("layers.0.mlp", "gradient", 1.5)),
    Fault("another input", "emb", trained("inputs", other_token)),
    Fault("another label", "", trained("labels", other_token)),
    Fault("label smoothing", "", trained("smoothing", lambda _: 0.1)),
    Fault("loss scaled", "", trained("loss_scale", lambda _: 2.0)),
]
CONVOLUTIONAL = [
    NOTHING,
    Fault("weight with 2 % noise", "units.1.conv", scaled("units.1.conv.weight", 0.02)),
    Fault("bias moved", "units.2.conv", lambda net, _: net.units[2].conv.bias.data.add_(0.01)),
    Fault("kernels turned around", "units.1.conv", turned("units.1.conv.weight")),
    Fault("epsilon of a batch norm", "units.1.bn", attribute("units.1.bn", "eps", 1e-3)),
    Fault("batch norm in evaluation mode", "units.0.bn", lambda net, _: net.units[0].bn.eval()),
    Fault("average instead of largest", "units.1", attribute("units.1", "average", True)),
    Fault("leaky relu", "units.2", attribute("units.2", "leak", 0.01)),
    Fault("images scaled by 1.001", "", trained("inputs", lambda images: images * 1.001)),
    Fault("dropped bias of a convolution", "units.0.conv", attribute("units.0.conv", "bias", None)),
]
NETWORKS: dict[str, tuple[type[nn.Module], list[Fault]]] = {
    "transformer": (Transformer, TRANSFORMER),
    "convolutional": (Convolutional, CONVOLUTIONAL),
}


def record(name: str, folder: Path) -> None:
    """All steps of one network; msProbe allows one dump folder per process."""
    from msprobe.pytorch import PrecisionDebugger

    torch.set_num_threads(1)
    torch.manual_seed(0)
    kind, faults = NETWORKS[name]
    net = kind()
    state, settings = copy.deepcopy(net.state_dict()), [dict(vars(module)) for module in net.modules()]
    parameters = [dict(module._parameters) for module in net.modules()]
    inputs = torch.randint(0, 64, (2, 8)) if name == "transformer" else torch.randn(4, 3, 16, 16)
    labels = torch.randint(0, 64, (2, 8)) if name == "transformer" else torch.randint(0, 10, (4,))
    config = folder / "config.json"
    config.write_text(
        json.dumps(
            {
                "task": "statistics",
                "dump_path": str(folder / name),
                "rank": [],
                "step": [],
                "level": "mix",
                "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"},
            }
        )
    )
    debugger = PrecisionDebugger(config_path=str(config))
    for fault in faults:
        for module, before, held in zip(net.modules(), settings, parameters, strict=True):
            for key, value in before.items():
                if isinstance(value, (bool, int, float, str, type(None))):
                    setattr(module, key, value)
            module._parameters.update(held)
        net.load_state_dict(state)
        net.zero_grad()
        training = {"inputs": inputs, "labels": labels, "smoothing": 0.0, "loss_scale": 1.0}
        fault.make(net, training)
        torch.manual_seed(1)
        debugger.start(model=net, rank_id=0)
        found = net(training["inputs"]).flatten(0, -2)
        loss = functional.cross_entropy(found, training["labels"].flatten(), label_smoothing=training["smoothing"])
        (loss * training["loss_scale"]).backward()
        debugger.stop()
        debugger.step()


def pack(folder: Path) -> None:
    """Neutral paths, one archive."""
    listed = []
    places = [(str(Path(__file__).parent), "/home/user/train"), (str(folder), "/home/user/dumps")]
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for name, (_, faults) in NETWORKS.items():
            for step, fault in enumerate(faults):
                rank = folder / name / f"step{step}" / "rank0"
                for file in ("dump.json", "construct.json", "stack.json"):
                    text = re.sub(r'/[^" ,]*?/(site-packages|lib/python3\.\d+)/', r"/usr/\1/", (rank / file).read_text())
                    for there, neutral in places:
                        text = text.replace(there, neutral)
                    (rank / file).write_text(text)
                    archive.add(rank / file, f"{name}/step{step}/rank0/{file}", filter=_anonymous)
                listed.append({"network": name, "step": step, "what": fault.what, "module": fault.module})
        (folder / "faults.json").write_text(json.dumps(listed, indent=1) + "\n")
        archive.add(folder / "faults.json", "faults.json", filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    return entry


def main() -> None:
    if len(sys.argv) > 1:
        record(sys.argv[1], Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            subprocess.run([sys.executable, "-m", "tests.capture.record_faults", name, folder], check=True)
        pack(Path(folder))


if __name__ == "__main__":
    main()
