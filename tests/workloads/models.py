# SPDX-License-Identifier: Apache-2.0
"""What the training programs share: small networks and made-up data, the same on every run, one thread."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WIDTH, CLASSES, BATCH = 128, 10, 32
loss_of = nn.CrossEntropyLoss()

torch.set_num_threads(1)
torch.manual_seed(0)


def network(layers=2, hidden=256, out=CLASSES):
    parts, width = [], WIDTH
    for _ in range(layers):
        parts += [nn.Linear(width, hidden), nn.ReLU()]
        width = hidden
    return nn.Sequential(*parts, nn.Linear(width, out))


def data(rows=40 * BATCH):
    return TensorDataset(torch.randn(rows, WIDTH), torch.randint(0, CLASSES, (rows,)))


def batches(n, batch=BATCH, rows=40 * BATCH, **options):
    """n batches of a real DataLoader, over as many epochs as it takes."""
    loader = DataLoader(data(rows), batch_size=batch, **options)
    while n > 0:
        for x, y in loader:
            yield x, y
            n -= 1
            if n == 0:
                break


def backward(log, loss, loop=0):
    log.backward(loop)
    loss.backward()


def update(log, optimizer, loop=0):
    """The author's whole update by one optimizer."""
    optimizer.step()
    log.step(loop)


def train(log, model, optimizer, source, loop=0):
    """The plain loop, as torch's own tutorial writes it."""
    for x, y in source:
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y), loop)
        update(log, optimizer, loop)
