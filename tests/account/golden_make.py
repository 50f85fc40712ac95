#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden_make.py DIR: recordings in the form of golden/, of every log in vectors/ at six instants of its life, by
the functions of ml-goodput-measurement that write to Cloud Monitoring: golden.py reads them. Run by the Python of
library.sh; Google's client is stood in for by what takes the series from it."""
import datetime
import glob
import json
import os
import sys
import tempfile
import types

import reference

HERE = reference.HERE
CYCLES = 6
KINDS = {"INT": "int64Value", "DOUBLE": "doubleValue"}


def load_monitoring():
    """The module, without the clients that it would import."""
    for name in ("google.api_core", "google.api_core.exceptions", "google.cloud.monitoring_v3", "tensorboardX",
                 "tensorboardX.writer"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["google.api_core.exceptions"].GoogleAPIError = Exception
    sys.modules["google.api_core"].exceptions = sys.modules["google.api_core.exceptions"]
    sys.modules["google.cloud"].monitoring_v3 = sys.modules["google.cloud.monitoring_v3"]
    sys.modules["tensorboardX"].writer = sys.modules["tensorboardX.writer"]
    sys.modules["tensorboardX.writer"].SummaryWriter = object
    for name in ("MetricServiceClient", "TimeSeries", "Point", "TimeInterval", "TypedValue"):
        setattr(sys.modules["google.cloud.monitoring_v3"], name, object)
    from ml_goodput_measurement.src import monitoring
    return monitoring


monitoring = load_monitoring()


class Sender:
    """In the place of GCPMetrics."""

    def __init__(self):
        self.series = []

    def send_metrics(self, metrics, context=None):
        del context
        for m in metrics:
            number = m["value"]
            kind = KINDS[m["value_type"].name]
            metric = {"type": m["metric_type"]}
            if m.get("metric_labels"):
                metric["labels"] = m["metric_labels"]
            self.series.append({
                "metric": metric,
                "resource": {"type": m["resource_type"], "labels": m["resource_labels"]},
                "points": [{"value": {kind: str(int(number)) if kind == "int64Value" else float(number)}}]})


class Worker:
    """Each has a calculator of its own, which remembers."""

    def __init__(self, name, args, directory, ask):
        self.name, self.ask = name, ask
        self.calc = reference.Calculator(args, directory).calc

    def cycle(self, at):
        reference.Clock.at = at
        sender = Sender()
        try:
            self.ask(self.calc, sender)
        except Exception:  # the worker skips the cycle
            return None
        if not sender.series:
            return None
        return {"at": at, "worker": self.name, "rest": {"method": "POST", "path": "/v3/projects/demo-1/timeSeries"},
                "body": {"timeSeries": sender.series}}


def record(path, directory):
    with open(path) as file:
        vector = json.load(file)
    log = os.path.join(HERE, "vectors", vector["log"])
    log += "" if os.path.exists(log) else ".gz"
    records, args = reference.read_log(log), vector["args"]
    times = sorted(r.get("_ts") or next(v for k, v in r.items() if "time" in k and isinstance(v, float))
                   for r in records)
    first, last = times[0], args["query_time"]
    cycles = sorted({round(first + (last - first) * n / CYCLES, 6) for n in range(1, CYCLES)} | {last})
    elastic = args.get("calculator") == "elastic"
    windows = [86400, max(1, int(last - first) // 3)]
    options = types.SimpleNamespace(location="us-east5-b", replica_id="2", acc_type="NVIDIA-H100", cluster_name="c")
    config = {"gcp_options": options, "job_name": "job", "include_slice_efficiency": elastic}
    ideal = args.get("ideal")

    def cumulative(calc, sender):
        calc.get_job_goodput(True, ideal)
        monitoring._upload_goodput_metrics_to_gcm(sender, calc.get_job_goodput_details(), config)

    def rolling(calc, sender):
        now = reference.instant(reference.Clock.at)
        for size in windows:
            try:
                details = calc.get_interval_metric_details(now - datetime.timedelta(seconds=size), now)
            except Exception:  # this window alone
                continue
            monitoring._upload_interval_goodput_metrics_to_gcm(sender, details, config)

    reference.fill(records)
    workers = [Worker("goodput", args, directory, cumulative), Worker("rolling_window", args, directory, rolling)]
    requests = [r for at in cycles for w in workers if (r := w.cycle(at))]
    return {"golden": vector["name"], "log": vector["log"], "project": "demo-1", "location": "us-east5-b",
            "accelerator_type": "NVIDIA-H100", "requests": requests,
            "config": {"windows": windows, "ideal": ideal, "elastic": elastic, "cluster_name": "c", "replica_id": "2",
                       "shared_cache": False}}


def main():
    for path in sorted(glob.glob(os.path.join(HERE, "vectors", "*.expected.json"))):
        with tempfile.TemporaryDirectory() as directory:
            told = record(path, directory)
        with open(os.path.join(sys.argv[1], told["golden"] + ".json"), "w") as file:
            json.dump(told, file, indent=1)


if __name__ == "__main__":
    main()
