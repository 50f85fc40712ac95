#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""monitoring_test.py [NAME...]: that the stand-in of Cloud Monitoring refuses what breaks a rule, with the number of
the rule and the service's words, and takes the good case beside it. TAP."""
from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gcm_client import (NOW, PATH, Client, changed, distribution, each, gauge, good, library, refused, run, started,  # noqa: E402
                        total)
from gcm_json import ENUMS, MESSAGES, google_types, time_ns, time_text  # noqa: E402

FREQUENT = "One or more points were written more frequently than the maximum sampling period configured for the metric."
OLDER = "Points must be written in order. One or more of the points specified had an older end time than the most recent point."


def test_1_method_and_path(c: Client) -> None:
    good(c.write(gauge("a", NOW)))
    for path in ("/v3/projects/demo-project/timeseries", "/v3/projects/Demo/timeSeries", "/v3/timeSeries", "/",
                 "/v3/projects/demo-project/timeSeries/", "/v2/projects/demo-project/timeSeries"):
        refused(c, 1, "Method not found", c.post(path, {"timeSeries": [gauge("a", NOW + 10)]}), 404)
    refused(c, 1, "Method not found", c.send("PUT", PATH, b"{}"), 404)
    refused(c, 1, 'Unknown name "x": Cannot bind query parameter.', c.post(PATH + "?x=1", {"timeSeries": [gauge("a", NOW)]}))
    good(c.post(PATH + "?$alt=json%3Benum-encoding%3Dint", {"timeSeries": [gauge("a", NOW + 10)]}))
    for name in ("custom.googleapis.com/x", "workload.googleapis.com/x", "external.googleapis.com/x"):
        s = changed(gauge("a", NOW), "metric/type", name)
        refused(c, 1, "service metrics", c.post(PATH + ":createService", {"timeSeries": [s]}))
    s = library("goodput_time", NOW, goodput_source="TOTAL", accelerator_type="GPU")
    refused(c, 1, "createService denied", c.post(PATH + ":createService", {"timeSeries": [s]}), 403)
    good(c.post("/v3/projects/123456/timeSeries", {"timeSeries": [gauge("a", NOW)]}))


def test_2_token(c: Client) -> None:
    body = json.dumps({"timeSeries": [gauge("a", NOW)]}).encode()
    for header in ({}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer "}):
        reply = c.send("POST", PATH, body, {"Content-Type": "application/json", **header}, token=None)
        refused(c, 2, "Request is missing required authentication credential.", reply, 401)
        assert reply.headers["WWW-Authenticate"].startswith("Bearer "), reply.headers
    good(c.write(gauge("a", NOW)))
    c.control(expire_tokens=True)
    refused(c, 2, "Request had invalid authentication credentials.", c.write(gauge("a", NOW + 10)), 401)
    c.token = "another"
    good(c.write(gauge("a", NOW + 10)))


def test_2_tokens_that_were_issued(_: Client) -> None:
    with tempfile.TemporaryDirectory() as d, started(["--tokens", d + "/tokens"]) as c:
        c.control(now=NOW)
        refused(c, 2, "Request had invalid authentication credentials.", c.write(gauge("a", NOW)), 401)
        with open(d + "/tokens", "w", encoding="ascii") as f:
            f.write(json.dumps({"token": c.token, "end": 2e9}) + "\n" + json.dumps({"token": "old", "end": 5}) + "\n")
        good(c.write(gauge("a", NOW)))
        c.token = "old"
        refused(c, 2, "", c.write(gauge("a", NOW + 10)), 401)


def test_3_content_type(c: Client) -> None:
    body = json.dumps({"timeSeries": [gauge("a", NOW)]}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=latin1"):
        refused(c, 3, "Content-Type", c.send("POST", PATH, body, {"Content-Type": kind}))
    good(c.send("POST", PATH, body, {"Content-Type": "application/json; charset=UTF-8"}))


def test_4_strict_json(c: Client) -> None:
    s = gauge("a", NOW)
    payload = "Invalid JSON payload received. "
    each(c, 4, [
        ({**s, "x": 1}, payload + "Unknown name \"x\" at 'time_series[0]': Cannot find field."),
        (changed(s, "metric/name", "y"), payload + "Unknown name \"name\" at 'time_series[0].metric': Cannot find field."),
        (changed(s, "points/0/value", {"int64Value": "1", "doubleValue": 1}),
         "Invalid value at 'time_series[0].points[0].value' (oneof), oneof field 'int64Value' is already set."),
        (changed(s, "points/0/interval/endTime", "2023-11-14T22:13:20"),
         "Illegal timestamp format; timestamps must end with 'Z' or have a valid timezone offset."),
        (changed(s, "points/0/interval/endTime", "2023-02-30T00:00:00Z"), "end_time' (type.googleapis.com/google.protobuf.Timestamp)"),
        (changed(s, "points/0/interval/endTime", NOW), "end_time' (type.googleapis.com/google.protobuf.Timestamp)"),
        ({**s, "metricKind": "gauge"}, "metric_kind' (type.googleapis.com/google.api.MetricDescriptor.MetricKind), \"gauge\""),
        ({**s, "valueType": 17}, "value_type' (type.googleapis.com/google.api.MetricDescriptor.ValueType), 17"),
        ({**s, "points": s["points"][0]}, "Invalid value at 'time_series[0].points' (List)"),
        (changed(s, "metric/labels", {"k": 5}), "(TYPE_STRING), 5"),
        ({**s, "metric_kind": "GAUGE", "metricKind": "GAUGE"}, payload + "Duplicate name"),
    ])
    for value in ("1.5", 1.5, True, "9223372036854775808", "-9223372036854775809", "0x1", "", " 1", "1e3"):
        each(c, 4, [(changed(s, "points/0/value", {"int64Value": value}), "int64_value' (TYPE_INT64)")])
    for value in ("NaN", "Infinity", "1.5", True):
        each(c, 4, [(changed(s, "points/0/value", {"doubleValue": value}), "double_value' (TYPE_DOUBLE)")])
    for raw in (b"", b"{", b"[]", b'{"timeSeries":[]}x', b'{"timeSeries":[{"unit":"\xff"}]}', b'{"timeSeries":[{"unit":"\\ud800"}]}',
                b'{"timeSeries":[],"timeSeries":[]}', b'{"timeSeries":[{"metric":{"labels":{"a":"","a":""}}}]}',
                b'{"timeSeries":[{"points":[{"value":{"doubleValue":NaN}}]}]}', b'{"timeSeries":[{"unit":"\n"}]}', b"[" * 100000):
        refused(c, 4, "Invalid", c.send("POST", PATH, raw, {"Content-Type": "application/json"}))
    for i, at in enumerate(("2023-11-14T22:13:20Z", "2023-11-14T23:13:30.5+01:00", "2023-11-14T22:13:40.123456789-00:00")):
        good(c.write({**changed(s, "points/0/interval/endTime", at), "metricKind": 1 if i else "GAUGE", "unit": None}))
    good(c.post(PATH, {"time_series": [{**gauge("a", NOW + 40), "value_type": "INT64"}]}))


def test_4_times(_: Client) -> None:
    for text, ns in (("1970-01-01T00:00:00Z", 0), ("2023-11-14T22:13:20.000000001Z", NOW * 10**9 + 1),
                     ("2023-11-14T23:13:20.5+01:00", NOW * 10**9 + 5 * 10**8), ("1969-12-31T23:59:59.5Z", -5 * 10**8)):
        assert time_ns(text) == ns, text
        assert time_ns(time_text(ns)) == ns, text
    for text in ("", "2023-11-14", "2023-11-14t22:13:20Z", "2023-11-14T22:13:20", "2023-11-14T22:13:20.Z",
                 "2023-11-14T22:13:20.1234567890Z", "2023-11-14T24:00:00Z", "2023-11-14T22:13:20z", "2023-11-14T22:13:20Z\n"):
        assert time_ns(text) is None, text


def test_5_name(c: Client) -> None:
    good(c.post(PATH, {"name": "projects/demo-project", "timeSeries": [gauge("a", NOW)]}))
    refused(c, 5, "Field name had an invalid value", c.post(PATH, {"name": "projects/other-project", "timeSeries": [gauge("a", NOW + 10)]}))


def test_6_number_of_series(c: Client) -> None:
    refused(c, 6, "At least one", c.post(PATH, {}))
    many = [gauge(f"a{i}", NOW) for i in range(201)]
    refused(c, 6, "Field timeSeries had an invalid value: A maximum of 200 TimeSeries can be written in a single request.",
            c.write(*many))
    assert not c.stored()
    good(c.write(*many[:200]))


def test_7_one_point(c: Client) -> None:
    s = gauge("a", NOW)
    each(c, 7, [({**s, "points": []}, "it has 0"), ({**s, "points": s["points"] * 2}, "it has 2")])
    good(c.write(s))


def test_8_series_twice(c: Client) -> None:
    one, two = gauge("a", NOW, k="v"), gauge("a", NOW, k="v", empty="")
    refused(c, 8, "Field timeSeries[1] had an invalid value: Duplicate TimeSeries encountered. Only one point can be written "
            "per TimeSeries per request.: timeSeries[1]", c.write(one, two))
    assert len(c.stored()) == 1  # the first is written
    good(c.write(gauge("a", NOW + 10, k="v"), gauge("a", NOW + 10, k="w")))


def test_9_type_of_the_metric(c: Client) -> None:
    words = "The metric type must be a URL-formatted string with a domain and non-empty path."
    for name in ("", "steps", "custom.googleapis.com", "custom.googleapis.com/", "custom.googleapis.com/a b",
                 "custom.googleapis.com/a:b", "custom.googleapis.com/" + "a" * 200):
        each(c, 9, [(changed(gauge("a", NOW), "metric/type", name), words)])
    for name in ("compute.googleapis.com/instance/cpu", "kubernetes.io/jobset/uptime", "compute.googleapis.com/workload/other"):
        each(c, 9, [(changed(gauge("a", NOW), "metric/type", name), "metric.type had an invalid value of")])
    for name in ("custom", "workload", "external", "prometheus"):
        good(c.write(changed(gauge("a", NOW), "metric/type", name + ".googleapis.com/gp_bpf/steps")))
    good(c.write(library("goodput_time", NOW, goodput_source="TOTAL", accelerator_type="GPU")))


def test_10_resource(c: Client) -> None:
    def of(kind: str, **labels: str) -> dict[str, Any]:
        return {**gauge("r", NOW), "resource": {"type": kind, "labels": labels}}
    node = {"location": "us-central1", "namespace": "", "node_id": "n"}
    each(c, 10, [
        (of("k8s_entity"), "Unrecognized resource type"),
        (of("generic_task", project_id="demo-project", location="us-central1-a", job="j"),
         "The set of resource labels is incomplete. Missing labels: (namespace task_id).: timeSeries[0]"),
        (of("generic_node", **node, x="y"), "Unrecognized resource labels: (x)."),
        (of("generic_node", **{**node, "node_id": ""}), "Missing labels: (node_id)."),
        (of("generic_node", **{**node, "location": "Mars Base"}), "Unrecognized region or location."),
        (of("generic_node", **node, project_id="other"), "project_id"),
        (changed(gauge("r", NOW), "resource", ...), "Unrecognized resource type"),
        (of("compute.googleapis.com/Workload", location="us-central1-a", workload_id="j", replica_id="0"), "has no metric"),
    ])
    s = library("performance", NOW)
    each(c, 10, [(changed(s, "resource/labels/resource_container", "projects/1"), "Unrecognized resource labels: (resource_container).")])
    good(c.write(s, of("generic_node", **node), of("global", project_id="demo-project"),
                 of("gce_instance", instance_id="1", zone="us-central1-a"),
                 of("k8s_container", location="us-central1", cluster_name="c", namespace_name="n", pod_name="p", container_name="c")))


def test_11_labels_of_the_metric(c: Client) -> None:
    for key in ("_a", "1a", "a-b", "", "é", "a" * 101):
        each(c, 11, [(gauge("a", NOW, **{key: "v"}), "label key")])
    each(c, 11, [(gauge("a", NOW, k="é" * 513), "1024"), (gauge("a", NOW, **{f"k{i}": "v" for i in range(31)}),
                 "The new labels would cause the metric custom.googleapis.com/gp_bpf/a to have over 30 labels.: timeSeries[0]")])
    good(c.write(gauge("a", NOW, **{"a" * 100: "é" * 512, **{f"k{i}": "v" for i in range(29)}})))


def test_12_descriptor(c: Client) -> None:
    good(c.write(gauge("a", NOW, k="v")))
    made = c.get(f"/v3/projects/demo-project/metricDescriptors/{gauge('a', NOW)['metric']['type']}")
    assert (made.json["metricKind"], made.json["valueType"], made.json["labels"]) == ("GAUGE", "INT64", [{"key": "k"}]), made
    name = "custom.googleapis.com/gp_bpf/a"
    each(c, 12, [
        ({**gauge("a", NOW + 10), "metricKind": "CUMULATIVE"}, f"Metric kind for metric {name} must be GAUGE, but is CUMULATIVE.: timeSeries[0]"),
        (changed(gauge("a", NOW + 10), "points/0/value", {"doubleValue": 1}), f"Value type for metric {name} must be INT64, but is DOUBLE."),
        ({**gauge("a", NOW + 10), "valueType": "DOUBLE"}, f"Value type for metric {name} must be DOUBLE, but is INT64."),
        (gauge("a", NOW + 10, other="v"), "Unrecognized metric labels: (other)."),
        ({**gauge("new", NOW), "metricKind": "DELTA"}, "must be GAUGE, but is DELTA."),
    ])
    good(c.write(gauge("a", NOW + 10)))  # without the label, it is another series
    row = {"type": "custom.googleapis.com/d", "metricKind": "CUMULATIVE", "valueType": "INT64", "unit": "s", "description": "D",
           "labels": [{"key": "n", "valueType": "INT64"}]}
    assert c.describe(row).json["name"] == "projects/demo-project/metricDescriptors/custom.googleapis.com/d"
    s = changed(total("d", NOW - 10, NOW, n="5"), "metric/type", "custom.googleapis.com/d")
    each(c, 12, [({**s, "unit": "ms"}, "unit"), ({**s, "description": "E"}, "description"), (changed(s, "metric/labels/n", "five"), "n")])
    good(c.write({**s, "unit": "s", "description": "D"}))
    wrong = [({"metricKind": "GAUGE"}, 12), ({"valueType": "DOUBLE"}, 12), ({"metricKind": "DELTA"}, 12), ({"type": "x"}, 9),
             ({"type": "compute.googleapis.com/workload/performance"}, 9), ({"labels": [{"key": "_x"}]}, 11), ({"unit": "a b"}, 12),
             ({"valueType": "MONEY"}, 18), ({"valueType": "BOOL", "type": "custom.googleapis.com/e"}, 18), ({"x": 1}, 4),
             ({"labels": [{"key": "n"}, {"key": "n"}]}, 11), ({"metricKind": "DELTA", "type": "custom.googleapis.com/e"}, 12)]
    for more, rule in wrong:
        refused(c, rule, "", c.describe({**row, **more}))
    added = c.describe({**row, "labels": [{"key": "m"}]}).json["labels"]
    assert [r["key"] for r in added] == ["m", "n"], added  # labels are never taken away
    assert c.send("DELETE", "/v3/projects/demo-project/metricDescriptors/custom.googleapis.com/d").status == 200
    assert c.get("/v3/projects/demo-project/metricDescriptors/custom.googleapis.com/d").status == 404


def test_13_interval(c: Client) -> None:
    s = gauge("g", NOW)
    begin = changed(s, "points/0/interval/startTime", time_text((NOW - 1) * 10**9))
    each(c, 13, [
        (changed(s, "points/0/interval", {}), "end_time"),
        (begin, 'Field timeSeries[0].points[0].interval.start_time had an invalid value of "2023-11-14T22:13:19Z": The start time '
         "must be equal to the end time (2023-11-14T22:13:20Z) for the gauge metric 'custom.googleapis.com/gp_bpf/g'."),
        (changed(total("c", NOW, NOW), "points/0/interval/startTime", ...), "for the non-gauge metric"),
        (total("c", NOW, NOW), 'interval.start_time had an invalid value of "2023-11-14T22:13:20Z": The start time must be before '
         "the end time (2023-11-14T22:13:20Z) for the non-gauge metric 'custom.googleapis.com/gp_bpf/c'."),
        (total("c", NOW + 1, NOW), "The start time must be before the end time"),
    ])
    good(c.write(changed(s, "points/0/interval/startTime", time_text(NOW * 10**9)), total("c", NOW - 100, NOW)))


def test_14_age(c: Client) -> None:
    old, new = NOW - 25 * 3600, NOW + 300
    each(c, 14, [(gauge("a", old - 1), "Data points cannot be written more than 24h in the past."), (gauge("a", new + 1), "in the future")])
    good(c.write(gauge("a", old)))
    good(c.write(gauge("a", new)))
    c.control(skew_s=600)  # of the service's clock
    each(c, 14, [(gauge("b", old), "in the past")])
    assert c.write(gauge("b", new + 600)).headers["Date"] == "Tue, 14 Nov 2023 22:23:20 GMT"


def test_15_spacing(c: Client) -> None:
    good(c.write(gauge("a", NOW)))
    refused(c, 15, f"One or more TimeSeries could not be written: {FREQUENT}: timeSeries[0]", c.write(gauge("a", NOW + 4.999)))
    refused(c, 15, FREQUENT, c.write(gauge("a", NOW)))  # the same point again
    good(c.write(gauge("a", NOW + 5)))
    c.control(spacing_s=10, frequent_code=9)
    reply = c.write(gauge("a", NOW + 14))
    refused(c, 15, FREQUENT, reply)
    assert reply.json["error"]["status"] == "FAILED_PRECONDITION"
    good(c.write(gauge("a", NOW + 15)))


def test_16_order(c: Client) -> None:
    good(c.write(gauge("a", NOW), total("c", NOW - 100, NOW, 9)))
    each(c, 16, [(gauge("a", NOW - 60), OLDER), (total("c", NOW - 100, NOW - 60, 5), OLDER), (total("c", NOW - 200, NOW + 60, 5), OLDER.replace("end", "start")),
                 (total("c", NOW, NOW + 60, 5), OLDER.replace("end", "start"))])
    good(c.write(total("c", NOW - 100, NOW + 60, 10)))
    good(c.write(total("c", NOW + 60.001, NOW + 120, 1)))  # began anew
    c.control(spacing_s=0)
    good(c.write(gauge("a", NOW + 0.001)))
    each(c, 16, [(gauge("a", NOW + 0.001), OLDER)])
    each(c, 15, [(gauge("a", NOW + 0.0015), FREQUENT)])  # a millisecond at least


def test_17_distribution(c: Client) -> None:
    s = distribution("d", NOW, [1.0, 2.0], [1, 0, 2])
    def of(path: str, value: Any) -> dict[str, Any]:
        return changed(s, "points/0/value/distributionValue" + path, value)
    base = s["points"][0]["value"]["distributionValue"]
    each(c, 17, [
        (of("/count", "4"), "must equal the sum of |bucket_counts| (3)"), (of("/bucketCounts", ["1", "1", "1", "0"]), "bucket counts"),
        (of("/bucketOptions/explicitBuckets/bounds", [2.0, 2.0]), "strictly increasing"), (of("/bucketOptions/explicitBuckets/bounds", []), "bounds"),
        (of("/bucketOptions", ...), "exactly one of"), (of("/bucketOptions", {}), "exactly one of"), (of("/count", ...), "must equal"),
        (of("", {**base, "count": "0", "bucketCounts": [], "mean": 1.0}), "zero |mean|"), (of("/bucketCounts", ["-1", "2", "2"]), "negative"),
        (of("", {**base, "count": "0", "bucketCounts": [], "mean": 0, "range": {}}), "no |range|"),
        (of("/bucketOptions", {"linearBuckets": {"numFiniteBuckets": 1, "width": 0}}), "invalid"),
        (of("/bucketOptions", {"exponentialBuckets": {"numFiniteBuckets": 1, "growthFactor": 1, "scale": 1}}), "invalid"),
        (of("/sumOfSquaredDeviation", -1), "negative"), (of("/range", {"min": 2, "max": 1}), "range"),
        (distribution("d", NOW, [float(i) for i in range(200)], [1]), "200"),
    ])
    each(c, 4, [(of("/bucketOptions", {"linearBuckets": {"numFiniteBuckets": 1, "width": 1}, "explicitBuckets": {"bounds": [1]}}), "oneof")])
    good(c.write(s, distribution("e", NOW, [1.0], []), distribution("f", NOW, [1.0, 2.0], [5])))
    good(c.write(changed(of("/bucketOptions", {"linearBuckets": {"numFiniteBuckets": 1, "width": 1}}), "metric/type", "custom.googleapis.com/l")))


def test_18_types_of_values(c: Client) -> None:
    def of(name: str, **value: Any) -> dict[str, Any]:
        return changed(gauge(name, NOW), "points/0/value", value)
    each(c, 18, [({**total("c", NOW - 10, NOW), "points": [{**total("c", NOW - 10, NOW)["points"][0], "value": {"boolValue": True}}]},
                  "must be GAUGE, but is CUMULATIVE"), (of("none"), "value is required"), (of("s", stringValue="x"), "STRING")])
    each(c, 12, [({**gauge("m", NOW), "valueType": "MONEY"}, "MONEY")])
    assert c.describe({"type": "custom.googleapis.com/gp_bpf/s", "metricKind": "GAUGE", "valueType": "STRING"}).status == 200
    good(c.write(of("s", stringValue="x"), of("b", boolValue=False), of("d", doubleValue=0)))
    assert {next(iter(s["points"][0]["value"])) for s in c.stored()} == {"stringValue", "boolValue", "doubleValue"}


def test_19_each_series_by_itself(c: Client) -> None:
    good(c.write(*[gauge(n, NOW) for n in "abcdef"]))
    late = [gauge("a", NOW + 10), gauge("b", NOW + 1), gauge("c", NOW + 2), gauge("d", NOW + 10), gauge("e", NOW - 10), gauge("f", NOW + 2)]
    reply = c.write(*late)
    refused(c, 15, f"One or more TimeSeries could not be written: {FREQUENT}: timeSeries[1-2,5]; {OLDER}: timeSeries[4]", reply)
    assert reply.json["error"]["details"] == [{
        "@type": "type.googleapis.com/google.monitoring.v3.CreateTimeSeriesSummary", "totalPointCount": 6, "successPointCount": 2,
        "errors": [{"status": {"code": 3, "message": FREQUENT}, "pointCount": 3}, {"status": {"code": 3, "message": OLDER}, "pointCount": 1}]}]
    assert sum(len(s["points"]) for s in c.stored()) == 8
    assert [r["rule"] for r in c.journal()[-1]["series"]] == [0, 15, 15, 0, 16, 15]
    reply = c.write(gauge("b", NOW + 1))
    assert "successPointCount" not in reply.json["error"]["details"][0], reply  # proto3: 0 is absent
    c.control(form="plain")
    assert c.write(gauge("b", NOW + 1)).json["error"]["message"].endswith(FREQUENT)
    c.control(form="resource")
    assert "timeSeries[0]: write for resource=global{} failed with: " + FREQUENT in c.write(gauge("b", NOW + 1)).text


def test_20_labels_of_the_goodput_library(c: Client) -> None:
    a = {"accelerator_type": "NVIDIA-H100"}
    each(c, 20, [
        (library("goodput_time", NOW, **a), "Missing labels: (goodput_source)."), (library("goodput_time", NOW, **a, goodput_source="SUM"), "SUM"),
        (library("goodput_time", NOW, **a, goodput_source="TOTAL", job="j"), "Unrecognized metric labels: (job)."),
        (library("performance", NOW, cluster_name="c"), "Unrecognized metric labels: (cluster_name)."),
        (library("disruptions", NOW, 1, **a, window_type="CUMULATIVE"), "window_type"),
        (library("stepping_slice_efficiency", NOW, **a, window_type="cumulative", rolling_window_size="0"), "window_type"),
        (library("interval_goodput", NOW, **a, goodput_source="TOTAL", rolling_window_size="1d"), "rolling_window_size"),
        (library("badput_time", NOW, **a, badput_source="NONE"), "badput_source"), (library("badput_time", NOW, **a, badput_source="OTHER."), "badput_source"),
        (library("step_time_deviation", NOW, accelerator_type=""), "accelerator_type"),
        ({**library("performance", NOW), "resource": {"type": "global"}}, "is not written for resource global"),
    ])
    each(c, 12, [(library("disruptions", NOW, 1.0, **a, window_type="cumulative"), "must be INT64, but is DOUBLE"),
                 ({**library("performance", NOW), "metricKind": "CUMULATIVE"}, "must be GAUGE, but is CUMULATIVE")])
    good(c.write(library("performance", NOW), library("badput_time", NOW, **a, badput_source="CUSTOM_BADPUT_EVENTS.EVAL", cluster_name="c"),
                 library("disruptions", NOW, 1, **a, window_type="cumulative"), library("total_elapsed_time", NOW, **a, window_type="cumulative"),
                 library("interval_badput", NOW, **a, badput_source="OTHER", rolling_window_size="86400"),
                 library("available_slice_efficiency", NOW, **a, window_type="INTERVAL", rolling_window_size="600")))


def test_21_cumulative_does_not_fall(c: Client) -> None:
    kind = {"metricKind": "CUMULATIVE"}
    start = time_text((NOW - 100) * 10**9)
    def spread(at: float, counts: list[int]) -> dict[str, Any]:
        return {**changed(distribution("d", at, [1.0, 2.0], counts), "points/0/interval/startTime", start), **kind}
    good(c.write(total("c", NOW - 100, NOW, 9), spread(NOW, [1, 2, 3])))
    each(c, 21, [(total("c", NOW - 100, NOW + 10, 8), "fell"), (spread(NOW + 10, [1, 1, 9]), "fell"), (spread(NOW + 10, [9]), "fell")])
    good(c.write(total("c", NOW - 100, NOW + 10, 9), spread(NOW + 10, [1, 2, 4])))
    good(c.write(total("c", NOW + 20, NOW + 30, 1)))


def test_1_project(_: Client) -> None:
    with started(["--project", "demo-project"]) as c:
        c.control(now=NOW)
        good(c.write(gauge("a", NOW)))
        refused(c, 1, "denied (or the resource may not exist)", c.post("/v3/projects/other-project/timeSeries", {"timeSeries": [gauge("a", NOW)]}), 403)


def test_4_tables_are_those_of_the_protos(_: Client) -> str | None:
    """Messages and enums as Google's own types have them."""
    found = google_types()
    if not found:
        return "no google-cloud-monitoring (tests/tools/framework.sh google)"
    pool = found.pool
    scalars = {9: "string", 8: "bool", 3: "int64", 5: "int32", 1: "double"}
    special = {"google.protobuf.Timestamp": "time", "google.protobuf.Duration": "duration", "google.protobuf.Struct": "struct",
               "google.protobuf.Any": "struct"}
    for name, fields in MESSAGES.items():
        theirs = {}
        for f in pool.FindMessageTypeByName(name).fields:
            kind = scalars.get(f.type) or (f.message_type or f.enum_type).full_name
            repeated = f.is_repeated and not (f.message_type and f.message_type.GetOptions().map_entry)
            form = "map" if f.message_type and f.message_type.GetOptions().map_entry else special.get(kind, kind)
            theirs[f.json_name] = ("*" if repeated else "|" if f.containing_oneof else "") + form
        assert theirs == fields, (name, theirs)
    for name, numbers in ENUMS.items():
        theirs = {v.name: v.number for v in pool.FindEnumTypeByName(name).values}
        assert theirs == numbers, (name, theirs)
    return None


if __name__ == "__main__":
    sys.exit(run(globals()))
