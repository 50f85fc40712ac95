#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one hit of each handler costs the job, over an empty probe at the same instruction of the same
process. Empty program and gp-bpf are attached in turns (A B A B...); a ratio is made within each turn."""
import statistics

from benchlib import PROBES, RUNS, Folder, Row, Talker, Watcher, main, program, progress

CALLS = 40000
PASSES = 5
TURNS = max(RUNS, 9)
# shape of the table: sites that make it up, its bar (None: as often as the job logs, which is bounded)
SHAPES = [
    ("counted", ["count"], 1.1),
    ("recorded", ["hit"], 1.3),
    ("recorded with a name (path)", ["named"], 1.5),
    ("recorded with a name (range begin)", ["begin"], 1.5),
    ("recorded (range end)", ["end"], 1.3),
    ("entry+return", ["call"], 1.3),
    ("event of three entries (monitor)", ["monitor"], None),
]


def measure_once(target, calls):
    target.say(str(calls))
    return {name: float(ns) for _, name, ns in (line.split() for line in target.until("done"))}


def measure(target, calls=CALLS):
    """ns per call of each site, the median of a few passes; the first few calls after attaching do not count."""
    measure_once(target, 2000)
    passes = [measure_once(target, calls) for _ in range(PASSES)]
    return {name: statistics.median(p[name] for p in passes) for name in passes[0]}


def turn(target, sites, cache):
    """One A B: ns per call of each site, empty and observed."""
    offsets = [offset + ("r" if name.endswith("_call") else "") for name, offset in sites.items()]
    with Talker([program("empty"), program("empty.bpf.o"), program("libgpbench.so"), *offsets]) as empty:
        empty.until("ready")
        base = measure(target)
    gp_bpf = Watcher([target.pid], ["--quiet"], probes=PROBES, state_dir=cache)
    try:
        mine = measure(target)
    finally:
        gp_bpf.stop()
    return base, mine


def shape_rows(turns, bare, label, names, bar):
    for kind in ("push", "nop5"):
        keys = [f"{kind}_{name}" for name in names]
        empty = [sum(base[k] - bare[k] for k in keys) for base, _ in turns]
        mine = [sum(observed[k] - bare[k] for k in keys) for _, observed in turns]
        over = statistics.median(mine) - statistics.median(empty)
        note = f"{statistics.median(mine):.0f} ns a hit, {statistics.median(empty):.0f} ns empty, {over:+.0f} ns"
        yield Row(f"handler {label}, {kind}", [m / e for m, e in zip(mine, empty)], "x",
                  (bar, "max") if bar and kind == "push" else None, note)


def bench():
    with Folder() as folder, Talker([program("hits"), "sites"]) as target:
        sites = dict(line.split()[1:] for line in target.until("done"))
        bare = measure(target, 10 * CALLS)
        turns = []
        for i in range(TURNS):
            progress(f"handlers: turn {i + 1} of {TURNS}")
            turns.append(turn(target, sites, folder.path))
    for label, names, bar in SHAPES:
        yield from shape_rows(turns, bare, label, names, bar)


if __name__ == "__main__":
    main(bench)
