# SPDX-License-Identifier: Apache-2.0
"""own_ranges.py TRUTH: a job whose steps have ranges of its own, in each other. TRUTH: one JSON object, the ns that
each had without those in it, by the program's own clock."""
import contextlib
import json
import sys
import time

import torch
from torch.autograd.profiler import record_function

STEPS = 30
truth, around = {}, []  # around: time that ranges within have had, of each open one

torch.set_num_threads(1)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


@contextlib.contextmanager
def part(name):
    start = time.monotonic_ns()
    around.append(0)
    with record_function(name):
        yield
    took = time.monotonic_ns() - start
    truth[name] = truth.get(name, 0) + took - around.pop()
    if around:
        around[-1] += took


for step in range(STEPS):  # 100 ranges a second and more are told in part
    if step == 1:  # where the first one begins, the job does not tell
        truth.clear()
    with part("block 0"):
        time.sleep(0.010)
        with part("attention"):
            time.sleep(0.025)
            loss = model(torch.randn(16, 8)).square().mean()
        with part("mlp"):
            time.sleep(0.005)
    optimizer.zero_grad()
    loss.backward()
    with part("logging"):
        time.sleep(0.005 if step % 4 else 0.02)
    optimizer.step()
with part("after all steps"):
    time.sleep(0.05)
with open(sys.argv[1], "w", encoding="utf-8") as out:
    json.dump({"steps": STEPS, "ranges": truth}, out)
