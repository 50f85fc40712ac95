#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.py KIND FOLDER: trains on the CPU; steps lose time to KIND while FOLDER/go exists.

Kinds are the functions of INJECT and LOADER below; KIND+KIND injects both. "none" injects nothing: what
slows it comes from outside. Writes FOLDER/ready after some steps, ends once FOLDER/stop exists, and leaves
FOLDER/log.json: for each step its end (ns, CLOCK_MONOTONIC) and what each kind took of it (ns), and the lines
of the kinds that lose time in a line of this file; "queue" is the time without a CPU; for each pause its length, and
its time without a CPU. With RANK set, it is one of several ranks over gloo. With WHY_WAIT set, the first step begins once FOLDER/go exists.
"""
import gc
import io
import json
import mmap
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import time
import urllib.request

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

KINDS, FOLDER = sys.argv[1].split("+"), pathlib.Path(sys.argv[2])
RANK = int(os.environ.get("RANK", "0"))
RANKS = int(os.environ.get("WORLD_SIZE", "1"))
WARM = 20  # steps before "ready"


def going():
    return os.path.exists(FOLDER / "go")


def line_of(mark):
    """The number of the line that ends with that comment."""
    text = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(text, 1) if line.endswith(f"# {mark}"))


# ---- in the training thread ----------------------------------------------------------------------------


class Sleep:
    line = "SLEEP"

    def step(self, on):
        if on:
            self.wait_for_nothing()

    def wait_for_nothing(self):
        time.sleep(0.02)  # SLEEP


class Collect:
    """A collection of the garbage of a heap with many objects, by hand."""

    def __init__(self):
        gc.disable()
        gc.freeze()  # only the heap counts: one torch has many more objects than another
        self.heap = [[i] for i in range(300000)]

    def step(self, on):
        if on:
            gc.collect()


class Read:
    """A file of a file system that answers slowly while "go" exists: see brokenfs.c."""

    def step(self, _on):
        with open(os.environ["WHY_FILE"], "rb") as f:
            f.read()


class Device:
    """1 MiB of a block device, past the page cache."""

    def __init__(self):
        self.fd = os.open(os.environ["WHY_FILE"], os.O_RDONLY | os.O_DIRECT)
        self.buffer = mmap.mmap(-1, 1 << 20)
        self.at = 0

    def step(self, _on):
        os.preadv(self.fd, [self.buffer], self.at << 20)
        self.at = (self.at + 1) % 32


class Absent:
    """Rank 1 does not enter the collective of its step."""

    line = "ABSENT"

    def step(self, on):
        if on and RANK == 1:
            self.stay_away()

    def stay_away(self):
        while going():
            time.sleep(0.05)  # ABSENT


class Saver:
    """A thread that writes a checkpoint with Python code: while it runs, it holds the interpreter's lock."""

    def __init__(self):
        self.state = {f"layer{i}": [float(k) for k in range(200)] for i in range(400)}
        threading.Thread(target=self.save, daemon=True).start()

    def save(self):
        while True:
            if going():
                pickle._Pickler(io.BytesIO()).dump(self.state)  # pylint: disable=protected-access
            else:
                time.sleep(0.01)

    def step(self, _on):
        # As a loop of Python that calls torch often: each call may give the lock away.
        for _ in range(10):
            model(batch)


class Saves(Saver):
    """A thread that saves checkpoints with torch.save()."""

    line = "SAVES"

    def save(self):
        while True:
            if going():
                torch.save(self.state, FOLDER / "saved.pt")  # SAVES
            else:
                time.sleep(0.01)

    def step(self, _on):
        for _ in range(5):
            time.sleep(0)  # gives the interpreter's lock away


class Pause:
    """After each 80 steps about 3 s of other computing, beside a program that gets half of its CPU."""

    line = "PAUSE"

    def __init__(self):
        self.steps, self.pauses = 0, []

    def step(self, on):
        self.steps += 1
        if on and self.steps % 80 == 0:
            with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as hog:
                begin, queued = time.monotonic_ns(), queued_ns()
                self.prepare()
                self.pauses.append([time.monotonic_ns() - begin, queued_ns() - queued])
                hog.kill()

    def prepare(self):
        end = time.thread_time() + 1.5
        while time.thread_time() < end:  # PAUSE
            pass


INJECT = {"sleep": Sleep, "collect": Collect, "read": Read, "device": Device, "absent": Absent, "saver": Saver, "saves": Saves, "pause": Pause}

# ---- in the workers of a data loader -------------------------------------------------------------------


def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def fetch(_worker):
    with urllib.request.urlopen(os.environ["WHY_URL"]) as answer:
        answer.read()


def read_files(_worker):
    for _ in range(3):
        with open(os.environ["WHY_FILE"], "rb") as f:
            f.read()


# The number of workers, and what a batch costs: while "go" exists, or always (its source becomes slow).
LOADER = {
    "compute": (1, lambda _worker: compute(0.09), False),
    "uneven": (2, lambda worker: worker == 0 and compute(0.09), False),
    "fetch": (2, fetch, True),
    "files": (2, read_files, True),
}


class Samples(IterableDataset):
    def __init__(self, cost, always):
        self.cost, self.always = cost, always

    def __iter__(self):
        os.sched_setaffinity(0, range(max(os.cpu_count() - 1, 1)))  # not on the CPU of the training thread
        worker = get_worker_info().id
        while True:
            if self.always or going():
                self.cost(worker)
            yield torch.zeros(8)


# ---- the loop ------------------------------------------------------------------------------------------


def usual_work():
    """About 20 ms of computing in native code."""
    for _ in range(work):
        torch.mm(matrix, matrix, out=product)


def calibrate():
    """How many multiplications take 20 ms, once everything is warm."""
    for _ in range(2):
        begin, count = time.thread_time(), 0
        while time.thread_time() - begin < 0.4:
            torch.mm(matrix, matrix, out=product)
            count += 1
    return max(1, count // 20)


torch.set_num_threads(1)
torch.manual_seed(0)
matrix, product = torch.randn(128, 128), torch.empty(128, 128)
work = calibrate()
model = torch.nn.Linear(32, 32)
batch = torch.randn(8, 32)
if RANKS > 1:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
injected = {kind: INJECT[kind]() for kind in KINDS if kind in INJECT}
loaders = [kind for kind in KINDS if kind in LOADER]
batches = None
if loaders:
    workers, cost, always = LOADER[loaders[0]]
    batches = iter(DataLoader(Samples(cost, always), batch_size=1, num_workers=workers))

(FOLDER / "loaded").touch()
while "WHY_WAIT" in os.environ and not going():
    time.sleep(0.05)
queue = open("/proc/thread-self/schedstat", "rb", buffering=0)


def queued_ns():
    """The time that this thread has waited for a CPU."""
    return int(os.pread(queue.fileno(), 64, 0).split()[1])


log, lines = [], {k: f"train.py:{line_of(i.line)}" for k, i in injected.items() if hasattr(i, "line")}
while True:
    on, took, queued = going(), {}, queued_ns()
    if loaders:
        begin = time.monotonic_ns()
        next(batches)
        took[loaders[0]] = time.monotonic_ns() - begin
    for name, one in injected.items():
        begin = time.monotonic_ns()
        one.step(on)
        took[name] = time.monotonic_ns() - begin
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    usual_work()
    optimizer.step()
    took["queue"] = queued_ns() - queued
    log.append([time.monotonic_ns(), took])
    if len(log) == WARM:
        (FOLDER / f"ready{RANK}").touch()
    if RANKS == 1 and os.path.exists(FOLDER / "stop"):
        break
    if RANKS > 1:  # all ranks end in the same step
        stop = torch.tensor(float(os.path.exists(FOLDER / "stop")))
        torch.distributed.all_reduce(stop)
        if stop:
            break
(FOLDER / f"log{RANK}.json").write_text(json.dumps({"steps": log, "lines": lines, "pauses": getattr(injected.get("pause"), "pauses", [])}), encoding="utf-8")
sys.stdout.flush()
os._exit(0)  # without waiting for the loader's workers
