#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight nodes of eight ranks, scraped by one real Prometheus with our rules: what is a job's is told once, sums over nodes are the
pages', each query of the dashboards finds something, alerts are on their way. tests/deploy/nodes.c makes the pages. TAP."""
from __future__ import annotations

import contextlib
import http.server
import json
import math
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from typing import Any, Callable

TOP = pathlib.Path(__file__).resolve().parents[2]
NODES, SECONDS = 8, 16
# Of these the cluster, or its pages, have none.
QUIET = re.compile(r"ALERTS|process_|gpbpf_records_lost_total|gpbpf_export_dropped_total|gpbpf_rank_(cause|long_step)_seconds_total")
PENDING = {"GpBpfJobHangs", "GpBpfCrashLoop", "GpBpfFailSlow", "GpBpfStraggler", "GpBpfStragglerOfNodes", "GpBpfRanksMissing"}

Sample = tuple[dict[str, str], float]


class Cluster:
    """Serves the page of each node's second; the last one from then on."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.start, self.ports = folder, math.inf, []
        for node in range(NODES):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler(node))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.ports.append(server.server_port)

    def handler(self, node: int) -> type[http.server.BaseHTTPRequestHandler]:
        cluster = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                cluster.start = min(cluster.start, time.monotonic())
                second = min(SECONDS, int(time.monotonic() - cluster.start))
                body = (cluster.folder / f"{node}.{second}").read_bytes()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):  # who asked may be gone
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

    def last(self, name: str, **labels: str) -> list[float]:
        """Samples of the last pages of all nodes."""
        out = []
        for node in range(NODES):
            for line in (self.folder / f"{node}.{SECONDS}").read_text().splitlines():
                if line.startswith(name + "{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
                    out.append(float(line.rsplit(" ", 1)[1]))
        return out


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Prometheus:
    """A real one in `folder`, which scrapes `ports` of 127.0.0.1 as node-0, node-1 and so on. Rules are evaluated every `evaluate`,
    None: as often as the shipped files say."""

    def __init__(self, folder: pathlib.Path, ports: list[int], scrape: str = "2s", evaluate: str | None = "1s") -> None:
        port = free_port()
        for name in ("rules.yaml", "alerts.yaml"):
            text = (TOP / "deploy/prometheus" / name).read_text()
            (folder / name).write_text(re.sub(r"(?m)^( +interval: )\d+s$", rf"\g<1>{evaluate}", text) if evaluate else text)
        targets = [{"targets": [f"127.0.0.1:{p}"], "labels": {"instance": f"node-{n}"}} for n, p in enumerate(ports)]
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": scrape, "scrape_timeout": scrape, "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml", "alerts.yaml"],
            "scrape_configs": [{"job_name": "gp-bpf", "static_configs": targets}]}))
        self.api = f"http://127.0.0.1:{port}/api/v1/"
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=self.log, stderr=subprocess.STDOUT)

    def get(self, what: str, **query: str) -> Any:
        with urllib.request.urlopen(self.api + what + "?" + urllib.parse.urlencode(query), timeout=10) as reply:
            return json.load(reply)["data"]

    def query(self, expr: str) -> list[Sample]:
        data = self.get("query", query=expr)
        result = data["result"] if data["resultType"] == "vector" else [{"metric": {}, "value": data["result"]}]
        return [(r["metric"], float(r["value"][1])) for r in result]

    def wait(self, expr: str, enough: Callable[[list[Sample]], bool], patience_s: float) -> bool:
        end = time.monotonic() + patience_s
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if enough(self.query(expr)):
                    return True
            except OSError:
                pass
            time.sleep(0.5)
        return False

    def evaluated(self) -> dict[str, float]:
        """How often each group of rules was evaluated, by what Prometheus says of itself."""
        with urllib.request.urlopen(self.api.replace("api/v1/", "metrics"), timeout=10) as reply:
            text = reply.read().decode()
        return {m[1]: float(m[2]) for m in re.finditer(r"^prometheus_rule_group_iterations_total(\{.*\}) (\S+)$", text, re.M)}

    def evaluate(self, times: int, patience_s: float = 120) -> None:
        """Until each group was evaluated so often from now on; one evaluation may have begun before."""
        before, end = self.evaluated(), time.monotonic() + patience_s
        while time.monotonic() < end:
            now = self.evaluated()
            if now and all(n > before.get(group, 0) + times for group, n in now.items()):
                return
            time.sleep(0.2)
        raise TimeoutError(f"rules are not evaluated {times} times: {before} {self.evaluated()}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


count = failed = 0


def tap(what: str, *problems: str) -> None:
    global count, failed
    count += 1
    failed += bool(problems)
    print(f"{'not ok' if problems else 'ok'} {count} - {what}")
    for problem in problems:
        print(f"# {problem}")


def near(p: Prometheus, what: str, expr: str, wanted: float, within: float = 1e-9) -> None:
    got = p.query(expr)
    good = len(got) == 1 and abs(got[0][1] - wanted) <= within * max(1.0, abs(wanted))
    tap(what, *([] if good else [f"{expr}: {got}, not {wanted}"]))


def figures(p: Prometheus, c: Cluster) -> None:
    llama = '{job_id="llama"}'
    for name in ("gpbpf_job_elapsed_seconds", "gpbpf_job_info", "gpbpf_job_runs_total", "gpbpf_job_world_size"):
        near(p, f"{name}: by the node of the reference rank alone",
             f'count({name}{llama}) == count({name}{{job_id="llama",instance="node-0"}})', 1)
    near(p, "ranks of all nodes", "count(group by (rank) (gpbpf_steps_total" + llama + "))", NODES * 8)
    near(p, "steps of all ranks", f"sum(gpbpf_steps_total{llama})", sum(c.last("gpbpf_steps_total", job_id="llama")))
    near(p, "accelerators", f"gpbpf:job_accelerators:sum{llama}", sum(c.last("gpbpf_job_accelerators", job_id="llama")))
    for bucket in ("OTHER", "DATA_LOADING_SYNC"):
        near(p, f"accelerator-hours lost, {bucket}", f'gpbpf:job_accelerator_hours_lost:sum{{job_id="llama",bucket="{bucket}"}}',
             sum(c.last("gpbpf_job_accelerator_seconds", job_id="llama", bucket=bucket)) / 3600)
    near(p, "ranks that are there", f"gpbpf:job_ranks:present{llama}", (NODES - 1) * 8)
    near(p, "of the world size", f"gpbpf:job_ranks:ratio{llama}", (NODES - 1) / NODES)
    near(p, "goodput of llama", f"gpbpf:job_goodput:ratio5m{llama}", 0.8, 0.005)
    near(p, "goodput of bert", 'gpbpf:job_goodput:ratio1h{job_id="bert"}', 0.5, 0.005)
    near(p, "of all", "gpbpf:fleet_goodput:ratio1h", (64 * 0.8 + 16 * 0.5) / 80, 0.005)
    near(p, "badput of llama", 'gpbpf:job_badput:ratio1h{job_id="llama",bucket="OTHER"}', 0.15, 0.005)
    near(p, "where its time went adds up", f"sum by (job_id) (gpbpf:job_time_seconds:1h{llama}) / gpbpf:job_observed_seconds:1h{llama}", 1, 0.1)
    near(p, "nodes that answer", 'sum(up{job="gp-bpf"})', NODES)
    ranking = sorted(p.query(f"topk(2, gpbpf:rank_lag:ratio5m{llama})"), key=lambda s: -s[1])
    good = len(ranking) == 2 and ranking[0][0].get("rank") == "37" and ranking[0][0]["instance"] == "node-4" and ranking[1][1] < ranking[0][1] / 3
    tap("who is waited for, of all nodes", *([] if good else [str(ranking)]))


def dashboards(p: Prometheus) -> None:
    for page, names in (("job", ("llama", "bert")), ("fleet", (".*",))):
        file = str(TOP / f"deploy/grafana/{page}.json")
        asked = [subprocess.run([str(TOP / "tests/deploy/dashboards.py"), "--queries", file, name], check=True,
                                stdout=subprocess.PIPE, text=True).stdout.splitlines() for name in names]
        empty = [of[0] for of in zip(*asked) if not QUIET.search(of[0]) and not any(p.query(q) for q in of)]
        tap(f"dashboard, {page}: each of {len(asked[0])} queries finds something", *empty)


def alerts(p: Prometheus) -> None:
    told = {a["labels"]["alertname"]: a for a in p.get("alerts")["alerts"]}
    tap("alerts: those and no others", *([] if set(told) == PENDING else [f"{sorted(told)}, not {sorted(PENDING)}"]))
    names = [g["rules"] for g in p.get("rules")["groups"]]
    sick = [f"{r['name']}: {r.get('lastError')}" for rules in names for r in rules if r["health"] != "ok"]
    tap("each rule is evaluated", *sick)


def main() -> int:
    if not shutil.which("prometheus"):
        print("ok 1 - eight nodes # skip no prometheus (make deps)\n1..1")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([str(TOP / "build/plain/tests/deploy/nodes"), str(NODES), str(SECONDS), name], check=True)
        cluster = Cluster(folder)
        p = Prometheus(folder, cluster.ports)
        try:
            elapsed = cluster.last("gpbpf_job_elapsed_seconds", job_id="llama")[0]
            settled = f'gpbpf_job_elapsed_seconds{{job_id="llama"}} == {elapsed}'
            tap("all is scraped", *([] if p.wait(settled, bool, 90) else ["not the last page"]))
            p.wait('sum(up{job="gp-bpf"})', lambda r: bool(r) and r[0][1] == NODES, 30)
            p.evaluate(4)  # rules of rules of it
            figures(p, cluster)
            dashboards(p)
            alerts(p)
        finally:
            p.stop()
        bad = [line for line in (folder / "log").read_text().splitlines() if re.search("level=(warn|error)", line) and "SIGTERM" not in line]
        tap("Prometheus has nothing to say", *bad[:5])
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
