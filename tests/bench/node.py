#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gp-bpf node on a full node: its look at 5 000 processes when it starts; what it costs, in CPU time, while 64 of
1 000 processes that it watches train. A rule keeps it to the processes of this bench."""
import json
import os
import shutil
import signal
import socket
import subprocess
import time

from benchlib import BUILD, GP_BPF, READY_S, Folder, Row, Watcher, main, progress

CROWD = int(os.environ.get("BENCH_CROWD", "5000"))
WATCHED = int(os.environ.get("BENCH_WATCHED", "1000"))
TRAINERS = min(64, WATCHED // 2)
STEP_US = 250000  # of a trainer
CALM_S = 15  # until their loops are known
SECONDS = 20
TICKS = os.sysconf("SC_CLK_TCK")
TURNS = 5


class Node(Watcher):
    """A node service of this folder's fakes. It ends with the block, whatever happens there: whoever started this
    bench over a pipe would wait for the end of one that was left behind."""

    def __init__(self, folder, *more):
        self.socket = f"{folder}/socket"
        super().__init__([], ["--listen", f"unix:{self.socket}", "--allow", f"command={folder}/*", *more], "node",
                         f"{folder}/state")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(READY_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def state(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(READY_S)
            s.connect(self.socket)
            s.sendall(b"GET /debug/state HTTP/1.0\r\n\r\n")
            text = b"".join(iter(lambda: s.recv(1 << 20), b""))
        return json.loads(text.partition(b"\r\n\r\n")[2])

    def ours(self):
        """It and the processes that look at others for it."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as f:
            return [self.pid, *map(int, f.read().split())]

    def cpu_s(self):
        total = 0
        for pid in self.ours():
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                fields = f.read().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
        return total

    def memory_mib(self):
        total = 0
        for pid in self.ours():
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
                total += next(int(line.split()[1]) for line in f if line.startswith("Pss:"))
        return total / 1024


class Job:
    """A fake trainer and all that it starts; they end with the block."""

    def __init__(self, folder, *operations):
        self.process = subprocess.Popen([f"{folder}/fake/train", *operations], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def line(self):
        return self.process.stdout.readline()


def until(what, test):
    end = time.monotonic() + READY_S
    while not test():
        if time.monotonic() > end:
            raise RuntimeError(f"never: {what}")
        time.sleep(0.2)


def sweep(folder):
    """(ms of its look, processes that it saw) of each start."""
    with Job(folder, f"crowd={CROWD}", "pause") as crowd:
        crowd.line()
        for turn in range(TURNS):
            progress(f"node: start {turn + 1} of {TURNS}")
            with Node(folder) as node:
                seen = node.state()["node"]
            yield seen["sweep_ns"] / 1e6, seen["sweep_processes"]


def load(folder):
    """Percent of a core, MiB, state."""
    with Job(folder, "load", f"pace={STEP_US}", f"workers={TRAINERS}", "steps=1000000"), \
            Job(folder, "load", f"crowd={WATCHED - TRAINERS - 2}", "pause") as crowd:
        crowd.line()
        with Node(folder) as node:
            until("all are watched", lambda: node.state()["node"]["watched"] >= WATCHED)
            until("trainers", lambda: sum(r["trainer"] for r in node.state()["ranks"]) == TRAINERS)
            time.sleep(CALM_S)
            before, at = node.cpu_s(), time.monotonic()
            for left in range(SECONDS, 0, -1):
                if left % 5 == 0:
                    progress(f"node: {left} s")
                time.sleep(1)
            percent = 100 * (node.cpu_s() - before) / (time.monotonic() - at)
            return percent, node.memory_mib(), node.state()


def bench():
    with Folder() as folder:
        shutil.copytree(os.path.join(BUILD, "tests/fake"), f"{folder.path}/fake")
        took = list(sweep(folder.path))
        yield Row("look at all at the start of node", [ms for ms, _ in took], "ms", (1000, "max"), f"{took[0][1]} processes")
        percent, mib, state = load(folder.path)
        note = f"{state['node']['watched']} processes watched, {TRAINERS} train, {1e6 / STEP_US:.0f} steps/s each"
        yield Row("node, of a core", [percent], "%", (1, "max"), note)
        yield Row("node, memory", [mib], "MiB", (64, "max"), "Pss, with the processes that look at others")


if __name__ == "__main__":
    main(bench)
