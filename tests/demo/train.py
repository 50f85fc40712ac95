# SPDX-License-Identifier: Apache-2.0
"""An ordinary training run: a small network on made-up data, with a DataLoader, an evaluation now and then,
checkpoints, and a stretch in which steps are slow (a stall that a real job might have). It knows nothing of
gp-bpf. For the comparison afterwards it keeps a log of its own.

train.py TRUTH_FILE FOLDER [STEPS]"""
import json
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
BATCH = 32
EVALUATE_EVERY = 400
CHECKPOINT_EVERY = 500
SLOW = range(STEPS * 6 // 10, STEPS * 6 // 10 + STEPS // 50)
SLOW_S = 0.1


class Pictures(TensorDataset):
    """Reading and preparing one sample takes a moment, as decoding a picture would."""

    def __getitem__(self, index):
        sample, label = super().__getitem__(index)
        time.sleep(20e-6)
        return (sample - sample.mean()) / (sample.std() + 1e-3), label


def make_data(count, classes):
    labels = torch.randint(0, len(classes), (count,))
    return Pictures(classes[labels] + 3 * torch.randn(count, classes.shape[1]), labels)


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512),
                               torch.nn.ReLU(), torch.nn.Linear(512, 10))


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return right / len(loader.dataset)


def batches(loader):
    while True:
        yield from loader


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    log = []

    def note(kind, **fields):
        log.append({"type": kind, "ns": time.monotonic_ns(), **fields})

    note("start", torch=torch.__version__, pid=os.getpid(), steps=STEPS)
    classes = torch.randn(10, 256)
    loader = DataLoader(make_data(8192, classes), batch_size=BATCH, shuffle=True)
    held_out = DataLoader(make_data(1024, classes), batch_size=256)
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = torch.nn.CrossEntropyLoss()
    for step, (x, y) in enumerate(batches(loader), 1):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        if step in SLOW:
            time.sleep(SLOW_S)
        note("backward", step=step)
        loss.backward()
        optimizer.step()
        note("step", step=step)
        if step % EVALUATE_EVERY == 0:
            note("evaluation_start")
            accuracy = evaluate(model, held_out)
            note("evaluation_end")
            print(f"step {step}: loss {loss.item():.3f}, accuracy {accuracy:.3f}", flush=True)
        if step % CHECKPOINT_EVERY == 0:
            note("checkpoint_start")
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()},
                       os.path.join(sys.argv[2], f"checkpoint-{step}.pt"))
            note("checkpoint_end")
        if step == STEPS:
            break
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.writelines(json.dumps(entry) + "\n" for entry in log)


main()
