# SPDX-License-Identifier: Apache-2.0
"""What makes a run of train.py slow: contexts with begin() and end(), made for a Run before it starts."""
import http.server
import os
import shutil
import signal
import subprocess
import threading
import time

from groups import TOP, Group
from runs import FAKE, LAST_CPU, Skip, until


class Go:
    """The kinds of train.py that see the file "go"."""

    def __init__(self, run):
        self.run, self.go = run, run.folder / "go"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def prefix(self):
        """What comes before the job's command, within its place."""
        return []

    def watched(self):
        """Further processes that gp-bpf watches."""
        return []

    def begin(self):
        self.go.touch()

    def end(self):
        self.go.unlink()


# ---- control groups ------------------------------------------------------------------------------------


class Grouped(Go):
    """The job is in a control group of its own."""

    controller = ""

    def __enter__(self):
        self.group = Group(self.controller)
        return self

    def __exit__(self, *_):
        self.run.kill()
        self.group.remove()

    def prefix(self):
        return self.group.prefix()


class Quota(Go):
    """Half of a CPU."""

    def limit(self, quota):
        group = self.run.group
        name = "cpu.cfs_quota_us" if group.version == 1 else "cpu.max"
        group.set(name, str(quota) if group.version == 1 else f"{quota if quota > 0 else 'max'} 100000")

    def begin(self):
        self.limit(50000)

    def end(self):
        self.limit(-1)


class MemoryHigh(Grouped):
    controller = "memory"

    def __enter__(self):
        super().__enter__()
        if self.group.version == 1:
            self.group.remove()
            raise Skip("memory.high needs memory control groups of version 2")
        return self

    def begin(self):
        used = int((self.group.path / "memory.current").read_text(encoding="utf-8"))
        self.group.set("memory.high", str(used // 2))

    def end(self):
        self.group.set("memory.high", "max")


class Hog(Go):
    """A program in a control group of its own, which gets half of the job's CPU."""

    def __enter__(self):
        self.group, self.hog = Group("cpu").weigh(), None
        self.name = self.run.folder / "why_hog"
        shutil.copy(shutil.which("dash") or shutil.which("sh"), self.name)
        return self

    def __exit__(self, *_):
        self.end()
        self.group.remove()

    def begin(self):
        super().begin()
        self.hog = self.run.program([*self.group.prefix(), "taskset", "-c", str(LAST_CPU), self.name, "-c",
                                     "while :; do :; done"], "hog")

    def end(self):
        self.go.unlink(missing_ok=True)
        if self.hog:
            self.hog.kill()
            self.hog.wait()
            self.hog = None


class RealTime(Go):
    """A program of real-time priority that has the job's CPU once, for 0.7 s."""

    def __enter__(self):
        self.hog = subprocess.Popen(["taskset", "-c", str(LAST_CPU), "chrt", "-f", "50", "sh", "-c", "read x; while :; do :; done"],
                                    stdin=subprocess.PIPE)
        return self

    def __exit__(self, *_):
        self.hog.kill()
        self.hog.communicate()

    def begin(self):
        self.hog.stdin.write(b"\n")
        self.hog.stdin.flush()
        time.sleep(0.7)
        self.hog.kill()

    def end(self):
        pass


class Neighbour(Go):
    """A training job on the same CPU, which begins to train then."""

    def __enter__(self):
        self.folder = self.run.folder / "neighbour"
        self.folder.mkdir()
        self.job = self.run.start_train("none", self.folder, os.environ | {"WHY_WAIT": "1"}, self.run.place(str(LAST_CPU)), "neighbour")
        until("the neighbour", (self.folder / "loaded").exists)
        return self

    def __exit__(self, *_):
        self.job.kill()
        self.job.wait()

    def watched(self):
        return [self.job]

    def begin(self):
        (self.folder / "go").touch()

    def end(self):
        self.job.kill()
        self.job.wait()


# ---- files, devices and servers ------------------------------------------------------------------------


class SlowFiles(Go):
    """A file server whose reads take 30 ms each."""

    def __enter__(self):
        self.mounted = self.run.folder / "fs"
        self.mounted.mkdir()
        self.server = self.run.program([FAKE / "brokenfs", self.mounted], "fs")
        out = self.run.folder / "fs.out"
        until("a file system", lambda: out.read_text(encoding="utf-8") or self.server.poll() is not None)
        if self.server.poll() is not None:
            raise Skip("no FUSE file system can be mounted (make fakes)")
        file = self.mounted / "slow-shard"
        file.write_text("data", encoding="utf-8")
        self.run.environment["WHY_FILE"] = str(file)
        return self

    def __exit__(self, *_):
        self.run.kill()
        subprocess.run(["umount", "-l", self.mounted], check=False)
        self.server.wait(10)

    def begin(self):
        (self.mounted / "delay").touch()

    def end(self):
        (self.mounted / "delay").unlink()


class ThrottledDevice(Grouped):
    """A loop device, 25 MB/s for the job."""

    controller = "blkio" if (TOP / "blkio").is_dir() else "io"
    device = ""

    def __enter__(self):
        super().__enter__()
        image = self.run.folder / "image"
        with open(image, "wb") as f:
            f.write(os.urandom(32 << 20))
        made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
        if made.returncode:
            self.group.remove()
            raise Skip(f"no loop device: {made.stderr.strip()}")
        self.device = made.stdout.strip()
        number = os.stat(self.device).st_rdev
        self.number = f"{os.major(number)}:{os.minor(number)}"
        self.run.environment["WHY_FILE"] = self.device
        self.limit(0)
        return self

    def __exit__(self, *_):
        super().__exit__()
        subprocess.run(["losetup", "--detach", self.device], check=False)

    def limit(self, rate):
        if self.group.version == 1:
            self.group.set("blkio.throttle.read_bps_device", f"{self.number} {rate}")
        else:
            self.group.set("io.max", f"{self.number} rbps={rate or 'max'}")

    def begin(self):
        self.limit(25000000)

    def end(self):
        self.limit(0)


class Answer(http.server.BaseHTTPRequestHandler):
    delay_s = 0.0

    def do_GET(self):  # pylint: disable=invalid-name
        time.sleep(self.server.delay_s)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"data")

    def log_message(self, *_):
        pass


class SlowServer(Go):
    """An HTTP server on loopback that answers after 80 ms."""

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.server.daemon_threads = True
        self.server.delay_s = 0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.run.environment["WHY_URL"] = f"http://127.0.0.1:{self.server.server_address[1]}/shard"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def begin(self):
        self.server.delay_s = 0.08

    def end(self):
        self.server.delay_s = 0


# ---- hangs ---------------------------------------------------------------------------------------------


class Stop(Go):
    """SIGSTOP, then SIGCONT."""

    def begin(self):
        self.run.jobs[0].send_signal(signal.SIGSTOP)

    def end(self):
        self.run.jobs[0].send_signal(signal.SIGCONT)
