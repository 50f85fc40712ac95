# SPDX-License-Identifier: Apache-2.0
"""What a stand-in of Cloud Monitoring keeps beside its store: good tokens, the journal, faults, the clock."""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import threading
import time
from typing import Any

import gcm_json
from gcm_faults import Faults
from gcm_reply import FORMS
from gcm_store import S, Limits, Refused, Store, Verdict


def issued_tokens(path: str) -> Any:
    """Those of google.py, the stand-in that issues them; its name is a package's, hence by its file."""
    at = os.path.join(os.path.dirname(os.path.abspath(__file__)), "google.py")
    spec = importlib.util.spec_from_file_location("google_stand_in", at)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Tokens(path)


class Tokens:
    """Bearer tokens that are good: those that google.py has issued into a file, or any."""

    def __init__(self, path: str | None) -> None:
        self.issued = issued_tokens(path) if path else None
        self.seen: set[str] = set()
        self.expired: set[str] = set()

    def good(self, token: str) -> bool:
        self.seen.add(token)
        if token in self.expired:
            return False
        if self.issued:
            return self.issued.valid(token)
        return bool(re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token, re.ASCII))

    def expire(self) -> None:
        self.expired |= self.seen


class Journal:
    """A JSON line for each request; counts what was refused."""

    def __init__(self, path: str | None) -> None:
        self.out = open(path, "a", encoding="utf-8") if path else None
        self.requests = self.written = 0
        self.refused: dict[int, int] = {}

    def add(self, row: dict[str, Any], verdicts: list[Verdict]) -> None:
        self.requests += 1
        for rule in [v.rule for v in verdicts] or ([row["rule"]] if row["rule"] else []):
            if rule:
                self.refused[rule] = self.refused.get(rule, 0) + 1
            else:
                self.written += 1
        if self.out:
            self.out.write(json.dumps({"n": self.requests, **row}, ensure_ascii=False) + "\n")
            self.out.flush()


class StandIn:
    """All that the server knows; one lock for it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.lock = threading.Lock()
        self.limits = Limits(spacing_ns=int(options.spacing * S), async_ns=int(options.async_ms * 10**6))
        self.store = Store(self.limits)
        self.tokens = Tokens(options.tokens)
        self.journal = Journal(options.journal)
        self.faults = Faults()
        self.projects: list[str] = options.project
        self.form: str = options.form
        self.judge = gcm_json.google_judge()
        self.skew_ns = 0
        self.stands_ns: int | None = None
        for text in options.fault:
            self.faults.add(text)

    def now_ns(self) -> int:
        return (time.time_ns() if self.stands_ns is None else self.stands_ns) + self.skew_ns

    def decode(self, kind: str, body: bytes) -> tuple[Any, dict[str, Any]]:
        """The JSON value and the message; Refused by rule 4."""
        try:
            value = gcm_json.load(body)
            decoded = gcm_json.message(kind, value)
            if self.judge:
                self.judge(kind, body, decoded)
            return value, decoded
        except gcm_json.Invalid as e:
            raise Refused(4, str(e)) from None

    def control(self, told: dict[str, Any]) -> None:
        for key, value in told.items():
            if key == "fault":
                for text in [value] if isinstance(value, str) else value:
                    self.faults.add(text)
            elif key == "clear" and value:
                self.faults.clear()
            elif key == "skew_s":
                self.skew_ns = int(value * S)
            elif key == "now":
                self.stands_ns = None if value is None else int(value * S)
            elif key == "spacing_s":
                self.limits.spacing_ns = int(value * S)
            elif key == "async_ms":
                self.limits.async_ns = int(value * 10**6)
            elif key == "frequent_code":
                self.limits.frequent_code = int(value)
            elif key == "form" and value in FORMS:
                self.form = value
            elif key == "expire_tokens" and value:
                self.tokens.expire()
            elif key == "wipe" and value:
                self.store = Store(self.limits)
            else:
                raise ValueError(f"no such control: {key}={value!r}")

    def state(self) -> dict[str, Any]:
        return {"requests": self.journal.requests, "written": self.journal.written,
                "refused": {str(k): v for k, v in sorted(self.journal.refused.items())}, "faults": self.faults.state(),
                "google": self.judge is not None, "spacing_s": self.limits.spacing_ns / S}
