# SPDX-License-Identifier: Apache-2.0
"""A training that saves checkpoints, falls, and goes on from the last one: what a restart looks like from within.

restart.py JOURNAL CHECKPOINT STEPS SAVE_EVERY [how it falls, once each...]
  exit=N@STEP      exits with status N after that step
  kill=SIG@STEP    sends itself that signal
  oom@STEP         takes memory until it is killed
  term             on SIGTERM: saves and ends in order
Each step, save and restore goes to JOURNAL as one JSON line, with CLOCK_MONOTONIC in ns. With RANK and WORLD_SIZE it
is one of several ranks (gloo); only rank 0 saves, all read; `@STEP:RANK` chooses the rank that falls.
"""
import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

journal, path, steps, every = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
log = open(f"{journal}.{rank}", "a", buffering=1)
asked = []


def note(what, **more):
    log.write(json.dumps({"what": what, "ns": time.monotonic_ns(), "pid": os.getpid(), **more}) + "\n")


def save(step):
    begin = time.monotonic_ns()
    torch.save({"model": model.state_dict(), "step": step}, path + ".tmp")
    os.replace(path + ".tmp", path)
    note("save", step=step, begin_ns=begin)


note("begin")
torch.set_num_threads(1)
torch.manual_seed(0)
if world > 1:
    # A store of each run's own: torchrun's (2.15) may still have the addresses of the run before.
    run = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    dist.init_process_group("gloo", init_method=f"file://{journal}.store{run}", rank=rank, world_size=world)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
first = 1
if os.path.exists(path):
    begin = time.monotonic_ns()
    state = torch.load(path)
    model.load_state_dict(state["model"])
    first = state["step"] + 1
    note("restore", step=first - 1, begin_ns=begin)
if "term" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
batches = iter(DataLoader(TensorDataset(torch.randn(steps + 1, 8, 64)), batch_size=1))
for step in range(first, steps + 1):
    (batch,) = next(batches)
    time.sleep(0.005)
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    if world > 1:
        for p in model.parameters():
            dist.all_reduce(p.grad)
    optimizer.step()
    note("step", step=step)
    if asked:
        save(step)
        break
    if step % every == 0 and rank == 0:
        save(step)
    for how in sys.argv[5:]:
        what, _, where = how.partition("@")
        where, _, who = where.partition(":")
        if where != str(step) or os.path.exists(f"{journal}.fell{step}"):
            continue
        if world > 1:
            dist.barrier()
        if int(who or 0) != rank:
            continue
        note("fall", step=step)
        open(f"{journal}.fell{step}", "w").close()
        if what.startswith("exit="):
            os._exit(int(what[5:]))
        if what == "oom":
            open("/proc/self/oom_score_adj", "w").write("1000")
            ballast = [bytearray(1 << 26) for _ in range(64)]
        os.kill(os.getpid(), int(what[5:]))
note("end")
if world > 1:
    dist.barrier()
    os._exit(0)  # gloo aborts in its teardown now and then, with nobody watching
