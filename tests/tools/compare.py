#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py [options] EVENTS.jsonl TRUTH.jsonl...: what gp-bpf told (JSON lines) against the logs that the
training programs kept of themselves (tests/workloads/journal.py). One line per fault, exit 1 if there is any; then
the errors, which are reported and never judged: p50 and p99 of where a boundary was put and of a step's time.

--expect steps    every true step found, none invented, in order, numbered from 1 (the default)
--expect updates  the same of optimizer updates: how many of them make a step cannot be told from outside
--expect order    their number cannot be told from outside: numbers, order and ledger alone
--expect none     no step may be told; the ledger must close all the same"""
import argparse
import json
import statistics
import sys


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.strip()]
    except (OSError, ValueError) as e:
        print(f"compare.py: {path}: {e}", file=sys.stderr)
        sys.exit(2)


def by_loop(events):
    loops = {}
    for e in events:
        if e["type"] == "step":
            loops.setdefault(e["loop"], []).append(e)
    return loops


def is_skipped(step):
    return step["skipped"] if "skipped" in step else "skipped_update" in step["flags"]


def order_faults(seen):
    """Of one loop, by itself: numbers, order, spans."""
    number, before = 0, None
    for s in seen:
        name = f"step {s['step']}"
        if not is_skipped(s):
            number += 1
            if s["step"] != number:
                yield f"numbers: {name} where {number} was due"
                number = s["step"]
        if s["end_ns"] < s["start_ns"] or s["duration_ns"] < 0:
            yield f"negative: {name} ends before it starts"
        elif s["duration_ns"] != s["end_ns"] - s["start_ns"]:
            yield f"duration: {name} is not its end less its start"
        if before and s["end_ns"] <= before["end_ns"]:
            yield f"order: {name} does not end after the one before"
        elif before and s["start_ns"] < before["end_ns"]:
            yield f"overlap: {name} starts {before['end_ns'] - s['start_ns']} ns before the end of the one before"
        before = s


def pair(seen, true):
    """Pairs (seen or None, true or None): in order, the cheapest way, where leaving both alone costs more than any
    shift. Counts that agree pair one to one; otherwise a missing or invented step shows where it is."""
    if len(seen) == len(true):
        return list(zip(seen, true))
    pairs, i, j = [], 0, 0
    while i < len(seen) and j < len(true):
        distance = abs(seen[i]["end_ns"] - true[j]["end"])
        if j + 1 < len(true) and abs(seen[i]["end_ns"] - true[j + 1]["end"]) < distance:
            pairs.append((None, true[j]))
            j += 1
        elif i + 1 < len(seen) and abs(seen[i + 1]["end_ns"] - true[j]["end"]) < distance:
            pairs.append((seen[i], None))
            i += 1
        else:
            pairs.append((seen[i], true[j]))
            i, j = i + 1, j + 1
    return pairs + [(s, None) for s in seen[i:]] + [(None, t) for t in true[j:]]


def count_faults(pairs):
    for s, t in pairs:
        if s is None:
            yield f"missing: true step {t['n']} that ended at {t['end']}" + (" (skipped)" if t["skipped"] else "")
        elif t is None:
            yield f"invented: step {s['step']} that ended at {s['end_ns']}"
        elif is_skipped(s) != t["skipped"]:
            told, truly = (("not ", "")[is_skipped(x)] for x in (s, t))
            yield f"skipped: step {s['step']} is {told}told as a skipped update and was {truly}one"


def late_stamp(off, gap_before, usual):
    """The program was held up between its update's return and its own stamp: its log shows as much."""
    return off < 0 and gap_before - usual >= 0.8 * -off and -off < gap_before


AWAKE_NS = 5e6  # until a busy machine runs the thread that is told of a completion


def place_faults(pairs, share, lazy):
    """A boundary of the update belongs nearer to its own true one than to a neighbour's; one of the backward pass or
    zero_grad lies within a step of it, the first one (a warm-up) within its own length. lazy: a step is run only when its
    results are asked for, behind all that the host says of it, so that on a busy machine one in ten may lie within a
    step of it only; the first is compiled then, and not judged."""
    both = [(s, t) for s, t in pairs if s and t]
    gaps = [b["end"] - a["end"] for (_, a), (_, b) in zip(both, both[1:])]
    usual = sorted(gaps)[len(gaps) // 10] if gaps else 0  # of a step that was not held up
    blunt = []  # of a lazy loop: farther than an update may, and nearer than a step
    for i, (s, t) in enumerate(both if gaps else []):
        if lazy and not i:
            continue
        near = gaps[max(i - 1, 0):i + 1]
        own = t["end"] - t["start"] if not i and t["start"] else 0
        awake = AWAKE_NS if s["boundary"] == "completion" else 0
        limit = share * min(near) if s["boundary"] == "update_exit" else max(near + [own, awake])
        off = s["end_ns"] - t["end"]
        if abs(off) > limit and not (i and late_stamp(off, gaps[i - 1], usual)):
            fault = (f"boundary: step {s['step']} ({s['boundary']}) is {off / 1e6:+.3f} ms from the true end,"
                     f" {limit / 1e6:.3f} allowed")
            if lazy and abs(off) <= max(near):
                blunt.append(fault)
            else:
                yield fault
    if len(blunt) * 10 > len(both):
        yield from blunt


def micro_faults(pairs):
    """The first step may hold backward passes of the framework's own: torch.compile traces one, a pipeline
    learns its shapes by one."""
    for i, (s, t) in enumerate(pairs):
        if s and t and s["micro_batches"] != t["micro"] and (i or s["micro_batches"] < t["micro"]):
            yield f"micro_batches: step {s['step']} tells {s['micro_batches']}, the log {t['micro']}"


def ledger_faults(events, pid):
    for e in events:
        if e["type"] == "ledger" and e["pid"] == pid:
            total = sum(e["buckets"].values())
            if total != e["elapsed_ns"] or min(e["buckets"].values(), default=0) < 0:
                yield f"ledger: buckets add up to {total}, elapsed is {e['elapsed_ns']}"


def p99(sorted_values):
    return sorted_values[min(len(sorted_values) - 1, len(sorted_values) * 99 // 100)]


def errors(pairs):
    """Numbers only: of the boundary, of one step's time end to end, of the whole."""
    both = [(s["end_ns"], t["end"]) for s, t in pairs if s and t]
    if not both:
        return {}
    off = sorted(abs(s - t) for s, t in both)
    out = {"boundary_p50_ns": int(statistics.median(off)), "boundary_p99_ns": p99(off)}
    if len(both) > 1:
        lengths = [(s2 - s1, t2 - t1) for (s1, t1), (s2, t2) in zip(both, both[1:])]
        step = sorted(abs(s - t) for s, t in lengths)
        whole = both[-1][1] - both[0][1]
        out |= {"step_ns": int(statistics.median(t for _, t in lengths)), "step_p50_ns": int(statistics.median(step)),
                "step_p99_ns": p99(step), "total_percent": 100 * (both[-1][0] - both[0][0] - whole) / whole}
    return out


def match_loops(seen, true):
    """Pairs of (steps told, true steps), each loop once, nearest number and place first."""
    def cost(s, t):
        return (abs(len(seen[s]) - len(true[t])), abs(seen[s][-1]["end_ns"] - true[t][-1]["end"]))

    order = sorted(((s, t) for s in seen for t in true), key=lambda st: cost(*st))
    free_seen, free_true, out = set(seen), set(true), []
    for s, t in order:
        if s in free_seen and t in free_true:
            free_seen.remove(s)
            free_true.remove(t)
            out.append((seen[s], true[t]))
    return out + [(seen[s], []) for s in sorted(free_seen)] + [([], true[t]) for t in sorted(free_true)]


def update_faults(loops, truth):
    """Where only updates can be counted: their number is right and each told step holds as many as it says."""
    told = sum(s["updates"] for seen in loops.values() for s in seen if not is_skipped(s))
    if told != truth[0]["updates"]:
        yield f"updates: {told} told, {truth[0]['updates']} made"


def compare(events, truth, args):
    """(faults, report) of one process."""
    pid = truth[0]["pid"]
    loops = by_loop(e for e in events if e.get("pid") == pid)
    faults, report = list(ledger_faults(events, pid)), {"pid": pid, "kind": truth[0]["kind"]}
    for seen in loops.values():
        faults += order_faults(seen)
    told = sum(not is_skipped(s) for seen in loops.values() for s in seen)
    report |= {"told": told, "steps": truth[0]["steps"], "updates": truth[0]["updates"]}
    if args.expect == "none":
        return faults + [f"invented: {told} steps told, none can be"] * (told > 0), report
    if args.expect == "order":
        return faults, report
    if args.expect == "updates":
        return faults + list(update_faults(loops, truth)), report
    from_ns = next((e["start"] for e in truth if e["type"] == "hold"), 0) if args.late else 0
    true = by_loop(e for e in truth if e.get("end", 0) > from_ns)
    report["steps"] = sum(not t["skipped"] for steps in true.values() for t in steps)
    every = []
    for seen, wanted in match_loops(loops, true):
        pairs = pair(seen, wanted)
        faults += count_faults(pairs)
        faults += place_faults(pairs, args.tolerance, args.lazy)
        if not args.no_micro:
            faults += micro_faults(pairs)
        every.append(errors(pairs))
    report["loops"] = every
    return faults, report


def text_of(report):
    text = f"{report['kind']}: pid {report['pid']}, {report['told']} told, {report['steps']} true"
    for e in report.get("loops", []):
        if "step_ns" in e:
            text += (f"; boundary p50 {e['boundary_p50_ns'] / 1e3:.1f} µs p99 {e['boundary_p99_ns'] / 1e3:.1f} µs, step"
                     f" of {e['step_ns'] / 1e6:.2f} ms p50 {e['step_p50_ns'] / 1e3:.1f} µs p99"
                     f" {e['step_p99_ns'] / 1e3:.1f} µs, total {e['total_percent']:+.4f} %")
    return text


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--expect", choices=["steps", "updates", "order", "none"], default="steps")
    p.add_argument("--tolerance", type=float, default=0.5, metavar="PART",
                   help="of the shorter neighbouring step, how far an update's boundary may lie off (0.5)")
    p.add_argument("--late", action="store_true",
                   help="attached while the program held: only its steps after that")
    p.add_argument("--lazy", action="store_true", help="do not judge where the first step ends: it is compiled later")
    p.add_argument("--no-micro", action="store_true", help="do not compare micro_batches")
    p.add_argument("--max", type=int, default=20, help="faults printed for each process (20)")
    p.add_argument("--json", action="store_true", help="the report as JSON lines")
    p.add_argument("events")
    p.add_argument("truth", nargs="+")
    args = p.parse_args()
    events, bad = read(args.events), 0
    for path in args.truth:
        faults, report = compare(events, read(path), args)
        for line in faults[:args.max]:
            print(f"{report['kind']} pid {report['pid']}: {line}")
        if len(faults) > args.max:
            print(f"{report['kind']} pid {report['pid']}: and {len(faults) - args.max} more")
        print(json.dumps(report | {"faults": faults}) if args.json else text_of(report))
        bad += len(faults)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
