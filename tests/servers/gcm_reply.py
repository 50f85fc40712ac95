# SPDX-License-Identifier: Apache-2.0
"""Replies of a stand-in of Cloud Monitoring: errors as Google's front end writes them, and what is read back."""
from __future__ import annotations

import re
from typing import Any

from gcm_json import time_text
from gcm_store import CODES, Refused, Series, Store, Verdict

FORMS = ("numbered", "plain", "resource")  # how a text says which series it means; "plain" does not, as of late
FILTER = re.compile(r'\s*(?:AND\s+)?(metric\.type|resource\.type|(?:metric|resource)\.labels?\.[A-Za-z0-9_]+)\s*=\s*'
                    r'(starts_with\()?"((?:[^"\\]|\\.)*)"\)?\s*', re.ASCII)


def error(code: int, text: str, details: list[dict[str, Any]] | None = None) -> tuple[int, dict[str, Any]]:
    """HTTP status and body of a google.rpc.Code."""
    status, name = CODES[code]
    body: dict[str, Any] = {"code": status, "message": text, "status": name}
    if details:
        body["details"] = details
    return status, {"error": body}


def ranges(numbers: list[int]) -> str:
    """[0, 1, 2, 5] as "0-2,5"."""
    out: list[list[int]] = []
    for n in numbers:
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def one_text(text: str, numbers: list[int], form: str, request: dict[str, Any]) -> str:
    if form == "plain":
        return text
    if form == "numbered":
        return f"{text}: timeSeries[{ranges(numbers)}]"
    resource = request["timeSeries"][numbers[0]].get("resource", {})
    labels = ",".join(f"{k}:{v}" for k, v in sorted(resource.get("labels", {}).items()))
    return f"timeSeries[{ranges(numbers)}]: write for resource={resource.get('type', '')}{{{labels}}} failed with: {text}"


def written(verdicts: list[Verdict], request: dict[str, Any], form: str) -> tuple[int, dict[str, Any]]:
    """{} when all were; else the error of the first that was not, with a summary of all."""
    failed = [v for v in verdicts if v.rule]
    if not failed:
        return 200, {}
    texts: dict[str, list[int]] = {}
    summary: dict[tuple[int, str], int] = {}
    for v in failed:
        texts.setdefault(v.text, []).append(v.index)
        summary[v.code, v.text] = summary.get((v.code, v.text), 0) + 1
    points = sum(max(len(s.get("points", [])), 1) for s in request["timeSeries"])
    detail: dict[str, Any] = {"@type": "type.googleapis.com/google.monitoring.v3.CreateTimeSeriesSummary",
                              "totalPointCount": points}
    if len(failed) < len(verdicts):
        detail["successPointCount"] = len(verdicts) - len(failed)
    detail["errors"] = [{"status": {"code": code, "message": text}, "pointCount": n} for (code, text), n in summary.items()]
    said = "; ".join(one_text(text, numbers, form, request) for text, numbers in texts.items())
    return error(failed[0].code, f"One or more TimeSeries could not be written: {said}", [detail])


def as_json(kind: str, value: Any) -> Any:
    """A decoded value as proto3 JSON has it."""
    if kind == "distributionValue":
        out = dict(value)
        if "count" in out:
            out["count"] = str(out["count"])
        if "bucketCounts" in out:
            out["bucketCounts"] = [str(n) for n in out["bucketCounts"]]
        return out
    return str(value) if kind == "int64Value" else value


def series_json(series: Series, first_ns: int | None, last_ns: int | None) -> dict[str, Any] | None:
    """A TimeSeries of a list reply, points newest first; None: it has none in that time."""
    points = []
    for p in reversed(series.points):
        if (first_ns is None or p.end_ns > first_ns) and (last_ns is None or p.end_ns <= last_ns):
            points.append({"interval": {"startTime": time_text(p.start_ns), "endTime": time_text(p.end_ns)},
                           "value": {k: as_json(k, v) for k, v in p.value.items()}})
    if not points:
        return None
    return {"metric": series.metric, "resource": series.resource, "metricKind": series.kind, "valueType": series.type,
            "points": points}


def matcher(text: str) -> list[tuple[str, bool, str]]:
    """A filter of terms joined by AND: what, whether only its beginning counts, value."""
    terms, at = [], 0
    while at < len(text):
        m = FILTER.match(text, at)
        if not m:
            raise Refused(0, f'Field filter had an invalid value of "{text}": Could not parse filter.')
        terms.append((m[1].replace(".label.", ".labels."), bool(m[2]), re.sub(r"\\(.)", r"\1", m[3])))
        at = m.end()
    if not any(t[0] == "metric.type" for t in terms):
        raise Refused(0, f'Field filter had an invalid value of "{text}": must specify a restriction on "metric.type" in the '
                         "filter.")
    return terms


def read_back(store: Store, project: str, terms: list[tuple[str, bool, str]], first_ns: int | None,
              last_ns: int | None) -> list[dict[str, Any]]:
    out = []
    for key, series in store.series.items():
        if not key.startswith(project + "\0"):
            continue
        sides = {"metric": series.metric, "resource": series.resource}
        for what, begins, value in terms:
            side, field, *label = what.split(".")
            has = sides[side].get(field, "") if not label else sides[side].get("labels", {}).get(label[0], "")
            if not (has.startswith(value) if begins else has == value):
                break
        else:
            row = series_json(series, first_ns, last_ns)
            if row:
                out.append(row)
    return out
