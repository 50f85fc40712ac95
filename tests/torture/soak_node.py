# SPDX-License-Identifier: Apache-2.0
"""gp-bpf node with every way out, while jobs of many kinds start and die: what it holds over time, in a table and in lines.
A rule keeps it to the processes of this folder. Each job counts its steps; the store and the JSON lines have to agree."""
import collections
import os
import random
import re
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

import bpf
from births import HASHES, usage
from soak import store_kib, told
from torturelib import FAKE, GP_BPF, READY_S, TOP, Failure, Folder, lines_of, pins_of, progress, row

sys.path.insert(0, os.path.join(TOP, "tests/bench"))
from benchlib import Talker, memory_kb  # noqa: E402
from exporters import Service  # noqa: E402

SCRAPE_S = 5
PAUSE_S = 1.5  # of each kind, between two jobs
SAMPLES = 60
WARM = 0.4  # of the time, of which growth is not judged: what is shown of those that ended is bounded, and full by then
# What may be more at the end of the rest of the time, by the line through all samples of it.
LIMITS = {"memory": 4096, "helpers": 2048, "fds": 4, "maps": 16, "threads": 2, "links": 8, "programs": 1}
WARM_RUNS = 1500  # until then memory fills: 256 ended processes and 512 jobs are shown
UNITS = {"memory": "KiB", "helpers": "KiB"}
BARS = "▁▂▃▄▅▆▇█"
CGROUPS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup")
EACH = ["load", "wait", "pause", "pace=1000", "steps=60", "save=soak.pt", "steps=40"]  # paused until it is watched


def cgroup_root():
    """Where a group can be made, or None."""
    for path in CGROUPS:
        try:
            os.mkdir(f"{path}/gp-bpf-soak-{os.getpid()}")
            os.rmdir(f"{path}/gp-bpf-soak-{os.getpid()}")
            return path
        except OSError:
            pass
    return None


class StandIn(Talker):
    """What takes everything that is sent over HTTP, in a process of its own: this one is busy with jobs."""

    def __init__(self, folder):
        super().__init__([sys.executable, __file__, folder.file("user.json")], stderr=subprocess.DEVNULL)
        self.url = self.line()

    def got(self):
        self.say("got")
        return int(self.line())


def stand_in(credentials):
    service = Service()
    service.credentials(credentials)
    print(service.url, flush=True)
    for _ in sys.stdin:
        print(len(service.got), flush=True)


class Jobs:
    """One thread a kind: each starts a job, waits for its end, and starts the next one. What they counted is in steps."""

    def __init__(self, folder):
        self.folder, self.train, self.groups = folder, folder.file("fake/train"), cgroup_root()
        for name in ("fake", "other"):
            shutil.copytree(FAKE, folder.file(name))
        self.lock, self.stop, self.steps, self.runs, self.wrong = threading.Lock(), threading.Event(), 0, 0, []
        self.kinds, self.live = collections.Counter(), set()
        self.pins = pins_of(folder.file("state"))
        self.how = {"ends": lambda: self.plain(EACH, name="ends"),
                    "fails": lambda: self.plain([*EACH, "exit=3"], 3, "fails"),
                    "dies": lambda: self.plain([*EACH, "kill=9"], -9, "dies"),
                    "execs": lambda: self.plain([*EACH, "exec", "load", *EACH[3:]], name="execs"),
                    "children": lambda: self.plain(["load", "wait", "pause", "children=5", "steps=20"]),
                    "storm": lambda: self.plain(["load", "crowd=200", *EACH[1:]]),
                    "at once": lambda: self.plain([f"load={folder.file('other')}"]),
                    "sooner": lambda: self.plain(["exit=0"]),
                    "killed": self.killed, "renamed": self.renamed}
        if self.groups:
            self.how["group"] = self.grouped
        self.threads = [threading.Thread(target=self.again, args=(kind,)) for kind in self.how]

    def again(self, kind):
        while not self.stop.is_set():
            try:
                out = self.how[kind]()
            except (OSError, subprocess.TimeoutExpired) as e:
                self.wrong.append(f"{kind}: {e}")
                return
            with self.lock:
                self.kinds[kind] += 1
                self.runs += 1
                self.steps += sum(map(int, re.findall(r"^steps (\d+)$", out, re.M)))
            self.stop.wait(PAUSE_S)

    def start(self, argv, **kw):
        p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             cwd=self.folder.path, start_new_session=True, **kw)
        with self.lock:
            self.live.add(p)
        return p

    def watched(self, p):
        """Until it is; from then on each of its steps is seen."""
        fd, end = bpf.pin_open(os.path.join(self.pins, "map-gp_watched")), time.monotonic() + READY_S
        try:
            while p.poll() is None and time.monotonic() < end:
                try:
                    bpf.lookup(fd, struct.pack("I", p.pid))
                    break
                except OSError:
                    time.sleep(0.01)
            else:
                self.wrong.append(f"{p.args}: not watched")
        finally:
            os.close(fd)
        p.stdin.write("go\n")
        p.stdin.flush()

    def end(self, p, status=0, out=""):
        out += p.communicate(timeout=READY_S)[0]
        with self.lock:
            self.live.discard(p)
        if p.returncode != status:
            self.wrong.append(f"{p.args}: {p.returncode}")
        return out

    def plain(self, words, status=0, name=None):
        p = self.start([self.train, *words], env={**os.environ, "TORCHELASTIC_RUN_ID": name} if name else None)
        if "pause" in words:
            self.watched(p)
        return self.end(p, status)

    def killed(self):
        """From outside, while it waits."""
        p, out = self.start([self.train, *EACH, "say=done", "pause"]), ""
        self.watched(p)
        while (line := p.stdout.readline()) and line != "done\n":
            out += line
        time.sleep(random.uniform(0, 0.05))
        p.send_signal(signal.SIGKILL)
        return self.end(p, -signal.SIGKILL, out)

    def renamed(self):
        """Another job each time."""
        return self.plain(EACH, name=f"renamed-{self.kinds['renamed']}")

    def grouped(self):
        """In a control group of its own, which is gone after it."""
        group = f"{self.groups}/gp-bpf-soak-{os.getpid()}-{self.kinds['group']}.service"
        os.mkdir(group)
        try:
            p = self.start(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group, self.train, *EACH])
            self.watched(p)
            return self.end(p)
        finally:
            os.rmdir(group)

    def go(self):
        """The first one stays until the end: its libraries stay probed. Those of "at once" come and go."""
        self.keeper = self.start([self.train, "load", "wait", "pause", "steps=1", "say=on", "pause"])
        self.watched(self.keeper)
        while self.keeper.stdout.readline() not in ("on\n", ""):
            pass
        self.steps += 1
        for t in self.threads:
            t.start()

    def finish(self):
        self.stop.set()
        for t in self.threads:
            t.join()
        self.end(self.keeper)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        with self.lock:
            for p in self.live:
                os.killpg(p.pid, signal.SIGKILL)
        for t in self.threads:
            if t.is_alive():
                t.join()


class Node:
    def __init__(self, folder, service):
        self.folder, self.service = folder, service
        self.state, self.socket, self.json = folder.file("state"), folder.file("socket"), folder.file("lines.json")
        self.store, self.pins = os.path.join(self.state, "store.db"), pins_of(self.state)
        self.ids, self.scrapes = set(), 0

    def start(self):
        f, read_fd, write_fd = self.folder.file, *os.pipe()
        exports = [f"json:{self.json}", f"csv:{f('tables')}", f"trace:{f('trace.json')},size=4G", f"tensorboard:{f('board')}",
                   f"otlp:{self.service.url}", "cloud-monitoring:project=soak"]
        argv = [GP_BPF, "node", "--log-level", "warning", "--durable", "--state-dir", self.state, "--ready-fd", str(write_fd),
                "--listen", f"unix:{self.socket}", "--allow", f"command={self.folder.path}/*", "--gcm-location", "soak",
                "--gcm-endpoint", self.service.url, *(w for e in exports for w in ("--export", e))]
        env = {**os.environ, "GOOGLE_APPLICATION_CREDENTIALS": f("user.json"), "NODE_NAME": "soak", "no_proxy": "*",
               "GCE_METADATA_HOST": "127.0.0.1:1", "METADATA_SERVER_DETECTION": "none"}
        with open(f("node.err"), "wb") as err:
            self.process = subprocess.Popen(argv, pass_fds=[write_fd], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=err, env=env)
        os.close(write_fd)
        ready = select.select([read_fd], [], [], READY_S)[0] and os.read(read_fd, 16)
        os.close(read_fd)
        if not ready:
            raise Failure(f"gp-bpf node is not ready: {self.errors()}")

    def ask(self, page):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(READY_S)
            s.connect(self.socket)
            s.sendall(f"GET {page} HTTP/1.0\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n".encode())
            head, _, body = b"".join(iter(lambda: s.recv(1 << 20), b"")).partition(b"\r\n\r\n")
        if b" 200 " not in head.splitlines()[0]:
            raise Failure(f"{page}: {head.splitlines()[0]}")
        return body.decode()

    def scrape(self):
        self.scrapes += 1
        if not self.ask("/metrics").endswith("# EOF\n"):
            raise Failure("the metrics do not end")

    def helpers(self):
        """KiB of the processes that look at others for it, and how many they are."""
        kib, n = 0, 0
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            for pid in f.read().split():
                try:
                    kib += memory_kb(int(pid), "Pss")
                    n += 1
                except (OSError, RuntimeError):  # it ended just now
                    pass
        return kib, n

    def in_kernel(self):
        """Links, programs, and how much is kept of processes."""
        ids = bpf.ids(self.process.pid)
        self.ids |= ids
        kinds = collections.Counter(kind for kind, _ in ids)
        return kinds["link"], kinds["prog"], sum(self.kept().values())

    def kept(self):
        return {name: bpf.count_keys(os.path.join(self.pins, f"map-{name}")) for name in HASHES}

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=READY_S)

    def errors(self):
        with open(self.folder.file("node.err"), encoding="utf-8", errors="replace") as f:
            return f.read().strip()

    def left(self):
        end = time.monotonic() + 10
        while (still := bpf.left(self.ids)) and time.monotonic() < end:
            time.sleep(0.05)
        return len(still) + os.path.isdir(self.pins)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.pins, ignore_errors=True)


class Sample:
    def __init__(self, node, jobs, start):
        pid = node.process.pid
        self.at, self.runs = time.monotonic() - start, jobs.runs
        self.fds, self.maps, self.memory = usage(pid)
        self.threads = len(os.listdir(f"/proc/{pid}/task"))
        self.helpers, self.helping = node.helpers()
        self.links, self.programs, self.kept = node.in_kernel()
        self.store = store_kib(node.store) if os.path.exists(node.store) else 0

    HEAD = f"{'time':>7} {'memory KiB':>10} {'helpers':>12} {'fds':>4} {'maps':>5} {'threads':>7} {'links':>5} {'progs':>5} " \
           f"{'kept':>5} {'store KiB':>9} {'runs':>6}"

    def __str__(self):
        return f"{self.at:6.0f}s {self.memory:10} {self.helping:3} x {self.helpers:6} {self.fds:4} {self.maps:5} {self.threads:7} " \
               f"{self.links:5} {self.programs:5} {self.kept:5} {self.store:9} {self.runs:6}"


def bars(values):
    low, high = min(values), max(values)
    return "".join(BARS[int((v - low) / max(1, high - low) * (len(BARS) - 1))] for v in values)


def growth_rows(samples, seconds):
    """By the line of least squares through the samples after the start."""
    late = [s for s in samples if s.at > seconds * WARM]
    if len(late) < 5:
        raise Failure("too few samples after the start")
    for what, limit in LIMITS.items():
        values = [getattr(s, what) for s in late]
        slope = statistics.linear_regression([s.at for s in late], values).slope
        print(f"# {what:>9} {bars([getattr(s, what) for s in samples])} {min(values)}..{max(values)}, {slope * 3600:+.1f} an hour")
        if what in UNITS and late[0].runs < WARM_RUNS:
            print(f"# {what}: not judged, only {late[0].runs} of {WARM_RUNS} jobs had run at the start of the line")
            continue
        unit = f", {UNITS[what]}" if what in UNITS else ""
        yield row(f"node: growth of {what}{unit}", (limit, "max"), round(slope * (late[-1].at - late[0].at), 1),
                  f"{values[0]} to {values[-1]} in {late[-1].at - late[0].at:.0f} s")


def soak(node, jobs, seconds):
    start, samples, scraped = time.monotonic(), [], 0
    print(f"# {Sample.HEAD}", flush=True)
    while (now := time.monotonic() - start) < seconds:
        if now > seconds * len(samples) / SAMPLES:
            samples.append(Sample(node, jobs, start))
            print(f"# {samples[-1]}", flush=True)
        if now > scraped * SCRAPE_S:
            node.scrape()
            scraped += 1
        if node.process.poll() is not None:
            raise Failure(f"gp-bpf node ended: {node.errors()}")
        time.sleep(0.1)
    return samples


def wrong_order(lines):
    """Steps that are not the one before and one more, in their run."""
    last, wrong = {}, 0
    for x in lines:
        if x["type"] == "step":
            key = x["pid"], x["loop"]
            wrong += x["run_step"] not in (last.get(key, 0) + 1, 1)
            last[key] = x["run_step"]
    return wrong


def settle(node, steps):
    """Until all of those that ended are told and forgotten, or a while later."""
    end = time.monotonic() + 15
    while time.monotonic() < end and (sum(x["type"] == "step" for x in lines_of(node.json)) < steps or node.in_kernel()[2]):
        time.sleep(0.5)


def run(plan):
    seconds = plan.seconds
    progress(f"node, jobs of {'ten' if not cgroup_root() else 'eleven'} kinds, every exporter, {seconds / 60:g} minutes")
    with Folder() as folder, StandIn(folder) as service, Jobs(folder) as jobs, Node(folder, service) as node:
        node.start()
        jobs.go()
        samples = soak(node, jobs, seconds)
        jobs.finish()
        settle(node, jobs.steps)
        kept = {name: n for name, n in node.kept().items() if n}
        ended = node.end()
        lines, known = lines_of(node.json), told(node.store)
        yield from growth_rows(samples, seconds)
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(jobs.kinds.items()))
        yield row("node: steps lost or doubled in the lines", 0, sum(x["type"] == "step" for x in lines) - jobs.steps,
                  f"{jobs.steps} steps in {jobs.runs} jobs: {kinds}")
        yield row("node: steps not numbered on", 0, wrong_order(lines))
        yield row("node: steps lost or doubled in the store", 0, sum(j["steps"] for j in known) - jobs.steps, f"{len(known)} jobs")
        yield row("node: jobs whose buckets do not add up", 0, sum(sum(j["buckets"].values()) != j["elapsed_ns"] for j in known))
        yield row("node: records told as lost", 0, sum(x["count"] for x in lines if x["type"] == "loss" and x["source"] not in
                                                       ("unpaired", "rate_limited", "slots_full")))
        yield row("node: jobs that ended otherwise than they should", 0, len(jobs.wrong), "; ".join(jobs.wrong[:2]))
        yield row("node: writes to Cloud Monitoring and OTLP", (1, "min"), node.service.got(), f"{node.scrapes} scrapes")
        yield row("node: places in the kernel kept for the dead", 0, sum(kept.values()), str(kept or ""))
        yield row("node: status", 0, ended)
        yield row("node: lines that it said", 0, len(node.errors().splitlines()), node.errors()[:300])
        yield row("node: left in the kernel", 0, node.left())


if __name__ == "__main__":
    stand_in(sys.argv[1])
