#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events a second from a tape through decoding, time order and model, by one thread. CPU time of the whole
program is what counts, its start included; the tape is in the page cache. Sizes are taken in turns."""
import os
import subprocess
import time

from benchlib import GP_BPF, RUNS, Folder, Row, main, program, progress

SIZES = [100000, 1000000, 10000000]
BYTES_EACH = 70


def replay(tape):
    """(CPU seconds, wall seconds, peak resident KiB)"""
    start = time.monotonic()
    process = subprocess.Popen([GP_BPF, "replay", "--json", "--quiet", tape], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"replay of {tape} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss


def make_tapes(folder):
    folder.need(sum(SIZES) * BYTES_EACH)
    tapes = {}
    for size in [0, *SIZES]:
        progress(f"replay: making a tape of {size} events")
        tapes[size] = folder.file(f"{size}.tape")
        subprocess.run([program("tape"), "make", str(size), tapes[size]], check=True)
    return tapes


def bench():
    with Folder() as folder:
        tapes = make_tapes(folder)
        results = {size: [] for size in tapes}
        for i in range(RUNS):
            progress(f"replay: turn {i + 1} of {RUNS}")
            for size, tape in tapes.items():
                results[size].append(replay(tape))
    start_s = min(r[0] for r in results[0])
    for size in SIZES:
        wall = sorted(r[1] for r in results[size])[RUNS // 2]
        bar = (5.0, "min") if size >= 1000000 else None
        yield Row(f"replay of {size:.0e} events", [size / r[0] / 1e6 for r in results[size]], "M events/s", bar,
                  f"{wall:.2f} s on the clock")
    each = {size: [(r[0] - start_s) / size * 1e9 for r in results[size]] for size in SIZES}
    yield Row("cost per event, 1e7 over 1e6", [a / b for a, b in zip(each[10000000], each[1000000])], "x",
              (1.15, "max"), "flat means 1; the start of the program is taken off")
    yield Row("replay of 1e+07 events, peak resident", [r[2] / 1024 for r in results[10000000]], "MiB")
    yield Row("resident, 1e7 over 1e6", [a[2] / b[2] for a, b in zip(results[10000000], results[1000000])], "x",
              (1.1, "max"), "memory is fixed")


if __name__ == "__main__":
    main(bench)
