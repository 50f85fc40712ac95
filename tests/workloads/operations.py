#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""operations.py MODEL [--seconds N]: trains one of MODELS on the CPU. First counts the floating-point operations of a step with
torch's own FlopCounterMode, where torch has one, and prints "operations MODEL N" ("operations MODEL ?" otherwise); then
trains without it, as it must not be in the way of what is measured."""
import argparse
import os
import subprocess
import sys
import time

import torch
import torch.utils.checkpoint
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


class Llama(nn.Module):
    """A block with fewer heads of keys than of queries, and a gated perceptron; no biases."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.out = (nn.Linear(64, n, bias=False) for n in (64, 64, 64))
        self.gate, self.up, self.down = nn.Linear(64, 172, bias=False), nn.Linear(64, 172, bias=False), nn.Linear(172, 64, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.q(x).view(b, t, 4, 16).transpose(1, 2)
        k, v = (y.repeat_interleave(2, 1) for y in self.kv(x).view(b, t, 2, 2, 16).permute(2, 0, 3, 1, 4))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, 64))
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


class Llamas(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.blocks, self.head = nn.Embedding(100, 64), nn.ModuleList(Llama() for _ in range(2)), nn.Linear(64, 100, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Checkpointed(Llamas):
    """Computes each block again in the backward pass."""

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
        return self.head(x)


class Recommender(nn.Module):
    """Bags of embeddings, products between them, a perceptron."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(50, 16, mode="sum") for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(16 * 4 + 16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        e = torch.stack([bag(x) for bag in self.bags], 1)
        return self.mlp(torch.cat([e.flatten(1), (e @ e.transpose(1, 2)).flatten(1)], 1))


class Upsampler(nn.Module):
    """Transposed convolutions of two ranks, as in generators and U-Nets."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Sequential(nn.ConvTranspose2d(8, 6, 4, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(6, 4, 3, stride=2, output_padding=1))
        self.sound = nn.ConvTranspose1d(4, 2, 5, stride=3, dilation=2)

    def forward(self, x):
        return self.sound(self.up(x).flatten(2)[..., :40])


class Batched(nn.Module):
    """Calls bmm itself, as mixtures of experts do."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 16, 20))

    def forward(self, x):
        return torch.bmm(x, self.weight)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(16, 24, 2, batch_first=True), nn.Linear(24, 5)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


class Added(nn.Module):
    """A linear layer, and something that is not counted."""

    def __init__(self, work) -> None:
        super().__init__()
        self.first, self.work, self.second = nn.Linear(16, 16), work, nn.Linear(16, 4)

    def forward(self, x):
        return self.second(self.work(self.first(x)))


def custom():
    @torch.library.custom_op("mine::square", mutates_args=())
    def square(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.detach().numpy() @ x.detach().numpy())

    square.register_autograd(lambda context, gradient: gradient)
    return Added(square), torch.randn(16, 16)


def sparse():
    graph = (torch.rand(16, 16) > 0.7).float().to_sparse()
    return Added(lambda x: torch.sparse.mm(graph, x)), torch.randn(16, 16)


def scripted():
    return torch.jit.trace(nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 10)), torch.randn(16, 30)), torch.randn(16, 30)


def compiled():
    return Added(torch.compile(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16)))), torch.randn(16, 16)


def mapped():
    weight = torch.randn(3, 16, 16)
    return Added(lambda x: torch.vmap(lambda w: x @ w)(weight).sum(0)), torch.randn(8, 16)


MODELS = {
    "gpt2": lambda: (Transformer(Block), torch.randint(0, 100, (2, 32))),
    "llama": lambda: (Llamas(), torch.randint(0, 100, (4, 24))),
    "checkpoint": lambda: (Checkpointed(), torch.randint(0, 100, (4, 24))),
    "ddp": lambda: (Llamas(), torch.randint(0, 100, (4, 24))),
    "recommender": lambda: (Recommender(), torch.randint(0, 50, (6, 3))),
    "upsampler": lambda: (Upsampler(), torch.randn(3, 8, 7, 9)),
    "lstm": lambda: (Recurrent(), torch.randn(4, 6, 16)),
    "autocast_bmm": lambda: (Batched(), torch.randn(3, 8, 16)),
    "custom": custom,
    "sparse": sparse,
    "scripted": scripted,
    "compiled": compiled,
    "mapped": mapped,
    "inverse": lambda: (Added(lambda x: torch.linalg.inv(x + 40 * torch.eye(16))), torch.randn(16, 16)),
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


RANKS = {"ddp": 2}


def run_ranks(ranks: int) -> None:
    where = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000)}
    children = [subprocess.Popen([sys.executable, *sys.argv], env=os.environ | where | {"RANK": str(i), "LOCAL_RANK": str(i)}) for i in range(ranks)]
    sys.exit(max(child.wait() for child in children))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    ranks = RANKS.get(args.model, 1)
    if ranks > 1 and "RANK" not in os.environ:
        run_ranks(ranks)
        return
    model, x = MODELS[args.model]()
    if ranks > 1:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=args.model.startswith("autocast")):
            loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()

    try:
        from torch.utils.flop_counter import FlopCounterMode
        with FlopCounterMode(display=False) as counter:
            step()
        truth = ranks * counter.get_total_flops()
    except ImportError:
        truth = "?"
    if os.environ.get("RANK", "0") == "0":
        print("operations", args.model, truth, flush=True)
    end = time.monotonic() + args.seconds
    # with several ranks, all have to make the same number of steps
    steps = int(args.seconds / 0.05) if ranks > 1 else None
    while steps if steps is not None else time.monotonic() < end:
        step()
        time.sleep(0.02 if steps is None else 0.05)
        if steps is not None:
            steps -= 1


main()
