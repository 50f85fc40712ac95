#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A live stream of 200 000 records a second through rings, tape and model. BENCH_SECONDS shortens it. What
was sent is counted by the sender, what arrived on the tape, so nothing can be lost unseen."""
import os
import subprocess

from benchlib import PROBES, Folder, Row, Talker, Watcher, cpu_ns, main, memory_kb, program, progress

RATE = 200000
SECONDS = int(os.environ.get("BENCH_SECONDS", "60"))
BYTES_EACH = 56


def on_tape(tape):
    out = subprocess.run([program("tape"), "count", tape], check=True, capture_output=True, text=True).stdout
    counts = {kind: int(n) for kind, n in (line.split() for line in out.splitlines())}
    return sum(counts.get(kind, 0) for kind in ("hit", "range_begin", "range_end"))


def bench():
    with Folder() as folder, Talker([program("hits"), "stream", str(RATE), str(SECONDS)]) as job:
        folder.need(RATE * SECONDS * BYTES_EACH)
        job.until("ready")
        tape = folder.file("stream.tape")
        w = Watcher([job.pid], ["-o", tape, "--json", "--quiet"], "record", probes=PROBES, state_dir=folder.path)
        try:
            progress(f"stream: {RATE} records/s for {SECONDS} s")
            before = cpu_ns(w.pid)
            job.say("go")
            _, sent, seconds = job.line().split()
            share = (cpu_ns(w.pid) - before) / (float(seconds) * 1e9) * 100
            memory, resident = memory_kb(w.pid), memory_kb(w.pid, "Rss")
        finally:
            w.stop()
        arrived = on_tape(tape)
        told = sum(w.report().get("losses", {}).values())
        size = os.path.getsize(tape)
    rate = int(sent) / float(seconds)
    yield Row(f"stream for {SECONDS} s, rate reached", [rate / 1e3], "k records/s", (RATE * 0.99 / 1e3, "min"))
    yield Row("stream, records lost", [int(sent) - arrived], "", (0, "max"),
              f"{sent} sent, {arrived} on the tape of {size >> 20} MiB; losses told: {told}", 0)
    yield Row("stream, CPU of gp-bpf", [share], "% of a core", None, "tape written and model fed", 1)
    yield Row("stream, anonymous memory of gp-bpf", [memory / 1024], "MiB", None, f"{resident >> 10} MiB resident", 1)


if __name__ == "__main__":
    main(bench)
