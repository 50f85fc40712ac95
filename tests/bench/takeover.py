#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One gp-bpf after another watches a job that makes 10 000 records a second: by --takeover, and as systemd and Kubernetes do
it, SIGTERM to one with --handover and then the next, for some processes and as gp-bpf node.

Gap: the longest time in which nobody read the ring, looked at each 0.5 ms: what waits in it must fit. Blind: from then on
until the next one is ready, so that what it tells is of now. Lost: what the job counted itself less what was told of it at
the end, over all rounds; a second job, of steps alone, at its own pace."""
import mmap
import os
import re
import shutil
import signal
import socket
import struct
import sys
import threading
import time

from benchlib import BUILD, PROBES, READY_S, TOP, Folder, Row, Talker, Watcher, main, program, progress

sys.path.insert(0, os.path.join(TOP, "tests/torture"))
import bpf  # noqa: E402
from torturelib import lines_of, pins_of  # noqa: E402

RATE = int(os.environ.get("BENCH_RATE", "10000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "10"))
REST_S = 1.5  # of a round, after the next one is ready
LOOK_S = 0.0005
STEP_US = 10000  # of the second job


class Reads:
    """When the ring was read, as its consumer's position tells. A thread."""

    def __init__(self, pins):
        fd = bpf.pin_open(os.path.join(pins, "map-gp_ring_call"))
        self.page = mmap.mmap(fd, mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ)
        os.close(fd)
        self.at, self.ended = [], False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        last = None
        while not self.ended:
            position = struct.unpack_from("Q", self.page)[0]
            if position != last:
                self.at.append(time.monotonic())
                last = position
            time.sleep(LOOK_S)

    def gap(self, since):
        """(when it began, how long it was) of the longest one since then."""
        at = [t for t in self.at if t >= since]
        return max(((a, b - a) for a, b in zip(at, at[1:])), key=lambda g: g[1])

    def end(self):
        self.ended = True
        self.thread.join()
        self.page.close()


class Chain:
    """One gp-bpf after the other, with one state directory, at two jobs."""

    def __init__(self, folder, node, takeover):
        self.folder, self.node, self.takeover = folder, node, takeover
        self.errors = []
        self.out, self.socket = folder.file("out.json"), folder.file("socket")
        os.makedirs(folder.file("jobs"))
        for name in ("hits", "libgpbench.so"):
            shutil.copy(program(name), folder.file("jobs"))
        shutil.copytree(os.path.join(BUILD, "tests/fake"), folder.file("jobs/fake"))
        self.pins = pins_of(folder.file("state"))
        self.now = None

    def start(self, pids=(), last=False, more=()):
        args = ["--durable", "--listen", f"unix:{self.socket}", "--export", f"json:{self.out}", *more]
        args += [] if last else ["--handover"]
        args += ["--allow", f"command={self.folder.path}/*"] if self.node else ["--quiet"]
        self.now = Watcher([] if self.node else pids, args, "node" if self.node else "--pid", self.folder.file("state"),
                           PROBES)

    def next(self, last):
        """Who is asked to go and who comes; from the request on. Returns when that was, and when the next one is ready."""
        before, at = self.now, time.monotonic()
        if self.takeover:
            self.start(last=last, more=["--takeover"])
        else:
            before.process.send_signal(signal.SIGTERM)
            before.process.wait()
            self.start(last=last)
        ready = time.monotonic()
        if before.process.wait():
            raise RuntimeError(f"gp-bpf ended with {before.process.returncode}: {before.errors()}")
        self.errors += [x for x in before.errors().splitlines() if "handed over:" not in x]
        return at, ready

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.now and self.now.process.poll() is None:
            self.now.process.kill()
            self.now.process.wait()
        shutil.rmtree(self.pins, ignore_errors=True)


def rounds(chain, reads, what):
    """(gap, blind, asked to ready) of each, ms."""
    found = []
    for i in range(ROUNDS):
        progress(f"{what}: {i + 1} of {ROUNDS}")
        at, ready = chain.next(i + 1 == ROUNDS)
        time.sleep(REST_S)
        began, gap = reads.gap(at - 0.1)
        found.append((gap * 1e3, (max(ready, began + gap) - began) * 1e3, (ready - at) * 1e3))
    return found


def hits(chain, wanted):
    """Those of the benches' probes that are told, once they are all there, or 10 s later."""
    end = time.monotonic() + 10
    while True:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(READY_S)
            s.connect(chain.socket)
            s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            page = b"".join(iter(lambda: s.recv(1 << 20), b"")).decode()
        found = sum(float(n) for n in re.findall(r'^gpbpf_probe_hits_total\{probe="bench\.[^"]*"\} (\S+)$', page, re.M))
        if found == wanted or time.monotonic() > end:
            return int(found)
        time.sleep(0.2)


def wrong(lines, steps):
    """Of steps {pid: how many}: those not told or told twice, and losses and spans that were not observed."""
    found, wrong_order, losses, gaps = dict.fromkeys(steps, 0), 0, 0, 0
    for x in lines:
        if x["type"] == "step":
            found[x["pid"]] += 1
            wrong_order += x["step"] != found[x["pid"]]
        elif x["type"] == "loss":
            losses += x["count"] * (x["source"] not in ("unpaired", "rate_limited"))
        gaps += x["type"] == "range" and x["bucket"] == "UNOBSERVED" and x["end_ns"] > x["start_ns"]
    return sum(abs(steps[pid] - n) for pid, n in found.items()) + wrong_order, losses, gaps


def measure(what, node, takeover):
    seconds = int(ROUNDS * (REST_S + 2) + 5)
    slow_steps = int(seconds * 1e6 / STEP_US / 2)
    with Folder() as folder, Chain(folder, node, takeover) as chain:
        jobs = folder.file("jobs")
        with Talker([f"{jobs}/hits", "stream", str(RATE), str(seconds)]) as job, \
                Talker([f"{jobs}/fake/train", "load", "wait", "say=ready", "pause", f"pace={STEP_US}",
                        f"steps={slow_steps}", "pause"]) as slow:
            job.until("ready")
            chain.start([job.pid, slow.pid])
            slow.until("ready")
            reads = Reads(chain.pins)
            try:
                job.say("go")
                slow.say("go")
                found = rounds(chain, reads, what)
            finally:
                reads.end()
            sent = int(job.line().split()[1])
            slow.until(f"steps {slow_steps}")
            arrived = hits(chain, sent)
            chain.now.stop()
        steps, losses, gaps = wrong(lines_of(chain.out), {job.pid: seconds * 1000, slow.pid: slow_steps})
    gap, blind, ready = zip(*found)
    yield Row(f"{what}: ring not read", gap, "ms", (200, "max") if takeover else None, f"{RATE} records/s; the longest {max(gap):.0f} ms", 0)
    yield Row(f"{what}: blind", blind, "ms", None,
              f"from the last look of the one to the next one's readiness; the longest {max(blind):.0f} ms", 0)
    yield Row(f"{what}: from asked to ready", ready, "ms", None, "", 0)
    yield Row(f"{what}: records lost", [abs(sent - arrived)], "", (0, "max"),
              f"{sent} sent, {arrived} told; told as lost: {losses}", 0)
    yield Row(f"{what}: steps lost or doubled", [steps], "", (0, "max"),
              f"of {seconds * 1000 + slow_steps} in two jobs; spans not observed: {gaps}; said: {chain.errors[:3]}", 0)


def bench():
    yield from measure("take-over", False, True)
    yield from measure("take-over, node", True, True)
    yield from measure("restart, node", True, False)


if __name__ == "__main__":
    main(bench)
