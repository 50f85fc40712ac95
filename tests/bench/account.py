#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gp-bpf account: a log of 100 000 steps, one record a step, in turns with the goodput library of the package index on
the same log; the cost of a record from 1e4 to 1e7; memory where the log is long and its steps are few. Times of
100 000 steps are on the clock, start and output included; costs are CPU time less that of an empty run. Logs are in
the page cache."""
import os
import subprocess
import time

from benchlib import GP_BPF, RUNS, TOP, Folder, Row, Skip, main, program, progress

SIZES = [10000, 100000, 1000000, 10000000]
STEPS = 100000
BYTES_EACH = 68
LONG_RECORDS = int(os.environ.get("BENCH_RECORDS", "100000000"))
LONG_STEPS = 10000
REFERENCE = os.path.join(TOP, "tests/account/reference.py")
SETUP = os.path.join(TOP, "tests/account/library.sh")


class Run:
    """What one run took. ms: on the clock; cpu_s: of the program itself; mib: its peak resident memory."""

    def __init__(self, argv, stdin=subprocess.DEVNULL):
        start = time.monotonic()
        process = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        self.ms = (time.monotonic() - start) * 1e3
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.mib = usage.ru_maxrss / 1024
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(argv[:3])} ended with {process.returncode}")


def account(*args, stdin=subprocess.DEVNULL):
    return Run([GP_BPF, "account", "--quiet", *args], stdin)


def make_log(folder, steps):
    path = folder.file(f"{steps}.jsonl")
    with open(path, "wb") as f:
        subprocess.run([program("goodput_log"), str(steps)], stdout=f, check=True)
    return path


def library():
    """The Python that has the library; None where it cannot be had, and why."""
    try:
        found = subprocess.run([SETUP], capture_output=True, text=True, check=False)
    except OSError as e:
        return None, str(e)
    lines = (found.stdout if not found.returncode else found.stderr).split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "library.sh says nothing")
    return (last.strip(), "") if not found.returncode else (None, last.strip())


def beside_the_library(folder):
    log = make_log(folder, STEPS)
    python, why = library()
    ways = {"--json": ["--json"], "the table": [], "--json --semantics library": ["--json", "--semantics", "library"]}
    ours, theirs = {way: [] for way in ways}, []
    for i in range(RUNS):
        progress(f"account: turn {i + 1} of {RUNS}")
        for way, args in ways.items():
            ours[way].append(account(*args, log))
        if python:
            theirs.append(Run([python, REFERENCE, log]))
    for way, runs in ours.items():
        cpu_ms = sorted(r.cpu_s for r in runs)[RUNS // 2] * 1e3
        yield Row(f"account of 1e5 steps, {way}", [r.ms for r in runs], "ms", (50, "max"), f"{cpu_ms:.0f} ms of CPU", 1)
        yield Row(f"account of 1e5 steps, {way}, peak resident", [r.mib for r in runs], "MiB", (32, "max"), digits=1)
    if not python:
        progress(f"account: nothing to compare with: {why}")
        return
    pairs = list(zip(theirs, ours["--json --semantics library"]))
    cpu_ms = sorted(r.cpu_s for r in theirs)[RUNS // 2] * 1e3
    yield Row("the goodput library on the same log", [r.ms for r in theirs], "ms", None, f"{cpu_ms:.0f} ms of CPU", 0)
    yield Row("the goodput library, peak resident", [r.mib for r in theirs], "MiB", digits=0)
    yield Row("times as fast as the library", [a.ms / b.ms for a, b in pairs], "x", digits=1)
    yield Row("of the library's memory", [b.mib / a.mib for a, b in pairs], "x")


def cost_of_records(folder):
    folder.need(sum(SIZES) * BYTES_EACH)
    logs = {}
    for size in [1, *SIZES]:
        progress(f"account: making a log of {size} records")
        logs[size] = make_log(folder, size)
    runs = {size: [] for size in logs}
    for i in range(RUNS):
        progress(f"account: sizes, turn {i + 1} of {RUNS}")
        for size, log in logs.items():
            # A run of 1e4 records is shorter than the clock of CPU time is exact: several of them.
            several = [account("--json", log) for _ in range(max(1, 100000 // max(size, 10000)))]
            runs[size].append((sum(r.cpu_s for r in several) / len(several), several[0].mib))
    start_s = sorted(r[0] for r in runs[1])[RUNS // 2]
    each = {size: [(r[0] - start_s) / size * 1e9 for r in runs[size]] for size in SIZES}
    for size in SIZES:
        mib = sorted(r[1] for r in runs[size])[RUNS // 2]
        yield Row(f"a record, of {size:.0e}", each[size], "ns", digits=0, note=f"{mib:.0f} MiB at the peak")
    yield Row("cost of a record, 1e7 over 1e4", [a / b for a, b in zip(each[SIZES[-1]], each[SIZES[0]])], "x",
              (1.25, "max"), "flat means 1")


def long_log():
    """Restarts over and over: what counts are the steps that there are, not how often they were made."""
    progress(f"account: a log of {LONG_RECORDS:.0e} records of {LONG_STEPS} steps through a pipe")
    with subprocess.Popen([program("goodput_log"), str(LONG_RECORDS), str(LONG_STEPS)], stdout=subprocess.PIPE) as pipe:
        run = account("--json", "-", stdin=pipe.stdout)
    size = LONG_RECORDS * BYTES_EACH / 1e9
    yield Row(f"a log of {LONG_RECORDS:.0e} records, {LONG_STEPS} steps again and again, peak resident", [run.mib], "MiB",
              (32, "max"), f"{size:.1f} GB in {run.ms / 1e3:.0f} s, {run.cpu_s / LONG_RECORDS * 1e9:.0f} ns a record")


def bench():
    if not os.path.exists(GP_BPF):
        raise Skip(f"{GP_BPF} is not built")
    with Folder() as folder:
        yield from beside_the_library(folder)
        yield from cost_of_records(folder)
    yield from long_log()


if __name__ == "__main__":
    main(bench)
