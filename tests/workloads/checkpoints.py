#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""checkpoints.py HOW FOLDER [--die N] [--data N]: 60 steps of a small model, a checkpoint every 20; goes on from the last.

HOW: torch (torch.save), distributed (torch.distributed.checkpoint), numpy, raw (bytes, written aside, synced and renamed),
helper (another process writes), and beside training, at the end of which they are waited for: thread (a new one each time),
waits (a new one, which begins only when nine more steps are done), forked (a copy of the process),
async (dcp.async_save). Prints "resumed STEP" and "saved STEP" as it does so. --die N: SIGKILL to itself after step N.
--data N: reads N files of FOLDER/data before, and one in each step.
--read FILE: reads it first, with torch.load unless it is called lists.pth.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading

import torch

EVERY = 20
STEPS = 60


class Torch:
    end = ".ckpt"

    def save(self, path, model, step):
        torch.save({"model": model.state_dict(), "step": step}, path + ".tmp")
        os.replace(path + ".tmp", path)

    def load(self, path, model):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        return state["step"]


class Distributed:
    end = ""

    def save(self, path, model, step):
        import torch.distributed.checkpoint as dcp
        dcp.save({"model": model.state_dict(), "step": torch.tensor(step)}, checkpoint_id=path)

    def load(self, path, model):
        import torch.distributed.checkpoint as dcp
        state = {"model": model.state_dict(), "step": torch.tensor(0)}
        dcp.load(state, checkpoint_id=path)
        return int(state["step"])


class Thread(Torch):
    """A copy of the state, written while training goes on."""
    writers = []
    steps = threading.Condition()
    done = 0

    def wait(self, step):
        pass

    def save(self, path, model, step):
        state = {"model": {k: v.clone() for k, v in model.state_dict().items()}, "step": step}

        def write():
            self.wait(step)
            torch.save(state, path)

        self.writers.append(threading.Thread(target=write))
        self.writers[-1].start()

    def step(self, step):
        with self.steps:
            Thread.done = step
            self.steps.notify_all()

    def finish(self):
        for writer in self.writers:
            writer.join()


class Waits(Thread):
    def wait(self, step):
        with self.steps:
            self.steps.wait_for(lambda: self.done >= min(step + 9, STEPS))


class Forked(Torch):
    children = []

    def save(self, path, model, step):
        self.children.append(os.fork())
        if not self.children[-1]:
            torch.save({"model": model.state_dict(), "step": step}, path)
            os._exit(0)

    def finish(self):
        for child in self.children:
            os.waitpid(child, 0)


class Async(Distributed):
    future = None

    def save(self, path, model, step):
        import torch.distributed as dist
        import torch.distributed.checkpoint as dcp
        if not dist.is_initialized():
            dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        self.finish()
        state = {"model": model.state_dict(), "step": torch.tensor(step)}
        self.future = dcp.async_save(state, checkpoint_id=path)

    def finish(self):
        if self.future:
            self.future.result()


class Numpy:
    end = ".npz"

    def save(self, path, model, step):
        import numpy
        numpy.savez(path, step=step, **{k: v.numpy() for k, v in model.state_dict().items()})

    def load(self, path, model):
        import numpy
        with numpy.load(path) as state:
            model.load_state_dict({k: torch.from_numpy(state[k]) for k in state if k != "step"})
            return int(state["step"])


class Raw:
    end = ""

    def save(self, path, model, step):
        with open(path + ".part", "wb") as f:
            f.write(step.to_bytes(8, "little"))
            for v in model.state_dict().values():
                f.write(v.numpy().tobytes())
            f.flush()
            os.fsync(f.fileno())
        os.rename(path + ".part", path)

    def load(self, path, model):
        with open(path, "rb") as f:
            return int.from_bytes(f.read()[:8], "little")


class Helper(Raw):
    end = ".ckpt"

    def save(self, path, model, step):
        # Not a copy of this process: whoever starts it waits, so that the step is known.
        subprocess.run([sys.executable, "-c", "import sys\n"
                        "with open(sys.argv[1], 'wb') as f: f.write(int(sys.argv[2]).to_bytes(8, 'little') * 20000)",
                        path, str(step)], check=True)


def main():
    hows = {"torch": Torch, "distributed": Distributed, "numpy": Numpy, "raw": Raw, "helper": Helper,
            "thread": Thread, "waits": Waits, "forked": Forked, "async": Async}
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=hows)
    parser.add_argument("folder")
    parser.add_argument("--die", type=int)
    parser.add_argument("--data", type=int, default=0)
    parser.add_argument("--read", action="append", default=[])
    args = parser.parse_args()
    how = hows[args.how]()
    model = torch.nn.Linear(400, 200)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def path(step):
        return os.path.join(args.folder, f"state_{step}{how.end}")

    def data(i):
        with open(os.path.join(args.folder, "data", f"{i % 500}.npy"), "rb") as f:
            f.read()

    for i in range(args.data):
        data(i)
    for path_read in args.read:
        if path_read.endswith("lists.pth"):
            open(path_read).read()
        else:
            torch.load(path_read)
    done = max((s for s in range(0, STEPS, EVERY) if os.path.exists(path(s))), default=0)
    if done:
        print("resumed", how.load(path(done), model), flush=True)
    for step in range(done + 1, STEPS + 1):
        if args.data:
            data(step)
        optimizer.zero_grad()
        model(torch.randn(64, 400)).sum().backward()
        optimizer.step()
        if hasattr(how, "step"):
            how.step(step)
        if step % EVERY == 0:
            how.save(path(step), model, step)
            print("saved", step, flush=True)
        if step in (args.die, STEPS) and hasattr(how, "finish"):
            how.finish()
        if step == args.die:
            os.kill(os.getpid(), signal.SIGKILL)


main()
