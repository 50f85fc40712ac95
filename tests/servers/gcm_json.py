# SPDX-License-Identifier: Apache-2.0
"""Strict proto3 JSON of the messages of Cloud Monitoring that are written: google/monitoring/v3/{metric,metric_service,
common}.proto, google/api/{metric,label,distribution,monitored_resource}.proto. What is not in a message is refused, in
the words of Google's own front end. Where PyPI's google-cloud-monitoring is, its types have to agree (google_judge).

A decoded message is a dict by JSON names: integers are int, times int ns since 1970, enums their names, absent fields
absent; scalars that are their type's zero are absent too, but for the members of a oneof."""
from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import re
import sys
from typing import Any, Callable

KINDS = ("METRIC_KIND_UNSPECIFIED", "GAUGE", "DELTA", "CUMULATIVE")
TYPES = ("VALUE_TYPE_UNSPECIFIED", "BOOL", "INT64", "DOUBLE", "STRING", "DISTRIBUTION", "MONEY")
LABEL_TYPES = ("STRING", "BOOL", "INT64")
STAGES = {"LAUNCH_STAGE_UNSPECIFIED": 0, "UNIMPLEMENTED": 6, "PRELAUNCH": 7, "EARLY_ACCESS": 1, "ALPHA": 2, "BETA": 3,
          "GA": 4, "DEPRECATED": 5}
LEVELS = ("TIME_SERIES_RESOURCE_HIERARCHY_LEVEL_UNSPECIFIED", "PROJECT", "ORGANIZATION", "FOLDER")
ENUMS: dict[str, dict[str, int]] = {
    "google.api.MetricDescriptor.MetricKind": {n: i for i, n in enumerate(KINDS)},
    "google.api.MetricDescriptor.ValueType": {n: i for i, n in enumerate(TYPES)},
    "google.api.LabelDescriptor.ValueType": {n: i for i, n in enumerate(LABEL_TYPES)},
    "google.api.LaunchStage": STAGES,
    "google.api.MetricDescriptor.MetricDescriptorMetadata.TimeSeriesResourceHierarchyLevel":
        {n: i for i, n in enumerate(LEVELS)},
}
# Field: its type; "*" before it: repeated; "|" before it: of the message's oneof; "map": of strings.
MESSAGES: dict[str, dict[str, str]] = {
    "google.monitoring.v3.CreateTimeSeriesRequest": {"name": "string", "timeSeries": "*google.monitoring.v3.TimeSeries"},
    "google.monitoring.v3.TimeSeries": {
        "metric": "google.api.Metric", "resource": "google.api.MonitoredResource",
        "metadata": "google.api.MonitoredResourceMetadata", "metricKind": "google.api.MetricDescriptor.MetricKind",
        "valueType": "google.api.MetricDescriptor.ValueType", "points": "*google.monitoring.v3.Point", "unit": "string",
        "description": "string"},
    "google.api.Metric": {"type": "string", "labels": "map"},
    "google.api.MonitoredResource": {"type": "string", "labels": "map"},
    "google.api.MonitoredResourceMetadata": {"systemLabels": "struct", "userLabels": "map"},
    "google.monitoring.v3.Point": {"interval": "google.monitoring.v3.TimeInterval",
                                   "value": "google.monitoring.v3.TypedValue"},
    "google.monitoring.v3.TimeInterval": {"endTime": "time", "startTime": "time"},
    "google.monitoring.v3.TypedValue": {"boolValue": "|bool", "int64Value": "|int64", "doubleValue": "|double",
                                        "stringValue": "|string", "distributionValue": "|google.api.Distribution"},
    "google.api.Distribution": {
        "count": "int64", "mean": "double", "sumOfSquaredDeviation": "double", "range": "google.api.Distribution.Range",
        "bucketOptions": "google.api.Distribution.BucketOptions", "bucketCounts": "*int64",
        "exemplars": "*google.api.Distribution.Exemplar"},
    "google.api.Distribution.Range": {"min": "double", "max": "double"},
    "google.api.Distribution.BucketOptions": {"linearBuckets": "|google.api.Distribution.BucketOptions.Linear",
                                              "exponentialBuckets": "|google.api.Distribution.BucketOptions.Exponential",
                                              "explicitBuckets": "|google.api.Distribution.BucketOptions.Explicit"},
    "google.api.Distribution.BucketOptions.Linear": {"numFiniteBuckets": "int32", "width": "double", "offset": "double"},
    "google.api.Distribution.BucketOptions.Exponential": {"numFiniteBuckets": "int32", "growthFactor": "double",
                                                          "scale": "double"},
    "google.api.Distribution.BucketOptions.Explicit": {"bounds": "*double"},
    "google.api.Distribution.Exemplar": {"value": "double", "timestamp": "time", "attachments": "*struct"},
    "google.api.MetricDescriptor": {
        "name": "string", "type": "string", "labels": "*google.api.LabelDescriptor",
        "metricKind": "google.api.MetricDescriptor.MetricKind", "valueType": "google.api.MetricDescriptor.ValueType",
        "unit": "string", "description": "string", "displayName": "string",
        "metadata": "google.api.MetricDescriptor.MetricDescriptorMetadata", "launchStage": "google.api.LaunchStage",
        "monitoredResourceTypes": "*string"},
    "google.api.LabelDescriptor": {"key": "string", "valueType": "google.api.LabelDescriptor.ValueType",
                                   "description": "string"},
    "google.api.MetricDescriptor.MetricDescriptorMetadata": {
        "launchStage": "google.api.LaunchStage", "samplePeriod": "duration", "ingestDelay": "duration",
        "timeSeriesResourceHierarchyLevel":
            "*google.api.MetricDescriptor.MetricDescriptorMetadata.TimeSeriesResourceHierarchyLevel"},
}
REQUEST = "google.monitoring.v3.CreateTimeSeriesRequest"
DESCRIPTOR = "google.api.MetricDescriptor"
INTEGERS = {"int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1)}
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?\Z", re.ASCII)


class Invalid(ValueError):
    """Not a message of that type; the text is the service's."""


def snake(name: str) -> str:
    return re.sub("([A-Z])", lambda m: "_" + m[1].lower(), name)


def time_ns(text: Any) -> int | None:
    """RFC 3339 with a zone, years 1 to 9999; None: it is none."""
    m = TIME.match(text) if isinstance(text, str) else None
    if not m or not m[8]:
        return None
    try:
        year, month, day, hour, minute, second = (int(g) for g in m.groups()[:6])
        at = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.timezone.utc)
        if m[8] != "Z":
            zone = datetime.timedelta(hours=int(m[8][1:3]), minutes=int(m[8][4:6]))
            at -= zone if m[8][0] == "+" else -zone
    except (ValueError, OverflowError):
        return None
    since = at - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (since.days * 86400 + since.seconds) * 10**9 + int((m[7] or "0").ljust(9, "0"))


def time_text(ns: int) -> str:
    at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=ns // 10**9)
    part = f".{ns % 10**9:09d}".rstrip("0") if ns % 10**9 else ""
    return f"{at:%Y-%m-%dT%H:%M:%S}{part}Z"


def shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:200]


def refuse_value(at: str, kind: str, value: Any, more: str = "") -> Invalid:
    return Invalid(f"Invalid value at '{at}' ({kind}), {more or shown(value)}")


def scalar(kind: str, value: Any, at: str) -> Any:
    """A value of a scalar type, checked."""
    if kind == "string" and isinstance(value, str):
        return value
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind in INTEGERS:
        whole = value if isinstance(value, int) and not isinstance(value, bool) else None
        if isinstance(value, str) and re.fullmatch(r"-?(0|[1-9]\d*)", value, re.ASCII):
            whole = int(value)
        if whole is not None and INTEGERS[kind][0] <= whole <= INTEGERS[kind][1]:
            return whole
    # proto3 JSON has "NaN" and "Infinity"; what is written to Cloud Monitoring is finite.
    if kind == "double" and isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            if math.isfinite(float(value)):
                return float(value)
        except OverflowError:
            pass
    if kind == "time":
        ns = time_ns(value)
        if ns is not None:
            return ns
        zone = isinstance(value, str) and TIME.match(value)
        raise refuse_value(at, "type.googleapis.com/google.protobuf.Timestamp", value,
                           f"Field '{at.rsplit('.', 1)[-1]}', " + (
                               "Illegal timestamp format; timestamps must end with 'Z' or have a valid timezone offset."
                               if zone else f"Invalid time format: {shown(value)[1:-1]}"))
    if kind == "duration" and isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d{1,9})?s", value, re.ASCII):
        return value
    if kind in ENUMS:
        if isinstance(value, str) and value in ENUMS[kind]:
            return value
        names = {number: name for name, number in ENUMS[kind].items()}
        if isinstance(value, int) and not isinstance(value, bool) and value in names:
            return names[value]
        raise refuse_value(at, "type.googleapis.com/" + kind, value)
    raise refuse_value(at, "TYPE_" + kind.upper(), value)


def is_zero(kind: str, value: Any) -> bool:
    return kind not in ("time", "duration") and (value in ("", 0, False) or kind in ENUMS and ENUMS[kind][value] == 0)


def one(kind: str, value: Any, at: str) -> Any:
    if kind == "map":
        if not isinstance(value, dict):
            raise refuse_value(at, "Map", value)
        return {k: scalar("string", v, f"{at}[{k}].value") for k, v in value.items()}
    if kind == "struct":
        if not isinstance(value, dict):
            raise refuse_value(at, "type.googleapis.com/google.protobuf.Struct", value)
        return value
    return message(kind, value, at) if kind in MESSAGES else scalar(kind, value, at)


def message(kind: str, value: Any, at: str = "") -> dict[str, Any]:
    """The message of that type that a JSON value is."""
    if not isinstance(value, dict):
        raise refuse_value(at, "type.googleapis.com/" + kind, value)
    fields = MESSAGES[kind]
    names = {snake(name): name for name in fields}
    out: dict[str, Any] = {}
    seen: set[str] = set()
    chosen = ""
    for key, item in value.items():
        name = key if key in fields else names.get(key)
        here = (at + "." if at else "") + snake(name or key)
        if name is None:
            where = f" at '{at}'" if at else ""
            raise Invalid(f'Invalid JSON payload received. Unknown name "{key}"{where}: Cannot find field.')
        if name in seen:
            raise Invalid(f'Invalid JSON payload received. Duplicate name "{key}"'
                          + (f" at '{at}'." if at else "."))
        seen.add(name)
        if item is None:  # null is absent
            continue
        form = fields[name]
        if form[0] == "*":
            if not isinstance(item, list):
                raise refuse_value(here, "List", item)
            items = [one(form[1:], v, f"{here}[{i}]") for i, v in enumerate(item)]
            if items:
                out[name] = items
            continue
        if form[0] == "|":
            if chosen:
                raise Invalid(f"Invalid value at '{at}' (oneof), oneof field '{chosen}' is already set. "
                              f"Cannot set '{name}'")
            chosen = name
        got = one(form.lstrip("|"), item, here)
        if form[0] == "|" or form in MESSAGES or (form != "map" and not is_zero(form, got)) or (form == "map" and got):
            out[name] = got
    return out


def no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise Invalid(f'Invalid JSON payload received. Duplicate name "{key}".')
        out[key] = value
    return out


def no_constant(text: str) -> Any:
    raise Invalid(f"Invalid JSON payload received. Unexpected token.\n{text}\n^")


def whole_text(value: Any) -> None:
    """No lone surrogates: they are no text."""
    json.dumps(value, ensure_ascii=False).encode("utf-8")


def load(body: bytes) -> Any:
    """JSON as RFC 8259 has it: UTF-8, no name twice, no NaN."""
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=no_twice, parse_constant=no_constant)
        whole_text(value)
        return value
    except Invalid:
        raise
    except UnicodeError:
        raise Invalid("Invalid JSON payload received. Payload is not valid UTF-8.") from None
    except (ValueError, RecursionError) as e:
        raise Invalid(f"Invalid JSON payload received. Unexpected token.\n{e}") from None


Judge = Callable[[str, bytes, "dict[str, Any] | None"], None]


@dataclasses.dataclass
class GoogleTypes:
    request: Any  # makes an empty CreateTimeSeriesRequest
    descriptor: Any
    json_format: Any
    pool: Any  # of descriptors


def google_types() -> GoogleTypes | None:
    """Of PyPI's google-cloud-monitoring. None: it is not installed."""
    here, path = os.path.dirname(os.path.abspath(__file__)), sys.path[:]
    try:
        sys.path[:] = [p for p in path if os.path.abspath(p) != here]  # our google.py is none of theirs
        from google.cloud.monitoring_v3.types import CreateTimeSeriesRequest
        from google.api.metric_pb2 import MetricDescriptor
        from google.protobuf import descriptor_pool, json_format
    except ImportError:
        return None
    finally:
        sys.path[:] = path
    return GoogleTypes(lambda: CreateTimeSeriesRequest.pb(CreateTimeSeriesRequest()), MetricDescriptor, json_format,
                       descriptor_pool.Default())


def google_judge() -> Judge | None:
    """Google's own types as a second opinion of a body: it raises Invalid where they refuse what was decoded here, or
    decode it differently. None: they are not installed."""
    types = google_types()
    if not types:
        return None
    make = {REQUEST: types.request, DESCRIPTOR: types.descriptor}

    def judge(kind: str, body: bytes, ours: dict[str, Any] | None) -> None:
        try:
            theirs = types.json_format.Parse(body.decode("utf-8"), make[kind](), ignore_unknown_fields=False)
        except (types.json_format.ParseError, UnicodeError) as e:
            raise Invalid(f"Invalid JSON payload received. Google's types: {e}") from None
        if ours is not None and message(kind, types.json_format.MessageToDict(theirs)) != ours:
            raise Invalid("The stand-in and Google's types do not agree on this body: the stand-in is wrong.")
    return judge
