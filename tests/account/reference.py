#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The answers of ml-goodput-measurement itself, in the form of vectors/: reference.py LOG [ARGS.json|'{...}'].

Run by the Python of setup.sh, which has the library; what it takes from Google's clouds is in stand_in/."""
import datetime
import gzip
import json
import logging
import os
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
UTC = datetime.timezone.utc
SAMPLED_ABOVE = 400


class Clock(datetime.datetime):
    at = 0.0

    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(cls.at, tz)


def load_library():
    """Its calculators alone: the package's own __init__ wants every client library there is."""
    sys.path.insert(0, os.path.join(HERE, "stand_in"))
    for path in sys.path:
        path = os.path.join(path, "ml_goodput_measurement")
        if os.path.isdir(path):
            package = types.ModuleType("ml_goodput_measurement")
            package.__path__ = [path]
            sys.modules["ml_goodput_measurement"] = package
            break
    from ml_goodput_measurement.src import goodput, goodput_elastic, goodput_exclusion, goodput_utils
    import google.cloud.logging as cloud
    shim = types.SimpleNamespace(datetime=Clock, timezone=datetime.timezone, timedelta=datetime.timedelta)
    goodput.datetime = goodput_exclusion.datetime = shim
    logging.disable(logging.CRITICAL)
    return types.SimpleNamespace(goodput=goodput, elastic=goodput_elastic, utils=goodput_utils, cloud=cloud)


lib = load_library()


def instant(epoch):
    return datetime.datetime.fromtimestamp(epoch, UTC)


def read_log(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as lines:
        return [json.loads(line) for line in lines]


def fill(records):
    """The log: in the order of its own write times where it has them, else in the order of its lines."""
    entries = []
    for n, record in enumerate(records):
        payload = dict(record)
        written = payload.pop("_ts", None)
        at = written if written is not None else next(v for k, v in payload.items() if "time" in k)
        entries.append(lib.cloud.Entry(instant(at), f"{n:012d}", payload))
    if any("_ts" in record for record in records):
        entries.sort(key=lambda e: (e.timestamp, e.insert_id))
    lib.cloud.log[:] = entries


class Calculator:
    def __init__(self, args, directory):
        self.elastic = args.get("calculator") == "elastic"
        self.ideal = args.get("ideal")
        made = lib.elastic.ElasticGoodputCalculator if self.elastic else lib.goodput.GoodputCalculator
        self.calc = made("job", "log", max_logs_retention_period=datetime.timedelta(days=36500),
                         cache_dir=tempfile.mkdtemp(dir=directory))

    def cumulative(self, now, with_steps=True):
        Clock.at = now
        calc = self.calc
        pct, badput, _ = calc.get_job_goodput(True, self.ideal)
        info = calc._goodput_cache.get_goodput_info()
        details = calc.get_job_goodput_details()
        steps = calc._goodput_cache.get_step_info()
        answer = {
            "goodput_pct": pct, "badput_pct": named(badput),
            "total_job_time_s": info.total_elapsed_time, "productive_time_s": info.total_productive_time,
            "unproductive_time_s": named(info.total_unproductive_time),
            "max_productive_step": info.max_productive_step, "last_recorded_step": info.last_recorded_step,
            "disruptions": info.number_of_disruptions, "closure_residual_s": residual(info),
            "ideal_step_time_s": float(steps.ideal_step_time) if steps else None,
        }
        if steps:
            deviations = steps.step_deviations
            modes = lib.utils.MonitoringWindowType
            if with_steps:
                answer["step_deviation_s"] = digest(deviations)
            answer["step_deviation_mean_s"] = sum(deviations.values()) / len(deviations)
            answer["step_time_deviation_metric_s"] = {
                mode.value: float(lib.utils.compute_step_deviation_from_baseline(deviations, mode))
                for mode in modes}
        for key in ("stepping_slice_efficiency", "available_slice_efficiency"):
            if key in details:
                answer[key] = details[key]
        return answer

    def step_times(self):
        return digest(self.calc._get_step_times(self.calc._goodput_cache.get_step_entries()))

    def interval(self, start, end):
        pct, badput, last, total, count = self.calc.get_job_goodput_interval(instant(start), instant(end))
        return {"goodput_pct": pct, "badput_pct": named(badput), "max_productive_step": last,
                "total_job_time_s": total, "disruptions": count}

    def exclusions(self, spans, now):
        Clock.at = now
        pct, badput, last, excluded = self.calc.get_job_goodput_with_exclusions(
            [(instant(a), instant(b)) for a, b in spans], True, self.ideal)
        answer = {"goodput_pct": pct, "badput_pct": named(badput), "max_productive_step": last,
                  "excluded_time_s": excluded}
        info = self.calc._goodput_cache.get_goodput_info()
        if info:
            answer.update(adjusted_total_time_s=info.total_elapsed_time,
                          productive_time_s=info.total_productive_time,
                          unproductive_time_s=named(info.total_unproductive_time))
        return answer


def named(badput):
    return {kind.name: value for kind, value in sorted(badput.items(), key=lambda kv: kv[0].name)}


def residual(info):
    left = info.total_elapsed_time - info.total_productive_time
    for kind, value in info.total_unproductive_time.items():
        if kind.name != "DATA_LOADING_ASYNC":
            left -= sum(value.values()) if isinstance(value, dict) else value
    return left


def digest(by_step):
    steps = list(by_step.items())
    values = [value for _, value in steps]
    answer = {"count": len(steps), "sum": float(sum(values)),
              "max": float(max(values)) if values else None, "min": float(min(values)) if values else None}
    if len(steps) <= SAMPLED_ABOVE:
        answer["by_step"] = {str(step): float(value) for step, value in steps}
    else:
        answer["sampled_by_step"] = {str(step): float(value) for step, value in steps[::len(steps) // 100]}
        answer["last_step"] = steps[-1][0]
    return answer


def attempt(call, *given, **more):
    try:
        return call(*given, **more)
    except Exception as error:  # what the library raises is an answer
        return {"error": {"type": type(error).__name__, "message": str(error)}}


def answer(records, args):
    """`expected` of a vector with these args."""
    fill(records)
    with tempfile.TemporaryDirectory() as directory:
        whole = Calculator(args, directory)
        told = {"cumulative": attempt(whole.cumulative, args["query_time"]), "step_time_s": whole.step_times()}
        if "windows" in args:
            one = Calculator(args, directory)
            told["intervals"] = [
                {"start": a, "end": b} |
                attempt((one if args.get("sequential_windows") else Calculator(args, directory)).interval, a, b)
                for a, b in args["windows"]]
        if "exclude" in args:
            told["exclusions"] = {"intervals": args["exclude"]} | attempt(
                Calculator(args, directory).exclusions, args["exclude"], args["query_time"])
        if "sequence" in args:
            one = Calculator(args, directory)
            told["sequence"] = [{"query_time": at} | attempt(one.cumulative, at, with_steps=False)
                                for at in args["sequence"]]
    return told


def main():
    given = sys.argv[2] if len(sys.argv) > 2 else ""
    records = read_log(sys.argv[1])
    if given and not given.startswith("{"):
        with open(given) as file:
            given = file.read()
    args = json.loads(given) if given else {}
    args = args.get("args", args)
    args.setdefault("query_time", max(v for r in records for k, v in r.items() if "_time" in k))
    json.dump(answer(records, args), sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
