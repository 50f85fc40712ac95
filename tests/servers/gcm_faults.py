# SPDX-License-Identifier: Apache-2.0
"""Ways in which a backend fails, for the stand-ins to play. A fault is told as text: MODE[,key=value...], with times=N
(requests that it hits; all, unless said), on=timeSeries|metricDescriptors|all.

  STATUS              408 429 500 501 502 503 504 401 403 404 413 499: refused, nothing is stored
  STATUS-after        the same reply, but all is stored
                        retry_after=TEXT  header Retry-After     retry_info=3.5s  RetryInfo in the details
  partial             every=N (2): each Nth series fails, code=N (8): a google.rpc.Code; the others are stored
  html, huge          502 with an HTML page; 500 with bytes=N (10 MB) of JSON that never ends
  ok-garbage, ok-html, ok-empty   200 with what is no answer; all is stored
  garbage             what is no HTTP
  redirect            307 to=URL (another path of this server: whoever follows it is journaled there)
  slow                each byte of a good reply takes every_ms=N (200); all is stored
  hang                no reply; seconds=N (600)
  half                a reply that ends amid its body, connection closed; all is stored
  shut                no reply; our side of the connection is closed, theirs is read on
  reset, reset-early  the connection is reset after the request is read; before its body is read
"""
from __future__ import annotations

import dataclasses
import re
import select
import socket
import struct
import threading
import time
from typing import Any

from gcm_reply import error

CODE_OF = {401: 16, 403: 7, 404: 5, 429: 8, 499: 1, 500: 13, 501: 12, 503: 14, 504: 4}
TEXT_OF = {408: "Request timed out.", 429: "Quota exceeded for quota metric 'Time series ingestion requests' and limit "
           "'Time series ingestion requests per minute' of service 'monitoring.googleapis.com'.",
           500: "Internal error encountered.", 503: "The service is currently unavailable.",
           504: "Deadline expired before operation could complete.",
           401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
                "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
           403: "Permission monitoring.timeSeries.create denied (or the resource may not exist).",
           404: "Requested entity was not found.", 499: "The operation was cancelled.", 413: "Request is too large."}
PAGE = b"<!DOCTYPE html><html><head><title>502 Server Error</title></head><body><h1>Error: Server Error</h1></body></html>\n"
STORES = ("slow", "half", "ok-garbage", "ok-html", "ok-empty")
SILENT = ("garbage", "hang", "shut", "reset", "reset-early")  # no HTTP reply
OTHERS = ("partial", "html", "huge", "redirect")


@dataclasses.dataclass
class Fault:
    mode: str
    times: int
    on: str
    options: dict[str, str]

    @property
    def status(self) -> int:
        """Of those that are a status; else 0."""
        m = re.fullmatch(r"(\d{3})(-after)?", self.mode)
        return int(m[1]) if m else 0

    @property
    def stores(self) -> bool:
        return self.mode.endswith("-after") or self.mode in STORES

    def number(self, name: str, default: float) -> float:
        return float(self.options.get(name, default))


def fault_of(text: str) -> Fault:
    mode, *rest = text.split(",")
    options = dict(part.split("=", 1) for part in rest)
    if not re.fullmatch(r"(4|5)\d\d(-after)?", mode) and mode not in STORES + SILENT + OTHERS:
        raise ValueError(f"no fault '{mode}'")
    on = options.pop("on", "timeSeries")
    if on not in ("timeSeries", "metricDescriptors", "all"):
        raise ValueError(f"on={on}: timeSeries, metricDescriptors or all")
    return Fault(mode, int(options.pop("times", -1)), on, options)


class Faults:
    """Those in force, first come first played. Has a lock of its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: list[Fault] = []

    def add(self, text: str) -> None:
        fault = fault_of(text)
        with self.lock:
            self.waiting.append(fault)

    def clear(self) -> None:
        with self.lock:
            self.waiting.clear()

    def next(self, what: str) -> Fault | None:
        with self.lock:
            for fault in self.waiting:
                if fault.on in (what, "all"):
                    if fault.times > 0:
                        fault.times -= 1
                    if not fault.times:
                        self.waiting.remove(fault)
                    return fault
        return None

    def state(self) -> list[dict[str, Any]]:
        with self.lock:
            return [dataclasses.asdict(f) for f in self.waiting]


def status_reply(fault: Fault) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, body, headers of a fault that is a status."""
    status = fault.status
    details = []
    if "retry_info" in fault.options:
        details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fault.options["retry_info"]}]
    if status in CODE_OF:
        status, body = error(CODE_OF[status], TEXT_OF.get(status, "Error."), details)
    else:
        body = {"error": {"code": status, "message": TEXT_OF.get(status, "Error."), "status": "UNKNOWN"}}
    headers = {}
    if "retry_after" in fault.options:
        headers["Retry-After"] = fault.options["retry_after"]
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="https://accounts.google.com/", error="invalid_token"'
    return status, body, headers


def reset(connection: socket.socket) -> None:
    """Closed with a RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def drain(connection: socket.socket, seconds: float) -> None:
    """Until the other side closes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([connection], [], [], min(1.0, seconds))
        if ready and not connection.recv(65536):
            return


def play_silent(fault: Fault, connection: socket.socket) -> None:
    """Those without an HTTP reply; the connection is over afterwards."""
    try:
        if fault.mode.startswith("reset"):
            reset(connection)
        elif fault.mode == "garbage":
            connection.sendall(bytes(range(256)) * 64)
        elif fault.mode == "shut":
            connection.shutdown(socket.SHUT_WR)
            drain(connection, fault.number("seconds", 600))
        else:
            drain(connection, fault.number("seconds", 600))
    except OSError:
        pass  # they gave up first
