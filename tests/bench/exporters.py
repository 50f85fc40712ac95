#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the ways out cost at 64 ranks, all threads together: Cloud Monitoring (own series and the goodput library's, over
HTTP to a stand-in that takes everything) at its interval of 30 s, and Prometheus that scrapes every 15 s as it does
(OpenMetrics, compressed). Their CPU as a part of a core, and their memory. Then all ways out there are at once, and TensorBoard alone, in
real time, at 10 steps a second of each rank; and whether a hook that hangs holds up what the others are told."""
import json
import os
import re
import socket
import statistics
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchlib import Folder, Row, Talker, main, program, progress

JOBS, RANKS = 8, 8
WRITES, SCRAPES = 5, 20  # measured; what comes before (descriptors, the first page) is not
STEPS, REAL_S = 10, 60  # of each rank in a second; seconds of a run in real time
INTERVAL_S, SCRAPE_S = 30, 15  # in earnest; here a write is every 5 s, a scrape every 0.1 s


class Service(ThreadingHTTPServer):
    """Takes everything. got: bytes of the bodies of time series, one a request."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.got = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def credentials(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"type": "authorized_user", "client_id": "bench", "client_secret": "bench",
                       "refresh_token": "bench", "token_uri": f"{self.url}/token"}, f)
        os.chmod(path, 0o600)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits until its head is acknowledged, 40 ms

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = {"access_token": "bench", "expires_in": 3600, "token_type": "Bearer"} if self.path == "/token" else {}
        if self.path.endswith("/timeSeries"):
            self.server.got.append(len(body))
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def memory(pid):
    """Memory of its own, in KiB."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))


class Exporter(Talker):
    """One that runs with the exporters of specs; tick() gives them a snapshot."""

    def __init__(self, folder, service, *specs, **env):
        self.socket = folder.file("socket")
        env = {**os.environ, "GOOGLE_APPLICATION_CREDENTIALS": folder.file("user.json"), "NODE_NAME": "bench",
               "GCE_METADATA_HOST": "127.0.0.1:1", "METADATA_SERVER_DETECTION": "none", "no_proxy": "*", **env}
        super().__init__([program("exporters"), str(JOBS), str(RANKS), f"unix:{self.socket}", service.url, *specs], env=env)
        assert self.line() == "ready"
        self.before = memory(self.pid)

    def tick(self):
        self.say("")
        return tuple(int(n) for n in self.line().split())

    def grown(self):
        return (memory(self.pid) - self.before) / 1024


def written(folder, service):
    """CPU ns of each write, points of one, and memory."""
    with Exporter(folder, service, "cloud-monitoring:project=bench") as x:
        costs, points, last = [], [], x.tick()
        until = time.monotonic() + 6 * (WRITES + 3)
        while len(costs) <= WRITES and time.monotonic() < until:
            time.sleep(1)
            now = x.tick()
            if now[1] == last[1]:
                continue
            costs.append(now[0] - last[0])
            points.append(now[1] - last[1])
            last = now
        if len(costs) <= WRITES:
            raise RuntimeError("Cloud Monitoring was not written to")
        return costs[1:], points[-1], x.grown()


def scrape(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: bench\r\nAccept: application/openmetrics-text;version=1.0.0\r\n"
                  b"Accept-Encoding: gzip\r\nConnection: close\r\n\r\n")
        size = 0
        while part := s.recv(1 << 16):
            size += len(part)
        return size


def scraped(folder, service):
    """CPU ns of each scrape, bytes of one, and memory."""
    with Exporter(folder, service, "prometheus") as x:
        costs, last = [], x.tick()[0]
        for _ in range(SCRAPES + 1):
            size = scrape(x.socket)
            time.sleep(0.1)
            now = x.tick()[0]
            costs.append(now - last)
            last = now
        return costs[1:], size, x.grown()


def in_earnest(folder, service, *specs, scrapes=False):
    """CPU as a part of a core, in real time: a snapshot and the steps of a second each second."""
    with Exporter(folder, service, *specs, STEPS=str(STEPS), INTERVAL=str(INTERVAL_S)) as x:
        x.tick()
        begin, cpu, last = time.monotonic(), x.tick()[0], 0
        for second in range(1, REAL_S + 1):
            time.sleep(max(0, begin + second - time.monotonic()))
            last = x.tick()[0]
            if scrapes and second % SCRAPE_S == 0:
                scrape(x.socket)
        return (last - cpu) / 1e9 / (time.monotonic() - begin) * 100


def held_up(folder, service, specs, hook):
    """us of the fact that took longest, of each of 20 times 640."""
    env = {"HOOK": f"disruption={hook}"} if hook else {}
    with Exporter(folder, service, *specs, STEPS=str(STEPS), **env) as x:
        x.tick()
        longest = []
        for _ in range(20):
            longest.append(x.tick()[2] / 1000)
            time.sleep(0.1)
        return longest


def stuck(folder):
    """A hook that does not end, where one who runs as nobody gets at it."""
    os.chmod(folder.path, 0o755)
    path = folder.file("stuck")
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\ntrap '' TERM\nsleep 15\nsleep 15\n")
    os.chmod(path, 0o755)
    return path


def bench():
    with Folder() as folder:
        service = Service()
        service.credentials(folder.file("user.json"))
        progress("exporters: Cloud Monitoring")
        writes, points, cloud_memory = written(folder, service)
        progress("exporters: Prometheus")
        pages, size, page_memory = scraped(folder, service)
        files = [f"json:{folder.file('lines')}", f"csv:{folder.file('tables')}", f"trace:{folder.file('trace')}",
                 f"tensorboard:{folder.file('board')}"]
        every = ["cloud-monitoring:project=bench", "prometheus", *files, f"otlp:{service.url}"]
        progress("exporters: all of them, in real time")
        everything = in_earnest(folder, service, *every, scrapes=True)
        progress("exporters: TensorBoard, in real time")
        board = in_earnest(folder, service, f"tensorboard:{folder.file('board2')}")
        progress("exporters: a hook that hangs")
        free, hung = held_up(folder, service, files, None), held_up(folder, service, files, stuck(folder))
    a_write, a_page = statistics.median(writes), statistics.median(pages)
    share = (a_write / INTERVAL_S + a_page / SCRAPE_S) / 1e9 * 100
    at = f"of {JOBS} x {RANKS} ranks"
    yield Row(f"exporters {at}, together", [share], "% of a core", (0.3, "max"),
              f"a write every {INTERVAL_S} s, a scrape every {SCRAPE_S} s", digits=3)
    yield Row("  Cloud Monitoring, a write", [n / 1e6 for n in writes], "ms of CPU", None,
              f"{points} points in requests of {statistics.median(service.got) / 1024:.0f} KiB")
    yield Row("  Prometheus, a scrape", [n / 1e6 for n in pages], "ms of CPU", None, f"{size / 1024:.0f} KiB compressed")
    yield Row(f"  all ways out, {STEPS} steps/s of each rank", [everything], "% of a core", (0.5, "max"),
              "json, csv, trace, tensorboard, otlp, cloud-monitoring, prometheus: in real time, intervals as usual", digits=3)
    yield Row("  TensorBoard alone, the same", [board], "% of a core", None, digits=3)
    yield Row("  a fact to the files, the longest of 640", free, "us")
    yield Row("  the same while a hook hangs", hung, "us")
    yield Row("  memory of both", [cloud_memory + page_memory], "MiB", None, "what they add to a process with such a snapshot")


if __name__ == "__main__":
    main(bench)
