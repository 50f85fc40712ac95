#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quiet.py KIND: trains for 10 s in one of many ways, none of which wastes time.

Each kind is a generator that makes one step at a time. Loaders are faster than the steps, and evaluations and
checkpoints short.
"""
import collections
import gc
import io
import os
import random
import socket
import subprocess
import sys
import threading
import time

SECONDS = 10

Kind = collections.namedtuple("Kind", "steps python ranks")
KINDS = {}
torch = None  # the module, in the run itself


def kind(python="debian", ranks=1):
    def add(steps):
        KINDS[steps.__name__] = Kind(steps, python, ranks)
        return steps

    return add


def mlp(width=256, layers=3):
    nn = torch.nn
    return nn.Sequential(*[m for _ in range(layers) for m in (nn.Linear(width, width), nn.ReLU())])


def train(model, inputs, optimizer=None, each=None, loss_of=None):
    """Steps of one batch each. inputs: a function that makes a batch. each: called after a step with its number."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3)
    step = 0
    while True:
        optimizer.zero_grad()
        out = model(inputs())
        (loss_of(out) if loss_of else out.square().mean()).backward()
        optimizer.step()
        step += 1
        if each:
            each(step)
        yield


def same(*shape):
    batch = torch.randn(*shape)
    return lambda: batch


# ---- sizes and models ----------------------------------------------------------------------------------


@kind()
def tiny():
    return train(mlp(16, 1), same(4, 16))


@kind()
def medium():
    return train(mlp(256), same(96, 256))


@kind()
def large():
    return train(mlp(512), same(96, 512))


@kind("current")
def tiny_current():
    return train(mlp(16, 1), same(4, 16))


@kind()
def convolution():
    nn = torch.nn
    return train(nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3)), same(16, 3, 32, 32))


@kind()
def recurrent():
    return train(torch.nn.LSTM(64, 64, 2), same(32, 16, 64), loss_of=lambda out: out[0].square().mean())


@kind("current")
def transformer():
    return train(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), same(8, 64, 64))


@kind()
def two_models():
    first, second = mlp(128), mlp(128)
    return zip(train(first, same(64, 128)), train(second, same(64, 128)))


# ---- optimizers ----------------------------------------------------------------------------------------


@kind()
def adam():
    model = mlp(384)
    return train(model, same(64, 384), torch.optim.Adam(model.parameters()))


@kind("current")
def adamw_loop():
    model = mlp(384)
    return train(model, same(256, 384), torch.optim.AdamW(model.parameters(), foreach=False))


@kind()
def momentum_schedule():
    model = mlp(256)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 100)
    return train(model, same(64, 256), optimizer, lambda _: schedule.step())


@kind("current")
def clipped_autocast():
    model = mlp(256)
    optimizer = torch.optim.RMSprop(model.parameters())
    batch = torch.randn(128, 256)
    while True:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield


# ---- accumulation --------------------------------------------------------------------------------------


def accumulated(count_of):
    model = mlp(256)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch, step = torch.randn(128, 256), 0
    while True:
        for _ in range(count_of(step)):
            model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        yield


@kind("current")
def accumulation_4():
    return accumulated(lambda _: 4)


@kind("current")
def accumulation_grows():
    return accumulated(lambda step: 2 if step < 200 else 4)


# ---- loaders -------------------------------------------------------------------------------------------


def loaded(workers, samples=100000, **options):
    """Batches of a loader, each faster than a step."""
    data = torch.utils.data
    set_of = data.TensorDataset(torch.randn(samples, 256))
    model = mlp(256)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    repeat = torch.randn(1024, 256)
    loader = data.DataLoader(set_of, batch_size=8, num_workers=workers, **options)
    while True:
        for (batch, ) in loader:
            optimizer.zero_grad()
            (model(batch).square().mean() + model(repeat).square().mean()).backward()
            optimizer.step()
            yield


@kind("current")
def loader_inline():
    return loaded(0)


@kind("current")
def loader_worker():
    return loaded(1)


@kind("current")
def loader_workers():
    return loaded(2, prefetch_factor=4, shuffle=True)


@kind("current")
def loader_epochs():
    return loaded(1, samples=4000, persistent_workers=True)


# ---- evaluations and checkpoints -----------------------------------------------------------------------


@kind("current")
def evaluation():
    model, batch = mlp(256), torch.randn(256, 256)

    def each(step):
        if step % 100 == 0:
            model.eval()
            with torch.no_grad():
                for _ in range(4):
                    model(batch)
            model.train()

    return train(model, same(256, 256), each=each)


@kind()
def checkpoints():
    model, path = mlp(256), f"/dev/shm/gp-bpf-why-{os.getpid()}"

    def each(step):
        if step % 200 == 0:
            torch.save(model.state_dict(), path)
            os.unlink(path)

    return train(model, same(64, 256), each=each)


@kind("current")
def checkpoints_thread():
    model = mlp(256)

    def save(state):
        torch.save(state, io.BytesIO())

    def each(step):
        if step % 200 == 0:
            threading.Thread(target=save, args=[{k: v.clone() for k, v in model.state_dict().items()}]).start()

    return train(model, same(256, 256), each=each)


# ---- steps that differ, and Python ---------------------------------------------------------------------


@kind()
def irregular():
    """Sequences of different lengths."""
    return train(mlp(256), lambda: torch.randn(random.randint(45, 82), 256))


@kind("current")
def irregular_current():
    return train(torch.nn.LSTM(64, 64), lambda: torch.randn(random.randint(20, 36), 16, 64),
                 loss_of=lambda out: out[0].square().mean())


@kind()
def garbage():
    """Each step makes objects that refer to each other, which the collector frees."""

    def each(_):
        for _ in range(300):
            one = []
            one.append(one)

    gc.enable()
    return train(mlp(256), same(256, 256), each=each)


@kind()
def python_work():
    """As much Python as torch."""

    def each(_):
        words = collections.Counter(f"word{i % 97}" for i in range(4000))
        return max(words.values())

    return train(mlp(192), same(128, 192), each=each)


@kind()
def paced():
    """A step that always sleeps for some milliseconds, as simulators do."""
    return train(mlp(128), same(64, 128), each=lambda _: time.sleep(0.01))


# ---- several ranks, other frameworks -------------------------------------------------------------------


def ranked(accumulate=1):
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(mlp(512))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(512, 512)
    stop = torch.tensor(0.0)
    begin, step = time.monotonic(), 0
    while not stop:
        for _ in range(accumulate - 1):
            with model.no_sync():
                model(batch).square().mean().backward()
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if step % 50 == 0:
            stop = torch.tensor(float(time.monotonic() - begin > SECONDS))
            torch.distributed.all_reduce(stop)
        yield


@kind("current", ranks=2)
def ranks():
    return ranked()


@kind("current", ranks=2)
def ranks_accumulation():
    return ranked(2)


@kind()
def numpy_only():
    import numpy
    weights, batch = numpy.zeros((256, 256)), numpy.ones((256, 256))
    while True:
        weights -= 1e-3 * batch.T @ (batch @ weights - batch)
        yield


@kind("jax")
def jax_loop():
    import jax
    weights, batch = jax.numpy.ones((512, 512)), jax.numpy.ones((256, 512))

    @jax.jit
    def update(w):
        return w - 1e-6 * jax.grad(lambda v: ((batch @ v)**2).mean())(w)

    while True:
        weights = update(weights)
        weights.block_until_ready()
        yield


# ---- the run -------------------------------------------------------------------------------------------


def start_ranks(count):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    common = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(count),
                  GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
    children = [subprocess.Popen([sys.executable, __file__, sys.argv[1]],
                                 env=common | {"RANK": str(i), "LOCAL_RANK": str(i)}) for i in range(count)]
    sys.exit(any([child.wait() for child in children]))


def main():
    global torch  # pylint: disable=global-statement
    this = KINDS[sys.argv[1]]
    if this.ranks > 1 and "RANK" not in os.environ:
        start_ranks(this.ranks)
    random.seed(0)
    if sys.argv[1] not in ("numpy_only", "jax_loop"):
        import torch as module
        torch = module
        torch.set_num_threads(1)
        torch.manual_seed(0)
    begin = time.monotonic()
    for _ in this.steps():
        if this.ranks == 1 and time.monotonic() - begin > SECONDS:
            break
    os._exit(0)


if __name__ == "__main__":
    main()
