# SPDX-License-Identifier: Apache-2.0
"""One optimizer, one loop: of every speed, accumulating, evaluating, saving, by hand, and none at all."""
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from journal import kind
from models import backward, batches, data, loss_of, network, train, update


@kind("plain", steps=150)
def plain(log):
    model = network()
    train(log, model, torch.optim.AdamW(model.parameters(), lr=1e-3), batches(log.steps))


@kind("late", steps=200, hold=80)
def late(log):
    """With --go: stands still after step 80 until somebody has attached."""
    plain(log)


@kind("no_loader", steps=150)
def no_loader(log):
    model, (x, y) = network(), next(batches(1))
    train(log, model, torch.optim.SGD(model.parameters(), lr=1e-3), ((x, y) for _ in range(log.steps)))


@kind("zero_grad_last", steps=150)
def zero_grad_last(log):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for x, y in batches(log.steps):
        backward(log, loss_of(model(x), y))
        update(log, optimizer)
        optimizer.zero_grad()


@kind("fast", steps=3000)
def fast(log):
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    x, y = torch.randn(8, 32), torch.randint(0, 2, (8,))
    train(log, model, torch.optim.SGD(model.parameters(), lr=1e-3), ((x, y) for _ in range(log.steps)))


@kind("slow", steps=12)
def slow(log):
    """300 ms a step, most of it off the CPU, as where a device works."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        time.sleep(0.295)
        backward(log, loss)
        update(log, optimizer)


EPOCH = 22  # batches: neither 4 nor 5 divides it, so the last update of an epoch has fewer


def accumulate(log, every):
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(data(EPOCH * 16), batch_size=16)
    done = 0
    while done < log.steps:
        optimizer.zero_grad()
        for i, (x, y) in enumerate(loader, 1):
            backward(log, loss_of(model(x), y) / every)
            if i % every == 0 or i == EPOCH:
                update(log, optimizer)
                optimizer.zero_grad()
                done += 1
                if done == log.steps:
                    break


@kind("accumulate", steps=90)
def accumulate_four(log):
    accumulate(log, 4)


@kind("accumulate_5", steps=60)
def accumulate_five(log):
    accumulate(log, 5)


@kind("accumulate_growing", steps=80)
def accumulate_growing(log):
    """2 batches a step, from half way on 4."""
    model, source = network(), batches(1 << 30)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for i in range(log.steps):
        for _ in range(2 if i < log.steps // 2 else 4):
            x, y = next(source)
            backward(log, loss_of(model(x), y))
        update(log, optimizer)
        optimizer.zero_grad()


@kind("workers", steps=150)
def workers(log):
    """The batches come from worker processes, which must not count."""
    model = network()
    source = batches(log.steps, num_workers=2, persistent_workers=True)
    train(log, model, torch.optim.SGD(model.parameters(), lr=1e-3), source)


@kind("inference", steps=300)
def inference(log):
    model = network().eval()
    with torch.inference_mode():
        for x, _ in batches(log.steps):
            model(x)


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            loss_of(model(x), y).item()
    model.train()


@kind("eval_ckpt", steps=200)
def eval_ckpt(log):
    """Evaluates every 25 steps, saves every 50, and reads the last one back at the end."""
    model, file = network(hidden=512), log.out + ".pt"
    optimizer = torch.optim.Adam(model.parameters())
    held_out = DataLoader(data(640), batch_size=32)
    for n, (x, y) in enumerate(batches(log.steps), 1):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)
        if n % 25 == 0:
            with log.span("eval"):
                evaluate(model, held_out)
        if n % 50 == 0:
            with log.span("checkpoint", op="save", file=file):
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    with log.span("checkpoint", op="restore", file=file):
        model.load_state_dict(torch.load(file)["model"])


@kind("two_loops", steps=160)
def two_loops(log):
    """One after the other in one process: another model, another optimizer."""
    for make, hidden in ((torch.optim.AdamW, 256), (torch.optim.SGD, 384)):
        model = network(hidden=hidden)
        train(log, model, make(model.parameters(), lr=1e-3), batches(log.steps // 2))


@kind("ema", steps=150)
def ema(log):
    """A running mean of the weights is kept beside the model, and a schedule of the rate."""
    model = network()
    mean = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 50)
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)
        schedule.step()
        mean.update_parameters(model)


@kind("ranges2000", steps=30)
def ranges2000(log):
    """2 000 ranges of the user's own in each step."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        for _ in range(2000):
            with torch.profiler.record_function("mine"):
                pass
        backward(log, loss_of(model(x), y))
        update(log, optimizer)


@kind("hot_name", steps=40)
def hot_name(log):
    """200 000 ranges of one name between two steps, 500 between the others; beside them a rare one in each step."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for i, (x, y) in enumerate(batches(log.steps)):
        optimizer.zero_grad()
        for _ in range(200000 if i == log.steps // 2 else 500):
            with torch.profiler.record_function("inner_loop"):
                pass
        with torch.profiler.record_function(f"rare_range_{i:03}"):
            loss = loss_of(model(x), y)
        backward(log, loss)
        update(log, optimizer)


@kind("profiler", steps=90)
def profiler(log):
    """The job runs torch's profiler on itself for a third of the time."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    source, third = batches(log.steps), log.steps // 3
    train(log, model, optimizer, (next(source) for _ in range(third)))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        train(log, model, optimizer, (next(source) for _ in range(third)))
    train(log, model, optimizer, source)


@kind("manual_sgd", steps=150)
def manual_sgd(log):
    """No optimizer at all, the author writes the update: only backward passes can be seen."""
    model = network()
    for x, y in batches(log.steps):
        model.zero_grad()
        backward(log, loss_of(model(x), y))
        with torch.no_grad():
            for p in model.parameters():
                p -= 1e-3 * p.grad
        log.step()


@kind("functional", steps=100)
def functional(log):
    """torch.func.grad and the update written out."""
    from torch.func import functional_call, grad

    model = network()
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters, x, y):
        return loss_of(functional_call(model, parameters, (x,)), y)

    for x, y in batches(log.steps):
        log.backward()
        gradients = grad(loss)(parameters, x, y)
        parameters = {name: p - 1e-3 * gradients[name] for name, p in parameters.items()}
        log.step()
