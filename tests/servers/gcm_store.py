# SPDX-License-Identifier: Apache-2.0
"""What a stand-in of Cloud Monitoring holds, and the rules by which it takes a point. Numbers of rules are those of
monitoring.py; texts that the service is known to say are its own. Not safe for threads: the server has a lock."""
from __future__ import annotations

import dataclasses
import re
from typing import Any

import gcm_known as known
from gcm_json import time_text

MS = 10**6
S = 10**9
CODES = {3: (400, "INVALID_ARGUMENT"), 5: (404, "NOT_FOUND"), 7: (403, "PERMISSION_DENIED"), 9: (400, "FAILED_PRECONDITION"),
         8: (429, "RESOURCE_EXHAUSTED"), 13: (500, "INTERNAL"), 14: (503, "UNAVAILABLE"), 4: (504, "DEADLINE_EXCEEDED"),
         16: (401, "UNAUTHENTICATED"), 12: (501, "UNIMPLEMENTED"), 1: (499, "CANCELLED")}
MORE_FREQUENTLY = ("One or more points were written more frequently than the maximum sampling period configured for the "
                   "metric.")
OLDER = "Points must be written in order. One or more of the points specified had an older {} time than the most recent point."
VALUES = {"boolValue": "BOOL", "int64Value": "INT64", "doubleValue": "DOUBLE", "stringValue": "STRING",
          "distributionValue": "DISTRIBUTION"}


class Refused(Exception):
    """By a rule: the number of it, google.rpc.Code, the text."""

    def __init__(self, rule: int, text: str, code: int = 3):
        super().__init__(text)
        self.rule, self.text, self.code = rule, text, code


@dataclasses.dataclass
class Verdict:
    """Of one series of a request; rule 0: written."""
    index: int
    rule: int = 0
    code: int = 0
    text: str = ""


@dataclasses.dataclass
class Point:
    start_ns: int
    end_ns: int
    value: dict[str, Any]


@dataclasses.dataclass
class Series:
    metric: dict[str, Any]
    resource: dict[str, Any]
    kind: str
    type: str
    points: list[Point]


@dataclasses.dataclass
class Limits:
    spacing_ns: int = 5 * S
    past_ns: int = 25 * 3600 * S
    future_ns: int = 300 * S
    async_ns: int = 0  # a descriptor is usable that much after its creation
    buckets: int = 200
    frequent_code: int = 3  # the service has been seen to say 9 as well


def series_key(series: dict[str, Any]) -> str:
    """What tells series apart; an empty label is an absent one."""
    metric, resource = series.get("metric", {}), series.get("resource", {})
    text = [metric.get("type", ""), resource.get("type", "")]
    for owner in (metric, resource):
        labels = {k: v for k, v in owner.get("labels", {}).items() if v and (owner is metric or k != "project_id")}
        text.append(repr(sorted(labels.items())))
    return "\0".join(text)


def distribution_problem(d: dict[str, Any], most: int) -> str | None:
    """Invariants of google/api/distribution.proto."""
    counts, options = d.get("bucketCounts", []), d.get("bucketOptions", {})
    count, mean, squares = d.get("count", 0), d.get("mean", 0.0), d.get("sumOfSquaredDeviation", 0.0)
    if count < 0 or any(c < 0 for c in counts):
        return "Distribution counts must not be negative."
    if len(options) != 1:
        return "Distribution must have exactly one of linear, exponential and explicit bucket options."
    if count != sum(counts):
        return f"Distribution |count| ({count}) must equal the sum of |bucket_counts| ({sum(counts)})."
    if not count and (mean or squares or "range" in d):
        return "Distribution with count 0 must have zero |mean| and |sum_of_squared_deviation|, and no |range|."
    if squares < 0:
        return "Distribution |sum_of_squared_deviation| must not be negative."
    form, row = next(iter(options.items()))
    if form == "explicitBuckets":
        bounds = row.get("bounds", [])
        if not bounds or any(a >= b for a, b in zip(bounds, bounds[1:])):
            return "Distribution |bounds| must be strictly increasing, and one at least."
        room = len(bounds) + 1
    else:
        room = row.get("numFiniteBuckets", 0) + 2
        good = row.get("width", 0) > 0 if form == "linearBuckets" else row.get("growthFactor", 0) > 1 and row.get("scale", 0) > 0
        if room < 3 or not good:
            return f"Distribution |{form}| are invalid."
    if len(counts) > room or room > most:
        return f"Distribution has {len(counts)} bucket counts; {min(room, most)} are possible."
    between = d.get("range")
    if between and between.get("min", 0.0) > between.get("max", 0.0):
        return "Distribution |range| is invalid."
    return None


def fallen(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """A cumulative value that is less than it was."""
    kind = next(iter(before))
    old, new = before[kind], after[kind]
    if kind != "distributionValue":
        return new < old
    if old.get("bucketOptions") != new.get("bucketOptions"):
        return False
    counts = new.get("bucketCounts", [])
    counts = counts + [0] * len(old.get("bucketCounts", []))
    return new.get("count", 0) < old.get("count", 0) or any(a < b for a, b in zip(counts, old.get("bucketCounts", [])))


class Store:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.descriptors: dict[str, dict[str, Any]] = {}  # by project and type
        self.usable_ns: dict[str, int] = {}
        self.series: dict[str, Series] = {}

    # ---- descriptors -----------------------------------------------------------------------------------------------

    def create_descriptor(self, project: str, given: dict[str, Any], real_ns: int) -> dict[str, Any]:
        """A new one, or labels added to an old one."""
        kind, value, name = given.get("metricKind", ""), given.get("valueType", ""), given.get("type", "")
        self.check_type(name, "type")
        if name.startswith(known.WORKLOAD):
            raise Refused(9, f'Metric type "{name}" is predefined: its descriptor cannot be created or modified.')
        if kind not in ("GAUGE", "CUMULATIVE"):
            raise Refused(12, f'Field metricDescriptor.metricKind had an invalid value of "{kind}": must be GAUGE or CUMULATIVE.')
        if value in ("", "MONEY"):
            raise Refused(18, f'Field metricDescriptor.valueType had an invalid value of "{value}".')
        if value in ("STRING", "BOOL") and kind != "GAUGE":
            raise Refused(18, f'Field metricDescriptor.valueType had an invalid value of "{value}": only of a GAUGE.')
        labels = {row.get("key", ""): row for row in given.get("labels", [])}
        if len(labels) != len(given.get("labels", [])):
            raise Refused(11, "Field metricDescriptor.labels had an invalid value: a key is there twice.")
        self.check_labels(name, {key: "" for key in labels})
        if re.search(r"\s", re.sub(r"\{[^}]*\}", "", given.get("unit", ""))):
            raise Refused(12, f'Field metricDescriptor.unit had an invalid value of "{given["unit"]}".')
        old = self.descriptors.get(project + "\0" + name)
        if old:
            self.check_match(old, kind, value, name)
            for row in old.get("labels", []):
                labels.setdefault(row["key"], row)
        else:
            self.usable_ns[project + "\0" + name] = real_ns + self.limits.async_ns
        made = {**given, "name": f"projects/{project}/metricDescriptors/{name}", "labels": list(labels.values())}
        self.descriptors[project + "\0" + name] = made
        return made

    def descriptor(self, project: str, name: str) -> dict[str, Any]:
        found = self.descriptors.get(project + "\0" + name)
        if not found and name.startswith(known.WORKLOAD) and name[len(known.WORKLOAD):] in known.LIBRARY:
            value, labels = known.LIBRARY[name[len(known.WORKLOAD):]]
            rows = [{"key": k, **({"valueType": "INT64"} if k == "rolling_window_size" else {})} for k in [*labels, "cluster_name"]]
            found = {"name": f"projects/{project}/metricDescriptors/{name}", "type": name, "metricKind": "GAUGE",
                     "valueType": value, "labels": rows}
        if not found:
            raise Refused(0, f"Could not find descriptor for metric '{name}'.", 5)
        return found

    def delete_descriptor(self, project: str, name: str) -> None:
        if project + "\0" + name not in self.descriptors:
            raise Refused(0, f"Could not find descriptor for metric '{name}'.", 5)
        del self.descriptors[project + "\0" + name]
        self.series = {k: s for k, s in self.series.items()
                       if not (k.startswith(project + "\0") and s.metric.get("type") == name)}

    # ---- the rules of a series -------------------------------------------------------------------------------------

    def check_type(self, name: str, field: str) -> None:
        if not known.TYPE.match(name) or len(name) > known.TYPE_MAX:
            raise Refused(9, f'Field {field} had an invalid value of "{name}": The metric type must be a URL-formatted string '
                             "with a domain and non-empty path.")
        if name.startswith(known.WORKLOAD):
            if name[len(known.WORKLOAD):] not in known.LIBRARY:
                raise Refused(9, f'Field {field} had an invalid value of "{name}": Unrecognized metric type.')
        elif not name.startswith(known.PREFIXES):
            raise Refused(9, f'Field {field} had an invalid value of "{name}": User metrics must start with one of '
                             f"{', '.join(known.PREFIXES)}.")

    def check_labels(self, name: str, labels: dict[str, str]) -> None:
        if len(labels) > known.LABELS_MAX:
            raise Refused(11, f"The new labels would cause the metric {name} to have over {known.LABELS_MAX} labels.")
        for key, value in labels.items():
            if not known.LABEL_KEY.match(key) or len(key) > known.KEY_MAX:
                raise Refused(11, f'Metric label key "{key}" is invalid.')
            if len(value.encode()) > known.VALUE_MAX:
                raise Refused(11, f"Metric label {key} has a value of over {known.VALUE_MAX} bytes.")

    def check_match(self, row: dict[str, Any], kind: str, value: str, name: str) -> None:
        if kind and kind != row["metricKind"]:
            raise Refused(12, f"Metric kind for metric {name} must be {row['metricKind']}, but is {kind}.")
        if value and value != row["valueType"]:
            raise Refused(12, f"Value type for metric {name} must be {row['valueType']}, but is {value}.")

    def check_descriptor(self, project: str, series: dict[str, Any], value: str, real_ns: int) -> tuple[str, dict | None]:
        """Kind of the series; a descriptor that its first point makes, or None."""
        metric, name = series["metric"], series["metric"]["type"]
        labels, kind, said = metric.get("labels", {}), series.get("metricKind", ""), series.get("valueType", "")
        if said and said != value:
            raise Refused(12, f"Value type for metric {name} must be {said}, but is {value}.")
        if name.startswith(known.WORKLOAD):
            problem = known.library_labels(name[len(known.WORKLOAD):], labels)
            if problem:
                raise Refused(20, problem)
            if series["resource"]["type"] != known.WORKLOAD_RESOURCE:
                raise Refused(20, f"Metric {name} is not written for resource {series['resource']['type']}.")
        elif series["resource"]["type"] == known.WORKLOAD_RESOURCE:
            raise Refused(10, f"Resource {known.WORKLOAD_RESOURCE} has no metric {name}.")
        try:
            row = self.descriptor(project, name)
        except Refused:
            if kind not in ("", "GAUGE", "CUMULATIVE"):
                raise Refused(12, f"Metric kind for metric {name} must be GAUGE, but is {kind}.") from None
            if value == "STRING":
                raise Refused(18, f"Metric {name} has no descriptor, and none is made for values of type STRING.") from None
            rows = [{"key": key} for key in labels]
            row = {"name": f"projects/{project}/metricDescriptors/{name}", "type": name, "metricKind": kind or "GAUGE",
                   "valueType": value, "unit": series.get("unit", ""), "description": "Auto-created custom metric.",
                   "labels": rows}
            return row["metricKind"], row
        if self.usable_ns.get(project + "\0" + name, 0) > real_ns:
            raise Refused(23, "An internal error occurred.", 13)
        self.check_match(row, kind, value, name)
        if not name.startswith(known.WORKLOAD):
            unknown = sorted(set(labels) - {r["key"] for r in row.get("labels", [])})
            if unknown:
                raise Refused(12, f"Unrecognized metric labels: ({' '.join(unknown)}).")
        for r in row.get("labels", []):
            if r.get("valueType") == "INT64" and not re.fullmatch(r"-?\d+|", labels.get(r["key"], ""), re.ASCII):
                raise Refused(12, f'Metric label {r["key"]} has an invalid value of "{labels[r["key"]]}".')
        for field in ("unit", "description"):
            if series.get(field) and row.get(field) and series[field] != row[field]:
                raise Refused(12, f"The {field} of metric {name} cannot be changed.")
        return row["metricKind"], None

    def check_interval(self, at: str, name: str, kind: str, interval: dict[str, int], now_ns: int) -> Point:
        """Times of one point by themselves."""
        end, start = interval.get("endTime"), interval.get("startTime")
        if end is None:
            raise Refused(13, f'Field {at}.end_time had an invalid value of "": The end time is required.')
        begun = "" if start is None else time_text(start)
        if kind == "GAUGE" and start not in (None, end):
            raise Refused(13, f'Field {at}.start_time had an invalid value of "{begun}": The start time must be equal to the '
                              f"end time ({time_text(end)}) for the gauge metric '{name}'.")
        if kind != "GAUGE" and (start is None or start >= end):
            raise Refused(13, f'Field {at}.start_time had an invalid value of "{begun}": The start time must be before the '
                              f"end time ({time_text(end)}) for the non-gauge metric '{name}'.")
        if end < now_ns - self.limits.past_ns:
            raise Refused(14, f'Field {at}.end_time had an invalid value of "{time_text(end)}": Data points cannot be written '
                              "more than 24h in the past.")
        if end > now_ns + self.limits.future_ns:
            raise Refused(14, f'Field {at}.end_time had an invalid value of "{time_text(end)}": Data points cannot be written '
                              "more than 5m in the future.")
        return Point(end if start is None else start, end, {})

    def check_order(self, kind: str, old: Point, new: Point) -> None:
        """Against the newest that is there."""
        if kind == "CUMULATIVE" and new.start_ns != old.start_ns and new.start_ns < old.end_ns + MS:
            raise Refused(16, OLDER.format("start"))
        if new.end_ns < old.end_ns or new.end_ns == old.end_ns and not self.limits.spacing_ns:
            raise Refused(16, OLDER.format("end"))
        if new.end_ns < old.end_ns + max(self.limits.spacing_ns, MS):
            raise Refused(15, MORE_FREQUENTLY, self.limits.frequent_code)
        if kind == "CUMULATIVE" and new.start_ns == old.start_ns and fallen(old.value, new.value):
            raise Refused(21, "A cumulative value fell while its start time stayed.")

    def take(self, project: str, index: int, series: dict[str, Any], now_ns: int, real_ns: int) -> None:
        """Writes it, or raises Refused."""
        at = f"timeSeries[{index}]"
        points, name = series.get("points", []), series.get("metric", {}).get("type", "")
        if len(points) != 1:
            raise Refused(7, f"Field {at}.points had an invalid value: Exactly one point must be written per TimeSeries "
                             f"per request; it has {len(points)}.")
        self.check_type(name, f"{at}.metric.type")
        problem = known.resource_problem(series.get("resource", {}), project)
        if problem:
            raise Refused(10, problem)
        self.check_labels(name, series["metric"].get("labels", {}))
        value = points[0].get("value", {})
        if not value:
            raise Refused(18, f"Field {at}.points[0].value had an invalid value: The value is required.")
        form = next(iter(value))
        kind, made = self.check_descriptor(project, series, VALUES[form], real_ns)
        if VALUES[form] in ("STRING", "BOOL") and kind != "GAUGE":
            raise Refused(18, f"Metric kind for metric {name} must be GAUGE, but is {kind}.")
        point = self.check_interval(f"{at}.points[0].interval", name, kind, points[0].get("interval", {}), now_ns)
        point.value = value
        if form == "distributionValue":
            problem = distribution_problem(value[form], self.limits.buckets)
            if problem:
                raise Refused(17, f"Field {at}.points[0].distributionValue had an invalid value: {problem}")
        key = project + "\0" + series_key(series)
        before = self.series.get(key)
        if before:
            self.check_order(kind, before.points[-1], point)
            before.points.append(point)
        else:
            self.series[key] = Series(series["metric"], series["resource"], kind, VALUES[form], [point])
        if made:
            self.descriptors[project + "\0" + name] = made

    def write(self, project: str, request: dict[str, Any], now_ns: int, real_ns: int,
              spare: "dict[int, Refused] | None" = None) -> list[Verdict]:
        """A request as a whole: each series by itself. spare: those that a fault has refused already."""
        verdicts, seen = [], set()
        for index, series in enumerate(request["timeSeries"]):
            try:
                key = series_key(series)
                if key in seen:
                    raise Refused(8, f"Field timeSeries[{index}] had an invalid value: Duplicate TimeSeries encountered. "
                                     "Only one point can be written per TimeSeries per request.")
                seen.add(key)
                if spare and index in spare:
                    raise spare[index]
                self.take(project, index, series, now_ns, real_ns)
                verdicts.append(Verdict(index))
            except Refused as e:
                verdicts.append(Verdict(index, e.rule, e.code, e.text))
        return verdicts
