# SPDX-License-Identifier: Apache-2.0
"""A training whose life is known: batches that come late, evaluations, checkpoints; it falls, and goes on from the last one.

restart.py JOURNAL CHECKPOINT STEPS SAVE_EVERY [what happens...]
  exit=N@STEP      exits with status N after that step; each fall once
  kill=SIG@STEP    sends itself that signal
  oom@STEP         takes memory until it is killed
  term             on SIGTERM: saves and ends in order
  pace=MS          what a step takes beside its work (5)
  data=MS@STEP     the loader sleeps that long before that step's batch; workers=N: N processes load
  eval=MS@STEP     after that step ten batches are evaluated, which takes that long
  save=MS          what a checkpoint takes beside its work (0), to write and to read
JOURNAL.RANK gets one JSON line of each, with CLOCK_MONOTONIC in ns:
  begin    ns: the loop is next; start_ns: of the process; group_ns, grouped_ns: where it is one of several
  step     ns: its end; data_ns: what its batch took
  save, restore, eval    begin_ns, ns
  fall (how), end        ns: right before
With RANK and WORLD_SIZE it is one of several ranks (gloo); only rank 0 saves, all read; `@STEP:RANK` chooses the rank
that falls. tests/tools/ledger_truth.py adds it up."""
import json
import os
import re
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

from journal import process_start

journal, path, steps, every = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
log = open(f"{journal}.{rank}", "a", buffering=1)
asked = []
happens = [re.fullmatch(r"(\w+)(?:=(\d+))?(?:@(\d+))?(?::(\d+))?", word).groups() for word in sys.argv[5:]]


def chosen(what, default=0, step=None):
    """Its number, of a step or of all of them."""
    return next((int(n or 1) for name, n, at, _ in happens if name == what and at in (None, str(step))), default)


def note(what, **more):
    log.write(json.dumps({"what": what, "ns": time.monotonic_ns(), "pid": os.getpid(), **more}) + "\n")


def rest(ms):
    time.sleep(ms / 1000)
    return ms


class Slow:
    """Takes its time to be written and to be read, as what lies on a slow disk."""

    def __reduce__(self):
        return rest, (rest(chosen("save")),)


class Samples(Dataset):
    """Of each step that is left, one batch."""

    def __len__(self):
        return steps + 1 - first

    def __getitem__(self, i):
        rest(chosen("data", step=first + i))
        return torch.randn(8, 64)


class Questions(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        rest(self.ms / 10)
        return torch.randn(8, 64)


def save(step):
    begin = time.monotonic_ns()
    torch.save({"model": model.state_dict(), "step": step, "slow": Slow()}, path + ".tmp")
    os.replace(path + ".tmp", path)
    note("save", step=step, begin_ns=begin)


def evaluate(ms):
    begin = time.monotonic_ns()
    Questions.ms = ms
    with torch.no_grad():
        for batch in DataLoader(Questions(), batch_size=1):
            model(batch)
    note("eval", begin_ns=begin)


def fall(step):
    for what, number, at, who in happens:
        if what not in ("exit", "kill", "oom") or at != str(step) or os.path.exists(f"{journal}.fell{step}"):
            continue
        if world > 1:
            dist.barrier()
        if int(who or 0) != rank:
            continue
        note("fall", step=step, how=what)
        open(f"{journal}.fell{step}", "w").close()
        if what == "exit":
            os._exit(int(number))
        if what == "oom":
            open("/proc/self/oom_score_adj", "w").write("1000")
            ballast = [bytearray(1 << 26) for _ in range(64)]
        os.kill(os.getpid(), int(number))


started = {"start_ns": process_start()}
torch.set_num_threads(1)
torch.manual_seed(0)
if world > 1:
    # A store of each run's own: torchrun's (2.15) may still have the addresses of the run before.
    run = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    started["group_ns"] = time.monotonic_ns()
    dist.init_process_group("gloo", init_method=f"file://{journal}.store{run}", rank=rank, world_size=world)
    started["grouped_ns"] = time.monotonic_ns()
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
first = 1
if os.path.exists(path):
    read = time.monotonic_ns()
    state = torch.load(path, weights_only=False)
    model.load_state_dict(state["model"])
    first = state["step"] + 1
    note("restore", step=first - 1, begin_ns=read)
if chosen("term"):
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
note("begin", **started)
batches = iter(DataLoader(Samples(), batch_size=1, num_workers=chosen("workers")))
for step in range(first, steps + 1):
    wanted = time.monotonic_ns()
    batch = next(batches)
    wanted = time.monotonic_ns() - wanted
    rest(chosen("pace", 5))
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    if world > 1:
        for p in model.parameters():
            dist.all_reduce(p.grad)
    optimizer.step()
    note("step", step=step, data_ns=wanted)
    if asked:
        save(step)
        break
    if chosen("eval", step=step):
        evaluate(chosen("eval", step=step))
    if step % every == 0 and rank == 0:
        save(step)
    fall(step)
if world > 1:
    dist.barrier()
note("end")
# What Python takes apart takes as long as it likes (and gloo aborts now and then, with nobody watching).
os._exit(0)
