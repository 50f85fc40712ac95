#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A million steps to a trace, each of them drawn with its phases and waits, in a file on disk."""
import os
import subprocess

from benchlib import RUNS, Folder, Row, main, program

STEPS = 1000000


def bench():
    runs = []
    with Folder() as folder:
        folder.need(STEPS * 1200)
        for _ in range(RUNS):
            path = folder.file("trace.json")
            done = subprocess.run([program("trace"), str(STEPS), path], check=True, stdout=subprocess.PIPE, text=True)
            runs.append([int(n) for n in done.stdout.split()])
            os.unlink(path)
    yield Row("1e+06 steps to a trace", [r[1] / 1e9 for r in runs], "s", (3.0, "max"),
              f"{min(r[0] for r in runs) / 1e9:.2f} s of CPU at best")
    yield Row("  a step of it, size", [r[2] / STEPS for r in runs], "bytes")


if __name__ == "__main__":
    main(bench)
