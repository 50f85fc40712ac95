# SPDX-License-Identifier: Apache-2.0
"""A training loop on command. loop.py STEP_MS: finds a model whose step takes about that long on this
machine, prints "ready", then for each line "N" runs N steps and prints "steps N SECONDS CPU_SECONDS"."""
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
    """On the clock, and of CPU time, which other programs do not lengthen."""
    start, cpu = time.monotonic(), time.process_time()
    for _ in range(n):
        step()
    return time.monotonic() - start, time.process_time() - cpu


def fitting(wanted_s):
    width, batch = 16, 16
    while True:
        step = make(width, batch)
        seconds(step, 5)
        if seconds(step, 10)[1] / 10 >= wanted_s * 0.95 or width >= 8192:
            return step
        width, batch = int(width * 1.12) + 1, int(batch * 1.06) + 1


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step = fitting(float(sys.argv[1]) / 1e3)
    print("ready", flush=True)
    for line in sys.stdin:
        n = int(line)
        wall, cpu = seconds(step, n)
        print(f"steps {n} {wall:.9f} {cpu:.9f}", flush=True)


main()
