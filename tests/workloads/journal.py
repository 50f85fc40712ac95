# SPDX-License-Identifier: Apache-2.0
"""The log that a training program keeps of itself, and the register of training programs.

Kept in memory, written at the end: one JSON line each.
  meta        kind, torch, pid, steps, updates, loops
  step        n (from 1 in each loop; 0 when skipped), loop, start, end, micro, updates, skipped
  eval        start, end
  checkpoint  op (save, restore), start, end, file
  hold        start, end: the program stood still so that someone could attach
Times are CLOCK_MONOTONIC, ns. A step's end is taken right after the author's optimizer step returned, the
last one where several make a step. micro is the number of backward passes in the step, nested ones not
counted: what the autograd engine is asked for, whatever the author calls it. "loop" tells loops that run at the
same time apart; one after the other is one loop."""
import contextlib
import json
import os
import sys
import time

KINDS = {}
now = time.monotonic_ns


def process_start():
    """When the process began, to one tick of the kernel's: the interpreter's own start is not its program's to see."""
    with open("/proc/self/stat", encoding="utf-8") as stat:
        ticks = int(stat.read().rpartition(")")[2].split()[19])
    return ticks * (10**9 // os.sysconf("SC_CLK_TCK")) - (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - now())


def forget_ranges():
    """torch without named ranges, as a later one may be."""
    import torch  # pylint: disable=import-outside-toplevel

    class Nothing(contextlib.ContextDecorator):
        def __init__(self, *_, **__):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    torch.autograd.profiler.record_function = Nothing
    torch.profiler.record_function = Nothing


def kind(name, steps=100, hold=0):
    """Registers a function(log) that trains for log.steps of the author's steps."""

    def add(function):
        KINDS[name] = (function, steps, hold)
        return function

    return add


class Log:
    def __init__(self, name, out, steps, go=None, hold=0):
        self.kind, self.out, self.steps, self.go, self.hold_at = name, out, steps, go, hold
        self.events, self.counts, self.updates = [], {}, 0
        self.open = {}  # of each loop: start, micro and updates of the step that runs
        self.begin = now()

    def running(self, loop):
        return self.open.setdefault(loop, {"start": self.begin, "micro": 0, "updates": 0})

    def backward(self, loop=0):
        """Call right before a backward pass."""
        self.running(loop)["micro"] += 1

    def update(self, loop=0):
        """Call after each optimizer's step, where several make one of the author's."""
        self.running(loop)["updates"] += 1
        return now()

    def step(self, loop=0, end=None, skipped=False):
        """Call right after the author's step; the next one starts here."""
        end = end or now()
        state = self.running(loop)
        n = self.counts[loop] = self.counts.get(loop, 0) + (not skipped)
        updates = 0 if skipped else state["updates"] or 1
        self.updates += updates
        self.events.append({"type": "step", "n": 0 if skipped else n, "loop": loop, "start": state["start"],
                            "end": end, "micro": state["micro"], "updates": updates, "skipped": skipped})
        self.open[loop] = {"start": end, "micro": 0, "updates": 0}
        if self.go and n == self.hold_at and loop == 0 and not skipped:
            self.wait()

    def wait(self):
        start = now()
        with open(self.go + ".ready", "w", encoding="utf-8") as f:
            f.write(f"{os.getpid()}\n")
        while not os.path.exists(self.go):
            time.sleep(0.01)
        self.events.append({"type": "hold", "start": start, "end": now()})

    @contextlib.contextmanager
    def span(self, what, **fields):
        """An evaluation ("eval") or a checkpoint (with op and file) between steps."""
        start = now()
        yield
        end = now()
        self.events.append({"type": what, **fields, "start": start, "end": end})
        for state in self.open.values():
            state["start"] = end

    def write(self):
        torch = sys.modules.get("torch")
        meta = {"type": "meta", "kind": self.kind, "torch": torch.__version__ if torch else None, "pid": os.getpid(),
                "steps": sum(self.counts.values()), "updates": self.updates, "loops": len(self.counts)}
        path = self.out + ("." + os.environ["RANK"] if "RANK" in os.environ else "")
        # Not so named that it is taken for part of a checkpoint.
        with open(path + "_unfinished", "w", encoding="utf-8") as f:
            for event in [meta] + self.events:
                f.write(json.dumps(event) + "\n")
        os.replace(path + "_unfinished", path)
