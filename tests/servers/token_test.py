#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""token_test.py: the stand-in of the metadata server and the token endpoint: its tokens, by Python's library, and
whether Google's own client (google-auth) takes what it says. TAP; what needs that client is skipped without it."""
from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from gcm_standin import issued_tokens  # noqa: E402

sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]  # our google.py is none of theirs
os.environ["NO_PROXY"] = "*"
try:
    import google.auth.compute_engine._metadata as metadata
    import google.auth.transport.requests as transport
    import google.oauth2.credentials as user
    from google.auth.exceptions import RefreshError
    from google.oauth2 import service_account
    MISSING = None
except ImportError:
    MISSING = "no google-auth (tests/tools/framework.sh google)"
SCOPE = "https://www.googleapis.com/auth/monitoring.write"


class Stand:
    def __init__(self) -> None:
        self.dir = tempfile.TemporaryDirectory()
        args = [w for name in ("port-file", "tokens", "journal", "account", "user") for w in ("--" + name, self.at(name))]
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "google.py"), *args])
        while not os.path.exists(self.at("port-file")):
            assert self.process.poll() is None
            time.sleep(0.01)
        with open(self.at("port-file"), encoding="ascii") as f:
            self.host = f"127.0.0.1:{f.read().strip()}"
        self.tokens = issued_tokens(self.at("tokens"))

    def at(self, name: str) -> str:
        return os.path.join(self.dir.name, name)

    def get(self, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
        try:
            with urllib.request.urlopen(urllib.request.Request(f"http://{self.host}{path}", headers=headers)) as r:
                return r.status, r.read(), dict(r.headers)
        except urllib.error.HTTPError as e:
            return e.code, e.read(), dict(e.headers)

    def set(self, **knobs: object) -> None:
        body = json.dumps(knobs).encode()
        urllib.request.urlopen(urllib.request.Request(f"http://{self.host}/control", body)).read()

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.dir.cleanup()


def test_tokens_are_shared(s: Stand) -> str | None:
    path = "/computeMetadata/v1/instance/service-accounts/default/token"
    assert s.get(path)[0] == 403
    status, body, headers = s.get(path, **{"Metadata-Flavor": "Google"})
    token = json.loads(body)["access_token"]
    assert status == 200 and headers["Metadata-Flavor"] == "Google"
    assert s.tokens.valid(token) and not s.tokens.valid(token + "x")
    assert not s.tokens.valid(s.tokens.issue(-1))
    s.set(revoke=True)
    assert not s.tokens.valid(token)
    return None


def test_googles_client_finds_the_machine(s: Stand) -> str | None:
    if MISSING:
        return MISSING
    os.environ["GCE_METADATA_HOST"] = os.environ["GCE_METADATA_IP"] = s.host
    importlib.reload(metadata)  # it reads them once
    request = transport.Request()
    assert metadata.ping(request)
    assert metadata.get_project_id(request) == "stand-in-project"
    token, expiry = metadata.get_service_account_token(request)
    assert s.tokens.valid(token) and expiry is not None
    return None


def load(path: str):
    with open(path, encoding="utf-8") as f:
        row = json.load(f)
    if row["type"] == "service_account":
        return service_account.Credentials.from_service_account_info(row, scopes=[SCOPE])
    # from_authorized_user_info() knows no other endpoint than Google's
    return user.Credentials(None, **{k: row[k] for k in ("refresh_token", "token_uri", "client_id", "client_secret")})


def test_googles_client_gets_tokens(s: Stand) -> str | None:
    if MISSING:
        return MISSING
    for name in ("account", "user"):
        credentials = load(s.at(name))
        credentials.refresh(transport.Request())
        assert s.tokens.valid(credentials.token), name
    return None


def test_googles_client_is_refused(s: Stand) -> str | None:
    if MISSING:
        return MISSING
    s.set(skew=3600)
    try:
        load(s.at("account")).refresh(transport.Request())
        raise AssertionError("an old assertion was taken")
    except RefreshError as e:
        assert "short-lived token" in str(e), e
    s.set(skew=0)
    for name, field in (("account", "client_email"), ("user", "refresh_token")):
        with open(s.at(name), encoding="utf-8") as f:
            row = json.load(f)
        with open(s.at("wrong"), "w", encoding="utf-8") as f:
            json.dump({**row, field: "another"}, f)
        try:
            load(s.at("wrong")).refresh(transport.Request())
            raise AssertionError(f"another {field} was taken")
        except RefreshError as e:
            assert "invalid_grant" in str(e), e
    return None


def main() -> int:
    s = Stand()
    failed = 0
    tests = [(name, f) for name, f in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    for n, (name, f) in enumerate(tests, 1):
        try:
            skipped = f(s)
            print(f"ok {n} {name}" + (f" # SKIP {skipped}" if skipped else ""), flush=True)
        except Exception:  # noqa: BLE001 # told below
            failed = 1
            print(f"not ok {n} {name}\n  " + traceback.format_exc().strip().replace("\n", "\n  "), flush=True)
    s.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
