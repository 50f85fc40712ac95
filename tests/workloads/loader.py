# SPDX-License-Identifier: Apache-2.0
"""loader.py KIND WORKERS SECONDS: trains on the CPU with a DataLoader whose batches are made

  cpu    by 40 ms of computing             sleep  by sleeping 40 ms
  slow   by worker 0 in 160 ms of computing, by the others at once
  quick  at once                           later  at once for half the time, then as cpu

WORKERS 0: in the training process. Prints "ready" before the first step.
"""
import sys
import time

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

KIND, WORKERS, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
START = time.monotonic()


def compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Samples(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        while True:
            if KIND == "cpu" or (KIND == "later" and time.monotonic() - START > SECONDS / 2):
                compute(0.04)
            elif KIND == "sleep":
                time.sleep(0.04)
            elif KIND == "slow" and info.id == 0:
                compute(0.16)
            yield torch.zeros(8)


torch.set_num_threads(1)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
print("ready", flush=True)
for batch in DataLoader(Samples(), batch_size=1, num_workers=WORKERS):
    optimizer.zero_grad()
    model(batch).sum().backward()
    time.sleep(0.004)
    optimizer.step()
    if time.monotonic() - START > SECONDS:
        break
