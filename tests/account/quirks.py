#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Closed answers of gp-bpf account where the goodput library's are debatable or wrong, and, given vectors of the
library's answers (VECTORS=DIR), that both agree where nothing is listed that keeps them apart. Prints TAP.

tests/account/quirks/NAME.jsonl is a log; NAME.expected.json says `why` it is answered so, worked out by hand from
the log, with which `args`, and the keys that matter of what is `expected`."""
import glob
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = os.environ.get("GP_BPF", os.path.join(HERE, "..", "..", "build", "plain", "gp-bpf"))
VECTORS = os.environ.get("VECTORS", os.path.join(HERE, "vectors"))

# What closed books elsewhere, in all logs: time that no phase claims up to the first step is PROGRAM_STARTUP, not
# OTHER, and the excess of the first steps is over the ideal, not over the mean of the others.
MOVED = ("PROGRAM_STARTUP", "OTHER")
# Vectors where more differs, and why.
DIFFERS = {
    "data_loading_async": "a load is told by the thread that trains: it waited",
}


def answer(args):
    run = subprocess.run([COMMAND, "account", "--json", *args], capture_output=True, text=True, timeout=60)
    if run.returncode:
        raise AssertionError(f"exit status {run.returncode}: {run.stderr.strip()}")
    return json.loads(run.stdout)


def differences(want, have, at=""):
    """Each place where `have` lacks what is wanted. A bucket that is not there is 0."""
    if isinstance(want, dict):
        if not isinstance(have, dict):
            return [f"{at} is {have}"]
        return [d for k, v in want.items() for d in differences(v, have.get(k, 0 if v == 0 else None), f"{at}.{k}")]
    if isinstance(want, list):
        if not isinstance(have, list) or len(have) != len(want):
            return [f"{at} is {have}"]
        return [d for i, v in enumerate(want) for d in differences(v, have[i], f"{at}[{i}]")]
    if isinstance(have, (int, float)) and math.isclose(want, have, rel_tol=1e-9, abs_tol=1e-5):
        return []
    return [f"{at} is {have}, not {want}"]


def seconds_of(buckets):
    return sum(sum(v.values()) if isinstance(v, dict) else v for k, v in buckets.items() if k != "DATA_LOADING_ASYNC")


def quirk(path):
    with open(path.replace(".jsonl", ".expected.json"), encoding="utf-8") as f:
        case = json.load(f)
    have = answer([*case["args"], path])
    whole = have["cumulative"]
    sum_s = whole["productive_time_s"] + seconds_of(whole["unproductive_time_s"])
    return differences(case["expected"], have) + differences(whole["total_job_time_s"], sum_s, "the sum")


def agreement(case, log):
    """Where a vector has one run, all that is not listed above is the library's."""
    args = ["--now", repr(case["args"]["query_time"]), log]
    want, have = case["expected"]["cumulative"], answer(args)["cumulative"]
    theirs, ours = want["unproductive_time_s"], have["unproductive_time_s"]
    bad = differences({k: v for k, v in theirs.items() if k not in MOVED}, ours, "unproductive_time_s")
    for key in ("total_job_time_s", "max_productive_step", "last_recorded_step", "disruptions"):
        bad += differences(want[key], have[key], key)
    moved = sum(ours.get(k, 0) - theirs.get(k, 0) for k in MOVED)
    bad += differences(want["productive_time_s"], have["productive_time_s"] + moved, "goodput and what was moved")
    if abs(want["productive_time_s"] - have["productive_time_s"]) > 0.005 * want["total_job_time_s"]:
        bad.append(f"goodput is {have['productive_time_s']}, not about {want['productive_time_s']}")
    return bad


def agreements():
    for path in sorted(glob.glob(os.path.join(VECTORS, "*.expected.json"))):
        with open(path, encoding="utf-8") as f:
            case = json.load(f)
        whole = case["expected"]["cumulative"]
        if "conform" not in case["tags"] or case["name"] in DIFFERS or whole["disruptions"]:
            continue
        yield "agrees: " + case["name"], lambda c=case: agreement(c, os.path.join(VECTORS, c["log"]))


def main():
    tests = [(os.path.basename(p)[: -len(".jsonl")], lambda p=p: quirk(p))
             for p in sorted(glob.glob(os.path.join(HERE, "quirks", "*.jsonl")))]
    tests += agreements()
    failed = 0
    print(f"1..{len(tests)}")
    for i, (name, test) in enumerate(tests, 1):
        try:
            bad = test()
        except (AssertionError, OSError, ValueError, KeyError) as e:
            bad = [repr(e)]
        print(f"{'not ok' if bad else 'ok'} {i} - {name}")
        for line in bad:
            print("# " + line)
        failed += bool(bad)
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
