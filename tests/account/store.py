#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random logs into a store: what gp-bpf report says of them is what gp-bpf account answered. Prints TAP.

usage: store.py [COUNT [SEED [NUMBER]]]"""
import json
import os
import random
import subprocess
import sys
import tempfile

import ours
import random_log


def run(*args):
    done = subprocess.run([ours.GP_BPF, *args], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(args)}: exit status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[0])


def nanoseconds(seconds):
    return round(seconds * 1e9)


def told(answer):
    """By bucket; types of custom events lie one below the others, DATA_LOADING_ASYNC beside the sum."""
    whole = answer["cumulative"]
    buckets = {"GOODPUT": nanoseconds(whole["productive_time_s"])}
    for name, value in whole["unproductive_time_s"].items():
        if isinstance(value, dict):
            buckets |= {f"{name}.{kind}": nanoseconds(s) for kind, s in value.items()}
        elif name != "DATA_LOADING_ASYNC":
            buckets[name] = nanoseconds(value)
    return {
        "elapsed": nanoseconds(whole["total_job_time_s"]),
        "disruptions": whole["disruptions"],
        "max_step": whole["max_productive_step"],
        "times": answer.get("step_time_s", {}).get("count", 0),
    } | {name: ns for name, ns in buckets.items() if ns}


def reported(report):
    return {
        "elapsed": report["elapsed_ns"],
        "disruptions": report["disruptions_count"],
        "max_step": report["max_step"] or 0,
        "times": report["step_time"]["count"],
    } | {name: ns for name, ns in report["buckets"].items() if ns}


def one(folder, seed, number):
    """What differs."""
    made, _ = random_log.log_and_questions(random.Random(f"{seed}.{number}"))
    log, store = os.path.join(folder, "log"), os.path.join(folder, f"store.{number}.db")
    with open(log, "w") as file:
        file.writelines(json.dumps(record) + "\n" for record in made)
    want = told(run("account", "--quiet", "--json", "--job", "job", "--store", store, log))
    run("account", "--quiet", "--json", "--job", "job", "--store", store, log)
    have = reported(run("report", "--json", "--store", store, "job"))
    if sum(ns for name, ns in have.items() if name.isupper() or "." in name) != have["elapsed"]:
        return ["buckets do not add up to elapsed"]
    return [f"{key}: answered {want.get(key)}, reported {have.get(key)}"
            for key in sorted(want.keys() | have.keys()) if want.get(key) != have.get(key)]


def main():
    count, seed = int((sys.argv + ["40"])[1]) if sys.argv[1:] else 40, (sys.argv[2:] or ["1"])[0]
    numbers = [int(sys.argv[3])] if sys.argv[3:] else range(count)
    print("1..1")
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            wrong = one(folder, seed, number)
            if wrong:
                print(f"not ok 1 log {number} of seed {seed} is another one in the store")
                print("".join(f"# {line}\n" for line in wrong[:20]), end="")
                return 1
    print(f"ok 1 {len(numbers)} random logs, seed {seed}: the store has what was answered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
