#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What keeping the history costs: CPU time of the writer at 64 ranks of ten steps a second, in real time, as a part
of a core; and the room that a day of a rank takes."""
import os
import subprocess

from benchlib import Folder, Row, main, program, progress

RANKS, SECONDS, TURNS = 64, 16, 3
DAY_RANKS, DAY_HOURS = 4, 24


def live(folder, turn):
    path = folder.file(f"live-{turn}.db")
    done = subprocess.run([program("store"), "live", str(RANKS), str(SECONDS), path], check=True,
                          stdout=subprocess.PIPE, text=True)
    cpu, wall = (int(word) for word in done.stdout.split())
    return cpu / wall * 100


def bench():
    with Folder() as folder:
        folder.need(64 << 20)
        parts = []
        for turn in range(TURNS):
            progress(f"store: turn {turn + 1} of {TURNS}")
            parts.append(live(folder, turn))
        progress("store: a day")
        path = folder.file("day.db")
        subprocess.run([program("store"), "day", str(DAY_RANKS), str(DAY_HOURS), path], check=True)
        size = os.stat(path).st_size
    yield Row(f"store at {RANKS} ranks x 10 steps/s", parts, "% of a core", (0.2, "max"), "facts, snapshot, one commit a second")
    # The job keeps minutes of its own, beside its ranks'.
    yield Row("store, a rank's day", [size / (DAY_RANKS + 1) / 1024], "KiB")


if __name__ == "__main__":
    main(bench)
