# SPDX-License-Identifier: Apache-2.0
"""Loops with several optimizers, several threads, or several backward passes that make one step."""
import queue
import threading

import torch
from torch.utils.checkpoint import checkpoint

from journal import kind
from models import BATCH, WIDTH, backward, batches, loss_of, network, train, update


def apply(log, optimizer, loop=0):
    """One of several updates of a step."""
    optimizer.step()
    log.update(loop)


def adversaries(make=torch.optim.Adam):
    d, g = network(out=1), network(out=WIDTH)
    return d, g, make(d.parameters(), lr=1e-3), make(g.parameters(), lr=1e-3)


def gan_update(log, optimizer, loss):
    optimizer.zero_grad()
    backward(log, loss)
    apply(log, optimizer)


def gan(log, steps, critics, one_batch):
    """`critics` updates of the discriminator, then one of the generator. one_batch: all see the same one."""
    d, g, d_optimizer, g_optimizer = adversaries()
    source = batches(1 << 30)
    for _ in range(steps):
        x = None
        for _ in range(critics):
            if x is None or not one_batch:
                x = next(source)[0]
            fake = g(torch.randn(BATCH, WIDTH)).detach()
            gan_update(log, d_optimizer, d(fake).mean() - d(x).mean())
        gan_update(log, g_optimizer, -d(g(torch.randn(BATCH, WIDTH))).mean())
        log.step()


@kind("gan11", steps=80)
def gan_one(log):
    gan(log, log.steps, 1, True)


@kind("gan15", steps=40)
def gan_five_one_batch(log):
    gan(log, log.steps, 5, True)


@kind("gan15_batches", steps=40)
def gan_five_each_batch(log):
    gan(log, log.steps, 5, False)


@kind("two_optimizers", steps=100)
def two_optimizers(log):
    """One backward, then both step."""
    model = network(layers=3)
    parameters = list(model.parameters())
    pair = [torch.optim.AdamW(parameters[:4], lr=1e-3), torch.optim.SGD(parameters[4:], lr=1e-3)]
    for x, y in batches(log.steps):
        for optimizer in pair:
            optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        for optimizer in pair:
            apply(log, optimizer)
        log.step()


@kind("three_optimizers", steps=100)
def three_optimizers(log):
    """Three of one class, for-loop implementation: nothing but the backward tells steps."""
    model = network(layers=3)
    parameters = list(model.parameters())
    parts = [torch.optim.SGD(part, lr=1e-3) for part in (parameters[:2], parameters[2:4], parameters[4:])]
    for x, y in batches(log.steps):
        model.zero_grad()
        backward(log, loss_of(model(x), y))
        for optimizer in parts:
            apply(log, optimizer)
        log.step()


@kind("every_second", steps=100)
def every_second(log):
    """A second optimizer that updates in every second step only."""
    model = network(layers=3)
    parameters = list(model.parameters())
    first = torch.optim.AdamW(parameters[:4], lr=1e-3)
    second = torch.optim.SGD(parameters[4:], lr=1e-3)
    for i, (x, y) in enumerate(batches(log.steps)):
        model.zero_grad()
        backward(log, loss_of(model(x), y))
        apply(log, first)
        if i % 2:
            apply(log, second)
        log.step()


def after_gradient(p, function):
    """Calls function once p's gradient is accumulated; torch before 2.1 has no hook of its own for that."""
    if hasattr(p, "register_post_accumulate_grad_hook"):
        p.register_post_accumulate_grad_hook(lambda _: function())
        return None
    node = p.expand_as(p).grad_fn.next_functions[0][0]
    node.register_hook(lambda *_: function())
    return node  # the hook lives as long as it does


@kind("per_parameter", steps=80)
def per_parameter(log):
    """One optimizer per parameter, stepping inside the backward as soon as its gradient is there."""
    model, last, nodes = network(), [0], []
    for p in model.parameters():
        def step(optimizer=torch.optim.AdamW([p], lr=1e-3)):
            optimizer.step()
            last[0] = log.update()
            optimizer.zero_grad()
        nodes.append(after_gradient(p, step))
    for x, y in batches(log.steps):
        backward(log, loss_of(model(x), y))
        log.step(end=last[0])


@kind("alternating", steps=80)
def alternating(log):
    """Two models, each with its own batch and backward, in turns: updates are what can be counted."""
    trainers = []
    for make in (torch.optim.AdamW, torch.optim.SGD):
        model = network()
        trainers.append((model, make(model.parameters(), lr=1e-3), batches(1 << 30)))
    for _ in range(log.steps):
        for model, optimizer, source in trainers:
            x, y = next(source)
            optimizer.zero_grad()
            backward(log, loss_of(model(x), y))
            apply(log, optimizer)
        log.step()


def checkpointed(log, reentrant):
    model = network(layers=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    halves = [model[:4], model[4:]]
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        x.requires_grad_(True)
        for half in halves:
            x = checkpoint(half, x, use_reentrant=reentrant)
        backward(log, loss_of(x, y))
        update(log, optimizer)


@kind("checkpoint_reentrant", steps=80)
def checkpoint_reentrant(log):
    checkpointed(log, True)


@kind("checkpoint_plain", steps=80)
def checkpoint_plain(log):
    checkpointed(log, False)


@kind("double_backward", steps=80)
def double_backward(log):
    """A gradient penalty: the gradient's gradient."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        x.requires_grad_(True)
        loss = loss_of(model(x), y)
        log.backward()
        (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
        backward(log, loss + gradient.pow(2).sum())
        update(log, optimizer)


@kind("two_threads", steps=100)
def two_threads(log):
    """Two models, each trained by a thread of its own."""
    def run(loop):
        model = network(layers=2 + loop)
        optimizer = (torch.optim.AdamW, torch.optim.SGD)[loop](model.parameters(), lr=1e-3)
        start.wait()
        train(log, model, optimizer, batches(log.steps), loop)
    start = threading.Barrier(2)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@kind("other_thread", steps=100)
def other_thread(log):
    """The update is done by another thread than the backward."""
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ask, answer = queue.Queue(), queue.Queue()

    def stepper():
        while ask.get():
            update(log, optimizer)
            answer.put(True)
    thread = threading.Thread(target=stepper)
    thread.start()
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        ask.put(True)
        answer.get()
    ask.put(False)
    thread.join()
