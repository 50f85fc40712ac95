# SPDX-License-Identifier: Apache-2.0
"""Processes of several threads, killed one after the other: each end is told once, with its signal and who sent it."""
import collections
import os
import struct
import sys

from torturelib import BUILD, Folder, Job, Plain, progress, row

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from tape import EXIT, SIGNAL, records  # noqa: E402


def run(plan):
    kills = plan.pick(60, 300)
    what = f"{kills} processes of 4 threads killed"
    progress(what)
    with Folder() as folder, Job([os.path.join(BUILD, "tests/torture/crowd"), "victims", str(kills),
                                  str(plan.random.randrange(1 << 31))]) as job:
        job.until("ready")
        with Plain([job.pid], "record", "-o", folder.file("tape")) as watch:
            job.say()
            sent = []
            while (line := job.line()) != "done":
                _, pid, signo = line.split()
                sent.append((int(pid), int(signo)))
            status = job.process.wait()
            ended = watch.wait()
        told = list(records(folder.file("tape")))
    exits, senders = collections.Counter(), collections.Counter()
    for kind, payload, _, _, pid in told:
        if kind == EXIT:
            exits[pid, struct.unpack_from("<Qi", payload)[1] & 0x7f] += 1
        elif kind == SIGNAL:
            senders[(pid, *struct.unpack_from("<II", payload))] += 1
    exits.pop((job.pid, 0), None)
    yield row(f"{what}: exits told", kills, sum(exits.values()))
    yield row(f"{what}: exits with the right signal", kills, sum(exits[one] == 1 for one in sent))
    yield row(f"{what}: told with the right sender", kills, sum(senders[(*one, job.pid)] == 1 for one in sent))
    yield row(f"{what}: status of job, of gp-bpf", "0 0", f"{status} {ended}")
