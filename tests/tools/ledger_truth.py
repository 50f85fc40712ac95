#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ledger_truth.py JOURNAL REPORT [--steps LINES] [--causes A,B...] [--fell JOURNAL] [--data-unseen]

What gp-bpf says of a job against the journal that its reference rank kept (tests/workloads/restart.py).
REPORT: of `gp-bpf report --json`, or of `run --json`, which has one job. Checked:
  structure, exactly   runs, disruptions with cause, last step, the step gone on from, and so steps made in vain;
                       steps made, greatest number; buckets add up to what elapsed and to what recovery took
  buckets              each within 1 % of the run or 50 ms; how far off it is is printed
  --steps LINES        steps of the JSON lines: as many, numbered as in the journal, each ends after the instant that the
                       journal has of the step before, and not after its own
--fell: another rank fell, whose journal this is; what this one did until it fell too is not known. --data-unseen: torch 1.13 does not show when a loader
is asked for a batch: that is part of the step; nor when an update ends: a step ends where the next one trains."""
import argparse
import json
import statistics
import sys

STARTUP, INIT, PREP = "PROGRAM_STARTUP", "TPU_INITIALIZATION", "TRAINING_PREP"
SAVE, RESTORE = "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME", "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME"
DATA, EVAL, GOODPUT = "DATA_LOADING_SYNC", "CUSTOM_BADPUT_EVENTS.EVAL", "GOODPUT"
WASTED, RECOVERY = "WASTED_PROGRESS_FROM_DISRUPTION", "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION"
HANG, OTHER = "HANG", "OTHER"
faults = []


def expect(right, text):
    if not right:
        faults.append(text)


class Run:
    """One process's life: buckets of its own, and its steps' productive time by number."""

    def __init__(self, events, data_unseen):
        self.buckets, self.steps, self.ends = {}, {}, []
        begin = next(e for e in events if e["what"] == "begin")
        # The OOM killer comes when it comes.
        self.end_known = events[-1].get("how") != "oom"
        self.start_ns, self.end_ns = begin["start_ns"], events[-1]["ns"]
        self.restores = any(e["what"] == "restore" for e in events)
        grouped = begin.get("grouped_ns")
        self.add(INIT, grouped - begin["group_ns"] if grouped else 0)
        self.add(PREP, begin["ns"] - grouped if grouped else 0)
        self.add(STARTUP, (begin["group_ns"] if grouped else begin["ns"]) - begin["start_ns"])
        at = begin["ns"]
        for e in events:
            if e["what"] == "step":
                data = 0 if data_unseen else e["data_ns"]
                self.steps[e["step"]] = e["ns"] - at - data
                self.ends.append((e["step"], at, e["ns"]))
                self.add(DATA, data)
                at = e["ns"]
            elif e["what"] in ("save", "eval"):
                self.add(SAVE if e["what"] == "save" else EVAL, e["ns"] - at)
                at = e["ns"]
            elif e["what"] == "restore":
                self.add(RESTORE, e["ns"] - e["begin_ns"])
                self.add(PREP if grouped else STARTUP, e["begin_ns"] - e["ns"])
        # What the first step, or one that stood still, takes beyond the others is none of theirs.
        usual = statistics.median(self.steps.values())
        first = min(self.steps)
        for n, took in self.steps.items():
            if n == first or took > max(10 * usual, 1e9):
                self.add(STARTUP if n == first else HANG, took - usual)
                self.steps[n] = usual

    def add(self, bucket, ns):
        self.buckets[bucket] = self.buckets.get(bucket, 0) + ns


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def runs_of(journal, data_unseen):
    runs = {}
    for e in read(journal):
        runs.setdefault(e["pid"], []).append(e)
    return [Run(events, data_unseen) for events in runs.values()], list(runs)


def truth_of(runs):
    """The job's buckets, and of each run but the last how long and how many of its steps were in vain."""
    total, vain = {}, []
    for i, run in enumerate(runs):
        lost = [n for n in run.steps if i + 1 < len(runs) and n >= min(runs[i + 1].steps)]
        vain.append((len(lost), sum(run.steps[n] for n in lost)))
        run.add(WASTED, vain[-1][1])
        run.add(GOODPUT, sum(run.steps.values()) - vain[-1][1])
        if i:
            run.add(RECOVERY, run.start_ns - runs[i - 1].end_ns)
        for bucket, ns in run.buckets.items():
            total[bucket] = total.get(bucket, 0) + ns
    elapsed = runs[-1].end_ns - runs[0].start_ns
    total[OTHER] = elapsed - sum(total.values())
    return elapsed, total, vain[:-1]


def check_buckets(job, elapsed, truth, ends_known):
    bound = max(50e6, elapsed / 100)
    told = dict(job["buckets"])
    expect(sum(told.values()) == job["elapsed_ns"], f"buckets are {sum(told.values())} ns of {job['elapsed_ns']}")
    if not ends_known:
        for buckets in (told, truth):
            buckets["OTHER and recovery"] = buckets.pop(OTHER) + buckets.pop(RECOVERY)
    for bucket in sorted(set(told) | set(truth)):
        true, off = truth.get(bucket, 0), told.get(bucket, 0) - truth.get(bucket, 0)
        if true or off:
            print(f"{bucket}: {true / 1e6:.0f} ms, off by {off / 1e6:+.1f} ms")
        expect(abs(off) <= bound, f"{bucket}: truly {true / 1e6:.1f} ms, off by {off / 1e6:+.1f} ms")
    off = job["elapsed_ns"] - elapsed
    expect(abs(off) <= bound, f"elapsed: truly {elapsed / 1e6:.1f} ms, off by {off / 1e6:+.1f} ms")


def check_disruptions(job, runs, vain, causes, bound):
    falls = job["disruptions"] if isinstance(job["disruptions"], list) else job["last_disruptions"]
    count = job.get("disruptions_count", job["disruptions"])
    expect(count == len(falls) == len(vain), f"disruptions: {count}, truly {len(vain)}")
    expect([f["cause"] for f in falls] == causes, f"causes: {[f['cause'] for f in falls]}, truly {causes}")
    for i, (fall, (steps, ns)) in enumerate(zip(falls, vain), 1):
        last, first = max(runs[i - 1].steps), min(runs[i].steps)
        expect((fall["step"], fall["resumed_step"]) == (last, first),
               f"disruption {i}: {fall['step']}, gone on from {fall['resumed_step']}; truly {last}, {first}")
        expect((fall["step"] or 0) + 1 - (fall["resumed_step"] or 0) == steps, f"disruption {i}: truly {steps} steps in vain")
        expect(fall["estimated"] != runs[i].restores, f"disruption {i}: {fall['how']}")
        off = (fall["wasted_ns"] or 0) - ns
        print(f"disruption {i}, {fall['cause']}: {steps} steps in vain, {ns / 1e6:.0f} ms, off by {off / 1e6:+.1f} ms")
        expect(abs(off) <= bound, f"disruption {i}: wasted {fall['wasted_ns']} ns, truly {ns:.0f}")
        if "recovery" in fall:
            expect(sum(fall["recovery"].values()) == fall["recovery_ns"], f"disruption {i}: its recovery does not add up")
    expect(sum(f["wasted_ns"] or 0 for f in falls) == job["buckets"][WASTED], "what disruptions cost is not what was wasted")


def check_steps(path, pids, runs, late):
    lines = [e for e in read(path) if e["type"] == "step"]
    for pid, run in zip(pids, runs):
        told = [(e["step"], e["end_ns"]) for e in lines if e["pid"] == pid]
        true = [n for n, _, _ in run.ends]
        expect([n for n, _ in told] == true, f"process {pid}: steps {[n for n, _ in told]}, truly {true}")
        latest = [after for _, _, after in run.ends[late:]] + [run.end_ns] * late
        wrong = [f"step {n} ends {end - after:+} ns" for (n, end), (_, before, after), limit in zip(told, run.ends, latest)
                 if not before < end <= limit]
        expect(not wrong, f"process {pid}, from its log: {', '.join(wrong[:3])}; {len(wrong)} steps")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("journal")
    parser.add_argument("report")
    parser.add_argument("--steps")
    parser.add_argument("--causes", default="")
    parser.add_argument("--fell")
    parser.add_argument("--data-unseen", action="store_true")
    args = parser.parse_args()
    runs, pids = runs_of(args.journal, args.data_unseen)
    for run, fall in zip(runs, [e for e in read(args.fell) if e["what"] == "fall"] if args.fell else []):
        run.end_ns, run.end_known = fall["ns"], False
    report = read(args.report)[-1]
    jobs = report.get("jobs", [report])
    expect(len(jobs) == 1, f"{len(jobs)} jobs")
    job = jobs[0]
    elapsed, truth, vain = truth_of(runs)
    check_buckets(job, elapsed, truth, all(r.end_known for r in runs))
    check_disruptions(job, runs, vain, [c for c in args.causes.split(",") if c], max(50e6, elapsed / 100))
    count = len(job["runs"]) if isinstance(job["runs"], list) else job["runs"]
    expect(count == len(runs), f"runs: {count}, truly {len(runs)}")
    expect(job["steps"] == sum(len(r.steps) for r in runs), f"{job['steps']} steps, truly {[len(r.steps) for r in runs]}")
    greatest = job.get("max_step", job.get("last_step"))
    expect(greatest == max(runs[-1].steps), f"greatest step {greatest}, truly {max(runs[-1].steps)}")
    if args.steps:
        check_steps(args.steps, pids, runs, int(args.data_unseen))
    print("\n".join(f"wrong: {f}" for f in faults))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
