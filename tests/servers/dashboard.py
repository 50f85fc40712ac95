#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dashboard.py [--without TITLE]... FILE...: whether each query of the goodput library's dashboard finds data in what was sent:
lines of {"path", "body"} of 'gp-bpf ... --dry-run', or a journal of monitoring.py. Prints a line for each query and
fails where one finds nothing, but for those that are named.

The queries are those of ml-goodput-measurement 0.2.3, dashboards/goodput_dashboard.json, as facts: types, filters,
labels that are grouped by, aligners. All are of the resource compute.googleapis.com/Workload. PromQL calls a metric
compute_googleapis_com:workload_NAME; MQL and filters call it compute.googleapis.com/workload/NAME."""
from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any

from gcm_known import LIBRARY, WORKLOAD, WORKLOAD_RESOURCE

GOODPUT, BADPUT = "goodput_time", "badput_time"
RECOVERY = ("INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION", "WASTED_PROGRESS_FROM_DISRUPTION")


@dataclasses.dataclass(frozen=True)
class Query:
    title: str
    metrics: tuple[str, ...]
    by: tuple[str, ...] = ()  # labels that are grouped by: "metric.NAME", "resource.NAME"
    aligner: str = "ALIGN_NEXT_OLDER"  # or "last": PromQL's newest value, as of a gauge
    source: tuple[str, ...] = ()  # badput_source is one of these
    ratio: bool = False  # the first over the sum of all, in each group


ID, SOURCE, TYPE = "resource.workload_id", "metric.badput_source", "metric.accelerator_type"
QUERIES = (
    Query("Overall Goodput (%) for Active Workloads", (GOODPUT, BADPUT), aligner="last", ratio=True),
    Query("Number of Active Workloads", (GOODPUT,), (ID,), "last"),
    Query("Overall Goodput Evolution (%)", (GOODPUT, BADPUT), aligner="last", ratio=True),
    Query("Number of Unique Workloads", (GOODPUT,), (ID,), "last"),
    Query("Goodput Evolution per Workload", (GOODPUT, BADPUT), (ID,), "last", ratio=True),
    Query("Goodput Summary per Active Workload: Goodput time", (GOODPUT,), (ID,), "last"),
    Query("Goodput Summary per Active Workload: Badput time", (BADPUT,), (ID,), "last"),
    Query("Goodput Summary per Active Workload: Goodput score", (GOODPUT, BADPUT), (ID,), "last", ratio=True),
    Query("Goodput Time Per Workload", (GOODPUT,), (ID,)),
    Query("Top Badput Sources (Active Workloads)", (BADPUT,), (SOURCE,)),
    Query("Aggregated Badput Time Per Workload and Source: time", (BADPUT,), (SOURCE, ID)),
    Query("Aggregated Badput Time Per Workload and Source: score", (BADPUT, GOODPUT), (ID,), "last", ratio=True),
    Query("Badput Time per Workload", (BADPUT,), (ID,)),
    Query("Badput Time per Badput Source", (BADPUT,), (SOURCE,)),
    Query("Real-Time Goodput per Accelerator Type", (GOODPUT, BADPUT), (TYPE,), "last", ratio=True),
    Query("Goodput Evolution per Accelerator Type", (GOODPUT, BADPUT), (TYPE,), "last", ratio=True),
    Query("Top Badput Sources per Accelerator Type", (BADPUT,), (SOURCE,)),
    Query("Badput Sources per Accelerator Type", (BADPUT,), (TYPE, SOURCE)),
    Query("Goodput Time Series", (GOODPUT,), (ID,)),
    Query("Badput Time Series", (BADPUT,), (SOURCE, ID)),
    Query("Maximum Step Count", ("max_productive_steps",), (ID,)),
    Query("Step Time Deviation", ("step_time_deviation",), (ID,)),
    Query("Ideal Step Time", ("performance",), (ID,)),
    Query("Disruption Count Per Workload", ("disruptions",), (ID, "metric.window_type")),
    Query("Disruption Badput Breakdown", (BADPUT,), (SOURCE,), source=RECOVERY),
)


def label(series: dict[str, Any], name: str) -> str | None:
    """Of "metric.NAME" or "resource.NAME"."""
    where, key = name.split(".")
    return series[where].get("labels", {}).get(key)


def selected(sent: list[dict[str, Any]], query: Query, metric: str) -> list[dict[str, Any]]:
    return [s for s in sent if s["metric"]["type"] == WORKLOAD + metric and s["resource"]["type"] == WORKLOAD_RESOURCE
            and (not query.source or label(s, SOURCE) in query.source)]


def unfit(series: dict[str, Any], query: Query, metric: str) -> str:
    """Why the query cannot use it; "": it can."""
    value = dict(series["points"][0]["value"])
    wanted = {"INT64": "int64Value", "DOUBLE": "doubleValue"}[LIBRARY[metric][0]]
    if list(value) != [wanted]:
        return f"{metric}: {list(value)}, {wanted} is summed"
    if series.get("metricKind", "GAUGE") != "GAUGE" or "startTime" in series["points"][0]["interval"]:
        return f"{metric}: no gauge, whose next older or last value {query.aligner} is"
    missing = [name for name in query.by if not label(series, name)]
    return f"{metric}: without {', '.join(missing)}, that it is grouped by" if missing else ""


def answer(sent: list[dict[str, Any]], query: Query) -> tuple[int, str]:
    """How many groups it has, and what is wrong."""
    sums: list[dict[tuple[str | None, ...], float]] = []
    for metric in query.metrics:
        groups: dict[tuple[str | None, ...], float] = {}
        for series in selected(sent, query, metric):
            why = unfit(series, query, metric)
            if why:
                return 0, why
            group = tuple(label(series, name) for name in query.by)
            groups[group] = groups.get(group, 0) + float(next(iter(series["points"][0]["value"].values())))
        if not groups:
            return 0, f"nothing of {metric}" + (f" from {' or '.join(query.source)}" if query.source else "")
        sums.append(groups)
    both = set(sums[0]).intersection(*sums)
    if query.ratio:
        both = {g for g in both if sum(s[g] for s in sums) > 0}
    return len(both), "" if both else "no group that all its metrics have"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("file", nargs="+")
    options = parser.parse_args()
    sent: list[dict[str, Any]] = []
    for name in options.file:
        with open(name, encoding="utf-8") as lines:
            for line in lines:
                sent += (json.loads(line).get("body") or {}).get("timeSeries", [])
    bad = 0
    for query in QUERIES:
        groups, why = answer(sent, query)
        print(f"{query.title}: {why or f'{groups} found'}")
        bad += bool(why) != (query.title in options.without)
    return 1 if bad or not sent else 0


if __name__ == "__main__":
    sys.exit(main())
