#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stand-in for what Google Cloud says about who and where a machine is: the metadata server
(/computeMetadata/v1/...) and the OAuth token endpoint (/token), in one process, with Python's library alone.

  google.py --port-file F [--tokens F] [--journal F] [--tls DIR [--tls-names N]] [--account F] [--user F] [--set JSON]

  --port-file F  the port, once it listens on 127.0.0.1
  --tokens F     tokens that were issued, shared with other processes: Tokens(F).valid(token)
  --journal F    each request as a line of JSON, written before the reply
  --tls DIR      speaks TLS with a certificate for 127.0.0.1 and localhost, of DIR/ca.pem, which is made;
  --tls-names N  for others ("DNS:example.com")
  --account F    writes a service account's key file whose token_uri is this server, and knows its public key
  --user F       likewise of an authorized user
  --set JSON     knobs, as POST /control takes them later; GET /control tells them

Knobs:
  expires      seconds that a token lives (3600)
  flavor       of replies of the metadata server ("Google"; null: none)
  texts        {"instance/zone": "...", ...}: answers of the metadata server, over the usual ones; null: 404
  gke          true: as GKE's own metadata server, which does not know the machine
  skew         seconds that the server's clock is ahead
  faults       {"part of a path": "kind" or "kind*3"}: what goes wrong there (three times); kinds see Handler.fault
  revoke       true: all tokens issued so far are invalid

Tokens is for other stand-ins to import: issue(seconds) -> text, valid(text) -> bool, revoke().
"""
import argparse
import base64
import json
import os
import re
import secrets
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXTS = {
    "project/project-id": "stand-in-project",
    "project/numeric-project-id": "123456789012",
    "instance/id": "4567890123456789012",
    "instance/name": "gke-node-1",
    "instance/hostname": "gke-node-1.c.stand-in-project.internal",
    "instance/zone": "projects/123456789012/zones/us-central1-a",
    "instance/machine-type": "projects/123456789012/machineTypes/a3-highgpu-8g",
    "instance/service-accounts/default/email": "node@stand-in-project.iam.gserviceaccount.com",
}
GKE_TEXTS = {
    "instance/machine-type": None,
    "instance/name": None,
    "instance/attributes/cluster-name": "trainers",
    "instance/attributes/cluster-location": "us-central1",
}
SKEW_MAX_S = 300


class Tokens:
    """Tokens that were issued: in memory, or in a file that several processes share."""

    def __init__(self, path=None):
        self.path = path
        self.lock = threading.Lock()
        self.ends = {}

    def _add(self, token, end):
        with self.lock:
            self.ends[token] = end
            if self.path:
                with open(self.path, "a", encoding="ascii") as f:
                    f.write(json.dumps({"token": token, "end": end}) + "\n")

    def issue(self, seconds=3600):
        token = "ya29.stand-in-" + secrets.token_urlsafe(24)
        self._add(token, time.time() + seconds)
        return token

    def revoke(self):
        """All that were issued until now."""
        for token in list(self._read()):
            self._add(token, 0)

    def _read(self):
        if self.path:
            ends = {}
            try:
                with open(self.path, encoding="ascii") as f:
                    for line in f:
                        if line.endswith("\n"):
                            row = json.loads(line)
                            ends[row["token"]] = row["end"]
            except FileNotFoundError:
                pass
            return ends
        with self.lock:
            return dict(self.ends)

    def valid(self, token):
        return self._read().get(token, 0) > time.time()


class Journal:
    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()

    def write(self, row):
        if not self.path:
            return
        with self.lock, open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(row) + "\n")


def openssl(*args, data=None, check=True):
    return subprocess.run(["openssl", *args], input=data, check=check, capture_output=True)


def make_tls(directory, names):
    """A CA and a certificate of its own; returns an SSLContext. ca.pem is what a client needs."""
    os.makedirs(directory, exist_ok=True)
    at = lambda name: os.path.join(directory, name)
    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-batch"]
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=stand-in CA", "-keyout", at("ca.key"), "-out", at("ca.pem"))
    openssl(*new, "-subj", "/CN=127.0.0.1", "-keyout", at("server.key"), "-out", at("server.csr"))
    with open(at("server.ext"), "w", encoding="ascii") as f:
        f.write(f"subjectAltName={names}\n")
    openssl("x509", "-req", "-days", "2", "-in", at("server.csr"), "-CA", at("ca.pem"), "-CAkey", at("ca.key"),
            "-set_serial", str(secrets.randbits(63)), "-extfile", at("server.ext"), "-out", at("server.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(at("server.pem"), at("server.key"))
    return context


class Account:
    """A service account's key, and the check of what is signed with it."""

    email = "trainer@stand-in-project.iam.gserviceaccount.com"
    key_id = "0123456789abcdef0123456789abcdef01234567"

    def __init__(self, path, token_uri):
        self.private = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048").stdout
        self.public = openssl("pkey", "-pubout", data=self.private).stdout
        self.token_uri = token_uri
        write_private(path, {
            "type": "service_account", "project_id": "stand-in-project", "private_key_id": self.key_id,
            "private_key": self.private.decode(), "client_email": self.email, "client_id": "1234567890",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": token_uri,
            "universe_domain": "googleapis.com"})

    def signed(self, text, signature):
        with tempfile.TemporaryDirectory() as d:
            for name, data in (("key", self.public), ("sig", signature)):
                with open(os.path.join(d, name), "wb") as f:
                    f.write(data)
            done = openssl("dgst", "-sha256", "-verify", os.path.join(d, "key"), "-signature", os.path.join(d, "sig"),
                           data=text, check=False)
        return done.returncode == 0

    def complaint(self, assertion, now):
        """What is wrong with a JWT; None: nothing."""
        part = re.fullmatch(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)", assertion)
        if not part:
            return "assertion is not three parts of base64url"
        raw = [base64.urlsafe_b64decode(p + "=" * (-len(p) % 4)) for p in part.groups()]
        try:
            head, claims = json.loads(raw[0]), json.loads(raw[1])
        except ValueError:
            return "header or claims are no JSON"
        if head != {"alg": "RS256", "typ": "JWT", "kid": self.key_id}:
            return f"header is {head}"
        if not self.signed(assertion.rsplit(".", 1)[0].encode(), raw[2]):
            return "Invalid JWT Signature."
        # RFC 7523 wants the endpoint's address; google-auth writes Google's own, wherever it sends to
        audiences = (self.token_uri, "https://oauth2.googleapis.com/token")
        if claims.get("iss") != self.email or claims.get("aud") not in audiences:
            return "Invalid JWT: iss or aud."
        if not re.match(r"https://www\.googleapis\.com/auth/\S+", claims.get("scope", "")):
            return "Invalid JWT: scope."
        iat, exp = claims.get("iat"), claims.get("exp")
        if not isinstance(iat, int) or not isinstance(exp, int) or exp - iat > 3600 or exp <= iat:
            return "Invalid JWT: exp must be at most an hour after iat."
        if abs(iat - now) > SKEW_MAX_S:
            return ("Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    "Check your iat and exp values in the JWT claim.")
        return None


def write_private(path, content):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        json.dump(content, f)


class Stand:
    """What all connections share."""

    def __init__(self, args):
        self.tokens = Tokens(args.tokens)
        self.journal = Journal(args.journal)
        self.lock = threading.Lock()
        self.knobs = {"expires": 3600, "flavor": "Google", "texts": {}, "gke": False, "skew": 0, "faults": {}}
        self.account = self.user = None
        self.context = make_tls(args.tls, args.tls_names) if args.tls else None

    def set(self, knobs):
        with self.lock:
            if knobs.pop("revoke", False):
                self.tokens.revoke()
            unknown = set(knobs) - set(self.knobs)
            if unknown:
                raise ValueError(f"no such knob: {', '.join(sorted(unknown))}")
            self.knobs.update(knobs)

    def take_fault(self, path):
        with self.lock:
            for part, kind in list(self.knobs["faults"].items()):
                if part in path:
                    name, _, count = kind.partition("*")
                    if count == "1":
                        del self.knobs["faults"][part]
                    elif count:
                        self.knobs["faults"][part] = f"{name}*{int(count) - 1}"
                    return name
        return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stand = None

    def log_message(self, *args):
        pass

    def date_time_string(self, timestamp=None):
        return formatdate(time.time() + self.stand.knobs["skew"], usegmt=True)

    def answer(self, status, body, kind="application/json", headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.journal(status)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def journal(self, status, fault=None):
        self.stand.journal.write({
            "time": time.time(), "method": self.command, "path": self.path, "headers": dict(self.headers.items()),
            "body": self.body.decode("utf-8", "replace")[:65536], "status": status, "fault": fault})

    def token_body(self, **more):
        return {"access_token": self.stand.tokens.issue(self.stand.knobs["expires"]),
                "expires_in": self.stand.knobs["expires"], "token_type": "Bearer", **more}

    def fault(self, kind):
        """Kinds: hang, slow (a byte each 50 ms), none (closed without a word), reset, half (closed midway), huge
        (10 MB), endless-headers, garbage, html, empty, redirect, newline, nul, not-utf8 and long (in a token),
        no-flavor, STATUS (403, 503...), STATUS/SECONDS (with Retry-After), STATUS/invalid_grant (an OAuth error),
        STATUS/echo (one that tells all that was sent)."""
        flavor = (("Metadata-Flavor", "Google"),)
        token = {"newline": "ya29.x\r\nX-Injected: yes", "nul": "ya29.x\0y", "not-utf8": "ya29.\udcff",
                 "long": "x" * 100000, "blank": ""}
        if kind in token:
            body = json.dumps(self.token_body(access_token=token[kind]), ensure_ascii=kind != "not-utf8")
            return self.answer(200, body.encode("utf-8", "surrogateescape"), headers=flavor)
        plain = {"garbage": b"\x00\xff{]", "html": b"<html><body>Sign in to the network</body></html>", "empty": b"",
                 "huge": b"x" * 10_000_000, "array": b"[" * 100_000, "number": b'{"access_token":5,"expires_in":"x"}',
                 "over": b'{"access_token":"a","expires_in":-5}'}
        if kind in plain:
            return self.answer(200, plain[kind], "text/html" if kind == "html" else "application/json", flavor)
        if kind == "redirect":
            return self.answer(302, b"", headers=(*flavor, ("Location", f"http://{self.headers['Host']}/echo")))
        if kind == "no-flavor":
            return self.answer(200, b"plain", "text/plain")
        status = re.fullmatch(r"(\d{3})(?:/(.+))?", kind)
        if status:
            return self.status_fault(int(status[1]), status[2], flavor)
        self.journal(0, kind)
        return self.wire_fault(kind)

    def status_fault(self, status, more, flavor):
        if not more:
            return self.answer(status, {"error": {"code": status, "message": "stand-in fault"}}, headers=flavor)
        if more == "echo":
            form = {k: v[0] for k, v in urllib.parse.parse_qs(self.body.decode()).items()}
            return self.answer(status, {"error": "invalid_grant", "error_description": f"not taken: {form}"})
        if re.fullmatch(r"[a-z_]+", more):
            return self.answer(status, {"error": more, "error_description": "Token has been expired or revoked."})
        return self.answer(status, b"{}", headers=(*flavor, ("Retry-After", more)))

    def wire_fault(self, kind):
        self.close_connection = True
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMetadata-Flavor: Google\r\n"
        try:
            if kind == "hang":
                self.connection.settimeout(60)
                self.connection.recv(1)  # until the client has gone
            elif kind == "slow":
                self.wfile.write(head + b"Content-Length: 100000\r\n\r\n")
                while True:
                    self.wfile.write(b" ")
                    time.sleep(0.05)
            elif kind == "half":
                self.wfile.write(head + b'Content-Length: 100\r\n\r\n{"access_token":')
            elif kind == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif kind == "endless-headers":
                self.wfile.write(head)
                while True:
                    self.wfile.write(b"X-More: " + b"x" * 1000 + b"\r\n")
            elif kind != "none":
                raise ValueError(f"no such fault: {kind}")
        except OSError:
            pass

    def read_body(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self):
        self.do()

    def do_POST(self):
        self.do()

    def do_PUT(self):
        self.do()

    def do(self):
        self.read_body()
        path = urllib.parse.urlsplit(self.path).path
        if path == "/control":
            return self.control()
        kind = self.stand.take_fault(path)
        if kind:
            return self.fault(kind)
        if path == "/echo":
            return self.answer(200, {"method": self.command, "headers": dict(self.headers.items()),
                                     "body": self.body.decode("latin-1"), "peer": self.client_address[1]})
        if path == "/token":
            return self.oauth()
        if path == "/" or path.startswith("/computeMetadata/v1/"):
            return self.metadata(path.removeprefix("/computeMetadata/v1/"))
        return self.answer(404, {"error": {"code": 404, "message": "no such path"}})

    def control(self):
        try:
            if self.command == "POST":
                self.stand.set(json.loads(self.body))
        except ValueError as e:
            return self.answer(400, {"error": str(e)})
        return self.answer(200, self.stand.knobs)

    def metadata(self, path):
        knobs = self.stand.knobs
        headers = [("Metadata-Flavor", knobs["flavor"])] if knobs["flavor"] else []
        headers.append(("Server", "Metadata Server for VM"))
        if self.headers.get("Metadata-Flavor") != "Google" or self.headers.get("X-Forwarded-For"):
            return self.answer(403, b"<html>Missing Metadata-Flavor:Google header.</html>", "text/html", headers)
        if path == "instance/service-accounts/default/token":
            return self.answer(200, self.token_body(), headers=headers)
        if path == "/":
            return self.answer(200, b"computeMetadata/\n", "application/text", headers)
        text = {**TEXTS, **(GKE_TEXTS if knobs["gke"] else {}), **knobs["texts"]}.get(path)
        if text is None:
            return self.answer(404, f"GCE metadata \"{path}\" not defined\n".encode(), "text/plain", headers)
        return self.answer(200, text.encode("utf-8", "surrogateescape"), "application/text", headers)

    def refuse(self, text, error="invalid_grant"):
        return self.answer(400, {"error": error, "error_description": text})

    def oauth(self):
        form = urllib.parse.parse_qs(self.body.decode("ascii", "replace"), strict_parsing=False)
        form = {k: v[0] for k, v in form.items()}
        if self.command != "POST" or self.headers.get("Content-Type") != "application/x-www-form-urlencoded":
            return self.refuse("not a form", "invalid_request")
        grant = form.get("grant_type")
        if grant == "urn:ietf:params:oauth:grant-type:jwt-bearer" and self.stand.account:
            wrong = self.stand.account.complaint(form.get("assertion", ""), time.time() + self.stand.knobs["skew"])
            return self.refuse(wrong) if wrong else self.answer(200, self.token_body())
        if grant == "refresh_token" and self.stand.user:
            sent = {k: form.get(k) for k in ("client_id", "client_secret", "refresh_token")}
            known = {k: self.stand.user[k] for k in sent}
            if sent != known:
                return self.refuse("Bad Request")
            return self.answer(200, self.token_body(scope="https://www.googleapis.com/auth/cloud-platform"))
        return self.refuse(f"Invalid grant_type: {grant}", "unsupported_grant_type")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    context = None

    def finish_request(self, request, client_address):
        if self.context:  # here, in the connection's own thread: a handshake that hangs holds up nobody
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)
        if self.context:
            request.close()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def parse(argv):
    p = argparse.ArgumentParser()
    for name in ("port-file", "tokens", "journal", "tls", "account", "user"):
        p.add_argument("--" + name)
    p.add_argument("--tls-names", default="IP:127.0.0.1,DNS:localhost")
    p.add_argument("--set", default="{}", type=json.loads)
    return p.parse_args(argv)


def main(argv):
    args = parse(argv)
    stand = Stand(args)
    Handler.stand = stand
    server = Server(("127.0.0.1", 0), Handler)
    server.context = stand.context
    port = server.server_address[1]
    token_uri = f"{'https' if args.tls else 'http'}://127.0.0.1:{port}/token"
    if args.account:
        stand.account = Account(args.account, token_uri)
    if args.user:
        stand.user = {"type": "authorized_user", "client_id": "stand-in.apps.googleusercontent.com",
                      "client_secret": "secret/with+signs&", "refresh_token": "1//stand-in-refresh",
                      "quota_project_id": "who-pays", "token_uri": token_uri}
        write_private(args.user, stand.user)
    stand.set(args.set)
    if args.port_file:
        with open(args.port_file + ".new", "w", encoding="ascii") as f:
            f.write(f"{port}\n")
        os.rename(args.port_file + ".new", args.port_file)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
