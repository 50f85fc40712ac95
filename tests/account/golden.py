#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden.py [RECORDING.json...]: what `account --dry-run` prints of a log, beside what the goodput library wrote
to Cloud Monitoring of the same log at the same instant (golden/). Series are compared as sets keyed by type,
labels and resource; doubles to 1e-9 of their size, integers exactly. A point that is not compared is told with
the reason. Recordings are of logs in vectors/."""
import collections
import datetime
import glob
import gzip
import json
import os
import subprocess
import sys

import ours

PREFIX = "compute.googleapis.com/workload/"
RELATIVE = 1e-9
SPACING = 5  # seconds between two points of a series that the service takes


def key(series):
    metric, resource = series["metric"], series["resource"]
    return (metric["type"], tuple(sorted(metric.get("labels", {}).items())),
            resource["type"], tuple(sorted(resource["labels"].items())))


def name(of):
    labels = ",".join(f"{k}={v}" for k, v in of[1] if k not in ("accelerator_type", "cluster_name"))
    return of[0].removeprefix(PREFIX) + (f"{{{labels}}}" if labels else "")


def value(series):
    (kind, number), = series["points"][0]["value"].items()
    return kind, number


def same(a, b):
    if a[0] != b[0]:
        return False
    return a[1] == b[1] if a[0] == "int64Value" else abs(a[1] - b[1]) <= RELATIVE * max(abs(a[1]), abs(b[1]))


def instant(text):
    seconds, _, rest = text.rstrip("Z").partition(".")
    at = datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.timezone.utc)
    return at.timestamp() + float("0." + (rest or "0"))


def printed(golden, log, at):
    """Our requests at the instant."""
    config = golden["config"]
    command = [ours.GP_BPF, "account", log, "--job", "job", "--semantics", "library", "--now", f"{at:.6f}",
               "--export", "cloud-monitoring", "--gcm-workload-metrics", "--dry-run",
               "--gcm-project", golden["project"], "--gcm-location", golden["location"],
               "--gcm-accelerator", golden["accelerator_type"], "--gcm-replica", config["replica_id"]]
    for option, given in (("--gcm-cluster", config["cluster_name"]),
                          ("--rolling", ",".join(map(str, config["windows"]))),
                          ("--calculator", "elastic" if config["elastic"] else None),
                          ("--ideal", f"{round(config['ideal'] * 1e6)}us" if config["ideal"] else None)):
        command += [option, given] if given else []
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    return [json.loads(line) for line in run.stdout.splitlines()], run.returncode, run.stderr


def form(requests, path, at):
    """What is wrong with our requests in themselves, and their series."""
    wrong, found = [], {}
    for request in requests:
        series = request["body"]["timeSeries"]
        if request["path"] != path:
            wrong.append(f"path {request['path']}, not {path}")
        if not 1 <= len(series) <= 200:
            wrong.append(f"a request of {len(series)} series")
        for one in series:
            if set(one) != {"metric", "resource", "points"} or len(one["points"]) != 1:
                wrong.append(f"{name(key(one))}: has {sorted(one)}")
            interval = one["points"][0]["interval"]
            if set(interval) != {"endTime"} or abs(instant(interval["endTime"]) - at) > 1e-6:
                wrong.append(f"{name(key(one))}: interval {interval}")
            if key(one) in found:
                wrong.append(f"{name(key(one))}: twice")
            found[key(one)] = value(one)
    return wrong, found


def excepted(golden, request, of, found, last):
    """Why a point of the recording is no target; None: it is one. `last`: what the service took so far."""
    kind, labels, at = of[0].removeprefix(PREFIX), dict(of[1]), request["at"]
    if kind == "performance" and request["worker"] == "step_deviation":
        return "the mean deviation under the name of the ideal step time: one meaning for a series, and the service " \
               "takes one of two writers"
    if of in last and at - last[of] < SPACING:
        return "less than 5 s after the point before: the service refuses it"
    if golden["no_start"]:
        return "a job without a start: 0 s of ideal step, 100 % of no time"
    if golden["config"]["shared_cache"]:
        return "two workers on one cache: numbers frozen at an earlier instant"
    if labels.get("window_type") == "INTERVAL" and of in found:
        ours_is = efficiency(golden["records"], kind, at - float(labels["rolling_window_size"]), at)
        if ours_is is not None and abs(found[of][1] - ours_is) < 1e-6:
            return "over the whole window, and 0 before its first sample; ours is over what of it the job lived " \
                   "through, as interval_goodput is: checked against the log"
    return None


def efficiency(records, kind, start, end):
    """Mean share of the slices over what of the window the log tells of. None: of nothing."""
    counted = "active_slices" if kind.startswith("stepping") else "available_slices"
    told = [t for t in (next(v for k, v in r.items() if "time" in k) for r in records) if start < t <= end]
    samples = sorted((r["elastic_slice_counts_timestamp"], r[counted] / r["total_slices"]) for r in records
                     if "total_slices" in r and r["elastic_slice_counts_timestamp"] <= end)
    if not told or told[-1] <= told[0]:
        return None
    ends = [at for at, _ in samples[1:]] + [told[-1]]
    return sum(share * max(0, min(until, told[-1]) - max(at, told[0]))
               for (at, share), until in zip(samples, ends)) / (told[-1] - told[0])


def worker_of(of):
    """Whose series it is, and of which window."""
    size = dict(of[1]).get("rolling_window_size", "0")
    return "goodput" if size == "0" else "rolling_window " + size


def check(path):
    with open(path) as file:
        golden = json.load(file)
    log = os.path.join(ours.HERE, "vectors", golden["log"])
    log += "" if os.path.exists(log) else ".gz"
    with open(os.path.join(ours.HERE, "vectors", "index.json")) as file:
        tags = {v["log"]: v["tags"] for v in json.load(file)["vectors"]}
    with (gzip.open if log.endswith(".gz") else open)(log, "rt") as lines:
        golden["records"] = [json.loads(line) for line in lines]
    golden["no_start"] = not any("job_start_time" in record for record in golden["records"])
    wrong, reasons, agreed, last = [], collections.OrderedDict(), 0, {}
    cycles = collections.OrderedDict()
    for request in golden["requests"]:
        cycles.setdefault(request["at"], []).append(request)
    for at, requests in cycles.items():
        got, status, said = printed(golden, log, at)
        if status:
            return golden, tags.get(golden["log"], []), [f"exit status {status}: {said.strip()}"], {}, 0
        faults, found = form(got, requests[0]["rest"]["path"], at)
        wrong += faults
        known, workers = set(), set()
        for request in requests:
            for series in request["body"]["timeSeries"]:
                of, theirs = key(series), value(series)
                if request["worker"] != "step_deviation":
                    known.add(of)
                    workers.add(worker_of(of))
                why = excepted(golden, request, of, found, last)
                if why:
                    reasons.setdefault(why, []).append(f"{name(of)} by {request['worker']}: {theirs[1]}")
                    continue
                last[of] = request["at"]
                agreed += of in found and same(theirs, found[of])
                if of not in found:
                    wrong.append(f"at {at} {name(of)}: missing, {theirs[1]} expected")
                elif not same(theirs, found[of]):
                    wrong.append(f"at {at} {name(of)}: {theirs[1]} expected, {found[of][1]}")
        wrong += [f"at {at} {name(of)}: not expected, {found[of][1]}" for of in found
                  if of not in known and worker_of(of) in workers]
        if golden["no_start"] and found:
            wrong.append(f"at {at}: {len(found)} series of a job without a start")
    return golden, tags.get(golden["log"], []), wrong, reasons, agreed


def main():
    paths = sys.argv[1:] or sorted(glob.glob(os.path.join(ours.HERE, "golden", "*.json")))
    failed = 0
    print(f"1..{len(paths)}")
    for n, path in enumerate(paths, 1):
        golden, tags, wrong, reasons, agreed = check(path)
        failed += bool(wrong)
        print("not ok" if wrong else "ok", n, f"{golden['golden']} ({', '.join(tags)}): {agreed} points agree")
        for line in wrong[:20]:
            print("#", line)
        for why, points in reasons.items():
            print(f"# {len(points)} not compared: {why}")
            for point in points:
                print("#    ", point)
    return failed > 0 or not paths


if __name__ == "__main__":
    sys.exit(main())
