# SPDX-License-Identifier: Apache-2.0
"""A real torch job under a durable gp-bpf that is killed every two seconds and upgraded once, and under one that is left
alone, at the same time: both tell the same steps and the same closed ledger."""
import os
import time

from torturelib import (GP_BPF, HERE, NEXT, Durable, Folder, Job, Plain, ledgers_open, lines_of, progress, row, sound_rows,
                        steps_of, torch_python)

APART_MS = 1.0  # of one boundary, as two see it
SHARE = 0.002  # of the time, by which a bucket may differ
# What was before the first step depends on when each of the two came.
HEAD = ("UNOBSERVED", "PROGRAM_STARTUP", "OTHER")


def disturb(plan, watch, seconds):
    """Kills it every two seconds; halfway the next version takes over, and goes on being killed."""
    program, kills, end = GP_BPF, 0, time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(2)
        if program is GP_BPF and time.monotonic() > end - seconds / 2:
            before, program = watch.process, NEXT
            watch.start(program, more=["--takeover"])
            before.wait()
        else:
            watch.kill()
            kills += 1
            watch.start(program, wait=plan.random.random() < 0.5)
    return kills


def last_ledger(lines):
    return [x for x in lines if x["type"] == "ledger"][-1]


def apart_ms(one, other):
    return max((abs(a["end_ns"] - b["end_ns"]) for a, b in zip(one, other)), default=0) / 1e6


def ledger_rows(what, one, other):
    """Differences of two ledgers, the head as a whole, in permille of the time."""
    elapsed = max(one["elapsed_ns"], other["elapsed_ns"])
    both = [{k: v for k, v in x["buckets"].items() if k not in HEAD} | {"head": sum(x["buckets"][k] for k in HEAD)}
            for x in (one, other)]
    worst = max(both[0], key=lambda k: abs(both[0][k] - both[1][k]))
    share = abs(both[0][worst] - both[1][worst]) / elapsed
    yield row(f"{what}: a bucket differs by, of the time", (SHARE, "max"), round(share, 6), worst)
    yield row(f"{what}: elapsed differs by, ms", (APART_MS, "max"),
              round(abs(one["elapsed_ns"] - other["elapsed_ns"]) / 1e6, 3))


def compare(what, lines, other, kills):
    yield row(f"{what}: steps of the two differ by", 0, len(steps_of(lines)) - len(steps_of(other)),
              f"{len(steps_of(lines))} steps, {kills} kills")
    yield row(f"{what}: a boundary differs by, ms", (APART_MS, "max"), round(apart_ms(steps_of(lines), steps_of(other)), 3))
    yield from ledger_rows(what, last_ledger(lines), last_ledger(other))


def run(plan):
    seconds = plan.pick(8, 60)
    what = f"killed every 2 s for {seconds} s, upgraded once"
    progress(what)
    with Folder() as folder, Job([torch_python(), os.path.join(HERE, "train.py"), folder.file("truth")]) as job, \
            Durable(folder, [job.pid]) as watch:
        job.until("ready")
        with Plain([job.pid], "--export", f"json:{folder.file('undisturbed')}") as other:
            watch.start()
            job.say()
            kills = disturb(plan, watch, seconds)
            last, status = job.end()
            ended = watch.wait()
            other.wait()
            lines, undisturbed = watch.lines(), lines_of(folder.file("undisturbed"))
            truth = [x for x in lines_of(folder.file("truth")) if x["type"] == "step"]
            yield row(f"{what}: steps lost or doubled", 0, len(steps_of(lines)) - len(truth))
            yield from compare(what, lines, undisturbed, kills)
            yield from sound_rows(what, lines, job.pid)
            yield row(f"{what}: ledgers of the other not closed", 0, ledgers_open(undisturbed))
            yield row(f"{what}: status of job, of gp-bpf", "0 0", f"{status} {ended}", last)
            yield row(f"{what}: left in the kernel", 0, watch.left())
