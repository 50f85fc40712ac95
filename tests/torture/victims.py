# SPDX-License-Identifier: Apache-2.0
"""Processes of several threads, killed one after the other: each end is told once, with its signal and who sent it."""
import collections
import os
import struct

from torturelib import BUILD, Folder, Job, Plain, progress, row

TAPE_HEADER, FRAME_HEADER = 24, 32
RECORD = struct.Struct("<QIIHHI")  # struct gp_rec
EXIT, SIGNAL = 18, 19


def records(tape):
    at = TAPE_HEADER
    while at + FRAME_HEADER <= len(tape):
        (length,) = struct.unpack_from("<I", tape, at)
        at += FRAME_HEADER
        end = at + length
        while at + RECORD.size <= end:
            _, pid, _, size, kind, _ = RECORD.unpack_from(tape, at)
            yield kind, pid, tape[at + RECORD.size:at + size]
            at += (size + 7) & ~7
        at = end


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
        with open(folder.file("tape"), "rb") as f:
            tape = f.read()
    exits, senders = collections.Counter(), collections.Counter()
    for kind, pid, payload in records(tape):
        if kind == EXIT:
            exits[pid, struct.unpack_from("<Qi", payload)[1] & 0x7f] += 1
        elif kind == SIGNAL:
            senders[(pid, *struct.unpack_from("<II", payload))] += 1
    exits.pop((job.pid, 0), None)
    yield row(f"{what}: exits told", kills, sum(exits.values()))
    yield row(f"{what}: exits with the right signal", kills, sum(exits[one] == 1 for one in sent))
    yield row(f"{what}: told with the right sender", kills, sum(senders[(*one, job.pid)] == 1 for one in sent))
    yield row(f"{what}: status of job, of gp-bpf", "0 0", f"{status} {ended}")
