#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""monitoring.py: a strict stand-in of the Cloud Monitoring API, v3, REST: what the service refuses it refuses, in the
service's words where they are known, and more (see rule 21). Where PyPI's google-cloud-monitoring is installed
(tests/tools/framework.sh google) Google's own types read each body too, and have to agree; it says on standard error
whether they do.

  monitoring.py [--port-file FILE] [--port N] [--journal FILE] [--tokens FILE] [--project ID]... [--spacing SECONDS]
                [--async MS] [--form FORM] [--tls CERT KEY] [--fault FAULT]...

  --port-file FILE  the port that it listens on (127.0.0.1), once it does
  --journal FILE    a JSON line for each request, before its reply: n, at, method, path, status, rule, message, fault,
                    bytes, encoding, authorized, series [{type, labels, resource, rule, text, start_ns, end_ns, value}],
                    body (as it came). rule 0: nothing to object to.
  --tokens FILE     bearer tokens that are good: those that google.py issued into it. Without it any is.
  --project ID      writes to others are denied; may be repeated; without it all are there
  --spacing S       shortest time between two points of a series (5); --async MS: a descriptor takes so long to be usable
  --form FORM       how the text of a partial failure names series: numbered, plain (not at all), resource
  --fault FAULT     gcm_faults.py

POST /control, a JSON object with any of: fault (text or list), clear (true: faults), skew_s (of the clock: Date and
rule 14), now (seconds since 1970: the clock stands there; null: it goes), spacing_s, async_ms, frequent_code, form,
expire_tokens (true: those seen so far are good no more), wipe (true: nothing was ever written). It replies with GET
/control: requests, written, refused {rule: series or requests}, faults, google (whether Google's types read along).
GET /control/series: all that is stored.

Rules: 1 method and path, query; createService refused. 2 bearer token. 3 content type. 4 strict proto3 JSON. 5 name of
the body. 6 1..200 series. 7 one point each. 8 no series twice. 9 type of the metric. 10 resource and its labels. 11 metric
labels. 12 kind, type, labels, unit as the descriptor has them. 13 interval of the kind. 14 age. 15 spacing. 16 order.
17 distribution. 18 types of values. 19 each series by itself, with a summary. 20 the goodput library's labels.
21 a cumulative value does not fall (the service may take it). 22 1 MiB; gzip. 23 descriptors that are not usable at once.
24 faults. 27 the journal."""
from __future__ import annotations

import argparse
import http.server
import io
import json
import os
import re
import socket
import ssl
import sys
import time
import urllib.parse
import zlib
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gcm_json  # noqa: E402
import gcm_known  # noqa: E402
from gcm_faults import PAGE, SILENT, Fault, play_silent, status_reply  # noqa: E402
from gcm_reply import FORMS, error, matcher, read_back, series_json, written  # noqa: E402
from gcm_standin import StandIn  # noqa: E402
from gcm_store import S, Refused, Verdict  # noqa: E402

BODY_MAX = 1 << 20
SERIES_MAX = 200
PROJECT = r"([a-z][a-z0-9-]{4,28}[a-z0-9]|[0-9]+)"
QUERY = {"alt", "$alt", "prettyPrint", "$prettyPrint", "fields", "$fields", "quotaUser", "key", "$.xgafv"}
LIST_QUERY = {"filter", "interval.startTime", "interval.endTime", "view", "pageSize", "pageToken", "orderBy"}
MISSING_TOKEN = ("Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other "
                 "valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.")
BAD_TOKEN = MISSING_TOKEN.replace("is missing required authentication credential", "had invalid authentication credentials")


def series_rows(request: dict[str, Any], verdicts: list[Verdict]) -> list[dict[str, Any]]:
    rows = []
    for series, v in zip(request["timeSeries"], verdicts):
        metric, points = series.get("metric", {}), series.get("points", [])
        row = {"type": metric.get("type", ""), "labels": metric.get("labels", {}), "resource": series.get("resource", {}),
               "rule": v.rule, "text": v.text}
        if len(points) == 1:
            interval = points[0].get("interval", {})
            row.update(start_ns=interval.get("startTime"), end_ns=interval.get("endTime"), value=points[0].get("value"))
        rows.append(row)
    return rows


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version, sys_version = "ESF", ""
    timeout = 600
    server: "Server"

    def log_message(self, *_: Any) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string(self.server.standin.now_ns() / S if timestamp is None else timestamp)

    # ---- a request -------------------------------------------------------------------------------------------------

    def handle_any(self) -> None:
        self.row: dict[str, Any] = {"at": time.time(), "method": self.command, "path": self.path, "status": 0, "rule": 0,
                                    "message": "", "fault": None, "bytes": 0,
                                    "encoding": self.headers.get("Content-Encoding", ""), "authorized": False,
                                    "agent": self.headers.get("User-Agent", ""), "series": []}
        self.verdicts: list[Verdict] = []
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/control"):
            self.control(url.path)
            return
        what = "timeSeries" if "/timeSeries" in url.path else "metricDescriptors"
        fault = self.server.standin.faults.next(what) if self.command == "POST" else None
        if fault:
            self.row["fault"] = fault.mode
        if fault and fault.mode == "reset-early":
            self.end_silent(fault)
            return
        headers: dict[str, str] = {}
        try:
            body = self.read_body()
            with self.server.standin.lock:
                status, reply = self.answer(url, body, fault)
        except Refused as e:
            status, reply = error(e.code, e.text)
            if e.rule == 22:
                status = reply["error"]["code"] = 413
            self.row.update(rule=e.rule, message=e.text)
            if e.code == 16:
                headers["WWW-Authenticate"] = 'Bearer realm="https://accounts.google.com/", error="invalid_token"'
        self.end(fault, status, reply, headers)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_HEAD = handle_any

    def read_body(self) -> bytes:
        """Whole, unpacked; rule 22."""
        too_large = Refused(22, f"Request payload size exceeds the limit: {BODY_MAX} bytes.")
        body, length = b"", 0
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            while size := int(self.rfile.readline(64).split(b";")[0] or b"0", 16):
                length += size
                body += self.read_piece(size)[:BODY_MAX + 1 - len(body)]
                self.rfile.readline(8)
            while self.rfile.readline(1024).strip():
                pass
        else:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.read_piece(length)
        if length > BODY_MAX:
            raise too_large
        self.row["bytes"] = len(body)
        if self.headers.get("Content-Encoding", "identity").lower() == "gzip":
            try:
                unpack = zlib.decompressobj(31)
                body = unpack.decompress(body, BODY_MAX + 1)
                if not unpack.eof and len(body) <= BODY_MAX:
                    raise Refused(22, "Invalid gzip payload.")
            except zlib.error:
                raise Refused(22, "Invalid gzip payload.") from None
            if len(body) > BODY_MAX:
                raise too_large
        elif self.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Refused(22, "Unsupported Content-Encoding.")
        return body

    def read_piece(self, size: int) -> bytes:
        """What is too large is read too, and forgotten: they would not see a reply before they have sent it all."""
        kept = self.rfile.read(min(size, BODY_MAX + 1))
        size -= len(kept)
        while size > 0 and (piece := self.rfile.read(min(size, BODY_MAX))):
            size -= len(piece)
        if size > 0:
            self.close_connection = True
        return kept

    def check_token(self) -> None:
        word, _, token = self.headers.get("Authorization", "").partition(" ")
        if word != "Bearer" or not token:
            raise Refused(2, MISSING_TOKEN, 16)
        if not self.server.standin.tokens.good(token):
            raise Refused(2, BAD_TOKEN, 16)
        self.row["authorized"] = True

    def check_query(self, query: str, more: set[str]) -> dict[str, str]:
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
        for key, _ in pairs:
            if key not in QUERY | more:
                raise Refused(1, f'Invalid JSON payload received. Unknown name "{key}": Cannot bind query parameter. Field '
                                 f"'{key}' could not be found in request message.")
        return dict(pairs)

    def check_json(self) -> None:
        kind, _, charset = self.headers.get("Content-Type", "").partition(";")
        if kind.strip().lower() != "application/json" or charset.strip().lower() not in ("", "charset=utf-8"):
            raise Refused(3, f'Content-Type "{self.headers.get("Content-Type", "")}" is not application/json.')

    def check_project(self, project: str) -> None:
        known = self.server.standin.projects
        if known and project not in known:
            raise Refused(1, f"Permission monitoring.timeSeries.create denied (or the resource may not exist).: {project}", 7)

    def answer(self, url: urllib.parse.SplitResult, body: bytes, fault: Fault | None) -> tuple[int, dict[str, Any]]:
        """Under the lock. Status and body when nothing is refused as a whole."""
        m = re.fullmatch(rf"/v3/projects/{PROJECT}/(timeSeries|metricDescriptors|monitoredResourceDescriptors)"
                         r"((?::|/).*)?", urllib.parse.unquote(url.path))
        if not m:
            raise Refused(1, f"Method not found: {self.command} {url.path}", 5)
        project, what, rest = m[1], m[2], m[3] or ""
        self.check_token()
        self.check_project(project)
        if (self.command, what, rest) == ("POST", "timeSeries", ""):
            self.check_query(url.query, set())
            return self.write(project, body, fault)
        if (self.command, what, rest) == ("POST", "timeSeries", ":createService"):
            return self.write_service(body)
        if (self.command, what, rest) == ("POST", "metricDescriptors", ""):
            self.check_query(url.query, set())
            return self.write_descriptor(project, body, fault)
        if self.command == "GET":
            return self.read(project, what, rest, url.query)
        if self.command == "DELETE" and what == "metricDescriptors" and rest:
            self.server.standin.store.delete_descriptor(project, rest[1:])
            return 200, {}
        raise Refused(1, f"Method not found: {self.command} {url.path}", 5)

    def request_of(self, body: bytes) -> dict[str, Any]:
        self.check_json()
        value, request = self.server.standin.decode(gcm_json.REQUEST, body)
        self.row["body"] = value
        return request

    def write(self, project: str, body: bytes, fault: Fault | None) -> tuple[int, dict[str, Any]]:
        standin = self.server.standin
        request = self.request_of(body)
        if request.get("name", f"projects/{project}") != f"projects/{project}":
            raise Refused(5, f'Field name had an invalid value of "{request["name"]}": it is not the project of the URL.')
        if not request.get("timeSeries"):
            raise Refused(6, "Field timeSeries had an invalid value: At least one TimeSeries must be written.")
        if len(request["timeSeries"]) > SERIES_MAX:
            raise Refused(6, "Field timeSeries had an invalid value: A maximum of 200 TimeSeries can be written in a single "
                             "request.")
        if fault and not fault.stores and fault.mode != "partial":
            self.verdicts = [Verdict(i, 24, 0, fault.mode) for i in range(len(request["timeSeries"]))]
            self.row["series"] = series_rows(request, self.verdicts)
            return 200, {}  # the fault has its own reply
        spare = {}
        if fault and fault.mode == "partial":
            every, code = int(fault.number("every", 2)), int(fault.number("code", 8))
            text = fault.options.get("text") or {
                8: "Monitored resource has too many time series (custom metrics).", 13: "An internal error occurred."}.get(
                code, "Unrecognized region or location.")
            spare = {i: Refused(24, text, code) for i in range(len(request["timeSeries"])) if i % every == every - 1}
        self.verdicts = standin.store.write(project, request, standin.now_ns(), time.time_ns(), spare)
        self.row["series"] = series_rows(request, self.verdicts)
        failed = [v for v in self.verdicts if v.rule]
        if failed:
            self.row.update(rule=failed[0].rule, message=failed[0].text)
        return written(self.verdicts, request, standin.form)

    def write_service(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Google's own services only."""
        request = self.request_of(body)
        for index, series in enumerate(request.get("timeSeries", [])):
            name = series.get("metric", {}).get("type", "")
            if name.startswith(gcm_known.PREFIXES):
                raise Refused(1, f'Field timeSeries[{index}].metric.type had an invalid value of "{name}": User-defined metrics '
                                 "cannot be written as service metrics.")
        raise Refused(1, "Permission monitoring.timeSeries.createService denied (or the resource may not exist).", 7)

    def write_descriptor(self, project: str, body: bytes, fault: Fault | None) -> tuple[int, dict[str, Any]]:
        self.check_json()
        self.row["body"], given = self.server.standin.decode(gcm_json.DESCRIPTOR, body)
        if fault and not fault.stores:
            return 200, {}
        return 200, self.server.standin.store.create_descriptor(project, given, time.time_ns())

    def read(self, project: str, what: str, rest: str, query: str) -> tuple[int, dict[str, Any]]:
        store = self.server.standin.store
        if what == "monitoredResourceDescriptors":
            rows = [{"type": kind, "labels": [{"key": k.rstrip("?")} for k in ["project_id", *labels.split()]]}
                    for kind, labels in gcm_known.RESOURCES.items() if rest in ("", "/" + kind)]
            if rest and not rows:
                raise Refused(0, "Could not find monitored resource descriptor.", 5)
            return 200, rows[0] if rest else {"resourceDescriptors": rows}
        if what == "metricDescriptors" and rest:
            return 200, store.descriptor(project, rest[1:])
        asked = self.check_query(query, LIST_QUERY)
        if what == "metricDescriptors":
            terms = matcher(asked["filter"]) if asked.get("filter") else []
            rows = [row for key, row in store.descriptors.items() if key.startswith(project + "\0")
                    and all(row["type"].startswith(v) if begins else row["type"] == v for k, begins, v in terms
                            if k == "metric.type")]
            return 200, {"metricDescriptors": rows} if rows else {}
        times = [gcm_json.time_ns(asked[key]) if key in asked else None for key in ("interval.startTime", "interval.endTime")]
        if times[1] is None or "interval.startTime" in asked and times[0] is None:
            raise Refused(0, "Field interval.endTime had an invalid value: The end time is required.")
        rows = read_back(store, project, matcher(asked.get("filter", "")), *times)
        return 200, {"timeSeries": rows} if rows else {}

    # ---- its reply -------------------------------------------------------------------------------------------------

    def end_silent(self, fault: Fault) -> None:
        with self.server.standin.lock:
            self.server.standin.journal.add(self.row, self.verdicts)
        self.close_connection = True
        play_silent(fault, self.connection)

    def end(self, fault: Fault | None, status: int, reply: dict[str, Any], headers: dict[str, str]) -> None:
        """Journals, and replies as the fault has it. What a rule refuses is refused, whatever the fault."""
        if fault and status >= 400 and fault.mode != "partial" and not self.verdicts:
            fault = self.row["fault"] = None
        if fault and fault.mode in SILENT:
            self.end_silent(fault)
            return
        body = json.dumps(reply, indent=1).encode() + b"\n"
        headers = {"Content-Type": "application/json; charset=UTF-8", **headers}
        if fault and fault.status:
            status, told, more = status_reply(fault)
            body, headers = json.dumps(told).encode(), {**headers, **more}
        elif fault and fault.mode in ("html", "ok-html"):
            status, body, headers = 502 if fault.mode == "html" else 200, PAGE, {"Content-Type": "text/html; charset=UTF-8"}
        elif fault and fault.mode == "huge":
            status, body = 500, b'{"error":{"code":500,"message":"' + b"x" * int(fault.number("bytes", 10 * 10**6))
        elif fault and fault.mode in ("ok-garbage", "ok-empty"):
            body = b"\x00\xff{garbage" if fault.mode == "ok-garbage" else b""
        elif fault and fault.mode == "redirect":
            status, body = 307, b""
            headers["Location"] = fault.options.get("to", "/elsewhere")
        self.row["status"] = status
        with self.server.standin.lock:
            self.server.standin.journal.add(self.row, self.verdicts)
        self.send(status, headers, body, fault)

    def send(self, status: int, headers: dict[str, str], body: bytes, fault: Fault | None) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        length = len(body) + (100 if fault and fault.mode == "half" else 0)
        self.send_header("Content-Length", str(length))
        if self.command == "HEAD":
            body = b""
        if fault and fault.mode == "half":
            self.close_connection = True
        if fault and fault.mode == "slow":
            wfile, self.wfile = self.wfile, io.BytesIO()
            self.end_headers()
            whole, self.wfile = self.wfile.getvalue() + body, wfile
            for i in range(len(whole)):
                self.wfile.write(whole[i:i + 1])
                time.sleep(fault.number("every_ms", 200) / 1000)
            return
        self.end_headers()
        self.wfile.write(body)

    def control(self, path: str) -> None:
        """The tests' own way in: no token, not journaled."""
        standin = self.server.standin
        try:
            body = self.read_body()
            with standin.lock:
                if self.command == "POST":
                    standin.control(json.loads(body or b"{}"))
                reply: Any = standin.state()
                if path == "/control/series":
                    reply = [series_json(s, None, None) for s in standin.store.series.values()]
            status = 200
        except (ValueError, TypeError, AttributeError, Refused) as e:
            status, reply = 400, {"error": str(e)}
        self.send(status, {"Content-Type": "application/json"}, json.dumps(reply).encode() + b"\n", None)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(("127.0.0.1", options.port), Handler)
        self.standin = StandIn(options)
        self.context: ssl.SSLContext | None = None
        if options.tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*options.tls)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self.context:  # the handshake is the thread's
            connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        kind, value, _ = sys.exc_info()
        if not isinstance(value, (OSError, ssl.SSLError)):  # they may hang up when they like
            super().handle_error(request, client_address)


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A strict stand-in of the Cloud Monitoring API.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file")
    parser.add_argument("--journal")
    parser.add_argument("--tokens")
    parser.add_argument("--project", action="append", default=[])
    parser.add_argument("--spacing", type=float, default=5)
    parser.add_argument("--async", type=float, default=0, dest="async_ms", metavar="MS")
    parser.add_argument("--form", choices=FORMS, default=FORMS[0])
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    parser.add_argument("--fault", action="append", default=[])
    return parser.parse_args(arguments)


def main() -> None:
    options = options_of(sys.argv[1:])
    server = Server(options)
    port, read_by = server.server_address[1], "Google's types read along" if server.standin.judge else "own parser alone"
    print(f"monitoring.py: port {port}, {read_by}", file=sys.stderr, flush=True)
    if options.port_file:
        with open(options.port_file + ".new", "w", encoding="utf-8") as f:
            f.write(f"{port}\n")
        os.replace(options.port_file + ".new", options.port_file)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
