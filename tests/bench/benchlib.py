# SPDX-License-Identifier: Apache-2.0
"""What the benches share: starting gp-bpf and its targets, reading /proc, medians, the table."""
import json
import os
import platform
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("GP_BENCH_BUILD", "build/plain"))
GP_BPF = os.path.join(BUILD, "gp-bpf")
PROGRAMS = os.path.join(BUILD, "tests/bench")
PROBES = os.path.join(TOP, "tests/bench/probes")
RUNS = max(7, int(os.environ.get("BENCH_RUNS", "7")))
READY_S = 60
LOAD = os.getloadavg()[0]


class Skip(Exception):
    """This machine cannot run the bench; the text says why."""


class Row:
    """One line of the table. bar: (limit, "max" or "min") in the unit of the values, or None."""

    def __init__(self, what, values, unit, bar=None, note="", digits=None):
        self.what, self.values, self.unit, self.bar, self.note = what, list(values), unit, bar, note
        self.digits = digits

    def median(self):
        return statistics.median(self.values)

    def number(self, value):
        digits = self.digits
        if digits is None:
            digits = 0 if abs(value) >= 100 else 2
        return f"{value:,.{digits}f}".replace(",", " ")

    def measured(self):
        text = f"{self.number(self.median())} {self.unit}"
        if len(self.values) > 1:
            low, high = self.number(min(self.values)), self.number(max(self.values))
            text += f" ({low}..{high}, n={len(self.values)})"
        return text

    def bar_text(self):
        if not self.bar:
            return "-"
        sign = "<=" if self.bar[1] == "max" else ">="
        return f"{sign} {self.bar[0]:,g} {self.unit}".replace(",", " ")

    def verdict(self):
        if not self.bar:
            return "-"
        value, limit = self.median(), self.bar[0]
        return "ok" if (value <= limit if self.bar[1] == "max" else value >= limit) else "MISSED"


def progress(text):
    print(f"# {text}", file=sys.stderr, flush=True)


def machine():
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            model = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    with open("/proc/meminfo", encoding="utf-8") as f:
        memory = int(f.readline().split()[1]) // 1048576
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        guest = ", virtual" if " hypervisor" in f.read() else ""
    system = f"Linux {platform.release()} {platform.machine()}"
    return f"{model}, {os.cpu_count()} CPUs{guest}, {memory} GiB, {system}; {LOAD:.1f} programs ran when this began"


def table(rows):
    cells = [("what", "measured (median, min..max, n)", "bar", "verdict")]
    cells += [(r.what, r.measured(), r.bar_text(), r.verdict()) for r in rows]
    width = [max(len(c[i]) for c in cells) for i in range(4)]
    lines = ["  ".join(c[i].ljust(width[i]) for i in range(4)).rstrip() for c in cells]
    lines.insert(1, "  ".join("-" * w for w in width))
    return "\n".join(lines)


def print_rows(rows):
    print(f"{machine()}\n\n{table(rows)}")
    for note in dict.fromkeys(f"{r.what}: {r.note}" for r in rows if r.note):
        print(f"  {note}")


def main(bench):
    """A bench as a program of its own."""
    try:
        rows = list(bench())
    except Skip as e:
        print(f"skipped: {e}")
        sys.exit(0)
    print_rows(rows)


# ---- programs ----------------------------------------------------------------------------------------


def program(name):
    path = os.path.join(PROGRAMS, name)
    if not os.path.exists(path):
        raise Skip(f"{path} is not built; run it as: make bench ONLY=...")
    return path


class Talker:
    """A child that answers lines with lines."""

    def __init__(self, argv, **kw):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **kw)
        self.pid = self.process.pid

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise RuntimeError(f"{self.process.args[0]} ended ({self.process.wait()})")
        return text.rstrip("\n")

    def until(self, end):
        lines = []
        while (line := self.line()) != end:
            lines.append(line)
        return lines

    def say(self, text):
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def close(self):
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
                self.process.wait(timeout=2)
            except (subprocess.TimeoutExpired, OSError):
                self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def metrics(address):
    """{(name, process, probe): value} of what the probes cost and told."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    found = {}
    for name, labels, value in re.findall(r"^(gpbpf_overhead_seconds_total|gpbpf_probe_hits_total|gpbpf_probe_unsent_total)"
                                          r"\{(.*)\} ([0-9.e+-]+)$", text, re.M):
        label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        key = name, label.get("pid", ""), label.get("probe", "")
        found[key] = found.get(key, 0) + float(value)  # the parts of what it costs add up
    return found


class Watcher:
    """A gp-bpf that is attached. ready_s: from its start to the line on --ready-fd."""

    def __init__(self, pids, args=(), command="--pid", state_dir=None, probes=None):
        if os.geteuid():
            raise Skip("gp-bpf needs root to attach")
        read_fd, write_fd = os.pipe()
        argv = [GP_BPF] if command == "--pid" else [GP_BPF, command]
        for pid in pids:
            argv += ["--pid", str(pid)]
        argv += ["--ready-fd", str(write_fd), *args]
        if state_dir:
            argv += ["--state-dir", state_dir]
        if probes:  # the benches' own, in tight loops: what a budget would do about it is not measured
            argv += ["--probes", probes, "--overhead-budget", "0"]
        self.report_file = tempfile.TemporaryFile("w+")
        self.error_file = tempfile.TemporaryFile("w+")
        start = time.monotonic()
        self.process = subprocess.Popen(argv, pass_fds=[write_fd], stdin=subprocess.DEVNULL, stdout=self.report_file,
                                        stderr=self.error_file)
        os.close(write_fd)
        ready = select.select([read_fd], [], [], READY_S)[0] and os.read(read_fd, 16)
        self.ready_s = time.monotonic() - start
        os.close(read_fd)
        self.pid = self.process.pid
        if not ready:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"gp-bpf did not get ready: {self.errors()}")

    def errors(self):
        self.error_file.seek(0)
        return self.error_file.read().strip()

    def metrics_at(self):
        """Where a gp-bpf that was told to --listen, and to log so much, has its metrics."""
        return re.search(r"metrics at (?:http://)?([0-9.:]+)", self.errors()).group(1)

    def stop(self):
        """Ends it with SIGTERM; returns how long that took, in seconds."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        _, status, self.usage = os.wait4(self.pid, 0)
        took = time.monotonic() - start
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            raise RuntimeError(f"gp-bpf ended with {self.process.returncode}: {self.errors()}")
        return took

    def report(self):
        """What it wrote to standard output: the object of --json."""
        self.report_file.seek(0)
        return json.loads(self.report_file.read().strip().splitlines()[-1])


class Folder:
    """A temporary folder for tapes and caches."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="gp-bpf-bench.", dir=os.environ.get("TMPDIR"))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def file(self, name):
        return os.path.join(self.path, name)

    def need(self, size):
        free = shutil.disk_usage(self.path).free
        if free < size * 1.2:
            raise Skip(f"{self.path} has {free >> 20} MiB free, {size >> 20} MiB are needed; set TMPDIR")


# ---- /proc -------------------------------------------------------------------------------------------


def cpu_ns(pid):
    """Time on a CPU of every thread, to the nanosecond (the times of /proc/PID/stat are in ticks)."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def memory_kb(pid, field="Anonymous"):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/smaps_rollup tells no {field}")


# ---- torch -------------------------------------------------------------------------------------------


def torch_python():
    """The Python whose torch is used: $PYTHON, the cached one of the checks, python3, Debian's."""
    helper = os.path.join(TOP, "tests/tools/torch.sh")
    candidates = [os.environ.get("PYTHON")]
    if os.access(helper, os.X_OK):
        out = subprocess.run([helper, "--find"], capture_output=True, text=True, check=False).stdout.split()
        candidates += out[-1:]
    for python in [*candidates, "python3", "/usr/bin/python3"]:
        if python and shutil.which(python):
            done = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True,
                                  text=True, check=False)
            if not done.returncode:
                return python, done.stdout.strip()
    raise Skip("no Python here has torch; name one with PYTHON=")
