# SPDX-License-Identifier: Apache-2.0
"""1 000 processes born and dead each second, with an honest trainer among them; and whatever grows that should not."""
import collections
import os
import time

import bpf
from torturelib import BUILD, FAKE, Durable, Folder, Job, progress, row, steps_of

STEPS = 23
SLOTS = 512  # GP_SLOTS
HASHES = ("gp_watched", "gp_open_calls", "gp_threads", "gp_rates", "gp_unsent_saved")
GROWTH_KB, GROWTH_MAPS = 4096, 16  # of an allocator that finds its size
GROWTH_FDS = 16  # links of the libraries that the trainer of this second has


def usage(pid):
    """Descriptors, mappings and KiB of memory of our own."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        memory = next(int(line.split()[1]) for line in f if line.startswith("Anonymous:"))
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        return len(os.listdir(f"/proc/{pid}/fd")), len(f.readlines()), memory


def run(plan):
    seconds = plan.pick(10, 60, 1800)
    what = f"1 000 births/s for {seconds} s"
    progress(what)
    crowd = [os.path.join(BUILD, "tests/torture/crowd"), "births", "1000", str(seconds), "--", os.path.join(FAKE, "train"),
             "load", "wait", f"steps={STEPS}"]
    with open("/dev/null", "wb") as null, Folder() as folder, Job(crowd, stderr=null) as job, \
            Durable(folder, [job.pid]) as watch:
        job.until("ready")
        watch.start()
        job.say()
        until_told(watch, plan.pick(5, 5, 330), seconds)  # what it needs at all it has by then; also the ended ones that are shown (256)
        before = usage(watch.process.pid)
        while not (last := job.line()).startswith("born"):
            pass
        yield from left(what, watch)
        now = usage(watch.process.pid)
        job.say("end")
        yield from told(what, watch, last, (job.process.wait(), watch.wait()))
        yield row(f"{what}: descriptors grown", (GROWTH_FDS, "max"), now[0] - before[0], f"to {now[0]}")
        yield row(f"{what}: mappings grown", (GROWTH_MAPS, "max"), now[1] - before[1], f"to {now[1]}")
        yield row(f"{what}: memory grown, KiB", (GROWTH_KB, "max"), now[2] - before[2], f"to {now[2]}")


def until_told(watch, count, seconds):
    """Until the steps of so many trainers are written, of which there is one a second, or those seconds are over."""
    end, steps = time.monotonic() + seconds, 0
    while steps < count * STEPS and time.monotonic() < end:
        time.sleep(0.2)
        with open(watch.json, encoding="utf-8") as f:
            steps = sum('"type":"step"' in line for line in f)


def left(what, watch):
    """Of those that ended a moment ago: all is given back within two ticks."""
    def in_use():
        found = {name: bpf.count_keys(os.path.join(watch.pins, f"map-{name}")) for name in HASHES}
        return found | {"gp_slot_owner": bpf.count_set(os.path.join(watch.pins, "map-gp_slot_owner"), SLOTS)}

    wanted = {name: 0 for name in HASHES} | {"gp_watched": 1, "gp_slot_owner": 1}
    end = time.monotonic() + 10
    while (found := in_use()) != wanted and time.monotonic() < end:
        time.sleep(0.1)
    yield row(f"{what}: places in the kernel kept for the dead", 0, sum(found.values()) - sum(wanted.values()),
              "" if found == wanted else str(found))


def trainers(lines):
    """Steps of each trainer. A process ID may be used twice in a minute; each use begins at step 1."""
    use, found = collections.Counter(), collections.Counter()
    for step in steps_of(lines):
        use[step["pid"]] += step["step"] == 1
        found[step["pid"], use[step["pid"]]] += 1
    return found


def told(what, watch, last, status):
    truth = dict(zip(last.split()[::2], map(int, last.split()[1::2])))
    lines = watch.lines()
    found = trainers(lines)
    lost = sum(x["count"] for x in lines if x["type"] == "loss" and x["source"] not in ("unpaired", "slots_full"))
    yield row(f"{what}: trainers missed", 0, truth["trainers"] - len(found), f"{truth['trainers']} among {truth['born']} born")
    wrong = {pid: n for pid, n in found.items() if n != STEPS}
    yield row(f"{what}: trainers whose steps are not exact", 0, len(wrong), f"{wrong} of {STEPS}" if wrong else "")
    yield row(f"{what}: records lost", 0, lost)
    yield row(f"{what}: trainers that failed", 0, truth["failed"])
    yield row(f"{what}: status of job, of gp-bpf", "0 0", f"{status[0]} {status[1]}")
