# SPDX-License-Identifier: Apache-2.0
"""monitor.py TRUTH: a job with figures of its own (torch.monitor) and no handler for them. TRUTH: one JSON object,
what it logged."""
import datetime
import json
import math
import sys
import time

import torch
from torch.monitor import Aggregation, Event, Stat, log_event

STEPS, SAMPLES = 20, 5
HOUR, TENTH = datetime.timedelta(hours=1), datetime.timedelta(milliseconds=100)
truth = {"events": [], "stats": {}, "sum": 0.0, "count": 0, "steps": STEPS}

model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
every = Stat("all.losses", [Aggregation.SUM, Aggregation.COUNT], TENTH)  # windows by time


def window(name, values):
    """A window that SAMPLES samples fill."""
    stat = Stat(name, [Aggregation.MEAN, Aggregation.COUNT, Aggregation.MAX, Aggregation.MIN, Aggregation.SUM], HOUR, SAMPLES)
    for value in values:
        stat.add(value)
    total = 0.0
    for value in values:
        total += value
    truth["stats"][name] = {"mean": total / SAMPLES, "count": SAMPLES, "max": max(values), "min": min(values), "sum": total}


def event(name, **data):
    when = datetime.datetime.fromtimestamp(1700000000, datetime.timezone.utc) + datetime.timedelta(microseconds=123456)
    log_event(Event(name, when.astimezone().replace(tzinfo=None), data))
    # A bool is a double once torch has it.
    truth["events"].append({"name": name, "data": {k: float(v) if isinstance(v, bool) else v for k, v in data.items()}})


losses = []
for step in range(STEPS):
    optimizer.zero_grad()
    loss = model(torch.randn(16, 8)).square().mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    every.add(losses[-1])
    truth["sum"] += losses[-1]
    truth["count"] += 1
    if len(losses) == SAMPLES:
        window(f"loss {step}", losses)
        losses = []
    event("step", n=step, share=step / STEPS, last=step + 1 == STEPS, phase="warm" if step < 3 else "steady")
time.sleep(0.2)
every.add(1e9)  # closes the window before it; its own is told at the end
event("no entries")
event("wide", **{f"key_{i:02}": i for i in range(16)})
window("broken", [math.nan] * SAMPLES)
del truth["stats"]["broken"]
with open(sys.argv[1], "w", encoding="utf-8") as out:
    json.dump(truth, out)
