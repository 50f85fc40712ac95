#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long after its start gp-bpf sees the first step of a job that already runs: from the start of the program gp-bpf
to the begin of the first step it counts, without what is remembered of files, and with it. Steps take less than a
millisecond, so the begin is that of the first one that could have been seen."""
import json
import os
import shutil
import signal
import subprocess
import time

from benchlib import GP_BPF, RUNS, TOP, Folder, Skip, Talker, Row, main, progress, torch_python

TORCH = os.path.join(TOP, "tests/bench/loop.py")
JAX = os.path.join(TOP, "tests/bench/jax_loop.py")
STEP_MS = "0.5"
MANY = 10_000_000  # more than are done
WATCHED = "700ms"
BAR_MS = 150
DETACHED_S = 1  # until the kernel has taken away the probes of the turn before


def jax_python():
    found = subprocess.run([os.path.join(TOP, "tests/tools/framework.sh"), "--find", "jax"], capture_output=True,
                           text=True, check=False)
    return None if found.returncode else found.stdout.strip()


def first_step_ms(pid, state_dir):
    argv = [GP_BPF, "--pid", str(pid), "--quiet", "--export", "json:-", "--state-dir", state_dir, "--for", WATCHED]
    start_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    steps = [x["start_ns"] for x in map(json.loads, done.stdout.splitlines()) if x["type"] == "step"]
    if not steps:
        raise RuntimeError(f"no step was found: {done.stderr}")
    return (min(steps) - start_ns) / 1e6


def rows(what, argv, env=None):
    with Folder() as folder, Talker(argv, env=env) as job:
        state_dir = folder.file("state")
        job.until("ready")
        job.say(str(MANY))
        times = {"nothing remembered": [], "symbols remembered": []}
        try:
            for i in range(max(10, RUNS)):
                progress(f"{what}: turn {i + 1}")
                for state, values in times.items():
                    if state == "nothing remembered":
                        shutil.rmtree(state_dir, ignore_errors=True)
                    values.append(first_step_ms(job.pid, state_dir))
                    time.sleep(DETACHED_S)
        finally:
            job.process.send_signal(signal.SIGKILL)
    for state, values in times.items():
        yield Row(f"first step after the start of gp-bpf, {what}, {state}", values, "ms", (BAR_MS, "max"), "", 0)


def bench():
    python, version = torch_python()
    yield from rows(f"torch {version}", [python, TORCH, STEP_MS])
    python = jax_python()
    if not python:
        raise Skip("no JAX (tests/tools/framework.sh jax installs it)")
    yield from rows("JAX, plugin", [python, JAX, STEP_MS])


if __name__ == "__main__":
    main(bench)
