# SPDX-License-Identifier: Apache-2.0
"""kill -9 of gp-bpf --durable at random moments: also while it starts, takes over and saves its state."""
import os
import time

from torturelib import (GP_BPF, HERE, NEXT, PROBES, Durable, Folder, Job, caller, lines_of, progress, row,
                        sound_rows, steps_of, torch_python)

KILL_S = 0.4  # a start takes half of that


def kill_often(plan, watch, kills, program):
    """One after the other does not get ready, the next is killed soon after it did, so that rings are emptied."""
    for i in range(kills):
        watch.start(program(), wait=i % 2)
        time.sleep(plan.random.uniform(0, KILL_S))
        watch.kill()


def programs(plan):
    """Now the one, now the one that saves its state every few milliseconds."""
    return lambda: plan.random.choice([GP_BPF, NEXT])


def told_rows(what, watch, truth_steps, pid):
    lines = watch.lines()
    yield row(f"{what}: steps lost or doubled", 0, len(steps_of(lines, pid)) - truth_steps, f"{truth_steps} steps")
    yield from sound_rows(what, lines, pid)


def stream(plan, kills):
    """10 000 records a second of a program that counts them itself."""
    what = f"{kills} kills, 10 000 records/s"
    progress(what)
    with Folder() as folder, caller(names=2) as job, Durable(folder, [job.pid], probes=PROBES) as watch:
        job.until("ready")
        kill_often(plan, watch, kills // 10, lambda: GP_BPF)  # while there is nothing to take over
        watch.start()
        job.say()
        watch.kill()
        kill_often(plan, watch, kills - kills // 10 - 1, programs(plan))
        watch.start()
        last, status = job.end()
        ended = watch.wait()
        truth = dict(zip(last.split()[::2], map(int, last.split()[1::2])))
        hits = sum(r["hits"] for r in watch.report()["ranks"])
        yield from told_rows(what, watch, truth["steps"], job.pid)
        yield row(f"{what}: hits lost or doubled", 0, hits - truth["records"] - truth["counted"] - truth["ranges"],
                  f"{truth['records']} records, {truth['counted']} counted")
        yield row(f"{what}: status of job, of gp-bpf", "0 0", f"{status} {ended}")
        yield row(f"{what}: left in the kernel", 0, watch.left())


def torch(plan, kills):
    what = f"{kills} kills, torch training"
    progress(what)
    python = torch_python()
    with Folder() as folder, Job([python, os.path.join(HERE, "train.py"), folder.file("truth")]) as job, \
            Durable(folder, [job.pid]) as watch:
        job.until("ready")
        watch.start()
        job.say()
        watch.kill()
        kill_often(plan, watch, kills - 1, programs(plan))
        watch.start()
        last, status = job.end()
        ended = watch.wait()
        truth = [x for x in lines_of(folder.file("truth")) if x["type"] == "step"]
        yield from told_rows(what, watch, len(truth), job.pid)
        yield row(f"{what}: status of job, of gp-bpf", "0 0", f"{status} {ended}", last)
        yield row(f"{what}: left in the kernel", 0, watch.left())


def run(plan):
    kills = plan.pick(25, 250)
    yield from stream(plan, kills - kills // 2)
    yield from torch(plan, kills // 2)
