# SPDX-License-Identifier: Apache-2.0
"""Programs that stand still in the middle of training until somebody lets them go on. hang.bats runs them; they are no
kinds of loops of their own, so kinds.tsv does not have them. HANG_GO names the file (or FIFO) that they wait for."""
import os
import signal
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

from journal import kind
from loops_dist import ranks
from models import BATCH, CLASSES, WIDTH, backward, batches, loss_of, network, update

HOLD = 20  # steps before


def parallel(log, hold):
    model = nn.parallel.DistributedDataParallel(network())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for i, (x, y) in enumerate(batches(log.steps)):
        if i == HOLD and dist.get_rank() == 0:
            hold()
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)


@ranks("hang_stopped", 40)
def hang_stopped(log):
    """Rank 0 is stopped, as by a person or a debugger; rank 1 goes on until it needs rank 0."""
    parallel(log, lambda: os.kill(os.getpid(), signal.SIGSTOP))


@ranks("hang_missing", 40)
def hang_missing(log):
    """Rank 0 does not come to the collective: it looks for a file every now and then."""

    def hold():
        while not os.path.exists(os.environ["HANG_GO"]):
            time.sleep(0.05)

    parallel(log, hold)


class FromFifo(Dataset):
    """One sample comes from a FIFO, as from a program that decodes, or a server that does not answer."""

    def __len__(self):
        return 40 * BATCH

    def __getitem__(self, i):
        if i == HOLD * BATCH:
            with open(os.environ["HANG_GO"], "rb", buffering=0) as f:
                f.read(1)
        return torch.full((WIDTH,), i % 7 / 7), i % CLASSES


def from_fifo(log, **options):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in DataLoader(FromFifo(), batch_size=BATCH, **options):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)


@kind("hang_fifo", 40)
def hang_fifo(log):
    from_fifo(log)


@kind("hang_worker", 40)
def hang_worker(log):
    from_fifo(log, num_workers=1)


@kind("long_step", 40)
def long_step(log):
    """No hang: a long computation that nothing announces."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for i, (x, y) in enumerate(batches(log.steps)):
        while i == HOLD and not os.path.exists(os.environ["HANG_GO"]):
            x @ x.T
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)
