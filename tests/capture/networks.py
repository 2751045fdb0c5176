"""Two small networks whose faults are switched on by attributes, so that one hooked model serves every run."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.proj = (nn.Linear(width, width) for _ in range(4))
        self.scale = 1 / math.sqrt(width // heads)
        self.diagonal = 1
        self.half = False

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1]), diagonal=self.diagonal).bool()
        weights = torch.softmax(scores.masked_fill(mask, -10000.0), dim=-1)
        mixed = torch.matmul(weights, v).transpose(1, 2).reshape(x.shape)
        if self.half:
            mixed = mixed.bfloat16().float()
        return self.proj(mixed)


class Mlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.approximate = "none"
        self.relu = False
        self.spoil: float | None = None
        self.gradient = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.fc1(x)
        if self.gradient != 1.0:
            h.register_hook(lambda g: g * self.gradient)
        h = functional.relu(h) if self.relu else functional.gelu(h, approximate=self.approximate)
        if self.spoil is not None:
            h[0, 0, 0] = self.spoil
        return self.fc2(h)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.mlp = Attention(width, heads), Mlp(width)
        self.drop = nn.Dropout(0.1)
        self.residual = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.drop(self.attn(self.ln1(x))) * self.residual
        return x + self.mlp(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(64, 32)
        self.layers = nn.ModuleList(Block(32, 4) for _ in range(2))
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 64, bias=False)
        self.noise_seed = 1

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.emb(ids)
        for number, layer in enumerate(self.layers):
            torch.manual_seed(self.noise_seed + number)
            x = layer(x)
        return self.head(self.norm(x))


class Unit(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, padding=1)
        self.bn = nn.BatchNorm2d(after)
        self.average = False
        self.leak = 0.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.bn(self.conv(x))
        x = functional.leaky_relu(x, self.leak) if self.leak else functional.relu(x)
        return functional.avg_pool2d(x, 2) if self.average else functional.max_pool2d(x, 2)


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.units = nn.Sequential(Unit(3, 8), Unit(8, 16), Unit(16, 16))
        self.head = nn.Linear(16 * 2 * 2, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.units(images), 1))
