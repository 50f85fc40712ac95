#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps that take longer for a while, at a line that is known: own_code.py KIND FILE

KIND: sleep, loop, collect, lock (another thread computes), save (another thread saves checkpoints) or held (another thread has a lock); none stays as fast as it is.
14 s as usual, 12 s slow, then as usual until FILE exists, for up to 60 s."""

import gc
import os
import sys
import tempfile
import threading
import time

import torch

torch.set_num_threads(1)
kind = sys.argv[1]
model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
batch = torch.randn(8, 32)
heap = [[i] for i in range(150000)] if kind == "collect" else []
gc.disable()


def count(n):
    total = 0
    for i in range(n):
        total += i
    return total


def iterations(seconds):
    best = 0
    for _ in range(5):
        begin = time.perf_counter()
        count(100000)
        best = max(best, 100000 / (time.perf_counter() - begin))
    return int(best * seconds)


def compute():
    while True:
        if slow:
            count(1000)
        else:
            time.sleep(0.01)


def save():
    with tempfile.TemporaryDirectory() as folder:
        while True:
            if slow:
                torch.save(state, f"{folder}/state.pt")  # SAVES
            else:
                time.sleep(0.01)


def hold():
    while True:
        if slow:
            with lock:
                time.sleep(0.03)
        time.sleep(0.001)


def inject(n):
    if kind == "sleep":
        time.sleep(0.03)  # HERE
    elif kind == "loop":
        count(n)
    elif kind == "collect":
        gc.collect()
    elif kind == "held":
        with lock:  # WAITS
            pass
    elif kind in ("lock", "save"):
        for _ in range(5):
            time.sleep(0)  # gives the lock away


def step(slow, n):
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.02)
    if slow:
        inject(n)


n = iterations(0.03)
slow = False
state = {f"layer{i}": [float(k) for k in range(200)] + [torch.zeros(1)] for i in range(400)}
lock = threading.Lock()
other = {"lock": compute, "save": save, "held": hold}.get(kind)
if other:
    threading.Thread(target=other, daemon=True).start()
begin = time.monotonic()
while time.monotonic() - begin < 26 or (time.monotonic() - begin < 86 and not os.path.exists(sys.argv[2])):
    slow = 14 <= time.monotonic() - begin < 26
    step(slow, n)
