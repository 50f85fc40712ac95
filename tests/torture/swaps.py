# SPDX-License-Identifier: Apache-2.0
"""Links replaced under load: by the loader itself as fast as it can, and by one version of gp-bpf after another."""
import os
import re
import subprocess

from torturelib import BUILD, GP_BPF, NEXT, PROBES, Durable, Failure, Folder, caller, progress, row, sound_rows, steps_of


def loader():
    progress("swaps: links replaced while they are hit")
    done = subprocess.run([os.path.join(BUILD, "tests/unit/loader_relink_test")], capture_output=True, text=True,
                          check=False)
    said = re.search(r"(\d+) swaps, (\d+) hits, ([\d.]+) million a second", done.stdout + done.stderr)
    if not said:
        raise Failure(f"loader_relink_test: {done.stdout[-500:]}{done.stderr[-500:]}")
    yield row("links replaced under load", (8, "min"), int(said[1]), f"{said[2]} hits, {said[3]} million a second")
    yield row("links replaced under load: exact", "yes", "no" if done.returncode else "yes")


def upgrades(swaps):
    what = f"{swaps} upgrades under 400 000 hits/s"
    progress(what)
    with Folder() as folder, caller(rate=10000, counted=200, threads=2) as job, \
            Durable(folder, [job.pid], probes=PROBES) as watch:
        job.until("ready")
        watch.start()
        job.say()
        for i in range(swaps):
            before = watch.process
            watch.start(GP_BPF if i % 2 else NEXT, more=["--takeover"])
            before.wait()
        last, status = job.end()
        ended = watch.wait()
        truth = dict(zip(last.split()[::2], map(int, last.split()[1::2])))
        hits = sum(r["hits"] for r in watch.report()["ranks"])
        lines = watch.lines()
        yield row(f"{what}: steps lost or doubled", 0, len(steps_of(lines, job.pid)) - truth["steps"])
        yield row(f"{what}: hits lost or doubled", 0, hits - truth["records"] - truth["counted"],
                  f"{truth['records']} records, {truth['counted']} counted")
        yield from sound_rows(what, lines, job.pid)
        yield row(f"{what}: status of job, of gp-bpf", "0 0", f"{status} {ended}")


def run(plan):
    yield from loader()
    yield from upgrades(plan.pick(4, 10))
