#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ledger_truth.py must pass a true report and fail on every kind of false one. Prints TAP."""
import contextlib
import copy
import io
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import ledger_truth  # noqa: E402

MS = 10**6
STEP = 10 * MS
results = []


def life(pid, start, first, last, how=None):
    """Starts for 2 s, then steps that wait 1 ms for a batch each; saves after 40, which takes 300 ms."""
    at = start + 2000 * MS
    log = [{"what": "begin", "ns": at, "start_ns": start}]
    if first > 1:
        log.insert(0, {"what": "restore", "begin_ns": at - 500 * MS, "ns": at - 100 * MS})
    for n in range(first, last + 1):
        at += STEP
        log.append({"what": "step", "ns": at, "step": n, "data_ns": MS})
        if n == 40:
            at += 300 * MS
            log.append({"what": "save", "begin_ns": at - 300 * MS, "ns": at})
    log.append({"what": "fall", "how": how, "ns": at} if how else {"what": "end", "ns": at})
    return [e | {"pid": pid} for e in log]


JOURNAL = life(7, 10**12, 1, 60, "kill") + life(8, 10**12 + 4000 * MS, 41, 100)
END = JOURNAL[-1]["ns"]
REPORT = {"runs": 2, "disruptions": 1, "steps": 120, "last_step": 100, "elapsed_ns": END - 10**12,
          "buckets": {"PROGRAM_STARTUP": 3600 * MS, "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME": 400 * MS,
                      "DATA_LOADING_SYNC": 120 * MS, "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME": 300 * MS,
                      "GOODPUT": 900 * MS, "WASTED_PROGRESS_FROM_DISRUPTION": 180 * MS,
                      "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION": 1100 * MS, "OTHER": 0},
          "last_disruptions": [{"cause": "killed", "step": 60, "resumed_step": 41, "estimated": False, "how": "",
                                "wasted_ns": 180 * MS}]}
LINES = [{"type": "step", "pid": e["pid"], "step": e["step"], "end_ns": e["ns"] - 1000} for e in JOURNAL
         if e["what"] == "step"]


def verdict(report, lines):
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        for name, what in (("journal", JOURNAL), ("report", [{"jobs": [report]}]), ("lines", lines)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.writelines(json.dumps(line) + "\n" for line in what)
        sys.argv = ["ledger_truth.py", *(os.path.join(folder, n) for n in ("journal", "report")), "--causes", "killed",
                    "--steps", os.path.join(folder, "lines")]
        ledger_truth.faults.clear()
        try:
            ledger_truth.main()
        except SystemExit as end:
            return end.code, out.getvalue()


def expect(name, word, report=None, lines=None):
    """word: of the line that tells the fault; None: no fault."""
    rc, text = verdict(report or REPORT, LINES if lines is None else lines)
    wrong = [line for line in text.splitlines() if line.startswith("wrong: ")]
    good = not rc and not wrong if word is None else rc == 1 and any(word in line for line in wrong)
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} {name}")
    if not good:
        print("\n".join("# " + line for line in text.splitlines()))


def changed(**fields):
    return copy.deepcopy(REPORT) | fields


def moved(source, to, ns):
    out = copy.deepcopy(REPORT)
    out["buckets"][source] -= ns
    out["buckets"][to] = out["buckets"].get(to, 0) + ns
    return out


def fell(**fields):
    return changed(last_disruptions=[REPORT["last_disruptions"][0] | fields])


def main():
    expect("a true report", None)
    expect("40 ms of it elsewhere", None, moved("GOODPUT", "OTHER", 40 * MS))
    for bucket in REPORT["buckets"]:
        expect(f"75 ms of {bucket} are a hang", "HANG", moved(bucket, "HANG", 75 * MS))
    expect("buckets that do not add up", "buckets are", changed(elapsed_ns=REPORT["elapsed_ns"] + 1))
    expect("no disruption", "disruptions: 0", changed(disruptions=0, last_disruptions=[]))
    expect("another cause", "causes", fell(cause="crashed"))
    expect("a step too few in vain", "gone on from 42", fell(resumed_step=42))
    expect("another last step", "disruption 1: 59", fell(step=59))
    expect("only estimated", "disruption 1", fell(estimated=True))
    expect("less wasted than was", "wasted", fell(wasted_ns=100 * MS))
    expect("a run too many", "runs: 3", changed(runs=3))
    expect("a step too many", "121 steps", changed(steps=121))
    expect("another greatest step", "greatest step 120", changed(last_step=120))
    expect("a step not told", "process 8: steps", None, LINES[:-1])
    expect("a false number", "process 7: steps", None, [LINES[0] | {"step": 2}] + LINES[1:])
    expect("an end after its log", "step 1 ends +1", None, [LINES[0] | {"end_ns": LINES[0]["end_ns"] + 1001}] + LINES[1:])
    expect("an end in the step before", "step 2 ends", None, [LINES[0], LINES[1] | {"end_ns": LINES[0]["end_ns"]}] + LINES[2:])
    print(f"1..{len(results)}")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
