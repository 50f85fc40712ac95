#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What probes cost a job whose gp-bpf is gone: handed over to a successor that never came. After a minute
the kernel side falls silent; then a hit costs what an empty probe does, less what the silence spares."""
import signal
import statistics
import subprocess
import time

from benchlib import GP_BPF, PROBES, RUNS, Folder, Row, Talker, Watcher, main, program, progress
from handlers import measure, measure_once

SILENT_S = 61


def bench():
    with Folder() as folder, Talker([program("hits"), "sites"]) as target:
        sites = dict(line.split()[1:] for line in target.until("done"))
        offsets = [offset + ("r" if name.endswith("_call") else "") for name, offset in sites.items()]
        args = [program("empty"), program("empty.bpf.o"), program("libgpbench.so"), *offsets]
        turns = max(RUNS, 5)
        gp_bpf = Watcher([target.pid], ["--quiet", "--durable", "--handover"], probes=PROBES, state_dir=folder.path)
        gp_bpf.process.send_signal(signal.SIGTERM)
        gp_bpf.process.wait()
        try:
            for left in range(SILENT_S, 0, -1):
                progress(f"forgotten: silent in {left} s")
                time.sleep(1)
            measure_once(target, 1000)  # the first record notices
            silent = [measure(target) for _ in range(turns)]
        finally:
            subprocess.run([GP_BPF, "detach"], stdout=subprocess.DEVNULL, check=True)
        with Talker(args) as empty:
            empty.until("ready")
            base = [measure(target) for _ in range(turns)]
    for name in ("push_count", "push_hit", "push_begin", "push_call"):
        ratios = [s[name] / statistics.median(b[name] for b in base) for s in silent]
        note = f"{statistics.median(s[name] for s in silent):.0f} ns a hit, " \
               f"{statistics.median(b[name] for b in base):.0f} ns empty"
        yield Row(f"forgotten probe, {name[5:]}", ratios, "x", None, note)


if __name__ == "__main__":
    main(bench)
