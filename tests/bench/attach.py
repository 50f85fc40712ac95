#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long attaching to a real torch process takes, and what watching costs gp-bpf itself.

Attach: from the start of gp-bpf to its line on --ready-fd (program start, BPF load, the price of a hit,
libraries, symbols, links), less the same for a process without any library of a known runtime, which
leaves libraries, symbols and links. Detach: from SIGTERM to the end of gp-bpf, its report included; the
perf events of its tracepoints the kernel closes afterwards, for which the next start waits here."""
import os
import shutil
import statistics
import subprocess
import time

from benchlib import PROBES, RUNS, Folder, Row, Talker, Watcher, cpu_ns, main, memory_kb, program, progress
from benchlib import torch_python

IDLE = "import sys, torch; print('ready', flush=True); sys.stdin.read()"
RANKS = 8
REST_S = 2.0
CALM_S = 3.0  # after a start, until the rings are read as seldom as they are in the long run
LINGER_S = 1.0


def timings(pid, plain_pid, cache):
    """One turn, cold, warm, and without libraries: ms until ready, ms until gone."""
    shutil.rmtree(cache, ignore_errors=True)
    os.mkdir(cache)
    ready, gone = [], []
    for target in (pid, pid, plain_pid):
        w = Watcher([target], ["--quiet"], state_dir=cache)
        ready.append(w.ready_s * 1e3)
        gone.append(w.stop() * 1e3)
        time.sleep(LINGER_S)
    return ready, gone


def attach_rows(pid, folder):
    plain = subprocess.Popen(["sleep", "1000"])
    turns = []
    try:
        for i in range(RUNS):
            progress(f"attach: turn {i + 1} of {RUNS}")
            turns.append(timings(pid, plain.pid, folder.file("cache")))
    finally:
        plain.kill()
        plain.wait()
    ready, gone = [t[0] for t in turns], [t[1] for t in turns]
    yield Row("attach, symbol cache cold", [r[0] - r[2] for r in ready], "ms", (500, "max"),
              "over the start alone (next but one row); the libraries are in the page cache", 0)
    yield Row("attach, symbol cache warm", [r[1] - r[2] for r in ready], "ms", (50, "max"), "likewise", 0)
    yield Row("start of gp-bpf until it watches", [r[2] for r in ready], "ms", None,
              "program start, BPF load, price of a hit", 0)
    yield Row("detach and exit", [g[1] for g in gone], "ms", (100, "max"),
              f"of these without any library {statistics.median(g[2] for g in gone):.0f} ms", 0)


def rest_rows(pids, what, probes, bar):
    """CPU and memory of a gp-bpf that watches these."""
    with Folder() as folder:
        w = Watcher(pids, ["--quiet"], probes=probes, state_dir=folder.path)
        try:
            time.sleep(CALM_S)
            shares, memory = [], []
            for _ in range(RUNS):
                cpu, start = cpu_ns(w.pid), time.monotonic_ns()
                time.sleep(REST_S)
                shares.append((cpu_ns(w.pid) - cpu) / (time.monotonic_ns() - start) * 100)
                memory.append(memory_kb(w.pid) / 1024)
        finally:
            w.stop()
    yield Row(f"CPU, {what}", shares, "% of a core", (0.5, "max") if bar else None, digits=3)
    yield Row(f"anonymous memory, {what}", memory, "MiB", (32, "max"), digits=1)


def bench():
    python, version = torch_python()
    progress(f"attach: torch {version} of {python}")
    with Folder() as folder, Talker([python, "-c", IDLE]) as job:
        job.until("ready")
        yield from attach_rows(job.pid, folder)
        yield from rest_rows([job.pid], f"one idle torch {version} process", None, True)
    jobs = [subprocess.Popen([program("hits"), "steps", "10"]) for _ in range(RANKS)]
    try:
        yield from rest_rows([j.pid for j in jobs], f"{RANKS} ranks x 10 steps/s", PROBES, True)
    finally:
        for j in jobs:
            j.kill()
            j.wait()


if __name__ == "__main__":
    main(bench)
