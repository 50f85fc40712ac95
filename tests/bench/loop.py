# SPDX-License-Identifier: Apache-2.0
"""A training loop on command. loop.py STEP_MS: finds a model whose step takes about that long on this
machine, prints "ready", then for each line "N" runs N steps and prints "steps N SECONDS"."""
import sys
import time

import torch


def make(width, batch):
    model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data, target = torch.randn(batch, width), torch.randint(0, 10, (batch,))
    loss_of = torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad()
        loss_of(model(data), target).backward()
        optimizer.step()

    return step


def seconds(step, n):
    start = time.monotonic()
    for _ in range(n):
        step()
    return time.monotonic() - start


def fitting(wanted_s):
    width, batch = 16, 16
    while True:
        step = make(width, batch)
        seconds(step, 5)
        if seconds(step, 10) / 10 >= wanted_s * 0.7 or width >= 8192:
            return step
        width, batch = int(width * 1.3), int(batch * 1.15) + 1


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step = fitting(float(sys.argv[1]) / 1e3)
    print("ready", flush=True)
    for line in sys.stdin:
        n = int(line)
        print(f"steps {n} {seconds(step, n):.9f}", flush=True)


main()
