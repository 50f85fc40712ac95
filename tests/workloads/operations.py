#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""operations.py MODEL [--seconds N]: trains one of MODELS on the CPU. First counts the floating-point operations of a step with
torch's own FlopCounterMode, where torch has one, and prints "operations MODEL N" ("operations MODEL ?" otherwise); then
trains without it, as it must not be in the way of what is measured."""
import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.norm2(x))


class Products(Block):
    """Attention as its products, as without a fused kernel."""

    def attend(self, q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


class Transformer(nn.Module):
    def __init__(self, block: type[Block]) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.blocks = nn.Sequential(*[block(64, 4) for _ in range(3)])
        self.head = nn.Linear(64, 100)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)))


def mlp():
    return nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 70), nn.ReLU(), nn.Linear(70, 10)), torch.randn(16, 30)


def conv():
    model = nn.Sequential(nn.Conv2d(3, 8, (5, 3), stride=(2, 1), padding=(1, 2)), nn.ReLU(), nn.Conv2d(8, 12, 3, dilation=2),
                          nn.ReLU(), nn.ConvTranspose2d(12, 6, 4, stride=2, padding=1), nn.Flatten(), nn.LazyLinear(10))
    x = torch.randn(4, 3, 31, 37)
    model(x)
    return model, x


def conv1d():
    return nn.Sequential(nn.Conv1d(5, 9, 7, stride=3), nn.ReLU(), nn.ConvTranspose1d(9, 4, 5, stride=2)), torch.randn(3, 5, 100)


def conv3d():
    return nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv3d(4, 3, (1, 3, 2))), torch.randn(2, 2, 6, 8, 10)


MODELS = {
    "mlp": mlp,
    "conv": conv,
    "conv1d": conv1d,
    "conv3d": conv3d,
    "attention": lambda: (Transformer(Block), torch.randint(0, 100, (4, 24))),
    "products": lambda: (Transformer(Products), torch.randint(0, 100, (4, 24))),
    "autocast": lambda: (Transformer(Block), torch.randint(0, 100, (4, 24))),
    "baddbmm": lambda: (Baddbmm(), torch.randn(6, 10, 12)),
}


class Baddbmm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(6, 12, 14)), nn.Parameter(torch.randn(6, 10, 14))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, x = MODELS[args.model]()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=args.model == "autocast"):
            loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()

    try:
        from torch.utils.flop_counter import FlopCounterMode
        with FlopCounterMode(display=False) as counter:
            step()
        truth = counter.get_total_flops()
    except ImportError:
        truth = "?"
    print("operations", args.model, truth, flush=True)
    end = time.monotonic() + args.seconds
    while time.monotonic() < end:
        step()
        time.sleep(0.02)


main()
