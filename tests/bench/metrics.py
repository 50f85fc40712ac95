#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A page of metrics of 64 jobs of eight ranks: its size, and the time of making it, in both formats."""
import statistics
import subprocess

from benchlib import Row, main, program

JOBS, RANKS, PAGES = 64, 8, 400
FORMATS = ["text 0.0.4", "OpenMetrics"]


def bench():
    done = subprocess.run([program("metrics_page"), str(JOBS), str(RANKS), str(PAGES)], check=True,
                          stdout=subprocess.PIPE, text=True)
    for name, line in zip(FORMATS, done.stdout.splitlines()):
        size, *times = [int(n) for n in line.split()]
        made = sorted(n / 1e6 for n in times)
        yield Row(f"/metrics of {JOBS} x {RANKS} ranks, {name}, size", [size / (1 << 20)], "MiB", (2.0, "max"))
        yield Row(f"  made in, p99 of {PAGES}", [made[len(made) * 99 // 100]], "ms", (5.0, "max"),
                  f"median {statistics.median(made):.2f} ms")


if __name__ == "__main__":
    main(bench)
