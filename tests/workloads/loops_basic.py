# SPDX-License-Identifier: Apache-2.0
"""Plain loops of every speed, evaluation and checkpoints, loops beside and after each other."""
import threading
import time

import torch

from models import batches, classifier, loader, loss_of, one_batch, settle
from journal import kind, now


def train(log, model, optimizer, data, steps, loop=0):
    start = now()
    for x, y in batches(data, steps):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        start = log.step(start, loop=loop)


@kind("plain", steps=200)
def plain(log):
    settle()
    model = classifier()
    train(log, model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), loader(), log.steps)
    log.write()


@kind("late", steps=300, hold=100)
def late(log):
    plain(log)


@kind("fast", steps=3000)
def fast(log):
    settle()
    model, (x, y) = classifier(hidden=16, depth=2, inputs=16), one_batch(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    start = now()
    for _ in range(log.steps):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        start = log.step(start)
    log.write()


@kind("slow", steps=12)
def slow(log):
    """300 ms a step, most of it off the CPU as where a device works."""
    settle()
    model = classifier()
    optimizer = torch.optim.Adam(model.parameters())
    start = now()
    for x, y in batches(loader(), log.steps):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        time.sleep(0.295)
        loss.backward()
        optimizer.step()
        start = log.step(start)
    log.write()


@kind("workers", steps=160)
def workers(log):
    settle()
    model = classifier()
    train(log, model, torch.optim.SGD(model.parameters(), lr=0.01), loader(num_workers=2), log.steps)
    log.write()


@kind("inference", steps=200)
def inference(log):
    settle()
    model = classifier(hidden=512).eval()
    with torch.inference_mode():
        for x, _ in batches(loader(), log.steps):
            model(x)
    log.write()


def evaluate(log, model, data):
    start = now()
    model.eval()
    with torch.no_grad():
        for x, y in data:
            loss_of(model(x), y).item()
    model.train()
    log.evaluation(start)


@kind("eval_ckpt", steps=200)
def eval_ckpt(log):
    """Evaluation every 25 steps, a checkpoint every 50, which is read back at the end."""
    settle()
    model, file = classifier(hidden=512), log.out + ".pt"
    optimizer = torch.optim.Adam(model.parameters())
    held_out = loader(rows=640)
    start = now()
    for n, (x, y) in enumerate(batches(loader(), log.steps), 1):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        start = log.step(start)
        if n % 25 == 0:
            evaluate(log, model, held_out)
        if n % 50 == 0:
            at = now()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
            log.checkpoint("save", at, file)
        start = now() if n % 25 == 0 else start
    at = now()
    model.load_state_dict(torch.load(file)["model"])
    log.checkpoint("restore", at, file)
    log.write()


@kind("two_loops", steps=160)
def two_loops(log):
    """One after the other in one process: another model, another optimizer."""
    settle()
    half = log.steps // 2
    first, second = classifier(), classifier(hidden=256, depth=3)
    train(log, first, torch.optim.SGD(first.parameters(), lr=0.01), loader(), half)
    train(log, second, torch.optim.AdamW(second.parameters()), loader(), log.steps - half)
    log.write()


@kind("two_threads", steps=150)
def two_threads(log):
    """Two models trained at the same time by two threads; steps of each."""
    settle()
    models = [classifier(hidden=256), classifier(hidden=512)]
    threads = [threading.Thread(target=train, args=(
        log, m, torch.optim.Adam(m.parameters()), loader(), log.steps, i)) for i, m in enumerate(models)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    log.write()


@kind("manual_sgd", steps=200)
def manual_sgd(log):
    """No optimizer at all: its author writes the update."""
    settle()
    model = classifier()
    start = now()
    for x, y in batches(loader(), log.steps):
        loss_of(model(x), y).backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.01 * p.grad
                p.grad = None
        start = log.step(start)
    log.write()
