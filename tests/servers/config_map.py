# SPDX-License-Identifier: Apache-2.0
"""ConfigMaps of the stand-in for the API server of Kubernetes (kubernetes.py): get, create, patch, each checked as the server does."""
import json
import re
import urllib.parse

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def invalid(thing):
    """Why a ConfigMap is none; None: it is fine."""
    meta = thing.get("metadata") or {}
    if thing.keys() - {"kind", "apiVersion", "metadata", "data", "binaryData", "immutable"}:
        return "unknown field"
    if meta.keys() - {"name", "namespace", "labels", "annotations", "ownerReferences", "resourceVersion", "uid", "creationTimestamp"}:
        return "metadata: unknown field"
    if not NAME.fullmatch(meta.get("name", "")) or len(meta["name"]) > 253:
        return "metadata.name: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
    for kind in ("labels", "annotations"):
        for key, value in (meta.get(kind) or {}).items():
            if not KEY.fullmatch(key) or not isinstance(value, str):
                return f"metadata.{kind}: {key}"
            if kind == "labels" and (not VALUE.fullmatch(value) or len(value) > 63):
                return f"metadata.labels: {value}"
    for owner in meta.get("ownerReferences") or []:
        if any(not isinstance(owner.get(f), str) or not owner[f] for f in ("apiVersion", "kind", "name", "uid")):
            return "metadata.ownerReferences: Required value"
    if any(not re.fullmatch(r"[-._a-zA-Z0-9]+", k) or not isinstance(v, str) for k, v in (thing.get("data") or {}).items()):
        return "data"
    if sum(len(v) for v in (thing.get("data") or {}).values()) > 1 << 20:
        return "Too long: must have at most 1048576 bytes"
    return None


def merged(old, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    new = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merged(new.get(key), value)
    return new


def status(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "code": code}


class ConfigMaps:
    """Of a handler that has answer(), authorized(), broken(), one() and a cluster."""

    def map_of(self, verb):
        """Namespace and name of the one that is asked for; None after a reply."""
        url = urllib.parse.urlsplit(self.path)
        names = re.fullmatch(r"/api/v1/namespaces/([^/]+)/configmaps(?:/([^/]+))?", url.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if not names or (names[2] is None) != (verb == "create") or query.keys() - ({"fieldManager"} if verb != "get" else set()):
            self.answer(404, status(404, "NotFound", "the server could not find the requested resource"))
        elif not self.authorized():
            self.answer(401, status(401, "Unauthorized", "Unauthorized"))
        elif self.broken("map"):
            pass
        elif verb not in self.cluster.knobs["verbs"]:
            self.answer(403, status(403, "Forbidden", f'configmaps is forbidden: User "system:serviceaccount:x:y" cannot {verb} '
                                                      f'resource "configmaps" in API group "" in the namespace "{names[1]}"'))
        elif verb == "create" and self.cluster.knobs["spaces"] is not None and names[1] not in self.cluster.knobs["spaces"]:
            self.answer(404, status(404, "NotFound", f'namespaces "{names[1]}" not found'))
        else:
            return names.groups()
        return None

    def map_get(self):
        names = self.map_of("get")
        if names is None:
            return
        self.one(("ConfigMap", *names))
        with self.cluster.lock:
            other, self.cluster.knobs["meanwhile"] = self.cluster.knobs["meanwhile"], None
            if other:
                self.cluster.put(other)

    def map_write(self, verb, body, kind):
        names = self.map_of(verb)
        if names is None:
            return None
        if self.headers.get("Content-Type") != kind:
            return self.answer(415, status(415, "UnsupportedMediaType", f"use {kind}"))
        try:
            thing = json.loads(body)
        except ValueError:
            return self.answer(400, status(400, "BadRequest", "no JSON"))
        with self.cluster.lock:
            key = ("ConfigMap", names[0], names[1] or thing.get("metadata", {}).get("name", ""))
            old = self.cluster.things.get(key)
            if verb == "create" and "resourceVersion" in thing.get("metadata", {}):
                return self.answer(400, status(400, "BadRequest", "resourceVersion should not be set on objects to be created"))
            if verb == "create" and thing.get("metadata", {}).get("namespace", names[0]) != names[0]:
                return self.answer(400, status(400, "BadRequest", "the namespace of the object does not match the request"))
            if verb == "create" and old:
                return self.answer(409, status(409, "AlreadyExists", f'configmaps "{key[2]}" already exists'))
            if verb == "patch" and not old:
                return self.answer(404, status(404, "NotFound", f'configmaps "{key[2]}" not found'))
            if verb == "patch":
                version = thing.get("metadata", {}).get("resourceVersion", old["metadata"]["resourceVersion"])
                if version != old["metadata"]["resourceVersion"]:
                    return self.answer(409, status(409, "Conflict", f'Operation cannot be fulfilled on configmaps "{key[2]}"'))
                if old.get("immutable"):
                    return self.answer(422, status(422, "Invalid", "field is immutable when `immutable` is set"))
                thing = merged(json.loads(json.dumps(old)), thing)
            why = invalid(thing)
            if why:
                return self.answer(422, status(422, "Invalid", f'ConfigMap "{key[2]}" is invalid: {why}'))
            thing = {"kind": "ConfigMap", "apiVersion": "v1", **thing}
            thing["metadata"]["namespace"] = names[0]
            self.cluster.put(thing)
        return self.answer(201 if verb == "create" else 200, thing)

    def do_PATCH(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "/configmaps" not in self.path:
            return self.answer(405, status(405, "MethodNotAllowed", "this is read only"))
        return self.map_write("patch", body, "application/merge-patch+json")
