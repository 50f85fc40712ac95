# SPDX-License-Identifier: Apache-2.0
"""Small models and data for the training programs: the same on every run, one thread, 1 to 3 ms a step."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WIDTH, CLASSES, BATCH = 128, 10, 32
loss_of = nn.CrossEntropyLoss()


def settle(seed=0):
    torch.set_num_threads(1)
    torch.manual_seed(seed)


def classifier(hidden=384, depth=2, inputs=WIDTH):
    layers, width = [], inputs
    for _ in range(depth):
        layers += [nn.Linear(width, hidden), nn.ReLU()]
        width = hidden
    return nn.Sequential(*layers, nn.Linear(width, CLASSES))


def dataset(rows=40 * BATCH, inputs=WIDTH):
    return TensorDataset(torch.randn(rows, inputs), torch.randint(0, CLASSES, (rows,)))


def loader(rows=40 * BATCH, batch=BATCH, **options):
    return DataLoader(dataset(rows), batch_size=batch, shuffle=True, **options)


def batches(of, n):
    """n batches, in as many passes over the loader as it takes."""
    while n > 0:
        for batch in of:
            yield batch
            n -= 1
            if n == 0:
                return


def one_batch(rows=BATCH, inputs=WIDTH):
    return torch.randn(rows, inputs), torch.randint(0, CLASSES, (rows,))
