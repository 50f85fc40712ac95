# SPDX-License-Identifier: Apache-2.0
"""PyTorch/XLA on its CPU device: a step is traced, compiled once, and run as one program."""
import os

import torch

from journal import kind

os.environ.setdefault("PJRT_DEVICE", "CPU")


class Model:
    def __init__(self, hidden=256):
        import torch_xla
        import torch_xla.core.xla_model as xm

        self.xla, self.xm, self.device = torch_xla, xm, torch_xla.device()
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(torch.nn.Linear(128, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 10))
        self.net.to(self.device)
        self.loss_of = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(self.net.parameters())

    def loss(self, x, y):
        return self.loss_of(self.net(x.to(self.device)), y.to(self.device))


def batches(n, seed=0):
    torch.manual_seed(seed)
    held = [(torch.randn(32, 128), torch.randint(0, 10, (32,))) for _ in range(8)]
    return (held[i % len(held)] for i in range(n))


def train(log, model, source, every=1):
    done = 0
    for x, y in source:
        log.backward()
        model.loss(x, y).backward()
        done += 1
        if done % every == 0:
            model.optimizer.step()
            model.optimizer.zero_grad()
            model.xla.sync(wait=True)
            log.step()


@kind("xla_plain", steps=100)
def plain(log):
    train(log, Model(), batches(log.steps))


@kind("xla_accumulate", steps=60)
def accumulate(log):
    """Four backward passes a step, all in one program."""
    train(log, Model(), batches(4 * log.steps), 4)


@kind("xla_eval", steps=100)
def evaluation(log):
    """Every 25 steps 4 batches are evaluated."""
    model = Model()
    for n, batch in enumerate(batches(log.steps), 1):
        train(log, model, [batch])
        if n % 25 == 0:
            with log.span("eval"), torch.no_grad():
                for x, y in batches(4, seed=1):
                    model.loss(x, y).item()
