#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""faults_test.py [NAME...]: the stand-in of Cloud Monitoring fails as it is told to, and holds afterwards what it should;
what it keeps can be read back. TAP."""
from __future__ import annotations

import contextlib
import gzip
import json
import os
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gcm_client import NOW, PATH, Client, gauge, good, refused, run, started, total  # noqa: E402
from gcm_faults import fault_of  # noqa: E402


def test_22_size_and_gzip(c: Client) -> None:
    kind = {"Content-Type": "application/json"}
    body = json.dumps({"timeSeries": [gauge("a", NOW)]}).encode()
    refused(c, 22, "exceeds the limit", c.send("POST", PATH, body + b" " * (1 << 20), kind), 413)
    zipped = {**kind, "Content-Encoding": "gzip"}
    refused(c, 22, "exceeds the limit", c.send("POST", PATH, gzip.compress(b" " * (2 << 20)), zipped), 413)
    for raw in (b"x", gzip.compress(body)[:-9]):
        refused(c, 22, "gzip", c.send("POST", PATH, raw, zipped), 413)
    refused(c, 22, "Content-Encoding", c.send("POST", PATH, body, {**kind, "Content-Encoding": "br"}), 413)
    good(c.send("POST", PATH, gzip.compress(body), zipped))
    good(c.send("POST", PATH, iter([json.dumps({"timeSeries": [gauge("a", NOW + 10)]}).encode()]), kind))  # in chunks


def test_23_descriptor_that_is_not_usable_at_once(c: Client) -> None:
    c.control(async_ms=3600000)
    row = {"type": "custom.googleapis.com/gp_bpf/a", "metricKind": "GAUGE", "valueType": "INT64"}
    assert c.describe(row).status == 200
    refused(c, 23, "An internal error occurred.: timeSeries[0]", c.write(gauge("a", NOW)), 500)
    good(c.write(gauge("b", NOW)))  # one without a descriptor is made at once
    c.control(wipe=True, async_ms=0)
    assert c.describe(row).status == 200
    good(c.write(gauge("a", NOW)))


def test_24_statuses(c: Client) -> None:
    at = NOW
    for status, name in ((429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL"), (503, "UNAVAILABLE"), (504, "DEADLINE_EXCEEDED"), (403, "PERMISSION_DENIED"),
                         (401, "UNAUTHENTICATED"), (404, "NOT_FOUND"), (408, "UNKNOWN")):
        for after in ("", "-after"):
            before, at = len(c.stored_points()), at + 10
            c.control(fault=f"{status}{after},times=1,retry_after=7,retry_info=3.5s")
            reply = c.write(gauge("a", at))
            assert reply.status == status and reply.json["error"]["status"] == name and reply.headers["Retry-After"] == "7", reply
            if status not in (408,):
                assert reply.json["error"]["details"][0] == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}
            assert len(c.stored_points()) == before + bool(after), (status, after)
            assert c.journal()[-1]["fault"] == f"{status}{after}"
    c.control(fault=["429,times=1"])
    assert "Retry-After" not in c.write(gauge("a", at + 10)).headers
    good(c.write(gauge("a", at + 10)))
    c.control(fault=["503", "500,on=metricDescriptors"])
    assert [c.write(gauge("a", at + 20)).status for _ in range(3)] == [503] * 3
    assert c.describe({"type": "custom.googleapis.com/x", "metricKind": "GAUGE", "valueType": "INT64"}).status == 500
    c.control(clear=True)
    good(c.write(gauge("a", at + 20)))
    for wrong in ("x", "999", "429,on=x"):
        with contextlib.suppress(ValueError):
            fault_of(wrong)
            raise AssertionError(wrong)


def test_24_bodies(c: Client) -> None:
    for fault, status, begins, stored in (("html", 502, b"<!DOCTYPE html>", 0), ("huge,bytes=2000000", 500, b'{"error"', 0), ("ok-garbage", 200, b"\0", 1),
                                          ("ok-html", 200, b"<!DOCTYPE html>", 1), ("ok-empty", 200, b"", 1), ("redirect,to=/x", 307, b"", 0)):
        c.control(wipe=True, fault=fault + ",times=1")
        reply = c.write(gauge("a", NOW))
        assert reply.status == status and reply.body.startswith(begins) and len(c.stored()) == stored, (fault, reply.status)
        assert not fault.startswith("huge") or len(reply.body) > 2000000
        assert not fault.startswith("redirect") or reply.headers["Location"] == "/x"
    c.control(wipe=True, fault="partial,every=3,code=13,times=1")
    reply = c.write(*[gauge(f"a{i}", NOW) for i in range(6)])
    assert reply.status == 500 and "An internal error occurred.: timeSeries[2,5]" in reply.text and len(c.stored()) == 4, reply
    c.control(wipe=True, form="resource", fault="partial,times=1")
    reply = c.write(*[gauge(f"a{i}", NOW) for i in range(4)])
    assert reply.status == 429 and "timeSeries[1,3]: write for resource=global{} failed with: Monitored resource has too many" in reply.text


def test_24_connections(c: Client) -> None:
    for fault, stored in (("garbage", 0), ("hang,seconds=1", 0), ("shut,seconds=1", 0), ("reset", 0), ("reset-early", 0), ("half", 1)):
        c.control(wipe=True, fault=fault + ",times=1")
        try:
            reply = c.write(gauge("a", NOW))
            raise AssertionError((fault, reply))
        except c.broken:
            pass
        assert len(c.stored()) == stored and c.journal()[-1]["fault"] == fault.split(",")[0], fault
    c.control(wipe=True, fault="slow,every_ms=0.1,times=1")
    good(c.write(gauge("a", NOW)))
    good(c.write(gauge("a", NOW + 10)))


def test_27_journal_and_reading_back(c: Client) -> None:
    good(c.write(gauge("a", NOW, 5, k="v"), total("c", NOW - 60, NOW, 7)))
    good(c.write(gauge("a", NOW + 10, 6, k="v")))
    row = c.journal()[0]
    assert (row["method"], row["path"], row["status"], row["rule"], row["authorized"]) == ("POST", PATH, 200, 0, True), row
    assert row["series"][0]["labels"] == {"k": "v"} and row["series"][0]["end_ns"] == NOW * 10**9 and row["body"]["timeSeries"]
    query = "?filter=metric.type%3D%22custom.googleapis.com/gp_bpf/a%22{}&interval.startTime=2023-11-01T00:00:00Z&interval.endTime=2023-12-01T00:00:00Z"
    listed = c.get(PATH + query.format("")).json["timeSeries"]
    assert [p["value"] for p in listed[0]["points"]] == [{"int64Value": "6"}, {"int64Value": "5"}] and listed[0]["metricKind"] == "GAUGE"
    assert c.get(PATH + query.format("%20AND%20metric.labels.k%3D%22w%22")).json == {}
    assert len(c.get(PATH + query.format("%20AND%20metric.label.k%3D%22v%22%20AND%20resource.type=%22global%22")).json["timeSeries"]) == 1
    every = c.get(PATH + "?filter=metric.type=starts_with(%22custom.googleapis.com/%22)&interval.endTime=2023-12-01T00:00:00Z").json
    assert len(every["timeSeries"]) == 2
    assert c.get("/v3/projects/demo-project/monitoredResourceDescriptors/none").status == 404
    assert c.get(PATH + "?filter=metric.type=%22x%22").status == 400
    assert c.get(PATH + "?filter=x&interval.endTime=2023-12-01T00:00:00Z").status == 400 and c.get(PATH).status == 400
    assert len(c.get("/v3/projects/demo-project/metricDescriptors").json["metricDescriptors"]) == 2
    assert c.get("/v3/projects/demo-project/monitoredResourceDescriptors/global").json["type"] == "global"
    state = c.get("/control").json
    assert state["written"] == 3 and state["refused"] == {}, state


def test_24_tls_of_nobody(_: Client) -> None:
    with tempfile.TemporaryDirectory() as d:
        cert, key = d + "/cert", d + "/key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-batch",
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                       check=True, capture_output=True)
        with started(["--tls", cert, key]) as c:
            c.context = ssl.create_default_context()
            with contextlib.suppress(ssl.SSLCertVerificationError):
                raise AssertionError(c.get("/control"))
            c.context = ssl.create_default_context(cafile=cert)
            c.control(now=NOW)
            good(c.write(gauge("a", NOW)))


if __name__ == "__main__":
    sys.exit(run(globals()))
