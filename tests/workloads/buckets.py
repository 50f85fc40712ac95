# SPDX-License-Identifier: Apache-2.0
"""buckets.py JOURNAL [compile]: one rank (RANK, WORLD_SIZE; gloo) whose life has parts of known length.

Imports, a process group whose second rank comes late, preparation, steps, a named validation, a named upload with
another range in it, one in a thread, steps. JOURNAL.RANK: one JSON object, instants on CLOCK_MONOTONIC in ns."""
import json
import os
import sys
import threading
import time

from journal import process_start

rank, log = int(os.environ["RANK"]), {}


def note(what):
    log[what] = time.monotonic_ns()


log["begin"] = process_start()
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.autograd.profiler import record_function  # noqa: E402

torch.set_num_threads(1)
if rank:
    time.sleep(0.5)
note("group")
dist.init_process_group("gloo")
note("grouped")
time.sleep(0.6)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
run = torch.compile(model, backend="aot_eager") if "compile" in sys.argv else model


def steps(n):
    for _ in range(n):
        optimizer.zero_grad()
        run(torch.randn(4, 8)).sum().backward()
        time.sleep(0.02)
        optimizer.step()


def upload():
    with record_function("upload aside"):
        time.sleep(0.3)


note("train")
steps(1)
note("stepped")
steps(19)
aside = threading.Thread(target=upload)
aside.start()
steps(20)
aside.join()
note("validation")
with record_function("validation epoch 1"):
    time.sleep(0.4)
note("validated")
steps(5)
note("upload")
with record_function("upload all"):
    time.sleep(0.2)
    note("sign")
    with record_function("sign"):
        time.sleep(0.3)
    note("signed")
note("uploaded")
steps(5)
note("end")
with open(f"{sys.argv[1]}.{rank}", "w") as out:
    json.dump(log, out)
sys.stdout.flush()
os._exit(0)  # gloo of torch 2.15 now and then ends in std::terminate while it is torn down
