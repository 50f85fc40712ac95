#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stand-in for the API server of Kubernetes and for a kubelet, as strict as they are where a client can be wrong.

  kubernetes.py --port-file F [--tls DIR --tls-port-file F] [--token-file F] [--journal F] [--set JSON]

  --port-file F      the port, once it listens on 127.0.0.1, in the clear
  --tls DIR          speaks TLS at another, with a certificate for 127.0.0.1, of DIR/ca.pem, which is made;
  --tls-port-file F  that port
  --token-file F     the token that is taken is written there; without it nobody needs one
  --journal F        each request as a line of JSON, written before the reply

GET /api/v1/pods, /api/v1/nodes (list, watch), /pods (the kubelet's), one pod of a namespace by its name (list), one
DaemonSet, one Namespace; ConfigMaps: get, create (POST), patch (of JSON, merged), each checked as the server does. POST /control takes knobs and deeds; GET /control
tells the knobs and the names of all things. Who comes in the clear to anything else is journaled, too: nobody should with a token.

Deeds: put {object} (creates or replaces; kind Pod, Node, DaemonSet, ConfigMap, Job or
Namespace), delete "kind/namespace/name" (what it owned in its namespace goes with it), bookmark true, rotate true
(another token, the old one is no more good), compact true (no watch from before now), error {status} (into every
watch), raw "text" (into every watch as it is), end true (of every watch), reset true (likewise, rudely), down
SECONDS (so long it is not there: watches are reset, nobody is let in but by the port in the clear).
Knobs: page (a page holds so many at most), fault ("hang", "half", "html", "400".."503", "429/SECONDS", each "*N"
times, of list or watch: {"list": kind, "watch": kind, "pods": kind,
"one": kind, "map": kind}; of a ConfigMap also "big", 2 MiB, and "other", no ConfigMap), cache (false: resourceVersion=0 is
paged, too), verbs (what may be done with ConfigMaps: get, create, patch), spaces (the namespaces that there are; null: all),
meanwhile (null, or an object that is put after the next ConfigMap is read: whoever writes then is late).
"""
import argparse
import base64
import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from config_map import ConfigMaps, status  # noqa: E402
from google import Journal, make_tls, write_private  # noqa: E402

KINDS = {"pods": ("Pod", "spec.nodeName"), "nodes": ("Node", "metadata.name")}
KNOWN = {"fieldSelector", "limit", "continue", "resourceVersion", "watch", "allowWatchBookmarks", "timeoutSeconds"}


def field(thing, path):
    for part in path.split("."):
        thing = (thing or {}).get(part)
    return thing


class Cluster:
    """What is stored, and every change of it."""

    def __init__(self, token_file):
        self.lock = threading.Condition()
        self.version = 1000
        self.oldest = 1000
        self.things = {}   # (kind, namespace, name) -> object
        self.changes = []  # (version, type, object)
        self.injected = []  # (number, kind of deed, content): into watches
        self.knobs = {"page": 500, "fault": {}, "cache": True, "verbs": ["get", "create", "patch"], "spaces": None, "meanwhile": None}
        self.back = 0
        self.token_file = token_file
        self.token = None
        if token_file:
            self.rotate()

    def rotate(self):
        self.token = "kube-secret-" + base64.urlsafe_b64encode(os.urandom(18)).decode()
        temporary = self.token_file + ".new"
        write_private(temporary, None)
        with open(temporary, "w", encoding="ascii") as f:
            f.write(self.token)
        os.rename(temporary, self.token_file)

    def put(self, thing):
        meta = thing["metadata"]
        key = (thing["kind"], meta.get("namespace", ""), meta["name"])
        old = self.things.get(key)
        if old and old["metadata"].get("uid") != meta.get("uid"):
            self.delete(key)
            old = None
        self.version += 1
        meta["resourceVersion"] = str(self.version)
        self.things[key] = thing
        self.changes.append((self.version, "MODIFIED" if old else "ADDED", json.loads(json.dumps(thing))))

    def delete(self, key):
        thing = self.things.pop(key)
        self.version += 1
        thing["metadata"]["resourceVersion"] = str(self.version)
        self.changes.append((self.version, "DELETED", thing))
        uid = thing["metadata"].get("uid")
        owned = [k for k, t in self.things.items() if uid and k[1] == key[1]
                 and any(o["uid"] == uid for o in t["metadata"].get("ownerReferences", []))]
        for other in owned:
            self.delete(other)

    def do(self, deeds):
        with self.lock:
            for name, value in deeds.items():
                if name == "put":
                    for thing in value if isinstance(value, list) else [value]:
                        self.put(thing)
                elif name == "delete":
                    self.delete(tuple(value.split("/")))
                elif name == "rotate":
                    self.rotate()
                elif name == "compact":
                    self.version += 1
                    self.oldest = self.version
                    self.changes = []
                elif name in ("bookmark", "error", "raw", "end", "reset"):
                    if name == "bookmark":
                        self.version += 1
                    self.injected.append((name, value, self.version))
                elif name == "down":
                    self.back = time.monotonic() + value
                    self.injected.append(("reset", True, self.version))
                elif name in self.knobs:
                    self.knobs[name] = value
                else:
                    raise ValueError(f"no such deed: {name}")
            self.lock.notify_all()

    def fault(self, of):
        with self.lock:
            kind = self.knobs["fault"].get(of)
            if not kind:
                return None
            name, _, count = kind.partition("*")
            if count:
                left = int(count) - 1
                if left:
                    self.knobs["fault"][of] = f"{name}*{left}"
                else:
                    del self.knobs["fault"][of]
            return name


class Handler(ConfigMaps, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    cluster = None
    book = None

    def log_message(self, *args):
        pass

    def note(self, code, fault=None):
        self.book.write({"time": time.time(), "method": self.command, "path": self.path, "status": code, "fault": fault,
                         "authorized": self.authorized()})

    def answer(self, code, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.note(code)
        self.send_response(code)
        self.send_header("Content-Type", "application/json" if not isinstance(body, bytes) else "text/html")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def authorized(self):
        return self.cluster.token is None or self.headers.get("Authorization") == f"Bearer {self.cluster.token}"

    def broken(self, of):
        """Whether a fault took the place of the reply."""
        kind = self.cluster.fault(of)
        if not kind:
            return False
        code, _, more = kind.partition("/")
        if code.isdigit():
            said = {"403": f'{of} is forbidden: User "system:serviceaccount:x:y" cannot list resource "{of}"'}
            headers = [("Retry-After", more)] if more else []
            self.answer(int(code), status(int(code), "Fault", said.get(code, "stand-in fault")), headers)
            return True
        self.note(0, kind)
        self.close_connection = True
        if kind == "hang":
            self.connection.settimeout(60)
            try:
                self.connection.recv(1)
            except OSError:
                pass
        elif kind == "half":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"kind":"PodList","items":[{"meta')
        elif kind in ("big", "other"):
            thing = {"kind": "ConfigMap" if kind == "big" else "Secret", "apiVersion": "v1", "metadata": {"name": "x",
                     "resourceVersion": "1", "labels": {"app.kubernetes.io/managed-by": "gp-bpf"}},
                     "data": {"carry": "x" * ((2 << 20) if kind == "big" else 8)}}
            data = json.dumps(thing).encode()
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
        elif kind == "html":
            data = b"<html>Sign in</html>"
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
        else:
            raise ValueError(f"no such fault: {kind}")
        return True

    # ---- list

    def selected(self, kind, path, value):
        return [t for k, t in sorted(self.cluster.things.items()) if k[0] == kind and field(t, path) == value]

    def list(self, what, query):
        kind, path = KINDS[what]
        c = self.cluster
        if self.broken("list"):
            return
        value = query["fieldSelector"].partition("=")[2]
        limit = int(query.get("limit", 0))
        with c.lock:
            items, version = self.selected(kind, path, value), str(c.version)
            start = 0
            if "continue" in query:
                token = json.loads(base64.urlsafe_b64decode(query["continue"]))
                if token["version"] < c.oldest:
                    return self.answer(410, status(410, "Expired", "The provided continue parameter is too old"))
                start, version = token["start"], str(token["version"])
            cached = query.get("resourceVersion") == "0" and c.knobs["cache"]
            size = len(items) if cached or not limit else min(limit, c.knobs["page"])
            meta = {"resourceVersion": version}
            if start + size < len(items):
                meta["continue"] = base64.urlsafe_b64encode(
                    json.dumps({"start": start + size, "version": int(version)}).encode()).decode()
                meta["remainingItemCount"] = len(items) - start - size
            body = {"kind": kind + "List", "apiVersion": "v1", "metadata": meta, "items": items[start:start + size]}
        self.answer(200, body)

    def own(self, namespace, query):
        """The pod of that name, as a list."""
        if set(query) != {"fieldSelector"} or not query["fieldSelector"].startswith("metadata.name="):
            return self.answer(400, status(400, "BadRequest", f"unable to understand {self.path}"))
        name = query["fieldSelector"].partition("=")[2]
        with self.cluster.lock:
            items = [t for k, t in self.cluster.things.items() if k == ("Pod", namespace, name)]
        return self.answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})

    def one(self, key):
        with self.cluster.lock:
            thing = self.cluster.things.get(key)
        if not thing:
            return self.answer(404, status(404, "NotFound", f'"{key[2]}" not found'))
        return self.answer(200, thing)

    def within(self, path, query):
        """What lies in a namespace; None where that is not asked for."""
        names = re.fullmatch(r"/(api/v1|apis/apps/v1)/namespaces/([a-z0-9-]+)(?:/(pods|daemonsets)(?:/([a-z0-9.-]+))?)?", path)
        if not names:
            return None
        group, namespace, kind, name = names.groups()
        if (group, kind, name) == ("api/v1", "pods", None):
            return lambda: self.own(namespace, query)
        if (group, kind) == ("apis/apps/v1", "daemonsets") and name and not query:
            return lambda: self.one(("DaemonSet", namespace, name))
        if (group, kind) == ("api/v1", None) and not query:
            return lambda: self.one(("Namespace", "", namespace))
        return None

    # ---- watch

    def send(self, event):
        data = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def inject(self, kind, name, value, version):
        """false: the watch is over"""
        if name == "bookmark":
            self.send({"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": "v1", "metadata": {
                "resourceVersion": str(version), "creationTimestamp": None}, "spec": {"containers": None}}})
        elif name == "error":
            self.send({"type": "ERROR", "object": value})
        elif name == "raw":
            self.send(value.encode())
        elif name == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionResetError
        return name not in ("end", "error")

    def watch(self, what, query):
        kind, path = KINDS[what]
        c = self.cluster
        if self.broken("watch"):
            return
        value = query["fieldSelector"].partition("=")[2]
        since = int(query["resourceVersion"])
        if since < c.oldest:
            return self.answer(410, status(410, "Expired", f"too old resource version: {since} ({c.oldest})"))
        end = time.monotonic() + int(query["timeoutSeconds"])
        with c.lock:
            said = len(c.injected)
        self.note(200)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        go_on = True
        while go_on and time.monotonic() < end:
            with c.lock:
                c.lock.wait_for(lambda: c.version > since or len(c.injected) > said, timeout=0.2)
                changes = [x for x in c.changes if x[0] > since]
                deeds, said, since = c.injected[said:], len(c.injected), c.version
            for _, change, thing in changes:
                if thing["kind"] == kind and field(thing, path) == value:
                    self.send({"type": change, "object": thing})
            for deed in deeds:
                go_on = go_on and self.inject(kind, *deed)
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query)))
        if url.path == "/control":
            with self.cluster.lock:
                things = ["/".join(k) for k in sorted(self.cluster.things)]
                return self.answer(200, {"version": self.cluster.version, **self.cluster.knobs, "things": things})
        if "/configmaps" not in url.path and not self.authorized():
            return self.answer(401, status(401, "Unauthorized", "Unauthorized"))
        if url.path == "/pods":
            if self.broken("pods"):
                return None
            with self.cluster.lock:
                items = [t for k, t in sorted(self.cluster.things.items()) if k[0] == "Pod"]
            return self.answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})
        if "/configmaps" in url.path:
            return self.map_get()
        within = self.within(url.path, query)
        if within:
            return None if self.broken("one") else within()
        what = url.path.removeprefix("/api/v1/")
        if what not in KINDS:
            return self.answer(404, status(404, "NotFound", "the server could not find the requested resource"))
        if set(query) - KNOWN or not re.fullmatch(re.escape(KINDS[what][1]) + r"=[a-z0-9.-]+", query.get("fieldSelector", "")):
            return self.answer(400, status(400, "BadRequest", f"unable to understand {self.path}"))
        if query.get("watch") == "1":
            if not query.get("resourceVersion", "").isdigit() or query.get("allowWatchBookmarks") != "true" or "limit" in query:
                return self.answer(400, status(400, "BadRequest", "a watch from nowhere"))
            return self.watch(what, query)
        if "continue" in query and "resourceVersion" in query:
            return self.answer(400, status(400, "BadRequest", "specifying resource version is not allowed when using continue"))
        return self.list(what, query)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "/configmaps" in self.path:
            return self.map_write("create", body, "application/json")
        if not self.path.startswith("/control"):
            return self.answer(405, status(405, "MethodNotAllowed", "this is read only"))
        try:
            self.cluster.do(json.loads(body))
        except (ValueError, KeyError, TypeError) as e:
            return self.answer(400, {"error": repr(e)})
        return self.answer(200, {})

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    context = None
    request_queue_size = 64

    def finish_request(self, request, client_address):
        if self.context:
            if time.monotonic() < Handler.cluster.back:
                request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                request.close()
                return
            request.settimeout(30)
            try:
                request = self.context.wrap_socket(request, server_side=True)
            except OSError:
                return
        try:
            super().finish_request(request, client_address)
        finally:
            if self.context:
                request.close()

    def handle_error(self, request, client_address):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", required=True)
    for name in ("--tls", "--tls-port-file", "--token-file", "--journal", "--set"):
        parser.add_argument(name)
    args = parser.parse_args()
    Handler.cluster = Cluster(args.token_file)
    Handler.book = Journal(args.journal)
    if args.set:
        Handler.cluster.do(json.loads(args.set))
    plain = Server(("127.0.0.1", 0), Handler)
    ports = [(plain, args.port_file)]
    if args.tls:
        secure = Server(("127.0.0.1", 0), Handler)
        secure.context = make_tls(args.tls, "IP:127.0.0.1")
        threading.Thread(target=secure.serve_forever, daemon=True).start()
        ports.insert(0, (secure, args.tls_port_file))
    for server, path in ports:
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(f"{server.server_address[1]}\n")
        os.rename(path + ".new", path)
    plain.serve_forever()


if __name__ == "__main__":
    main()
