#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One job of two ranks on two nodes: each rank is a process with a gp-bpf of its own, which sees no other rank. Two real Prometheus
scrape both, one every second, one every 15 s, with the recording rules as shipped. Rank 1 becomes late, later it does not enter a
collective: each Prometheus has to name it within 30 s. The measured times are printed. TAP."""
from __future__ import annotations

import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
from typing import Callable

import nodes

TOP = nodes.TOP
GP_BPF = TOP / "build/plain/gp-bpf"
WITHIN_S = 30
START_S = 60      # the longest wait for a process to be ready
LIMIT_S = 150     # and for the whole test, which takes less than 90
PACE_US, LATE_MS = 20000, 60
HANG_AFTER_S = 5
SCRAPES = ("1s", "15s")


class Node:
    """A rank, and the gp-bpf that watches it."""

    def __init__(self, folder: pathlib.Path, rank: int, ident: int) -> None:
        self.folder, self.rank = folder / f"node-{rank}", rank
        # Probes belong to a file: each node has its own libraries.
        shutil.copytree(TOP / "build/plain/tests/fake", self.folder)
        self.pause, self.lines = self.folder / "pause", self.folder / "lines.json"
        with (self.folder / "job.log").open("w") as log:
            self.job = subprocess.Popen(
                [self.folder / "cuda_train", "ranks=2", f"rank={rank}", f"id={ident}", "steps=1000000", f"pace={PACE_US}",
                 f"pause={self.pause}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        assert self.job.stdout and self.job.stdout.readline() == b"loaded\n", (self.folder / "job.log").read_text()
        self.port = nodes.free_port()
        ready, write = os.pipe()
        with (self.folder / "gp-bpf.log").open("w") as log:
            self.watch = subprocess.Popen(
                [GP_BPF, "--pid", str(self.job.pid), "--job", "llama", "--node-name", f"node-{rank}", "--quiet", "--marker", "sync",
                 "--listen", f"127.0.0.1:{self.port}", "--hang-after", f"{HANG_AFTER_S}s", "--export", f"json:{self.lines}",
                 "--ready-fd", str(write)], pass_fds=[write], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(write)
        with os.fdopen(ready) as f:
            assert f.readline(), (self.folder / "gp-bpf.log").read_text()

    def go(self) -> None:
        assert self.job.stdin
        self.job.stdin.write(b"\n")
        self.job.stdin.flush()

    def pause_ms(self, ms: int) -> None:
        """Makes the rank late by that in each step from the next on."""
        new = self.pause.with_suffix(".new")
        new.write_text(str(ms))
        new.rename(self.pause)

    def hangs(self) -> str | None:
        """The reason of the hang that was reported; None: none was."""
        for line in self.lines.read_text().splitlines(keepends=True):
            fact = json.loads(line) if line.endswith("\n") else {}
            if fact.get("type") == "health" and fact["kind"] == "hang":
                return str(fact["why"])
        return None

    def page(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as reply:
            return str(reply.read().decode())

    def stop(self) -> None:
        for process in (self.job, self.watch):
            process.kill()
            process.wait()


def until(what: str, true: Callable[[], object], patience_s: float) -> float:
    """The time at which it became true."""
    end = time.monotonic() + patience_s
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.1)
    return time.monotonic()


def named(p: nodes.Prometheus, series: str) -> list[tuple[str, str]]:
    return [(labels.get("rank", ""), labels.get("instance", "")) for labels, _ in p.query(series + '{job_id="llama"}')]


def within(what: str, prometheus: dict[str, nodes.Prometheus], series: str, since: float) -> None:
    """Rank 1, and no other, is named by each Prometheus. Prints how long that took."""
    wrong: dict[str, list[tuple[str, str]]] = {}
    took: dict[str, float] = {}
    while len(took) < len(prometheus) and time.monotonic() < since + WITHIN_S + 5:
        for scrape, p in prometheus.items():
            got = named(p, series)
            if got and got != [("1", "node-1")]:
                wrong[scrape] = got
            elif got and scrape not in took:
                took[scrape] = time.monotonic() - since
        time.sleep(0.1)
    for scrape in prometheus:
        problems = [f"named: {wrong[scrape]}"] if scrape in wrong else []
        if took.get(scrape, WITHIN_S) >= WITHIN_S:
            problems.append(f"{series} names it after {took.get(scrape, 'more than 35')} s")
        nodes.tap(f"{what} is named within {WITHIN_S} s, scrapes every {scrape}", *problems)
        if scrape in took:
            print(f"# {what}, scrapes every {scrape}: named after {took[scrape]:.1f} s")


def scraped(p: nodes.Prometheus) -> list[nodes.Sample]:
    try:
        return p.query('gpbpf_collective_wait_seconds_total{job_id="llama"}')
    except OSError:  # it starts
        return []


def scraped_again(p: nodes.Prometheus) -> int:
    return sum(n >= 2 for _, n in p.query('count_over_time(gpbpf_collective_wait_seconds_total{job_id="llama"}[1m])'))


def story(machines: list[Node], prometheus: dict[str, nodes.Prometheus]) -> None:
    for node in machines:
        node.go()
    for p in prometheus.values():
        until("both nodes are scraped", lambda p=p: len(scraped(p)) == 2, START_S)
    for p in prometheus.values():
        until("both nodes are scraped again", lambda p=p: scraped_again(p) == 2, START_S)
    early = {scrape: p.query('count_over_time(gpbpf:job_straggler:lag1m[1m])') for scrape, p in prometheus.items()}
    nodes.tap("no rank is named while both keep step", *[f"{scrape}: {got}" for scrape, got in early.items() if got])

    machines[1].pause_ms(LATE_MS)
    within("a late rank", prometheus, "gpbpf:job_straggler:lag1m", time.monotonic())
    early = {scrape: p.query("gpbpf:job_hang:absent") for scrape, p in prometheus.items()}
    nodes.tap("a late rank is no hang", *[f"{scrape}: {got}" for scrape, got in early.items() if got])

    machines[1].pause_ms(1000000)
    reported = until("the rank that waits is reported as hung", machines[0].hangs, HANG_AFTER_S + 15)
    why = machines[0].hangs()
    nodes.tap("it waits in a collective", *([] if why == "collective" else [f"{why}"]))
    within("a rank that does not enter a collective", prometheus, "gpbpf:job_hang:absent", reported)
    print(f"# the other node says of it: {machines[1].hangs()}")


def ended(signum: int, _: object) -> None:
    raise TimeoutError(signal.Signals(signum).name)


def cannot() -> str | None:
    if os.geteuid() != 0:
        return "probes need root"
    if not shutil.which("prometheus"):
        return "no prometheus (make deps)"
    if subprocess.run([GP_BPF, "check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        return "probes cannot be attached here: gp-bpf check says why"
    return None


def main() -> int:
    why = cannot()
    if why:
        print(f"ok 1 - two nodes # skip {why}\n1..1")
        return os.environ.get("CI") == "true"
    signal.signal(signal.SIGTERM, ended)
    signal.signal(signal.SIGALRM, ended)
    signal.alarm(LIMIT_S)
    with tempfile.TemporaryDirectory() as name:
        folder, ident = pathlib.Path(name), secrets.randbits(48) | 1
        machines: list[Node] = []
        prometheus: dict[str, nodes.Prometheus] = {}
        try:
            for rank in range(2):
                machines.append(Node(folder, rank, ident))
            for scrape in SCRAPES:
                (folder / scrape).mkdir()
                prometheus[scrape] = nodes.Prometheus(folder / scrape, [node.port for node in machines], scrape, None)
            story(machines, prometheus)
        except Exception:
            nodes.tap("two nodes", *traceback.format_exc().splitlines())
        finally:
            signal.alarm(0)
            if nodes.failed:
                for node in machines:
                    print(f"# gp-bpf of node-{node.rank}:\n# " + (node.folder / "gp-bpf.log").read_text().replace("\n", "\n# "))
            for running in (*prometheus.values(), *machines):
                running.stop()
    print(f"1..{nodes.count}")
    return nodes.failed > 0


if __name__ == "__main__":
    sys.exit(main())
