#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trace.py TRACE LINES: a trace (--export trace) by the rules of Chrome's trace event format, and against the JSON
lines of the same run: the same steps, checkpoints, ranges and disruptions at the same places, and the phases of a step
within it. A trace without its last bracket, as a killed gp-bpf leaves it, is read too. Exits with 1 and a line for each fault."""
import json
import sys
from collections import Counter, defaultdict
from datetime import datetime

NEEDED = {"X": ("dur", "tid"), "b": ("id", "cat"), "e": ("id", "cat"), "i": ("s",), "C": ("args",), "M": ("args",)}
LOOPS, PIECES = 16, 16  # lanes of steps; what has a place in a step, of each kind
PHASES = {"phase": ("data", "forward", "backward", "update", "zero_grad"), "blocked": ("sync", "collective", "transfer", "compile")}
faults = []


def fault(text):
    faults.append(text)


def read(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if not text.endswith("]\n"):
        text = text[:text.rindex("\n")].rstrip(",") + "]"
    return json.loads(text)


def ns(event, key="ts"):
    """Microseconds with three decimals lose nothing below 2^53 ns, 104 days."""
    return round(event[key] * 1000)


def by_the_rules(events):
    spans, open_, named, processes = defaultdict(list), {}, set(), set()
    for e in events:
        ph = e["ph"]
        if ph not in NEEDED:
            fault(f"an event of type {ph}: {e}")
            continue
        for key in ("name", "pid", "ts", *NEEDED[ph]):
            if key not in e:
                fault(f"{key} is missing: {e}")
        if not isinstance(e["name"], str) or not isinstance(e["ts"], (int, float)) or not 0 < e["pid"] < 1 << 31:
            fault(f"of a wrong type: {e}")
        if ph == "M":
            named.add((e["pid"], e["tid"]) if e["name"] == "thread_name" else e["pid"])
            if e["name"] == "process_name":
                processes.add((e["pid"], e["args"]["name"]))
        elif ph == "X":
            spans[e["pid"], e["tid"]].append((ns(e), ns(e) + ns(e, "dur"), e["name"]))
        elif ph == "b":
            if (e["pid"], e["cat"], e["id"]) in open_:
                fault(f"begun twice: {e}")
            open_[e["pid"], e["cat"], e["id"]] = e
        elif ph == "e":
            begin = open_.pop((e["pid"], e["cat"], e["id"]), None)
            if not begin or begin["ts"] > e["ts"] or begin["name"] != e["name"]:
                fault(f"an end without its begin: {e}")
        elif ph == "C" and not all(isinstance(v, (int, float)) for v in e["args"].values()):
            fault(f"no number: {e}")
        if ph != "M" and e["pid"] not in named:
            fault(f"on a track without a name: {e}")
        if ph == "X" and (e["pid"], e["tid"]) not in named:
            fault(f"on a lane without a name: {e}")
    for e in open_.values():
        fault(f"a begin without its end: {e}")
    for lane, each in spans.items():
        for a, b in zip(each, each[1:]):
            if b[0] < a[0]:
                fault(f"lane {lane}: out of order: {a}, {b}")
            if b[0] < a[1]:
                fault(f"lane {lane}: {b} overlaps {a}")
    names = Counter(name for _, name in processes)
    for name, count in names.items():
        if count > 1 and "rank" in name:
            fault(f"{count} tracks are called {name}")


def end_of(event, ends):
    if event["ph"] == "X":
        return ns(event) + ns(event, "dur")
    return ns(ends[event["pid"], event["cat"], event["id"]])


def same(what, drawn, told):
    for n, a, b in (("drawn and not told", drawn, told), ("told and not drawn", told, drawn)):
        for item in (Counter(a) - Counter(b)).elements():
            fault(f"{what}: {n}: {item}")


def pieces(events, ends):
    """Phases lie in the next step of their track, and hold the sums that it tells, and what blocked in them; what
    blocked tells no more than the sums, and all of them where there was room."""
    within = defaultdict(list)
    for e in events:
        if e.get("cat") in ("phase", "blocked"):
            within[e["pid"], (e["tid"] - 1) % LOOPS].append(e)
        elif e.get("cat") == "step" and e["ph"] == "X":
            held = within.pop((e["pid"], e["tid"] - 1), [])
            each = {cat: [p for p in held if p["cat"] == cat] for cat in ("phase", "blocked")}
            if any(ns(p) < ns(e) or end_of(p, ends) > end_of(e, ends) for p in held):
                fault(f"not in its step: {held}, {e}")
            for cat, drawn in each.items():
                for name in PHASES[cat]:
                    told = e["args"].get(f"{name}_ns", 0)
                    lasted = sum(ns(p, "dur") for p in drawn if p["name"] == name)
                    if lasted and f"{name}_ns" not in e["args"]:
                        fault(f"{name} is drawn and not told: {e}")
                    # Of a forward pass the last part has a place.
                    if name != "forward" and len(drawn) < PIECES and (lasted < told or cat == "blocked" and lasted > told):
                        fault(f"{name}: pieces of {lasted} ns: {held}, {e}")
    if any(within.values()):
        fault(f"without a step: {list(within.values())[:3]}")


def observed(ledger):
    return ledger["elapsed_ns"] - ledger["buckets"]["UNOBSERVED"]


def against_lines(events, lines):
    ends = {(e["pid"], e["cat"], e["id"]): e for e in events if e["ph"] == "e"}
    spans = [e for e in events if e["ph"] in "Xb"]
    steps = [e for e in spans if e["cat"] == "step"]
    same("steps", [(ns(e), end_of(e, ends), e["args"]["step"], e["args"]["seq"]) for e in steps],
         [(r["start_ns"], r["end_ns"], r["step"], r["seq"]) for r in lines if r["type"] == "step"])
    by_seq = {r["seq"]: r for r in lines}
    for e in steps:
        r = by_seq.get(e["args"]["seq"], {"phases": {}})
        phases = {k[:-3]: v for k, v in e["args"].items() if k.endswith("_ns") and k != "ranges_ns"}
        if phases != r["phases"] or e["args"].get("ranges_ns", {}) != r.get("ranges", {}):
            fault(f"other phases or ranges: {e}, {r}")
    pieces(events, ends)
    same("checkpoints", [(ns(e), end_of(e, ends), e["args"]["seq"]) for e in spans if e["cat"] == "checkpoint"],
         [(r["start_ns"], r["end_ns"], r["seq"]) for r in lines if r["type"] == "checkpoint" and r["end_ns"] is not None])
    same("ranges", [(ns(e), end_of(e, ends), e["name"]) for e in spans if "args" in e and e["args"]["seq"] in by_seq
                    and by_seq[e["args"]["seq"]]["type"] == "range"],
         [(r["start_ns"], r["end_ns"], r["name"]) for r in lines if r["type"] == "range"])
    same("disruptions", [(e["args"]["seq"], e["name"], e["ph"] in "Xb") for e in events if e.get("cat") == "disruption"
                         and e["ph"] != "e"],
         [(r["seq"], r["cause"], r["over"]) for r in lines if r["type"] == "disruption"])
    same("health", [(e["args"]["seq"], e["name"]) for e in events if e.get("cat") == "health" and e["ph"] != "e"],
         [(r["seq"], r["kind"]) for r in lines if r["type"] == "health"])
    same("goodput", [(ns(e), f"{e['args']['ratio']:.6f}") for e in events if e["ph"] == "C" and e["name"] == "goodput"],
         [(r["mono_ns"], f"{r['buckets']['GOODPUT'] / observed(r):.6f}") for r in lines if r["type"] == "ledger"
          and r["window"] == "cumulative" and r["pid"] is not None and observed(r)])
    clocks = [e for e in events if e["name"] == "clock"]
    for e in clocks[:1]:
        r = by_seq[min(s for s, r in by_seq.items() if r["time"])]
        if ns(e) != r["mono_ns"] or e["args"]["time"] != r["time"]:
            fault(f"another clock: {e}, {r}")
    for e in clocks[1:]:  # a successor's, at its own first fact; the clock may have been slewed between
        at, first = (datetime.fromisoformat(c["args"]["time_of_ts_0"][:26]) for c in (e, clocks[0]))
        if abs((at - first).total_seconds()) > 0.01:
            fault(f"another clock: {e}, {clocks[0]}")
    return len(steps)


def main():
    events = read(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    by_the_rules(events)
    steps = against_lines(events, lines)
    for text in faults[:20]:
        print(text)
    print(f"{len(events)} events, {steps} steps, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
