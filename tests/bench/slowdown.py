#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What watching costs a training loop. The figure held against the bar is hits a step times the price of a
hit on this machine, as gp-bpf itself reports; beside it, as a check of sanity, the same loop in one process
with gp-bpf attached and not, in turns: CPU time of the job a step, and its noise is larger than what is
looked for.

Of a loop whose probes cost more than the budget, what is given up is gone after some seconds, and what is held
against the bar is what stays: settle_s is let pass before hits are counted."""
import os
import statistics
import time

from benchlib import TOP, Folder, Row, Talker, Watcher, main, metrics, progress, torch_python

LOOP = os.path.join(TOP, "tests/bench/loop.py")
# ms of a step wanted (1.4: 700 steps/s), seconds of a window, turns, and the bar in percent
LOOPS = [(1.4, 1.5, 11, 1.0), (30.0, 2.5, 9, 0.1)]


def window(job, steps):
    """Time of a step: CPU seconds, seconds on the clock."""
    job.say(str(steps))
    _, n, wall, cpu = job.line().split()
    return float(cpu) / int(n), float(wall) / int(n)


def cost_of(report):
    """(hits, what they cost in ns) of the one trainer in a report."""
    rank = next(r for r in report["ranks"] if r["hits"])
    return rank["hits"], rank["overhead_ns"]


def turn(job, steps, cache):
    """One A B: step time alone and watched, and what gp-bpf says of the watched window."""
    alone = window(job, steps)
    w = Watcher([job.pid], ["--json", "--quiet"], state_dir=cache)
    try:
        watched = window(job, steps)
    finally:
        w.stop()
    hits, cost_ns = cost_of(w.report())
    return alone, watched, hits / steps, cost_ns / steps


def told(address):
    """(hits, what they cost in ns) so far; what it tells is a second old, at most."""
    time.sleep(1.5)
    now = metrics(address)
    return (sum(v for k, v in now.items() if k[0] == "gpbpf_probe_hits_total"),
            sum(v for k, v in now.items() if k[0] == "gpbpf_overhead_seconds_total") * 1e9)


def settled_turn(job, steps, settle_steps, cache):
    """As turn(), of what is left when the budget has had its say."""
    alone = window(job, steps)
    w = Watcher([job.pid], ["--quiet", "--log-level", "info", "--export", "prometheus", "--listen", "127.0.0.1:0"],
                state_dir=cache)
    try:
        window(job, settle_steps)
        hits, cost_ns = told(w.metrics_at())
        watched = window(job, steps)
        hits_now, cost_now_ns = told(w.metrics_at())
    finally:
        w.stop()
    return alone, watched, (hits_now - hits) / steps, (cost_now_ns - cost_ns) / steps


def loop_rows(command, window_s, turns, bar, cache, what="", settle_s=0):
    with Talker(command) as job:
        job.until("ready")
        step_s, _ = window(job, 20)
        steps = max(10, int(window_s / step_s))
        results = []
        for i in range(turns):
            progress(f"slowdown: {what}{step_s * 1e3:.2f} ms steps, turn {i + 1} of {turns}")
            if settle_s:
                results.append(settled_turn(job, steps, int(settle_s / step_s), cache))
            else:
                results.append(turn(job, steps, cache))
    alone_s = statistics.median(r[0][0] for r in results)
    clock = statistics.median(watched[1] / alone[1] for alone, watched, *_ in results) * 100 - 100
    label = f"{what}{alone_s * 1e3:.2g} ms steps"
    hits = statistics.median(r[2] for r in results)
    yield Row(f"slowdown of {label}: hits x price", [r[3] / (r[0][0] * 1e9) * 100 for r in results], "%", (bar, "max"),
              f"{hits:.1f} hits a step, {statistics.median(r[3] for r in results):.0f} ns a step", 3)
    yield Row(f"slowdown of {label}: paired", [(r[1][0] / r[0][0] - 1) * 100 for r in results], "%", None,
              f"CPU time of the job, attached and not in turns, noise included; on the clock {clock:+.1f} %", 2)


def bench():
    python, version = torch_python()
    progress(f"slowdown: torch {version} of {python}")
    with Folder() as folder:
        for wanted_ms, window_s, turns, bar in LOOPS:
            yield from loop_rows([python, LOOP, str(wanted_ms)], window_s, turns, bar, folder.path)


if __name__ == "__main__":
    main(bench)
