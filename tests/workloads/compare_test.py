#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py must pass a true record and fail on every kind of false one. Prints TAP."""
import copy
import json
import os
import subprocess
import sys
import tempfile

COMPARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "compare.py")
STEP, PID, FIRST = 2_000_000, 77, 10**12
results = []


def truth(steps=40, loop=0, shift=0, skipped=(), micro=4):
    out, number = [], 0
    for i in range(steps):
        number += i not in skipped
        end = FIRST + shift + (i + 1) * STEP + (i % 3) * 1000
        out.append({"type": "step", "n": 0 if i in skipped else number, "loop": loop, "start": end - STEP, "end": end,
                    "micro": micro, "updates": 1, "skipped": i in skipped})
    return out


def meta(steps):
    return [{"type": "meta", "kind": "test", "torch": "0", "pid": PID, "steps": sum(not s["skipped"] for s in steps),
             "updates": sum(s["updates"] for s in steps if not s["skipped"]), "loops": 1}] + steps


def told(steps, loop=None):
    out, before = [], FIRST
    for s in steps:
        end = s["end"] - 1200
        out.append({"type": "step", "pid": PID, "loop": s["loop"] if loop is None else loop, "step": s["n"] or 1,
                    "start_ns": before, "end_ns": end, "duration_ns": end - before, "tier": "A",
                    "boundary": "update_exit", "micro_batches": s["micro"], "updates": 1,
                    "flags": ["skipped_update"] if s["skipped"] else []})
        before = end
    return out


def ledger():
    return {"type": "ledger", "pid": PID, "elapsed_ns": 30, "buckets": {"GOODPUT": 20, "OTHER": 10}}


def run(events, log, *options):
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("events", "truth")]
        for path, lines in zip(paths, (events, log)):
            with open(path, "w", encoding="utf-8") as f:
                f.writelines(json.dumps(line) + "\n" for line in lines)
        done = subprocess.run([sys.executable, COMPARE, *options, *paths], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def expect(name, word, events, log, *options):
    """word: what the fault's line begins with; None: no fault."""
    rc, text = run(events, log, *options)
    good = rc == 0 if word is None else rc == 1 and f": {word}: " in text
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} {name}")
    if not good:
        print("\n".join("# " + line for line in text.splitlines()))


def changed(events, i, **fields):
    out = copy.deepcopy(events)
    out[i] |= fields
    return out


def moved(events, i, by):
    out = copy.deepcopy(events)
    out[i]["end_ns"] += by
    out[i]["duration_ns"] += by
    if i + 1 < len(out):
        out[i + 1]["start_ns"] += by
        out[i + 1]["duration_ns"] -= by
    return out


def numbered(events):
    return [e | {"step": n} for n, e in enumerate(events, 1)]


def steps_tests():
    steps = truth()
    log, good = meta(steps), told(steps)
    expect("a true record", None, good + [ledger()], log)
    expect("another process's steps do not count", None, good + [changed(good, 0, pid=78)[0]], log)
    expect("a missing step", "missing", numbered(good[:9] + good[10:]), log)
    expect("the last step missing", "missing", good[:-1], log)
    expect("no step at all", "missing", [], log)
    start, middle, end = good[9]["start_ns"], good[9]["start_ns"] + STEP // 2, good[9]["end_ns"]
    halves = [good[9] | {"end_ns": middle, "duration_ns": middle - start},
              good[9] | {"start_ns": middle, "duration_ns": end - middle}]
    expect("an invented step", "invented", numbered(good[:9] + halves + good[10:]), log)
    expect("one missing and one invented", "boundary", numbered(good[:9] + good[10:] + [changed(
        good, -1, start_ns=good[-1]["end_ns"], end_ns=good[-1]["end_ns"] + STEP, duration_ns=STEP)[-1]]), log)
    expect("wrong order", "order", good[:5] + [good[6], good[5]] + good[7:], log)
    expect("numbers from 2", "numbers", [e | {"step": e["step"] + 1} for e in good], log)
    expect("a number twice", "numbers", changed(good, 7, step=7), log)
    expect("a number left out", "numbers", good[:9] + [e | {"step": e["step"] + 1} for e in good[9:]], log)
    expect("steps that overlap", "overlap", changed(good, 5, start_ns=good[5]["start_ns"] - 10,
                                                    duration_ns=good[5]["duration_ns"] + 10), log)
    expect("an end before its start", "negative", changed(good, 5, start_ns=good[5]["end_ns"] + 5), log)
    expect("a false duration", "duration", changed(good, 5, duration_ns=5), log)
    expect("a boundary too early", "boundary", moved(good, 8, -STEP * 6 // 10), log)
    expect("a boundary too late", "boundary", moved(good, 8, STEP * 6 // 10), log)
    expect("a boundary a little early", None, moved(good, 8, -STEP // 3), log)
    expect("a stricter tolerance", "boundary", moved(good, 8, -STEP // 3), log, "--tolerance", "0.1")
    expect("zero_grad may lie in the next step", None,
           [e | {"boundary": "zero_grad"} for e in moved(good, 8, STEP * 6 // 10)], log)
    expect("false micro-batches", "micro_batches", changed(good, 3, micro_batches=3), log)
    expect("micro-batches not asked for", None, changed(good, 3, micro_batches=3), log, "--no-micro")


def held_up_test():
    """Ends of the log from step 20 on come late, the first of them because the program was held up there."""
    steps = truth()
    good = told(steps)
    late = steps[:20] + [s | {"end": s["end"] + 3 * STEP} for s in steps[20:]]
    expect("a stamp that came late", None, good[:21] + [
        e | {"end_ns": e["end_ns"] + 3 * STEP, "duration_ns": e["duration_ns"] + (3 * STEP if i == 0 else 0),
             "start_ns": e["start_ns"] + (3 * STEP if i else 0)} for i, e in enumerate(good[21:])], meta(late))


def skipped_tests():
    steps = truth(skipped=(0, 11, 12))
    log, good = meta(steps), told(steps)
    expect("skipped updates carry no number", None, good, log)
    expect("a skipped update told as a step", "skipped", numbered(changed(good, 11, flags=[])), log)
    expect("a step told as skipped", "skipped", changed(good, 20, flags=["skipped_update"]), log)
    expect("a skipped update not told", "missing", good[:11] + good[12:], log)


def loops_tests():
    one, two = truth(loop=0), truth(loop=1, shift=STEP // 3)
    log = meta(one + two)
    expect("two loops, their numbers swapped", None, told(one, 1) + told(two, 0), log)
    expect("two loops told as one", "missing", numbered(sorted(
        told(one, 0) + told(two, 0), key=lambda e: e["end_ns"])), log, "--max", "500")
    expect("a loop that is not there", "invented", told(one) + told(two) + told(one[:3], 5), log)


def other_tests():
    steps = truth()
    log, good = meta(steps), told(steps)
    expect("a ledger that does not close", "ledger", good + [ledger() | {"elapsed_ns": 31}], log)
    expect("a bucket below zero", "ledger", good + [ledger() | {"buckets": {"GOODPUT": 40, "OTHER": -10}}], log)
    expect("none can be told", "invented", good, log, "--expect", "none")
    expect("none told", None, [ledger()], log, "--expect", "none")
    expect("updates only", None, numbered(good), log, "--expect", "updates")
    expect("an update too few", "updates", good[:-1], log, "--expect", "updates")
    expect("order only", None, good[:-1], log, "--expect", "order")
    expect("order only, and it is wrong", "numbers", good[1:], log, "--expect", "order")
    hold = {"type": "hold", "start": steps[9]["end"] + 10, "end": steps[9]["end"] + 20}
    expect("attached late", None, numbered(good[10:]), log + [hold], "--late")
    expect("attached late, the first one lost", "missing", numbered(good[11:]), log + [hold], "--late")


def main():
    steps_tests()
    held_up_test()
    skipped_tests()
    loops_tests()
    other_tests()
    print(f"1..{len(results)}")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
