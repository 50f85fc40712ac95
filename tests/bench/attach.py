#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long attaching to a real torch process takes, and what watching costs gp-bpf itself.

Attach (attach.c): from the first look at the process until all libraries of known runtimes that it maps are read and
their functions probed, as gp-bpf does it at its start; without what is remembered of files, and with it. Start: from
that of gp-bpf to its line on --ready-fd, for a process without any such library. Detach: from SIGTERM to the end of
gp-bpf, its report included; the perf events of its tracepoints the kernel closes afterwards, for which the next start
waits here."""
import os
import shutil
import statistics
import subprocess
import time

from benchlib import PROBES, RUNS, TOP, Folder, Row, Talker, Watcher, cpu_ns, main, memory_kb, program, progress
from benchlib import torch_python

IDLE = "import sys, torch; print('ready', flush=True); sys.stdin.read()"
RANKS = 8
REST_S = 2.0
CALM_S = 3.0  # after a start, until the rings are read as seldom as they are in the long run
LINGER_S = 1.0


def attach_ms(pid, cache):
    """Milliseconds, and what was probed."""
    said = subprocess.run([program("attach"), os.path.join(TOP, "probes"), cache, str(pid)], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.split()
    return float(said[0]), f"{said[2]} functions in {said[3]} libraries"


def to_disk(pid):
    """What the kernel has in memory of the libraries of a process goes, but for what the process itself uses."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        paths = {line.split(None, 5)[5].rstrip("\n") for line in f if ".so" in line}
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def look_rows(pid, cache):
    """Attaching alone."""
    turns = {"disk": [], "cold": [], "warm": []}
    for i in range(RUNS):
        progress(f"attach: turn {i + 1} of {RUNS}")
        for state, values in turns.items():
            if state != "warm":
                shutil.rmtree(cache, ignore_errors=True)
            if state == "disk":
                to_disk(pid)
            ms, probed = attach_ms(pid, cache)
            values.append(ms)
            time.sleep(LINGER_S)
    yield Row("attach, nothing remembered", turns["cold"], "ms", (300, "max"),
              f"{probed}; the libraries are in the page cache", 0)
    yield Row("attach, symbols remembered", turns["warm"], "ms", (50, "max"), "", 0)
    yield Row("attach, nothing remembered, libraries on disk", turns["disk"], "ms", None,
              "what of them the process does not use itself", 0)


def attach_rows(pid, folder):
    yield from look_rows(pid, folder.file("cache"))
    plain = subprocess.Popen(["sleep", "1000"])
    ready, gone = [], {pid: [], plain.pid: []}
    try:
        for i in range(RUNS):
            progress(f"start and end: turn {i + 1} of {RUNS}")
            for target, times in gone.items():
                w = Watcher([target], ["--quiet"], state_dir=folder.file("state"))
                if target == plain.pid:
                    ready.append(w.ready_s * 1e3)
                times.append(w.stop() * 1e3)
                time.sleep(LINGER_S)
    finally:
        plain.kill()
        plain.wait()
    yield Row("start of gp-bpf until it watches", ready, "ms", None, "program start, BPF load, price of a hit", 0)
    yield Row("detach and exit", gone[pid], "ms", (100, "max"),
              f"of these without any library {statistics.median(gone[plain.pid]):.0f} ms", 0)


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
