#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What watching costs JAX, by PJRT's table: each run of a program, who waits for it, and its end. As slowdown.py."""
import os
import subprocess

from benchlib import TOP, Folder, Skip, main, progress
from slowdown import loop_rows

LOOP = os.path.join(TOP, "tests/bench/jax_loop.py")
# ms of a step wanted, seconds of a window, turns, and the bar in percent
LOOPS = [(0.5, 1.5, 7, 1.0), (1.0, 1.5, 7, 1.0)]
SETTLE_S = 6  # what a batch is told by is given up within


def bench():
    found = subprocess.run([os.path.join(TOP, "tests/tools/framework.sh"), "--find", "jax"], capture_output=True,
                           text=True, check=False)
    if found.returncode:
        raise Skip("no JAX (tests/tools/framework.sh jax installs it)")
    python = found.stdout.strip()
    progress(f"jax: {python}")
    with Folder() as folder:
        for wanted_ms, window_s, turns, bar in LOOPS:
            yield from loop_rows([python, LOOP, str(wanted_ms)], window_s, turns, bar, folder.path, "JAX, ",
                                 SETTLE_S)


if __name__ == "__main__":
    main(bench)
