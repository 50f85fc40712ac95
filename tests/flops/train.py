#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.py: trains models of models.py on the CPU with a fixed seed. Imports all packages, and then reads lines of its
standard input:

MODEL:VARIANT SECONDS  starts the processes (ranks) that train it, and prints "pids N..."
                       the next line begins the training; at its end it prints "status N"
MODEL:VARIANT 0        counts two steps with PyTorch's counter of operations instead, and prints "operations N M" before
                       that: its figure for one step of all ranks, and the true one, which differs where the counter is
                       known to be wrong (TRUTH)
"""
import importlib
import math
import os
import socket
import subprocess
import sys
import time
import traceback

import torch
from torch import distributed, nn
from torch.utils.flop_counter import FlopCounterMode

import models

RANKS = 2
CHECK_STEPS, STEPS_MIN = 5, 25
LOADER_S = 0.01  # after each step, as a loader: a row of probes/torch.yaml sends at most 5,000 calls a second
aten = torch.ops.aten


# ---- truth ---------------------------------------------------------------------------------------------


def of_convolution_gradients(out, x, weight, _bias, _stride, _padding, _dilation, transposed, _output_padding, _groups, mask, **_):
    """Each gradient of a convolution has as many operations as the convolution. The counter is wrong about that of the
    weight if there are several groups."""
    return sum(mask[:2]) * 2 * out[0] * math.prod((x if transposed else out)[2:]) * math.prod(weight)


def of_recurrent_layer(x, weight_input, weight_state, *_, **__):
    """A product with each of two matrices at each time; twice as many for the gradients, which also are those of the first
    input and state. The counter does not know the operator."""
    return 2 * x[0] * x[1] * (math.prod(weight_input) + math.prod(weight_state))


def of_products_of_groups(a, b, *_, **__):
    """Each row of the first operand is in one group. The counter does not know the operator."""
    return 2 * math.prod(a) * b[-1]


def of_product(a, b, **_):
    """The counter takes a sparse matrix for a dense one."""
    return 2 * b.shape[1] * (a.numel() if a.layout == torch.strided else a._nnz())


of_product._get_raw = True  # it gets tensors, not sizes
TRUTH = {
    aten.mm: of_product,
    aten._grouped_mm: of_products_of_groups,
    aten.convolution_backward: of_convolution_gradients,
    aten.mkldnn_rnn_layer: of_recurrent_layer,
    aten.mkldnn_rnn_layer_backward: lambda *args, **kw: 2 * of_recurrent_layer(*args, **kw),
}


# ---- training ------------------------------------------------------------------------------------------


def loss_of(out):
    """A loss of whatever a model returns."""
    if getattr(out, "loss", None) is not None:
        return out.loss
    while not isinstance(out, torch.Tensor):
        out = next(iter(out.values() if isinstance(out, dict) else out))
    return out.float().square().mean()


def checkpointed(model):
    if hasattr(model, "gradient_checkpointing_enable"):
        model.gradient_checkpointing_enable()
    elif hasattr(model, "enable_gradient_checkpointing"):
        model.enable_gradient_checkpointing()
    else:
        model.set_grad_checkpointing()
    return model


def sharded(model):
    from torch.distributed.fsdp import fully_shard
    return fully_shard(model)


def old_sharded(model):
    from torch.distributed.fsdp import FullyShardedDataParallel
    return FullyShardedDataParallel(model, device_id=torch.device("cpu"))


def prepared(model, inputs, variant, count):
    """The model as a variant trains it."""
    model.train()
    if count and variant in ("compile", "script"):  # the counter does not see into them
        return model
    if variant == "compile":
        return torch.compile(model)
    if variant == "script":
        return torch.jit.trace(model, inputs, check_trace=False)
    if variant == "channels_last":
        return model.to(memory_format=torch.channels_last)
    wrap = {"checkpoint": checkpointed, "DDP": nn.parallel.DistributedDataParallel, "FSDP": old_sharded, "FSDP2": sharded}
    return wrap[variant](model) if variant in wrap else model


class Training:
    def __init__(self, name, variant, count):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        model, self.inputs = models.MODELS[name]()
        self.model, self.variant = prepared(model, self.inputs, variant, count), variant
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5)

    def step(self):
        self.optimizer.zero_grad()
        for _ in range(2 if self.variant == "accumulation" else 1):
            with torch.autocast("cpu", torch.bfloat16, enabled=self.variant == "bf16"):
                x = self.inputs
                loss = loss_of(self.model(**x) if isinstance(x, dict) else self.model(*x))
            loss.backward()
        self.optimizer.step()

    def count(self, truth):
        with FlopCounterMode(display=False, custom_mapping=truth) as counter:
            self.step()
        return counter.get_total_flops()

    def run(self, seconds):
        """Trains for that time after the first steps, which may compile, and some steps at least. All ranks make the same
        number of steps."""
        began, steps, ends = math.inf, 0, torch.tensor(0)
        while not ends:
            self.step()
            time.sleep(LOADER_S)
            steps += 1
            if steps == CHECK_STEPS:
                began = time.monotonic()
            if steps % CHECK_STEPS == 0:
                ends.fill_(steps >= STEPS_MIN and time.monotonic() >= began + seconds)
                if distributed.is_initialized():
                    distributed.broadcast(ends, 0)


def train(model, variant, seconds):
    ranks = int(os.environ.get("WORLD_SIZE", 1))
    if ranks > 1:
        distributed.init_process_group("gloo")
    training = Training(model, variant, count=not seconds)
    if seconds:
        training.run(seconds)
    else:
        counted, true = ranks * training.count(None), ranks * training.count(TRUTH)
        if os.environ.get("RANK", "0") == "0":
            print("operations", counted, true, flush=True)
    if ranks > 1:
        distributed.destroy_process_group()


# ---- processes -----------------------------------------------------------------------------------------


def forked(pipe, *work):
    """Forks a process that trains once the pipe is closed. Returns its process ID."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.close(pipe[1])
        os.read(pipe[0], 1)
        train(*work)
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def rank_processes(pipe, *work):
    """The same of several ranks, which are new programs, as gp-bpf reads which rank a process is from the environment that
    it was started with."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = str(s.getsockname()[1])
    where = {"WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    argv = [sys.executable, __file__, *map(str, work), str(pipe[0])]
    return [subprocess.Popen(argv, env=os.environ | where | {"RANK": str(i), "LOCAL_RANK": str(i)}, pass_fds=[pipe[0]]).pid
            for i in range(RANKS)]


def run(model, variant, seconds):
    pipe = os.pipe()
    work = pipe, model, variant, seconds
    pids = rank_processes(*work) if variant in ("DDP", "FSDP", "FSDP2") else [forked(*work)]
    print("pids", *pids, flush=True)
    if seconds:
        sys.stdin.readline()
    os.close(pipe[1])
    os.close(pipe[0])
    print("status", int(any([os.waitpid(pid, 0)[1] for pid in pids])), flush=True)


def main():
    if len(sys.argv) > 1:
        model, variant, seconds, fd = sys.argv[1:]
        os.read(int(fd), 1)
        train(model, variant, float(seconds))
        return
    for package in ("transformers", "torchvision", "timm", "diffusers", "torch_geometric.nn"):
        importlib.import_module(package)
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        name, seconds = line.rstrip("\n").rsplit(" ", 1)
        run(*name.split(":"), float(seconds))


if __name__ == "__main__":
    main()
