# SPDX-License-Identifier: Apache-2.0
"""What tests of the stand-in of Cloud Monitoring share: one that runs, a client that may do wrong, series to write."""
from __future__ import annotations

import argparse
import contextlib
import copy
import dataclasses
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import threading
from typing import Any, Iterable, Iterator

import monitoring
from gcm_json import time_text

NOW = 1_700_000_000  # where the clock of the stand-in stands
PATH = "/v3/projects/demo-project/timeSeries"


@dataclasses.dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """What it says, errors by their message."""
        return self.json["error"]["message"] if "error" in self.json else self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Each request on its own connection, as it is told to."""
    broken = (http.client.HTTPException, OSError)

    def __init__(self, port: int, journal: str) -> None:
        self.port, self.path, self.token = port, journal, "a-token"
        self.context: ssl.SSLContext | None = None  # of TLS

    def send(self, method: str, path: str, body: "bytes | Iterable[bytes] | None" = None, headers: dict[str, str] | None = None,
             token: str | None = "") -> Reply:
        """token: another than the client's; None: no header."""
        headers = dict(headers or {})
        if token is not None:
            headers.setdefault("Authorization", "Bearer " + (token or self.token))
        connection = (http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.context) if self.context
                      else http.client.HTTPConnection("127.0.0.1", self.port, timeout=60))
        with contextlib.closing(connection):
            connection.request(method, path, body, headers, encode_chunked=not isinstance(body, (bytes, type(None))))
            reply = connection.getresponse()
            return Reply(reply.status, dict(reply.getheaders()), reply.read())

    def post(self, path: str, value: Any) -> Reply:
        return self.send("POST", path, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def get(self, path: str) -> Reply:
        return self.send("GET", path)

    def write(self, *series: dict[str, Any]) -> Reply:
        return self.post(PATH, {"timeSeries": list(series)})

    def describe(self, row: dict[str, Any]) -> Reply:
        return self.post("/v3/projects/demo-project/metricDescriptors", row)

    def control(self, **told: Any) -> dict[str, Any]:
        reply = self.post("/control", told)
        assert reply.status == 200, reply
        return reply.json

    def stored(self) -> list[dict[str, Any]]:
        return self.get("/control/series").json

    def stored_points(self) -> list[dict[str, Any]]:
        return [p for s in self.stored() for p in s["points"]]

    def journal(self) -> list[dict[str, Any]]:
        with open(self.path, encoding="utf-8") as f:
            return [json.loads(line) for line in f]


@contextlib.contextmanager
def started(arguments: list[str] | None = None) -> Iterator[Client]:
    """A stand-in in this process; it ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        journal = os.path.join(folder, "journal")
        options: argparse.Namespace = monitoring.options_of(["--journal", journal, *(arguments or [])])
        server = monitoring.Server(options)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield Client(server.server_address[1], journal)
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def at(seconds: float) -> str:
    return time_text(round(seconds * 1000) * 10**6 if seconds * 1000 == round(seconds * 1000) else round(seconds * 10**6) * 1000)


def gauge(name: str, end: float, value: int = 1, **labels: str) -> dict[str, Any]:
    metric: dict[str, Any] = {"type": "custom.googleapis.com/gp_bpf/" + name}
    if labels:
        metric["labels"] = labels
    return {"metric": metric, "resource": {"type": "global"},
            "points": [{"interval": {"endTime": at(end)}, "value": {"int64Value": str(value)}}]}


def total(name: str, start: float, end: float, value: int = 1, **labels: str) -> dict[str, Any]:
    """Of a CUMULATIVE."""
    series = gauge(name, end, value, **labels)
    series["points"][0]["interval"]["startTime"] = at(start)
    return {**series, "metricKind": "CUMULATIVE"}


def distribution(name: str, end: float, bounds: list[float], counts: list[int]) -> dict[str, Any]:
    series = gauge(name, end)
    value: dict[str, Any] = {"count": str(sum(counts)), "mean": 1.5 if sum(counts) else 0, "bucketCounts": [str(n) for n in counts],
                             "bucketOptions": {"explicitBuckets": {"bounds": bounds}}}
    series["points"][0]["value"] = {"distributionValue": value}
    return series


def library(name: str, end: float, number: float = 2.5, **labels: str) -> dict[str, Any]:
    """One of the goodput library's: an int is an INT64."""
    value = {"int64Value": str(number)} if isinstance(number, int) else {"doubleValue": number}
    metric: dict[str, Any] = {"type": "compute.googleapis.com/workload/" + name}
    if labels:
        metric["labels"] = labels
    resource = {"type": "compute.googleapis.com/Workload", "labels": {"location": "us-central1-a", "workload_id": "job", "replica_id": "0"}}
    return {"metric": metric, "resource": resource, "points": [{"interval": {"endTime": at(end)}, "value": value}]}


def changed(series: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with one place changed; a value of Ellipsis takes it out."""
    out = copy.deepcopy(series)
    here: Any = out
    *way, last = [int(p) if p.isdigit() else p for p in path.split("/")]
    for p in way:
        here = here[p]
    if value is ...:
        del here[last]
    else:
        here[last] = value
    return out


def good(reply: Reply) -> None:
    assert reply.status == 200 and reply.json == {}, reply


def refused(client: Client, rule: int, text: str, reply: Reply, status: int = 400) -> None:
    """By that rule, in these words."""
    row = client.journal()[-1]
    assert reply.status == status and row["rule"] == rule and text in reply.text, (reply, row["rule"])


def each(client: Client, rule: int, cases: list[tuple[dict[str, Any], str]]) -> None:
    for series, text in cases:
        refused(client, rule, text, client.write(series))


def run(names: dict[str, Any]) -> int:
    """The tests of a file, those named on the command line: each with a stand-in of its own. A test that returns a
    text was skipped for that reason."""
    rows = [(name[5:].replace("_", " "), test) for name, test in names.items()
            if re.match(r"test_\d", name) and (not sys.argv[1:] or any(w in name for w in sys.argv[1:]))]
    failed = 0
    print(f"1..{len(rows)}")
    for i, (name, test) in enumerate(rows, 1):
        try:
            with started() as client:
                client.control(now=NOW)
                skipped = test(client)
            print(f"ok {i} - rule {name}" + (f" # SKIP {skipped}" if skipped else ""), flush=True)
        except Exception as e:  # whatever it is, it is the test's
            failed += 1
            line = e.__traceback__
            while line and line.tb_next and line.tb_next.tb_frame.f_code.co_filename.endswith("_test.py"):
                line = line.tb_next
            print(f"not ok {i} - rule {name}\n# line {line.tb_lineno if line else 0}: {e!r}"[:2000], flush=True)
    return 1 if failed or not rows else 0
