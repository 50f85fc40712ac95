#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exports.py DIR: one run, told in all ways at once, against its report. A row for each way: how many of its numbers are
the report's, each to the precision of its form. Exits with 1 and a line for each that differs.

DIR holds    report      gp-bpf run --json: the measure of all
  lines      --export json: steps, disruptions, checkpoints, time that was productive
  tables/    --export csv: likewise
  trace      --export trace: likewise, and the last process's goodput as its last ledger of the lines has it
  board      tests/tools/tfevents.py of --export tensorboard: steps, disruptions, goodput and badput in percent
  page       a scrape of Prometheus after the end of the job: steps, disruptions, goodput and badput in seconds
  journal    tests/servers/monitoring.py's: likewise
  collector  what the debug exporter of an OpenTelemetry Collector prints, in detail: each step as a span, and metrics; not
             there: not asked for
  hooks/     bodies that --on disruption,recovered was given: NAME.N"""
import collections
import csv
import glob
import json
import os
import re
import sys


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


class Report:
    """What is asked of every way that has it."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            job, = json.load(f)["jobs"]
        self.job = job
        observed = job["elapsed_ns"] - job["buckets"]["UNOBSERVED"]
        self.facts = {"steps": job["steps"], "last step": job["last_step"], "disruptions": job["disruptions"],
                      "runs": job["runs"], "productive": job["productive_gross_ns"] / 1e9}
        for name, ns in job["buckets"].items():
            self.facts[name] = ns / 1e9
            self.facts[f"{name} %"] = 100 * ns / observed


def from_lines(folder):
    lines = lines_of(f"{folder}/lines")
    last = {r["pid"]: r for r in lines if r["type"] == "ledger" and r["pid"] is not None}
    steps = [r for r in lines if r["type"] == "step"]
    begun = {r["disruption"] for r in lines if r["type"] == "disruption"}
    return {"steps": len(steps), "last step": steps[-1]["step"], "disruptions": len(begun), "runs": len(last),
            "productive": sum(r["productive_gross_ns"] for r in last.values()) / 1e9}


def from_tables(folder):
    def table(name):
        with open(f"{folder}/tables/{name}.csv", encoding="utf-8", newline="") as f:
            return list(csv.DictReader(f, strict=True))
    steps = table("steps")
    return {"steps": len(steps), "last step": int(steps[-1]["step"]), "runs": len({r["pid"] for r in steps}),
            "disruptions": len({r["disruption"] for r in table("disruptions")})}


def from_trace(folder):
    with open(f"{folder}/trace", encoding="utf-8") as f:
        events = json.load(f)
    steps = [e for e in events if e.get("cat") == "step"]
    falls = {e["args"]["disruption"] for e in events if e.get("cat") == "disruption" and e["ph"] != "e"}
    return {"steps": len(steps), "last step": steps[-1]["args"]["step"], "disruptions": len(falls)}


def trace_goodput(folder):
    """A counter of each process, which the report has not."""
    with open(f"{folder}/trace", encoding="utf-8") as f:
        drawn = [e["args"]["ratio"] for e in json.load(f) if e["name"] == "goodput"][-1]
    last = [r for r in lines_of(f"{folder}/lines") if r["type"] == "ledger" and r["pid"] is not None][-1]
    told = last["buckets"]["GOODPUT"] / (last["elapsed_ns"] - last["buckets"]["UNOBSERVED"])
    return [] if abs(drawn - told) < 1e-6 else [f"trace: goodput: {drawn}, and {told} in the ledger"]


def from_board(folder):
    """Steps count from 0 there."""
    scalars, ret, steps = lines_of(f"{folder}/board"), {}, []
    for s in scalars:
        tag = s["tag"]
        if tag == "performance/step_time_seconds":
            steps.append((s["run"].split("/")[1], s["step"]))
        elif tag == "goodput/goodput":
            ret["GOODPUT %"] = s["value"]
        elif tag == "job/disruptions":
            ret["disruptions"] = int(s["value"])
        elif tag.startswith("badput/"):
            ret[f"{tag[7:].upper().replace('/', '.')} %"] = s["value"]
    return ret | {"steps": len(steps), "last step": steps[-1][1] + 1, "runs": len({run for run, _ in steps})}


def from_page(folder):
    ret = {"disruptions": 0}
    with open(f"{folder}/page", encoding="utf-8") as f:
        for line in f:
            found = re.match(r"gpbpf_job_(\w+)\{(.*)\} (\S+)", line)
            if not found:
                continue
            name, labels, value = found[1], dict(re.findall(r'(\w+)="([^"]*)"', found[2])), float(found[3])
            if name == "time_seconds":
                ret[labels["bucket"]] = value
            elif name == "disruptions_total":
                ret["disruptions"] += value
            elif name in ("steps_total", "step_number"):
                ret["steps" if name == "steps_total" else "last step"] = value
    return ret


def from_journal(folder):
    """Google's Cloud Monitoring: the last point of each series. A count that began again goes on."""
    last = {}
    for request in lines_of(f"{folder}/journal"):
        for s in request.get("series") or []:
            if s["rule"] == 0:
                last[s["type"], json.dumps(s["labels"], sort_keys=True)] = s
    ret, library = {"disruptions": 0}, {}
    for (kind, _), s in last.items():
        value = s["value"]
        value = float(next((value[k] for k in ("int64Value", "doubleValue") if k in value), "nan"))
        bucket = s["labels"].get("bucket")
        name = kind.rpartition("/job/")[2]
        if name == "disruption_count":
            ret["disruptions"] += value
        elif name in ("step_count", "step_number"):
            ret["steps" if name == "step_count" else "last step"] = value
        elif name in ("goodput_time", "badput_time") and "/job/" in kind:
            ret[bucket or "GOODPUT"] = value
        elif kind.endswith("workload/max_productive_steps"):  # counted from 0
            library["last step"] = value + 1
        elif kind.endswith("workload/disruptions"):
            library["disruptions"] = value
        elif kind.endswith("workload/goodput_time") and s["labels"]["goodput_source"] == "TOTAL":
            library["GOODPUT"] = value
        elif kind.endswith("workload/badput_time"):
            library[s["labels"]["badput_source"]] = value
    return ret, library


def from_hooks(folder, job):
    """One call for each begin, and for each end of a disruption."""
    calls = collections.Counter(os.path.basename(path).split(".")[0] for path in glob.glob(f"{folder}/hooks/*"))
    over = {}
    for path in glob.glob(f"{folder}/hooks/recovered.*"):
        with open(path, encoding="utf-8") as f:
            over = json.load(f)
    fall = job["last_disruptions"][0]
    wrong = [f"hooks: {key}: {over.get(key)}, not {fall[key]}" for key in ("step", "resumed_step", "wasted_ns", "cause")
             if over.get(key) != fall[key]]
    if calls["recovered"] != calls["disruption"]:
        wrong.append(f"hooks: {calls['disruption']} falls, {calls['recovered']} recoveries")
    return {"disruptions": calls["disruption"]}, wrong


def from_collector(folder):
    """Values have six decimals. Of metrics the last point of each series."""
    steps, points, span, name, labels = [], {}, None, None, ()
    with open(f"{folder}/collector", encoding="utf-8") as f:
        for line in f:
            if found := re.match(r"    Name +: (.*)", line):
                span = found[1]
            elif re.match(r"Metric #\d+|SpanEvent #\d+", line):
                span = None
            elif found := re.match(r"     -> current_iteration: Int\((\d+)\)", line):
                if span == "training_single_iteration":
                    steps.append(int(found[1]))
            elif found := re.match(r"     -> Name: (\S+)", line):
                name = found[1]
            elif line.startswith("Data point attributes:") or re.match(r"\w+DataPoints #", line):
                labels = ()
            elif found := re.match(r"     -> gpbpf\.(bucket|cause): Str\((.*)\)", line):
                labels = (found[2],)
            elif found := re.match(r"Value: (\S+)", line):
                points[(name, *labels)] = float(found[1])
    ret = {"steps": len(steps), "last step": steps[-1], "runs": points["gpbpf.job.runs",],
           "productive": points["gpbpf.job.productive",], "GOODPUT %": 100 * points["gpbpf.job.goodput",],
           "disruptions": sum(v for (what, *_), v in points.items() if what == "gpbpf.job.disruptions")}
    if points["gpbpf.job.step",] != steps[-1]:
        ret["last step"] = points["gpbpf.job.step",]
    return ret | {part[1]: v for part, v in points.items() if part[0] == "gpbpf.job.time"}


def main():
    folder = sys.argv[1]
    report = Report(f"{folder}/report")
    google, library = from_journal(folder)
    hooks, wrong = from_hooks(folder, report.job)
    # Way, what it tells, the least that it tells, and how far it may be off: seconds, or percent in single precision.
    ways = [("json", from_lines(folder), 5, 1e-9), ("csv", from_tables(folder), 4, 0), ("trace", from_trace(folder), 3, 0),
            ("tensorboard", from_board(folder), 12, 1e-4), ("prometheus", from_page(folder), 12, 1e-6),
            ("cloud-monitoring", google, 12, 1e-6), ("  the library's series", library, 8, 1e-6), ("hooks", hooks, 1, 0)]
    if os.path.exists(f"{folder}/collector"):
        ways.append(("otlp, by a Collector", from_collector(folder), 14, 1e-4))
    wrong += trace_goodput(folder)
    for name, told, least, off in ways:
        strange = [key for key in told if key not in report.facts]
        differs = [key for key in told if key in report.facts and not abs(told[key] - report.facts[key]) <= off]
        for key in differs:
            wrong.append(f"{name}: {key}: {told[key]}, and {report.facts[key]} in the report")
        if strange or len(told) < least:
            wrong.append(f"{name}: {len(told)} numbers, {strange} of them strange")
        print(f"{name:24} {len(told):3} numbers, {len(differs)} differ")
    for text in wrong:
        print(text)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
