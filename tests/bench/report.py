#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a tape of a million steps, and the report of the store that it was put into. CPU time of the whole
program is what counts, its start included; most of it is the model's, which reads eight events a step."""
import os
import subprocess

from benchlib import GP_BPF, RUNS, Folder, Row, main, program, progress

STEPS = 1000000
EVENTS = 8500000  # of two ranks: eight a step, and what is between them
SECONDS = 20000  # of steps of a second each
EVENTS_SECOND = 119  # the same, a tick, two counters, and a drain mark every ten milliseconds


def cpu(*args):
    """(CPU seconds, peak resident KiB)"""
    process = subprocess.Popen([GP_BPF, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"gp-bpf {' '.join(args)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def bench():
    with Folder() as folder:
        folder.need(EVENTS * 70)
        tape, small, store = folder.file("tape"), folder.file("small"), folder.file("store.db")
        slow = folder.file("slow")
        page, few = folder.file("page.html"), folder.file("few.html")
        progress(f"report: making a tape of {STEPS} steps")
        subprocess.run([program("tape"), "make", str(EVENTS), tape], check=True)
        subprocess.run([program("tape"), "make", str(EVENTS // 100), small], check=True)
        subprocess.run([program("tape"), "make", str(SECONDS * EVENTS_SECOND), slow, "1000"], check=True)
        cpu("replay", "--quiet", "--store", store, tape)
        cpu("replay", "--quiet", "--html", few, small)
        with_page, without, told, peak, few_peak, seconds_page = [], [], [], [], [], []
        for i in range(RUNS):
            progress(f"report: turn {i + 1} of {RUNS}")
            seconds, kib = cpu("replay", "--quiet", "--html", page, tape)
            with_page.append(seconds)
            peak.append(kib / 1024)
            few_peak.append(cpu("replay", "--quiet", "--html", few, small)[1] / 1024)
            without.append(cpu("replay", "--quiet", tape)[0])
            seconds_page.append(cpu("replay", "--quiet", "--html", few, slow)[0])
            told.append(cpu("report", "--store", store, "--html", few, "1")[0])
        size = os.path.getsize(page) / 1e6
    yield Row("page of a tape of 1e+06 steps", with_page, "s", (2.0, "max"))
    yield Row("of that, beyond the replay alone", [a - b for a, b in zip(with_page, without)], "s")
    yield Row("size of the page", [size], "MB", (3.0, "max"))
    yield Row("peak resident", peak, "MiB")
    yield Row("resident, 1e6 over 1e4 steps", [a / b for a, b in zip(peak, few_peak)], "x", (1.25, "max"),
              "memory is fixed")
    yield Row("page of the store of these steps", told, "s", (2.0, "max"))
    yield Row("page of 20 000 seconds, a step each", seconds_page, "s", (1.0, "max"),
              "each second has a tick, which the page looks at")


if __name__ == "__main__":
    main(bench)
