# SPDX-License-Identifier: Apache-2.0
"""What the parts of the torture test share: rows of the table, jobs, gp-bpf, and what it told."""
import collections
import json
import os
import random
import select
import shutil
import signal
import subprocess
import tempfile
import time

import bpf

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "tests/torture")
BUILD = os.path.join(TOP, os.environ.get("GP_TORTURE_BUILD", "build/plain"))
NEXT = os.path.join(TOP, "build/next/gp-bpf")  # another version, which saves its state all the time
GP_BPF = os.path.join(BUILD, "gp-bpf")
PROBES = os.path.join(TOP, "tests/bench/probes")
FAKE = os.path.join(BUILD, "tests/fake")
PIN_ROOT = "/sys/fs/bpf/gp-bpf"
READY_S = 120  # the longest wait for anything that is to happen at once


class Skip(Exception):
    """This machine cannot run the part; the text says why."""


class Failure(Exception):
    """Something did not happen at all, so there is nothing to measure."""


# A line of the table.
Row = collections.namedtuple("Row", "what wanted measured ok note", defaults=("",))


def row(what, wanted, measured, note=""):
    """wanted: the very value, or (limit, "max" or "min")."""
    if isinstance(wanted, tuple):
        limit, how = wanted
        ok = measured <= limit if how == "max" else measured >= limit
        return Row(what, f"{'<=' if how == 'max' else '>='} {limit}", str(measured), ok, note)
    return Row(what, str(wanted), str(measured), wanted == measured, note)


def progress(text):
    print(f"# {text}", flush=True)


class Plan:
    """How much of everything: the short form is for every check, the full one for make torture."""

    def __init__(self, short, full):
        self.short, self.full = short, full
        self.random = random.Random(int(os.environ.get("SEED", "0")) or None)

    def pick(self, short, normal, full=None):
        if self.short:
            return short
        return full if self.full and full is not None else normal


def until(condition, what, seconds=READY_S):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise Failure(f"never: {what}")
        time.sleep(0.01)
    return value


class Folder:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="gp-bpf-torture.", dir=os.environ.get("TMPDIR"))
        return self

    def __exit__(self, *_):
        if os.environ.get("KEEP"):
            print(f"# kept: {self.path}")
        else:
            shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.path, name)


# ---- jobs --------------------------------------------------------------------------------------------


class Job:
    """A program that says "ready", works from a line of its input on and ends with another."""

    def __init__(self, argv, **kw):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **kw)
        self.pid = self.process.pid

    def line(self):
        if not select.select([self.process.stdout], [], [], READY_S)[0]:
            raise Failure(f"{self.process.args[0]} says nothing")
        return self.process.stdout.readline().rstrip("\n")

    def until(self, text):
        while (line := self.line()) != text:
            if not line and self.process.poll() is not None:
                raise Failure(f"{self.process.args[0]} ended with {self.process.returncode}")

    def say(self, text="go"):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def end(self):
        """Its last line and its status."""
        self.say("stop")
        last = self.line()
        return last, self.process.wait(timeout=READY_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def caller(rate=10000, counted=10, names=0, threads=1):
    return Job([os.path.join(BUILD, "tests/torture/caller"), str(rate), str(counted), str(names), str(threads)])


def torch_python():
    """The Python whose torch is used: $PYTHON, the cached one of the checks, python3, Debian's."""
    helper = os.path.join(TOP, "tests/tools/torch.sh")
    out = subprocess.run([helper, "--find"], capture_output=True, text=True, check=False).stdout.split()
    for python in [os.environ.get("PYTHON"), *out[-1:], "python3", "/usr/bin/python3"]:
        if python and shutil.which(python) and not subprocess.run(
                [python, "-c", "import torch"], capture_output=True, check=False).returncode:
            return python
    raise Skip("no Python here has torch; name one with PYTHON=")


# ---- gp-bpf ------------------------------------------------------------------------------------------


def pins_of(state):
    """Where those of a state directory are, as loader/attach/pin.c names it."""
    digest = 14695981039346656037
    for byte in os.path.realpath(state).encode():
        digest = (digest ^ byte) * 1099511628211 & (1 << 64) - 1
    return os.path.join(PIN_ROOT, f"{digest:016x}")


class Durable:
    """gp-bpf --durable with one state directory, started again and again."""

    def __init__(self, folder, pids, name="durable", probes=None, options=(), lines=True):
        self.state, self.json = folder.file(name), folder.file(name + ".json")
        self.errors_path, self.report_path = folder.file(name + ".err"), None
        self.pids, self.probes, self.options = list(pids), probes, list(options)
        if lines:
            self.options += ["--export", f"json:{self.json}"]
        self.ids, self.starts, self.process, self.ready = set(), 0, None, None
        self.pins = pins_of(self.state)

    def start(self, program=GP_BPF, wait=True, more=()):
        read_fd, write_fd = os.pipe()
        argv = [program, "--durable", "--state-dir", self.state, "--json", "--quiet", "--ready-fd",
                str(write_fd), *self.options, *more]
        for pid in self.pids:
            argv += ["--pid", str(pid)]
        if self.probes:
            argv += ["--probes", self.probes]
        self.report_path = f"{self.state}.out.{self.starts}"  # who hands over may still write its own
        with open(self.errors_path, "ab") as err, open(self.report_path, "wb") as out:
            self.process = subprocess.Popen(argv, pass_fds=[write_fd], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        os.close(write_fd)
        self.starts += 1
        try:
            if wait and not (select.select([read_fd], [], [], READY_S)[0] and os.read(read_fd, 16)):
                raise Failure(f"gp-bpf is not ready: {self.errors()}")
        finally:
            os.close(read_fd)
        if wait:
            self.ids |= bpf.ids(self.process.pid)

    def kill(self, signo=signal.SIGKILL):
        self.process.send_signal(signo)
        return self.process.wait(timeout=READY_S)

    def wait(self):
        return self.process.wait(timeout=READY_S)

    def errors(self):
        with open(self.errors_path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()

    def report(self):
        with open(self.report_path, encoding="utf-8") as f:
            return json.loads(f.read().strip().splitlines()[-1])

    def lines(self):
        return lines_of(self.json)

    def detach(self):
        """Ends it, whatever its state, and leaves nothing attached."""
        if self.process and self.process.poll() is None:
            self.kill()
        if os.path.isdir(self.pins):  # not gp-bpf detach: it is for all there are
            shutil.rmtree(self.pins)

    def left(self):
        """What of all its instances is still in the kernel, a moment later."""
        end = time.monotonic() + 10
        while (still := bpf.left(self.ids)) and time.monotonic() < end:
            time.sleep(0.05)
        return len(still) + os.path.isdir(self.pins)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.detach()


class Plain:
    """gp-bpf, attached, with nothing that outlives it."""

    def __init__(self, pids, *argv):
        read_fd, write_fd = os.pipe()
        argv = [GP_BPF, *argv, "--quiet", "--ready-fd", str(write_fd)]
        for pid in pids:
            argv += ["--pid", str(pid)]
        self.process = subprocess.Popen(argv, pass_fds=[write_fd], stdin=subprocess.DEVNULL)
        os.close(write_fd)
        ready = select.select([read_fd], [], [], READY_S)[0] and os.read(read_fd, 16)
        os.close(read_fd)
        if not ready:
            raise Failure("gp-bpf is not ready")

    def wait(self):
        return self.process.wait(timeout=READY_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


# ---- what it told ------------------------------------------------------------------------------------


def numbers_wrong(numbers, first=1):
    """How many of a list of numbers are not the one before and one more."""
    return sum(a != b for a, b in zip(numbers, range(first, first + len(numbers))))


def ledgers_open(lines):
    return sum(sum(x["buckets"].values()) != x["elapsed_ns"] or min(x["buckets"].values()) < 0
               for x in lines if x["type"] == "ledger")


def steps_of(lines, pid=None):
    return [x for x in lines if x["type"] == "step" and pid in (None, x["pid"])]


def unobserved(lines):
    """Spans during which, it says, nobody watched."""
    return [x for x in lines if x["type"] == "range" and x["bucket"] == "UNOBSERVED"]


def losses(lines):
    """Records that did not arrive; an unpaired end or a bounded name is none."""
    return sum(x["count"] for x in lines if x["type"] == "loss" and x["source"] not in ("unpaired", "rate_limited"))


def sound_rows(what, lines, pid):
    """What holds of every file that durable instances wrote, however often they were killed."""
    seq = [x["seq"] for x in lines]
    yield row(f"{what}: lines not numbered on", 0, numbers_wrong(seq), f"{len(seq)} lines")
    loops = {x["loop"] for x in steps_of(lines, pid)}
    yield row(f"{what}: step numbers not in order", 0,
              sum(numbers_wrong([x["step"] for x in steps_of(lines, pid) if x["loop"] == loop]) for loop in loops))
    yield row(f"{what}: ledgers not closed", 0, ledgers_open(lines))
    yield row(f"{what}: spans told as not observed", 0, len(unobserved(lines)))
    yield row(f"{what}: records told as lost", 0, losses(lines))
