# SPDX-License-Identifier: Apache-2.0
"""Two ranks over gloo, started by torchrun as people do. Each rank keeps a log of its own."""
import contextlib
import os
import socket
import subprocess
import sys

import torch
import torch.distributed as dist
from torch import nn

from journal import kind
from models import WIDTH, backward, batches, loss_of, network, update

RANKS = 2


PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loop.py")


def torchrun(arguments):
    """Becomes torchrun, which starts this program again in each rank."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node",
                              str(RANKS), *arguments])


def start_ranks(arguments):
    """As torchrun would; that of torch 1.13 fails under Python 3.11 (to_map() in elastic/multiprocessing/api.py)."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    common = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(RANKS))
    children = [subprocess.Popen([sys.executable, *arguments], env=common | {"RANK": str(i), "LOCAL_RANK": str(i)})
                for i in range(RANKS)]
    raise SystemExit(any([child.wait() for child in children]))


def ranks(name, steps):
    """A kind whose body runs once in each rank."""

    def add(body):
        @kind(name, steps)
        def run(log):
            if "RANK" not in os.environ:
                arguments = [PROGRAM, log.kind, "--out", log.out, "--steps", str(log.steps)]
                (start_ranks if torch.__version__.startswith("1.") else torchrun)(arguments)
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
            dist.init_process_group("gloo")
            torch.manual_seed(dist.get_rank())
            body(log)
            dist.barrier()
            dist.destroy_process_group()

        return body

    return add


@ranks("ddp_plain", 60)
def ddp_plain(log):
    model = nn.parallel.DistributedDataParallel(network())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)


@ranks("ddp", 40)
def ddp(log):
    """Accumulation over three batches: gradients are reduced in the last only."""
    model = nn.parallel.DistributedDataParallel(network())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    source = batches(3 * log.steps)
    for _ in range(log.steps):
        optimizer.zero_grad()
        for i in range(3):
            x, y = next(source)
            with model.no_sync() if i < 2 else contextlib.nullcontext():
                backward(log, loss_of(model(x), y) / 3)
        update(log, optimizer)


@ranks("fsdp1", 30)
def fsdp1(log):
    from torch.distributed.fsdp import FullyShardedDataParallel
    model = FullyShardedDataParallel(network(), device_id=torch.device("cpu"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)


@ranks("fsdp2", 30)
def fsdp2(log):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (RANKS,))
    model = network()
    for part in model:
        if isinstance(part, nn.Linear):
            fully_shard(part, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)


@ranks("pipeline2", 40)
def pipeline2(log):
    """Two stages by hand, four micro-batches: all forward, then all backward."""
    first = dist.get_rank() == 0
    part = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) if first else network(layers=1)
    optimizer = torch.optim.AdamW(part.parameters(), lr=1e-3)
    source = batches(4 * log.steps)
    for _ in range(log.steps):
        optimizer.zero_grad()
        held = []
        for _ in range(4):
            x, y = next(source)
            if first:
                held.append((part(x), None))
                dist.send(held[-1][0].detach(), 1)
            else:
                dist.recv(x, 0)
                held.append((loss_of(part(x.requires_grad_()), y) / 4, x))
        for out, x in held:
            if first:
                gradient = torch.empty_like(out)
                dist.recv(gradient, 1)
                log.backward()
                out.backward(gradient)
            else:
                backward(log, out)
                dist.send(x.grad, 0)
        update(log, optimizer)


def scheduled(log, name):
    from torch.distributed import pipelining

    rank = dist.get_rank()
    part = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) if rank == 0 else network(layers=1)
    stage = pipelining.PipelineStage(part, rank, RANKS, torch.device("cpu"))
    schedule = getattr(pipelining, name)(stage, n_microbatches=4, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(part.parameters(), lr=1e-3)
    for x, y in batches(log.steps):
        optimizer.zero_grad()
        for _ in range(4):
            log.backward()
        if rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=y, losses=[])
        update(log, optimizer)


@ranks("pipeline_gpipe", 40)
def pipeline_gpipe(log):
    scheduled(log, "ScheduleGPipe")


@ranks("pipeline_1f1b", 40)
def pipeline_1f1b(log):
    scheduled(log, "Schedule1F1B")


@ranks("local_sgd", 80)
def local_sgd(log):
    """Ranks train apart and average their weights after every eighth step."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for i, (x, y) in enumerate(batches(log.steps), 1):
        optimizer.zero_grad()
        backward(log, loss_of(model(x), y))
        update(log, optimizer)
        if i % 8 == 0:
            for p in model.parameters():
                dist.all_reduce(p.data)
                p.data /= RANKS
