#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""otlp.py: a strict stand-in of an OpenTelemetry Collector's OTLP/HTTP receiver, JSON form: what is no OTLP is refused,
unknown fields too. Where PyPI's opentelemetry-proto is installed (tests/tools/framework.sh otlp, run with its Python) the
published types read each body as well, and have to agree.

  otlp.py --port-file FILE --journal FILE [--fault FAULT]...

  --port-file FILE  the port that it listens on (127.0.0.1), once it does
  --journal FILE    a JSON line for each request, before its reply: n, path, status, fault, fault_text, encoding, headers
                    (lower case), body (as JSON; null: none), error (what is wrong with it; null: nothing)
  --fault FAULT     NAME[:COUNT]: of the first COUNT requests (0: of all): 429 (Retry-After 1), 429-date, 502, 503, 504,
                    400, 413, partial (one of each request is rejected), warn, late (0.2 s), slow (3 s), garbage,
                    html, redirect, hangup

Rules (opentelemetry-proto, docs/specification.md): POST of application/json to /v1/traces or /v1/metrics, gzip or plain,
20 MiB at most; lowerCamelCase keys; identifiers lower-case hex of 32 and 16 digits, not all 0; 64-bit integers as decimal
text; enums as integers; a span ends no earlier than it begins, its events lie within; a value is one of its kinds; no key
twice; a sum or histogram is cumulative and its start is not after its time; nothing is empty."""
from __future__ import annotations

import argparse
import base64
import gzip
import http.server
import json
import re
import threading
import time
from email.utils import formatdate
from typing import Any

BODY_MAX = 20 << 20
try:
    from google.protobuf import json_format  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from opentelemetry.proto.collector.metrics.v1 import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        metrics_service_pb2,
    )
    from opentelemetry.proto.collector.trace.v1 import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        trace_service_pb2,
    )

    TYPES: Any = {
        "/v1/traces": trace_service_pb2.ExportTraceServiceRequest,
        "/v1/metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    }
except ImportError:
    TYPES = None

# Fields of the messages that are used: kind, or [kind of the elements].
POINT = {"attributes": ["attribute"], "startTimeUnixNano": "u64", "timeUnixNano": "u64", "flags": "u32"}
SCHEMA: dict[str, dict[str, Any]] = {
    "/v1/traces": {"resourceSpans": ["resource_spans"]},
    "/v1/metrics": {"resourceMetrics": ["resource_metrics"]},
    "resource_spans": {"resource": "resource", "scopeSpans": ["scope_spans"], "schemaUrl": "text"},
    "resource_metrics": {"resource": "resource", "scopeMetrics": ["scope_metrics"], "schemaUrl": "text"},
    "resource": {"attributes": ["attribute"], "droppedAttributesCount": "u32"},
    "scope_spans": {"scope": "scope", "spans": ["span"], "schemaUrl": "text"},
    "scope_metrics": {"scope": "scope", "metrics": ["metric"], "schemaUrl": "text"},
    "scope": {"name": "text", "version": "text", "attributes": ["attribute"]},
    "attribute": {"key": "text", "value": "value"},
    "value": {
        "stringValue": "text", "boolValue": "bool", "intValue": "i64", "doubleValue": "real", "arrayValue": "array",
    },
    "array": {"values": ["value"]},
    "span": {
        "traceId": "hex32", "spanId": "hex16", "parentSpanId": "hex16", "traceState": "text", "flags": "u32",
        "name": "text", "kind": "enum", "startTimeUnixNano": "u64", "endTimeUnixNano": "u64",
        "attributes": ["attribute"], "droppedAttributesCount": "u32", "events": ["event"], "droppedEventsCount": "u32",
        "status": "status",
    },
    "event": {"timeUnixNano": "u64", "name": "text", "attributes": ["attribute"], "droppedAttributesCount": "u32"},
    "status": {"message": "text", "code": "enum"},
    "metric": {
        "name": "text", "description": "text", "unit": "text", "gauge": "gauge", "sum": "sum", "histogram": "histogram",
    },
    "gauge": {"dataPoints": ["number"]},
    "sum": {"dataPoints": ["number"], "aggregationTemporality": "enum", "isMonotonic": "bool"},
    "histogram": {"dataPoints": ["buckets"], "aggregationTemporality": "enum"},
    "number": {**POINT, "asInt": "i64", "asDouble": "real"},
    "buckets": {
        **POINT, "count": "u64", "sum": "real", "min": "real", "max": "real", "bucketCounts": ["u64"],
        "explicitBounds": ["real"],
    },
}
MUST = {
    "span": {"traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"},
    "event": {"timeUnixNano", "name"},
    "attribute": {"key", "value"},
    "metric": {"name", "unit"},
    "number": {"timeUnixNano"},
    "buckets": {"timeUnixNano", "count", "bucketCounts"},
}


class Wrong(Exception):
    pass


def scalar(kind: str, v: Any, at: str) -> None:
    integer = isinstance(v, int) and not isinstance(v, bool)
    text = isinstance(v, str)
    good = {
        "text": text,
        "bool": isinstance(v, bool),
        "real": isinstance(v, float) or integer,
        "enum": integer,
        "u32": integer and 0 <= v < 1 << 32 if integer else False,
        "u64": text and bool(re.fullmatch(r"0|[1-9][0-9]{0,19}", v)) and int(v) < 1 << 64,
        "i64": text and bool(re.fullmatch(r"0|-?[1-9][0-9]{0,18}", v)) and -(1 << 63) <= int(v) < 1 << 63,
        "hex32": text and bool(re.fullmatch("[0-9a-f]{32}", v)) and int(v, 16) != 0,
        "hex16": text and bool(re.fullmatch("[0-9a-f]{16}", v)) and int(v, 16) != 0,
    }[kind]
    if not good:
        raise Wrong(f"{at}: {v!r} is no {kind}")


def of_span(o: dict[str, Any], at: str) -> None:
    begin, end = int(o["startTimeUnixNano"]), int(o["endTimeUnixNano"])
    if not 0 < begin <= end:
        raise Wrong(f"{at}: from {begin} to {end}")
    if not 0 <= o["kind"] <= 5:
        raise Wrong(f"{at}: kind {o['kind']}")
    for event in o.get("events", []):
        if not begin <= int(event["timeUnixNano"]) <= end:
            raise Wrong(f"{at}: event {event['name']} lies outside of {o['name']}")


def of_metric(o: dict[str, Any], at: str) -> None:
    kinds = [k for k in ("gauge", "sum", "histogram") if k in o]
    if len(kinds) != 1:
        raise Wrong(f"{at}: {kinds}")
    data = o[kinds[0]]
    if kinds[0] != "gauge" and data.get("aggregationTemporality") != 2:
        raise Wrong(f"{at}: not cumulative")
    seen = set()
    for p in data["dataPoints"]:
        who = json.dumps(sorted(p.get("attributes", []), key=lambda a: a["key"]), sort_keys=True)
        if who in seen:
            raise Wrong(f"{at}: {o['name']}: two points of {who}")
        seen.add(who)
        if kinds[0] != "histogram" and ("asInt" in p) == ("asDouble" in p):
            raise Wrong(f"{at}: not one value")
        if int(p.get("startTimeUnixNano", 0)) > int(p["timeUnixNano"]) or not int(p["timeUnixNano"]):
            raise Wrong(f"{at}: from {p.get('startTimeUnixNano')} to {p['timeUnixNano']}")
        if kinds[0] == "histogram":
            counts = [int(c) for c in p["bucketCounts"]]
            if sum(counts) != int(p["count"]) or len(counts) != len(p["explicitBounds"]) + 1:
                raise Wrong(f"{at}: buckets")
            if sorted(set(p["explicitBounds"])) != p["explicitBounds"]:
                raise Wrong(f"{at}: bounds")


def check(kind: str, o: Any, at: str) -> None:
    if kind not in SCHEMA:
        scalar(kind, o, at)
        return
    if not isinstance(o, dict) or not o:
        raise Wrong(f"{at}: no {kind}")
    for key, value in o.items():
        field = SCHEMA[kind].get(key)
        if field is None:
            raise Wrong(f"{at}: {kind} has no field {key}")
        if not isinstance(field, list):
            check(field, value, f"{at}.{key}")
            continue
        if not isinstance(value, list) or (not value and key not in ("attributes", "events")):
            raise Wrong(f"{at}.{key}: no list, or an empty one")
        for i, item in enumerate(value):
            check(field[0], item, f"{at}.{key}[{i}]")
        if field[0] == "attribute" and len({a["key"] for a in value}) != len(value):
            raise Wrong(f"{at}.{key}: a key twice")
    missing = MUST.get(kind, set()) - set(o)
    if missing or (kind == "value" and len(o) != 1):
        raise Wrong(f"{at}: {kind} lacks {missing or 'a value'}")
    if kind == "span":
        of_span(o, at)
    if kind == "metric":
        of_metric(o, at)


def base64_ids(o: Any) -> Any:
    """The one difference that the published types do not know of: identifiers are hex."""
    if isinstance(o, list):
        return [base64_ids(i) for i in o]
    if not isinstance(o, dict):
        return o
    return {
        k: base64.b64encode(bytes.fromhex(v)).decode() if k in ("traceId", "spanId", "parentSpanId") else base64_ids(v)
        for k, v in o.items()
    }


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({k for k, _ in pairs}) != len(pairs):
        raise Wrong("a key twice")
    return dict(pairs)


def constant(name: str) -> Any:
    raise Wrong(f"{name} is no JSON")


def read(path: str, headers: dict[str, str], data: bytes) -> Any:
    if path not in ("/v1/traces", "/v1/metrics"):
        raise Wrong(f"no such path: {path}")
    if headers.get("content-type") != "application/json":
        raise Wrong(f"content type {headers.get('content-type')}")
    if headers.get("content-encoding", "gzip") != "gzip":
        raise Wrong("encoding")
    if "content-encoding" in headers:
        data = gzip.decompress(data)
    if len(data) > BODY_MAX:
        raise Wrong("too long")
    body = json.loads(data.decode(), object_pairs_hook=once, parse_constant=constant)
    check(path, body, "body")
    if TYPES:
        json_format.ParseDict(base64_ids(body), TYPES[path]())
    return body


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, journal: str, faults: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.journal = open(journal, "a", encoding="utf-8", buffering=1)
        self.count = 0
        self.faults = [[f.split(":")[0], int((f.split(":") + ["0"])[1])] for f in faults]

    def fault(self) -> str | None:
        """Of the first that has some left; one that had no count stays."""
        if not self.faults:
            return None
        name, left = self.faults[0]
        if left == 1:
            self.faults.pop(0)
        elif left:
            self.faults[0][1] = left - 1
        return str(name)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def misbehave(self, fault: str, path: str) -> None:
        rejected = "rejectedSpans" if path == "/v1/traces" else "rejectedDataPoints"
        part = json.dumps({"partialSuccess": {rejected: "1", "errorMessage": "one was too old"}}).encode()
        warn = json.dumps({"partialSuccess": {rejected: "0", "errorMessage": "use gzip"}}).encode()
        if fault == "hangup":
            self.close_connection = True
        elif fault in ("late", "slow"):
            time.sleep(0.2 if fault == "late" else 3)
            self.reply(200, b"{}", {})
        elif fault == "html":
            self.reply(200, b"<html>log in first</html>", {"Content-Type": "text/html"})
        elif fault == "garbage":
            self.reply(200, b'{"partialSuccess":', {})
        elif fault == "redirect":
            self.reply(302, b"", {"Location": "/v1/elsewhere"})
        elif fault in ("partial", "warn"):
            self.reply(200, part if fault == "partial" else warn, {})
        elif fault == "429-date":
            self.reply(429, b"{}", {"Retry-After": formatdate(time.time() + 1, usegmt=True)})
        else:
            self.reply(int(fault), b"{}", {"Retry-After": "1"} if fault == "429" else {})

    def do_POST(self) -> None:
        headers = {k.lower(): v for k, v in self.headers.items()}
        data = self.rfile.read(int(headers.get("content-length", 0)))
        body, wrong = None, None
        try:
            body = read(self.path, headers, data)
        except Exception as e:  # whatever it is, the sender did it
            wrong = f"{type(e).__name__}: {e}"
        with self.server.lock:
            fault = self.server.fault()
            self.server.count += 1
            status = 400 if wrong else 200
            line = {
                "n": self.server.count, "path": self.path, "status": status, "fault": fault, "error": wrong,
                "encoding": headers.get("content-encoding"), "headers": headers, "types": bool(TYPES), "body": body,
            }
            self.server.journal.write(json.dumps(line) + "\n")
        if fault:
            self.misbehave(fault, self.path)
        elif wrong:
            self.reply(400, json.dumps({"message": wrong}).encode(), {})
        else:
            self.reply(200, b'{"partialSuccess":{}}', {})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--journal", required=True)
    parser.add_argument("--fault", action="append", default=[])
    args = parser.parse_args()
    server = Server(args.journal, args.fault)
    with open(args.port_file + ".new", "w", encoding="utf-8") as f:
        f.write(f"{server.server_port}\n")
    import os

    os.rename(args.port_file + ".new", args.port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
