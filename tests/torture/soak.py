#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py MINUTES [soak] [soak_node]: stand-in training jobs that crash and start again, over and over; one form after the
other: gp-bpf node (soak_node.py), and here gp-bpf --durable, which is killed in the first half of the time and left alone
in the second, while others write into its store and read it. Prints what it holds over time, and a table of what must
hold; fails where it grows or counts wrong. KEEP=1 keeps the folder."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import torture
from births import usage
from torturelib import FAKE, GP_BPF, Durable, Failure, Folder, Plan, progress, row, until

JOBS = 4
KILLS = 6
SAMPLES = 30
POLL_S = 0.1  # at most one transaction a second: none is missed
WARM = 300  # runs that an instance has seen; of the last 256 that ended what is shown is kept
# Limits of growth, from the first sample of the last instance once it is warm to the last one.
MEMORY_KIB, FDS, MAPS = 4096, 4, 16
STORE_KIB_PER_RUN = 8
RATE = 1.1  # transactions a second; each start has some of its own

# Runs until it is told to stop; the steps of each run are told by it, so counted, before it dies.
SUPERVISOR = """
read -r go # all is in place by then: the first run is exact too
i=0
while [ ! -e "$1" ]; do
	i=$((i + 1))
	case $((i % 4)) in 0) end=kill=9 ;; 1) end=exit=3 ;; *) end=exit=0 ;; esac
	"$2" load wait pace=2000 steps=100 save=soak.pt steps=100 $end || [ $? -ne 4 ] || echo unprobed
done 2>/dev/null
"""


class Jobs:
    def __init__(self, folder):
        self.stop, self.truth = folder.file("stop"), [folder.file(f"job{i}") for i in range(JOBS)]
        shutil.copytree(FAKE, folder.file("fake"))
        self.processes = []
        for path in self.truth:
            with open(path, "wb") as out:
                self.processes.append(subprocess.Popen(["sh", "-c", SUPERVISOR, "soak", self.stop, folder.file("fake/train")],
                                                       stdin=subprocess.PIPE, stdout=out, cwd=folder.path,
                                                       start_new_session=True))

    def go(self):
        for p in self.processes:
            p.stdin.write(b"\n")
            p.stdin.close()

    def lines(self):
        for path in self.truth:
            with open(path, encoding="utf-8") as f:
                yield from f.read().splitlines()

    def runs(self):
        return sum(line.startswith("steps ") for line in self.lines()) // 2

    def steps(self):
        return sum(int(line.split()[1]) for line in self.lines() if line.startswith("steps "))

    def unprobed(self):
        return sum(line == "unprobed" for line in self.lines())

    def end(self):
        with open(self.stop, "w", encoding="utf-8"):
            pass
        return [p.wait(timeout=120) for p in self.processes]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.processes:
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)
            p.wait()


class Transactions:
    """Of gp-bpf: how often the store is another one than at the last look."""

    def __init__(self, path):
        self.sql = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.version, self.count, self.seconds, self.at = self.read(), 0, 0, time.monotonic()

    def read(self):
        return self.sql.execute("PRAGMA data_version").fetchone()[0]

    def look(self, counts=True):
        """What was written since the last look; counts: by gp-bpf alone."""
        version, now = self.read(), time.monotonic()
        self.count += counts and version != self.version
        self.seconds += counts * (now - self.at)
        self.version, self.at = version, now

    def rate(self):
        return self.count / max(self.seconds, POLL_S)


def asked(store, *words):
    out = subprocess.run([GP_BPF, words[0], "--store", store, *words[1:]], capture_output=True, text=True, check=False)
    if out.returncode:
        raise Failure(f"gp-bpf {' '.join(words)}: {out.stderr.strip()}")
    return out.stdout


def told(store):
    return json.loads(asked(store, "jobs", "--json"))["jobs"]


def write_beside(store):
    """What people do meanwhile."""
    jobs = told(store)
    if not jobs:
        return
    asked(store, "mark", str(jobs[0]["id"]), "soak")
    asked(store, "exclude", "2000-01-01T00:00:00Z", "2000-01-02T00:00:00Z", "soak")
    asked(store, "exclude", "--remove", str(json.loads(asked(store, "exclude", "--list", "--json"))["exclusions"][-1]["id"]))


def store_kib(path):
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end)) // 1024


class Sample:
    def __init__(self, watch, jobs, writes, store, start):
        self.fds, self.maps, self.memory = usage(watch.process.pid)
        self.at, self.instance, self.runs = time.monotonic() - start, watch.starts, jobs.runs()
        self.store, self.rate = store_kib(store), writes.rate()
        self.stored, self.steps = sum(j["steps"] for j in told(store)), jobs.steps()

    HEAD = f"{'time':>7} {'start':>5} {'memory KiB':>10} {'fds':>4} {'maps':>5} {'store KiB':>9} {'runs':>6} {'steps':>8} " \
           f"{'stored':>8} {'tx/s':>5}"

    def __str__(self):
        return f"{self.at:6.0f}s {self.instance:5} {self.memory:10} {self.fds:4} {self.maps:5} {self.store:9} {self.runs:6} " \
               f"{self.steps:8} {self.stored:8} {self.rate:5.2f}"


def soak(watch, jobs, store, seconds):
    """What was held at SAMPLES instants. Killed in the first half only."""
    start, samples, kills = time.monotonic(), [], 0
    writes = Transactions(store)
    print(f"# {Sample.HEAD}", flush=True)
    while (now := time.monotonic() - start) < seconds:
        writes.look()
        if kills < KILLS and now > seconds / 2 * (kills + 1) / (KILLS + 1):
            watch.kill()
            watch.start()
            kills += 1
        if now > seconds * len(samples) / SAMPLES:
            write_beside(store)
            writes.look(counts=False)
            samples.append(Sample(watch, jobs, writes, store, start))
            print(f"# {samples[-1]}", flush=True)
        if watch.process.poll() is not None:
            raise Failure(f"gp-bpf ended: {watch.errors()}")
        time.sleep(POLL_S)
    return samples, writes.rate()


def growth_rows(samples):
    own = [s for s in samples if s.instance == samples[-1].instance]
    late = [s for s in own if s.runs >= own[0].runs + WARM]
    if len(late) < 3:
        raise Failure(f"fewer than {WARM} runs between the last kill and the last three samples: too short to tell of growth")
    for what, limit, key in (("memory, KiB", MEMORY_KIB, "memory"), ("descriptors", FDS, "fds"), ("mappings", MAPS, "maps")):
        values = [getattr(s, key) for s in late]
        yield row(f"growth: {what}", (limit, "max"), values[-1] - values[0],
                  f"from {values[0]} to {values[-1]} in {late[-1].at - late[0].at:.0f} s")
    grown = (late[-1].store - late[0].store) / max(1, late[-1].runs - late[0].runs)
    yield row("growth: store, KiB a run", (STORE_KIB_PER_RUN, "max"), round(grown, 2), f"{late[-1].store} KiB at the end")


def run(plan):
    seconds = plan.seconds
    progress(f"{JOBS} jobs, {KILLS} kills of gp-bpf, {seconds / 60:g} minutes")
    with Folder() as folder, Jobs(folder) as jobs, \
            Durable(folder, [p.pid for p in jobs.processes], lines=False) as watch:
        store = os.path.join(watch.state, "store.db")
        watch.start()
        jobs.go()
        until(lambda: os.path.exists(store), "a store")
        samples, rate = soak(watch, jobs, store, seconds)
        statuses = jobs.end()
        ended = watch.wait()
        report, known = watch.report(), told(store)
        yield from growth_rows(samples)
        yield row("transactions a second", (RATE, "max"), round(rate, 3))
        yield row("steps lost or doubled in the store", 0, sum(j["steps"] for j in known) - jobs.steps(),
                  f"{jobs.steps()} steps in {jobs.runs()} runs")
        yield row("jobs of the store", JOBS, len(known))
        yield row("runs of the store lost or doubled", 0, sum(j["runs"] for j in known) - jobs.runs())
        yield row("jobs whose buckets do not add up", 0, sum(sum(j["buckets"].values()) != j["elapsed_ns"] for j in known))
        yield row("ledger violations", 0, report["ledger_violations"])
        yield row("records told as lost", 0, sum(n for name, n in report["losses"].items()
                                                 if name not in ("unpaired", "rate_limited")))
        yield row("runs that were not probed", 0, jobs.unprobed())
        yield row("status of the jobs, of gp-bpf", f"{[0] * JOBS} 0", f"{statuses} {ended}")
        yield row("lines that gp-bpf said", 0, len(watch.errors().splitlines()), watch.errors()[:100])
        yield row("left in the kernel", 0, watch.left())


def main():
    if os.geteuid():
        print("1..0 # skip probes need root")
        return
    rows, plan = [], Plan(False, True)
    plan.seconds = 60 * float(sys.argv[1])
    torture.finish(rows, sum(torture.run_part(part, plan, rows) for part in sys.argv[2:] or ["soak", "soak_node"]))


if __name__ == "__main__":
    main()
