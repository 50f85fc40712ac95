#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py TRUTH STEPS: what gp-bpf saw (JSON lines) against the log that the training run kept itself.
Prints one line. Exit status 1 when a step was missed or invented.

A step's error is that of the time from one boundary to the next. The log has two stamps a step, one after
optimizer.step() and one before backward(); the one that lies nearer to what was seen is compared with."""
import bisect
import json
import statistics
import sys


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def match(seen, true, slack_ns):
    """Indices into true, in the order of seen; None where no free true boundary is near."""
    used, out = set(), []
    for ns in seen:
        at = bisect.bisect(true, ns)
        near = sorted((abs(true[i] - ns), i) for i in (at - 1, at) if 0 <= i < len(true))
        free = [i for distance, i in near if distance <= slack_ns and i not in used]
        out.append(free[0] if free else None)
        used.update(free[:1])
    return out


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
    return text


def compared(seen, truth, kind):
    true = [e["ns"] for e in truth if e["type"] == kind]
    gap = statistics.median(b - a for a, b in zip(true, true[1:]))
    return true, match(seen, true, gap / 2), gap


def closeness(seen):
    def key(candidate):
        true, found, _ = candidate
        distances = [abs(ns - true[i]) for ns, i in zip(seen, found) if i is not None]
        return len(distances), -statistics.median(distances or [0])

    return key


def main():
    truth, facts = lines(sys.argv[1]), lines(sys.argv[2])
    pid = truth[0]["pid"]
    steps = [f for f in facts if f["type"] == "step" and f["pid"] == pid]
    seen = [s["end_ns"] for s in steps]
    true, found, gap = max((compared(seen, truth, kind) for kind in ("step", "backward")), key=closeness(seen))
    pairs = [(s, i) for s, i in zip(seen, found) if i is not None]
    errors = sorted(abs((s2 - s1) - (true[i2] - true[i1])) for (s1, i1), (s2, i2) in zip(pairs, pairs[1:])
                    if i2 == i1 + 1)
    invented = len(seen) - len(pairs)
    text = f"truth: {len(pairs)}/{len(true)} boundaries, {invented} invented"
    if errors:
        (s1, i1), (s2, i2) = pairs[0], pairs[-1]
        run = abs((s2 - s1) / (true[i2] - true[i1]) - 1) * 100
        text += f", median error {microseconds(statistics.median(errors))}"
        text += f" of {gap / 1e6:.2f} ms, p99 {microseconds(errors[len(errors) * 99 // 100])}, run {run:.4f} %"
    tier = f" (tier {steps[-1]['tier']}, {steps[-1]['boundary']})" if steps else ""
    print(text + side_events(truth, facts) + tier)
    sys.exit(1 if invented or len(pairs) != len(true) else 0)


if __name__ == "__main__":
    main()
