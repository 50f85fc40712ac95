#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight ranks that launch ten thousand kernels a second each, on the stand-in for CUDA (its functions begin with a push,
as the real runtime's do): what gp-bpf's probes cost the dearest rank, by hits times price of a hit, a second at a time;
how long until that is within the budget, what was given up for it, and whether each wait is still told."""
import os
import re
import subprocess
import time

from benchlib import BUILD, Folder, Row, Skip, Watcher, cpu_ns, main, metrics, progress

TRAIN = os.path.join(BUILD, "tests/fake/cuda_train")
RANKS, LAUNCHES, STEPS_HZ = 8, 10000, 100
BUDGET = 0.1  # percent of a process's time: the default
SECONDS = 24
WAIT = "cuda.stream_sync"
LATE = 8  # seconds at the end that are held against the bar


def start_ranks(folder):
    """One trainer a rank, each waiting for its line; journals tell how many steps they took."""
    argv = [TRAIN, "steps=1000000", f"kernels={LAUNCHES // STEPS_HZ - 1}", "every=1000000",
            f"pace={1000000 // STEPS_HZ - 1500}"]
    ranks = []
    for i in range(RANKS):
        p = subprocess.Popen([*argv, f"journal={folder.file(f'rank{i}')}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True, bufsize=1)
        p.stdout.readline()
        ranks.append(p)
    return ranks


def steps_taken(folder):
    """By the journals."""
    total = 0
    for i in range(RANKS):
        with open(folder.file(f"rank{i}.0"), encoding="ascii") as f:
            total += sum(1 for _ in f)
    return total


def second(before, now, took_s):
    """Percent of its time that the probes took of the dearest process."""
    cost = [(v - before.get(k, 0)) / took_s * 100 for k, v in now.items() if k[0] == "gpbpf_overhead_seconds_total"]
    return max(cost, default=0)


def watch(ranks, folder):
    w = Watcher([p.pid for p in ranks], ["--quiet", "--log-level", "info", "--export", f"json:{folder.file('json')}",
                                         "--export", "prometheus", "--listen", "127.0.0.1:0"], state_dir=folder.path)
    address = w.metrics_at()
    costs, steps = [], 0
    try:
        for p in ranks:
            p.stdin.write("go\n")
        before, then = metrics(address), time.monotonic()
        start = then
        cpu = cpu_ns(w.pid)
        for i in range(SECONDS):
            progress(f"launches: second {i + 1} of {SECONDS}")
            time.sleep(max(0, then + 1 - time.monotonic()))
            now, at = metrics(address), time.monotonic()
            costs.append(second(before, now, at - then))
            before, then = now, at
        cpu = (cpu_ns(w.pid) - cpu) / SECONDS / 1e7
        steps = steps_taken(folder)
        waits = before["gpbpf_probe_hits_total", "", WAIT] - before["gpbpf_probe_unsent_total", "", WAIT]
    finally:
        w.stop()
    return costs, steps / (then - start), waits / steps * 100, cpu, w.errors()


def bench():
    if not os.path.exists(TRAIN):
        raise Skip(f"{TRAIN} is not built: make fakes")
    with Folder() as folder:
        ranks = start_ranks(folder)
        try:
            costs, steps_hz, waits, cpu, said = watch(ranks, folder)
        finally:
            for p in ranks:
                p.kill()
                p.wait()
        told = re.findall(r"overhead: .*?: cuda ([a-z ,]+)", said)
    rate = steps_hz * LAUNCHES / STEPS_HZ / RANKS
    within = next((i for i in range(len(costs)) if max(costs[i:]) <= BUDGET), None)
    yield Row("launches of a rank, 8 ranks", [rate], "/s", None, "by the ranks' own journals", 0)
    yield Row("probes' cost of the dearest rank, at most", [max(costs)], "%", None, "hits times price, of a second", 3)
    yield Row("the same, once settled", costs[-LATE:], "%", (BUDGET, "max"), "given up: " + "; ".join(told), 3)
    if within is not None:
        yield Row("until within the budget", [within], "s", None, "", 0)
    yield Row("waits told, of those there were", [waits], "%", None, "the last second's may be under way", 1)
    yield Row("gp-bpf itself, meanwhile", [cpu], "% of a core", None, "", 2)


if __name__ == "__main__":
    main(bench)
