# SPDX-License-Identifier: Apache-2.0
"""One watched training run: starting it, gp-bpf beside it, and what both left."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

import quiet
from groups import Group, Skip

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
GP_BPF = os.environ.get("GP_BPF", str(TOP / "build/plain/gp-bpf"))
FAKE = pathlib.Path(os.environ.get("FAKE", TOP / "build/plain/tests/fake"))
LAST_CPU = os.cpu_count() - 1
READY_S = 60


class Failed(Exception):
    """A run did not go as planned, so it says nothing about gp-bpf."""


def python(which):
    """The Python of a torch: Debian's, the current one, or the one that has JAX."""
    if which == "debian":
        if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode:
            raise Skip("python3-torch is missing (make deps)")
        return "/usr/bin/python3"
    if which == "jax":
        path = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "gp-bpf/jax/bin/python"
        if not path.exists():
            raise Skip("no JAX (make check ALL=1 installs one)")
        return str(path)
    found = subprocess.run([TOP / "tests/tools/torch.sh", "--find"], capture_output=True, text=True, check=False)
    if found.returncode:
        raise Skip("no current torch (make check ALL=1 installs one; PYTHON= names one)")
    return found.stdout.strip()


def until(what, true, seconds=READY_S):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise Failed(f"never: {what}")
        time.sleep(0.05)


class Run:
    """Ranks of train.py and gp-bpf, in a folder."""

    def __init__(self, folder, interpreter):
        self.folder, self.interpreter = folder, interpreter
        self.jobs, self.watch = [], None
        self.environment = dict(os.environ)
        self.options = ["--slow-after", "5s", "--log-level", "info"]
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        self.group = Group("cpu").weigh()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.group.remove()

    def kill(self):
        for process in [*self.jobs, self.watch]:
            if process and process.poll() is None:
                process.kill()
                process.wait()

    def place(self, cpus):
        """What comes before a command, so that other programs do not disturb it on its CPUs. Groups of tasks
        (sched_autogroup_enabled) make priorities meaningless, so it is in a control group."""
        return [*self.group.prefix(), "taskset", "-c", cpus]

    def program(self, argv, name, **kw):
        """Starts a program whose output goes to files."""
        with open(self.folder / f"{name}.out", "w", encoding="utf-8") as out, \
                open(self.folder / f"{name}.err", "w", encoding="utf-8") as err:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **kw)

    def start_train(self, kinds, folder, environment, prefix, name):
        return self.program([*prefix, self.interpreter, HERE / "train.py", kinds, folder], name, env=environment)

    def start(self, kinds, injector, ranks, cpus):
        """Starts the ranks, and gp-bpf once they train."""
        environment = self.environment
        if ranks > 1:
            with socket.create_server(("127.0.0.1", 0)) as s:
                port = str(s.getsockname()[1])
            environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks)}
            self.options += ["--hang-after", "5s"]
        for rank in range(ranks):
            own = environment | ({"RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {})
            place = self.place(f"0-{LAST_CPU}" if cpus == "all" else str(max(LAST_CPU - rank, 0)))
            self.jobs.append(self.start_train(kinds, self.folder, own, [*place, *injector.prefix()], f"job{rank}"))
        until("training", lambda: all((self.folder / f"ready{i}").exists() for i in range(ranks)) or self.ended())
        if self.ended():
            raise Failed("the job ended: " + (self.folder / "job0.err").read_text(encoding="utf-8")[-300:])
        self.start_watch([p for j in self.jobs + injector.watched() for p in ("--pid", str(j.pid))])

    def ended(self):
        return any(j.poll() is not None for j in self.jobs)

    def start_watch(self, what, environment=None):
        read, write = os.pipe()
        self.watch = self.program(
            [GP_BPF, "record", "-o", self.folder / "tape", "--json", *self.options, "--ready-fd", str(write), "--store",
             "none", "--export", f"json:{self.folder / 'lines'}", *what], "watch", pass_fds=[write], env=environment)
        os.close(write)
        with os.fdopen(read) as ready:
            if not ready.read(1):
                raise Failed("gp-bpf: " + (self.folder / "watch.err").read_text(encoding="utf-8")[-300:])

    def end(self):
        """Ends the ranks, and gp-bpf by that."""
        (self.folder / "stop").touch()
        try:
            for job in self.jobs:
                job.wait(READY_S)
            self.watch.wait(READY_S)
        except subprocess.TimeoutExpired as e:
            raise Failed(f"does not end: {e.cmd[-3:]}") from e
        if self.watch.returncode or any(j.returncode for j in self.jobs):
            raise Failed(f"status {self.watch.returncode} of gp-bpf, {[j.returncode for j in self.jobs]} of the job")

    def log(self):
        """The log of the first rank."""
        return json.loads((self.folder / "log0.json").read_text(encoding="utf-8"))

    def report(self):
        """What the report says of the first rank."""
        text = (self.folder / "watch.out").read_text(encoding="utf-8")
        ranks = json.loads(text[text.index("{"):])["ranks"]
        return next(r for r in ranks if r["pid"] == self.jobs[0].pid)

    def health(self):
        """Lines on the health of the first rank."""
        return health_of(self.folder / "lines", self.jobs[0].pid)


def health_of(path, pid=None):
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    return [line for line in lines if line["type"] == "health" and (pid is None or line["pid"] == pid)]


class Quiet:
    """A run of quiet.py. found: what gp-bpf says is wrong with it, which is nothing if gp-bpf is right."""

    def __init__(self, folder, kind):
        self.kind, self.found, self.skipped, self.steps = kind, [], "", 0
        try:
            which = quiet.KINDS[kind].python
            with Run(folder, python(which)) as run:
                self.watch(run)
        except Skip as e:
            self.skipped = str(e)
        except (Failed, subprocess.SubprocessError, OSError) as e:
            self.found = [f"failed: {e}"]

    def watch(self, run):
        place = run.place(f"0-{LAST_CPU}" if quiet.KINDS[self.kind].ranks > 1 else str(LAST_CPU))
        run.start_watch(["--", *place, run.interpreter, str(HERE / "quiet.py"), self.kind])
        if run.watch.wait(2 * READY_S):
            raise Failed(f"status {run.watch.returncode}: " +
                         (run.folder / "watch.err").read_text(encoding="utf-8")[-300:])
        self.found = [f"{h['kind']}, {h['why']}: {h['evidence']}" for h in health_of(run.folder / "lines")]
        self.found += self.verdicts(run)

    def verdicts(self, run):
        """Verdicts of trouble in the report."""
        text = (run.folder / "watch.out").read_text(encoding="utf-8")
        report = json.loads(text[text.index("{"):])
        self.steps = sum(loop["steps"] for r in report["ranks"] for loop in r["loops"])
        return list(dict.fromkeys(v["text"] for v in verdicts_in(report)
                                  if v["verdict"] not in ("steady", "device_bound", "none")))

    def text(self):
        if self.skipped:
            return f"skipped: {self.skipped}"
        return "; ".join(self.found) or f"nothing in {self.steps} steps"


def verdicts_in(value):
    """All findings in a report, wherever they are."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "verdicts":
                yield from inner
            else:
                yield from verdicts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from verdicts_in(inner)
