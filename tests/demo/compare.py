#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py TRUTH STEPS: what gp-bpf saw (JSON lines) against the log that the training run kept itself.
Prints one line. Exit status 1 when a step was missed or invented.

The log has two stamps a step, one before backward() and one after optimizer.step(). A step was found when one
boundary was seen between its backward() and the next one's; more than one are invented. Its error is that of
the time from one boundary to the next, by the stamp that lies nearer to what was seen."""
import bisect
import json
import statistics
import sys


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def match(seen, backwards):
    """(index of the step, time seen), for the first boundary seen in each step, in order."""
    first = {}
    for ns in sorted(seen):
        first.setdefault(bisect.bisect(backwards, ns) - 1, ns)
    first.pop(-1, None)
    return sorted(first.items())


def stamps(truth, kind):
    return [e["ns"] for e in truth if e["type"] == kind]


def nearer(pairs, columns):
    return min(columns, key=lambda true: statistics.median([abs(ns - true[i]) for i, ns in pairs] or [0]))


def microseconds(ns):
    return f"{ns / 1e3:.1f} µs" if ns < 1e6 else f"{ns / 1e6:.2f} ms"


def overlap(seen, true):
    return sum(any(a < end and start < b for a, b in seen) for start, end in true)


def spans(truth, kind):
    starts = [e["ns"] for e in truth if e["type"] == f"{kind}_start"]
    return list(zip(starts, [e["ns"] for e in truth if e["type"] == f"{kind}_end"]))


def side_events(truth, facts):
    """"4/4 checkpoints, 5/5 evaluations": those that were seen where they really were."""
    saves = [(f["start_ns"], f["end_ns"] or f["start_ns"]) for f in facts if f["type"] == "checkpoint"]
    ranges = [(f["start_ns"], f["end_ns"]) for f in facts if f["type"] == "range" and f["bucket"].endswith(".EVAL")]
    text = ""
    for kind, seen in (("checkpoint", saves), ("evaluation", ranges)):
        true = spans(truth, kind)
        text += f", {overlap(seen, true)}/{len(true)} {kind}s"
    if not any(f.get("phases", {}).get("data") for f in facts):
        text += " (this torch does not announce its loader: evaluations cannot be seen)"
    return text


def main():
    truth, facts = lines(sys.argv[1]), lines(sys.argv[2])
    pid = truth[0]["pid"]
    steps = [f for f in facts if f["type"] == "step" and f["pid"] == pid]
    seen = [s["end_ns"] for s in steps]
    backwards = stamps(truth, "backward")
    pairs = match(seen, backwards)
    true = nearer(pairs, (stamps(truth, "step"), backwards))
    errors = sorted(abs((b - a) - (true[j] - true[i])) for (i, a), (j, b) in zip(pairs, pairs[1:]) if j == i + 1)
    invented = len(seen) - len(pairs)
    text = f"truth: {len(pairs)}/{len(true)} boundaries, {invented} invented"
    if errors:
        (i, a), (j, b) = pairs[0], pairs[-1]
        run = abs((b - a) / (true[j] - true[i]) - 1) * 100
        gap = statistics.median(b - a for a, b in zip(true, true[1:]))
        text += f", median error {microseconds(statistics.median(errors))}"
        text += f" of {gap / 1e6:.2f} ms, p99 {microseconds(errors[len(errors) * 99 // 100])}, whole run off by {run:.4f} %"
    tier = f" (tier {steps[-1]['tier']}, {steps[-1]['boundary']})" if steps else ""
    print(text + side_events(truth, facts) + tier)
    sys.exit(1 if invented or len(pairs) != len(true) else 0)


if __name__ == "__main__":
    main()
