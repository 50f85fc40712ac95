#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""blocked_saves.py HOW FOLDER: 80 steps, saved every 20 but at the end; prints for how long that blocked it, by its own clock.

HOW: dcp (torch.distributed.checkpoint's save), dcp_async (its async_save), orbax, orbax_uneven (its batches take 0 to 30 ms).
Each save prints "save STEP NS BEGAN" when it returns, the end "blocked NS": all of them.
"""

import os
import sys
import time

STEPS = 80
EVERY = 20


class Torch:
    def __init__(self, how, folder):
        import torch
        import torch.distributed as dist
        import torch.distributed.checkpoint as dcp
        self.dcp = dcp
        self.torch, self.folder, self.aside = torch, folder, how == "dcp_async"
        self.future = None
        torch.set_num_threads(1)
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        self.model = torch.nn.Sequential(*[torch.nn.Linear(1500, 1500) for _ in range(4)])
        # Each tensor that is saved takes its time, and so does its plan; these are not trained.
        self.rest = {str(i): torch.zeros(9) for i in range(200)}
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def step(self):
        self.optimizer.zero_grad()
        self.model(self.torch.randn(16, 1500)).sum().backward()
        self.optimizer.step()

    def save(self, step):
        state = {"model": self.model.state_dict(), "step": self.torch.tensor(step), "rest": self.rest}
        to = os.path.join(self.folder, f"step_{step}")
        if self.aside:
            self.future = self.dcp.async_save(state, checkpoint_id=to)
        else:
            self.dcp.save(state, checkpoint_id=to)

    def finish(self):
        if self.future:
            self.future.result()


class Orbax:
    def __init__(self, how, folder):
        import jax
        import numpy
        import orbax.checkpoint as ocp
        self.ocp, self.numpy, self.uneven = ocp, numpy, how == "orbax_uneven"
        self.random = numpy.random.RandomState(7)
        self.manager = ocp.CheckpointManager(os.path.abspath(folder))
        self.params = [jax.numpy.asarray(self.random.randn(1024, 1024).astype("float32") * 0.02) for _ in range(4)]
        # Each array that is saved takes its time; these are in no program.
        self.rest = [jax.numpy.asarray(self.random.randn(4096).astype("float32")) for _ in range(400)]

        def loss(params, batch):
            for w in params:
                batch = jax.numpy.tanh(batch @ w)
            return (batch * batch).sum()

        def train_step(params, batch):
            value, gradient = jax.value_and_grad(loss)(params, batch)
            return jax.tree.map(lambda p, g: p - 1e-4 * g, params, gradient), value

        self.train_step = jax.jit(train_step)

    def step(self):
        if self.uneven:
            time.sleep(self.random.uniform(0, 0.03))
        batch = self.random.randn(32, 1024).astype("float32")
        self.params, value = self.train_step(self.params, batch)
        float(value)

    def save(self, step):
        self.manager.save(step, args=self.ocp.args.StandardSave({"params": self.params, "rest": self.rest}))

    def finish(self):
        self.manager.close()


def main():
    how, folder = sys.argv[1:]
    job = (Torch if how.startswith("dcp") else Orbax)(how, folder)
    blocked = 0
    for step in range(1, STEPS + 1):
        job.step()
        began = time.monotonic_ns()
        if step % EVERY == 0 and step < STEPS:
            job.save(step)
            took = time.monotonic_ns() - began
            blocked += took
            print("save", step, took, began, flush=True)
    print("blocked", blocked)
    job.finish()


main()
