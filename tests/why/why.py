#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""why.py [--only ROW]... [--repeat N] [--quiet-only | --no-quiet] [--write FILE] [--keep FOLDER]

The truth table of causes: real training runs that lose time to a cause that is injected, so that the cause and the
loss are known, and quiet runs that lose none. Prints a table (Markdown) of what gp-bpf names as the cause. Needs
root, a built gp-bpf (GP_BPF) and torch; each row takes about 40 s. Status 1: a bar is missed.

--only ROW   only this row (repeatable); a quiet run's name is "quiet:KIND"
--repeat N   every row N times
--write FILE replaces the part of a document between <!-- why --> and <!-- /why -->
--keep FOLDER keeps logs, JSON lines and tapes there
"""
import argparse
import contextlib
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import device
import injectors
import quiet
from runs import GP_BPF, TOP, Failed, Quiet, Run, Skip, python

USUAL_S, SLOW_S, AFTER_S = 14, 20, 8
RIGHT_MIN, SHARE_MIN, WRONG_MAX = 0.95, 0.95, 0.01
CPU = {"cpu_contention", "cpu_throttled"}
ALIKE = 0.8  # of two causes at once, each may come first if the losses are so alike
WITHIN = 0.15  # of the injected loss: the allowed difference, and the least share of a cause that counts as named


class Row:
    """One injected run. causes: what gp-bpf has to name, and where the truth is: a kind of train.py, which logs its
    own time, or "rest": the growth of the steps that no kind has logged. outside: an injector. evidence: a text
    that the evidence of the cause has to contain; FILE:LINE of a kind is taken from the run's log."""

    def __init__(self, name, kinds, causes, outside=None, evidence="", torch="debian", cpus="one", slow_s=SLOW_S):
        self.name, self.kinds, self.causes, self.outside = name, kinds, causes, outside or injectors.Go
        self.evidence, self.torch, self.cpus = evidence, torch, cpus
        self.slow_s, self.hang = slow_s, False


class HangRow(Row):
    """A run that stands still once. causes has one entry."""

    def __init__(self, *args, ranks=1, **kw):
        super().__init__(*args, **kw)
        self.hang, self.ranks = True, ranks


class LongRow(Row):
    """A run with one long step. causes has one entry."""


class PauseRow(Row):
    """A run with pauses between steps. causes has one entry."""


class DeviceRow(Row):
    """A run of a stand-in: see device.py."""


ROWS = [
    Row("hog in another control group", "none", {"cpu_contention": "rest"}, injectors.Hog, evidence="why_hog"),
    Row("CPU quota", "none", {"cpu_throttled": "rest"}, injectors.Quota, slow_s=45),
    Row("memory.high", "none", {"memory_pressure": "rest"}, injectors.MemoryHigh),
    Row("slow file server", "read", {"disk": "read"}, injectors.SlowFiles, evidence="slow-shard"),
    Row("throttled block device", "device", {"disk": "device"}, injectors.ThrottledDevice),
    Row("slow HTTP server of the data", "fetch", {"network": "fetch"}, injectors.SlowServer, torch="current"),
    Row("slow file server of the data", "files", {"loader_io": "files"}, injectors.SlowFiles, torch="current"),
    Row("worker at 100 % CPU", "compute", {"loader_cpu": "compute"}, evidence="1 loader worker at", torch="current"),
    Row("one slow worker of two", "uneven", {"loader_cpu": "uneven"}, evidence="1 of 2 loader workers at",
        torch="current"),
    Row("time.sleep() at a line", "sleep", {"own_code": "sleep"}, evidence="LINE"),
    Row("gc.collect() of a large heap", "collect", {"garbage_collection": "collect"}),
    Row("checkpoint thread holds the GIL", "saver", {"interpreter_lock": "rest"}, cpus="all"),
    Row("thread saves checkpoints", "saves", {"checkpoint": "rest"}, cpus="all", evidence="LINE"),
    Row("neighbouring training job", "none", {"cpu_contention": "rest"}, injectors.Neighbour, evidence="of another job"),
    Row("hog and time.sleep()", "sleep", {"cpu_contention": "rest", "own_code": "sleep"}, injectors.Hog),
    Row("slow loader and gc.collect()", "compute+collect",
        {"loader_cpu": "compute", "garbage_collection": "collect"}, torch="current"),
    LongRow("real-time program, once", "none", {"cpu_contention": "rest"}, injectors.RealTime, slow_s=26),
    PauseRow("hog in pauses between steps", "pause", {"cpu_contention": "pause"}, evidence="LINE", slow_s=40),
    HangRow("SIGSTOP", "none", {"stopped": "rest"}, injectors.Stop),
    HangRow("collective that one rank does not enter", "absent", {"collective": "rest"}, evidence="LINE", ranks=2),
    DeviceRow("device that throttles", "none", {"device_throttled": "rest"}, evidence="GPU 0 runs at"),
]

# ---- truth ---------------------------------------------------------------------------------------------


def steps_between(log, from_ns, to_ns):
    """Pairs of a step's length and the times that kinds took of it, of the steps within that span."""
    ends = log["steps"]
    return [(ends[i][0] - ends[i - 1][0], ends[i][1]) for i in range(1, len(ends))
            if ends[i - 1][0] >= from_ns and ends[i][0] <= to_ns]


def mean_of(steps, kind=None):
    return statistics.fmean(took.get(kind, 0) if kind else length for length, took in steps)


def truth_of(row, log, began_ns, ended_ns):
    """Usual step; for each cause what it adds to a step; what other programs on the CPU add. All in ms."""
    before = steps_between(log, began_ns - (USUAL_S - 3) * 10**9, began_ns - 3 * 10**8)
    during = steps_between(log, began_ns + 5 * 10**8, ended_ns)
    if len(before) < 50 or len(during) < 10:
        raise Failed(f"{len(before)} usual and {len(during)} slow steps: too few")
    grown = {kind: mean_of(during, kind) - mean_of(before, kind) for kind in row.causes.values() if kind != "rest"}
    others = mean_of(during, "queue") - mean_of(before, "queue") if not CPU.intersection(row.causes) else 0
    grown["rest"] = mean_of(during) - mean_of(before) - sum(grown.values()) - others
    return mean_of(before) / 1e6, {cause: grown[kind] / 1e6 for cause, kind in row.causes.items()}, others / 1e6


# ---- judging -------------------------------------------------------------------------------------------


class Judged:
    """What gp-bpf named in one run, and what was true. times in ms per step; parts: (cause, injected, explained)."""

    def __init__(self, row):
        self.row, self.named, self.right, self.usual, self.parts, self.wrong = row, "nothing", False, 0, [], []
        self.text, self.skipped, self.failed = "", "", ""

    def within(self):
        loss = sum(injected for _, injected, _ in self.parts)
        return [abs(explained - injected) <= WITHIN * loss for _, injected, explained in self.parts]


def evidence_wanted(row, log):
    if row.evidence != "LINE":
        return row.evidence
    return next(iter(log["lines"].values()))


def judge_slow(row, run, usual, truth, others, wanted):
    """usual, truth, others: as of truth_of(). wanted: what the evidence has to contain."""
    j = Judged(row)
    j.usual = usual
    found = [h for h in run.health() if h["kind"] in ("fail_slow", "recovered")]
    last = found[-1] if found else {}
    explained = {c["cause"]: c["ns"] / 1e6 for c in last.get("causes", [])}
    j.parts = [(cause, ms, explained.get(cause, 0)) for cause, ms in truth.items()]
    for h in found:
        loss = sum(truth.values()) + others
        causes = [c["cause"] for c in h.get("causes", [])
                  if c["ns"] / 1e6 >= WITHIN * loss + (others if c["cause"] in CPU else 0)]
        j.wrong += [c for c in causes + [h["why"]] if c not in truth and c != "unknown" and c not in j.wrong]
    j.wrong += [h["why"] for h in run.health() if h not in found and h["why"] != "unknown"]
    if found:
        j.named, j.text = last["why"], last["evidence"] or ""
    largest = [c for c, ms in truth.items() if ms >= ALIKE * max(truth.values())]
    j.right = j.named in largest and wanted in j.text
    return j


def judge_hang(row, run, began_ns, ended_ns):
    j, log, cause = Judged(row), run.log(), next(iter(row.causes))
    steps = [length for length, _ in steps_between(log, began_ns - 10**9, ended_ns + 2 * 10**9)]
    j.usual = statistics.median(steps) / 1e6
    found = [h for h in run.health() if h["kind"] == "hang"]
    over = [h for h in found if h["over"]]
    if found:
        j.named, j.text = found[0]["why"], found[0]["evidence"] or ""
    j.parts = [(cause, (max(steps)) / 1e6, over[-1]["size"] / 1e6 if over else 0)]
    j.right = j.named == cause and evidence_wanted(row, log) in j.text
    j.wrong = [h["why"] for h in found if h["why"] not in (cause, "unknown")]
    j.wrong += [h["why"] for h in run.health() if h not in found and h["why"] != "unknown"]
    return j


def judge_report(row, run, began_ns, ended_ns):
    """Judges what the report says of the long step, or of the pauses."""
    j, log, (cause,), told = Judged(row), run.log(), row.causes, run.report()
    steps = [length for length, _ in steps_between(log, began_ns - 10**9, ended_ns)]
    j.usual = statistics.median(steps) / 1e6
    if isinstance(row, LongRow):
        found, length = told.get("long_steps", {"causes": [], "lost_ns": 0}), (max(steps) - statistics.median(steps)) / 1e6
        injected, scale = length, found["lost_ns"] / 1e6
    else:
        found = next((b for b in told["badput_causes"] if b["bucket"] == "OTHER"), {"causes": []})
        length, injected = (statistics.fmean(p[i] for p in log["pauses"]) / 1e6 for i in range(2))
        scale, j.usual = length, length - injected
    causes = sorted(found["causes"], key=lambda c: -c["ns"])
    j.text = found.get("line") or ""
    j.named = causes[0]["cause"] if causes else "nothing"
    j.parts = [(cause, injected, scale * sum(c["share"] for c in causes if c["cause"] == cause))]
    j.right = cause in [c["cause"] for c in causes if c["cause"] != "unknown"][:1] and evidence_wanted(row, log) in j.text
    j.wrong = [c["cause"] for c in causes if c["cause"] not in (cause, "unknown") and c["share"] >= WITHIN]
    also = (cause, "unknown", "own_code") if isinstance(row, PauseRow) else ("unknown",)  # the pauses are own code
    j.wrong += [h["why"] for h in run.health() if h["why"] not in also]
    return j


def run_row(row, folder):
    """Makes one run of a row. Returns what came out."""
    if isinstance(row, DeviceRow):
        with device.DeviceRun(folder) as run:
            usual, loss = run.train()
        return judge_slow(row, run, usual, dict.fromkeys(row.causes, loss), 0, row.evidence)
    with contextlib.ExitStack() as stack:
        run = stack.enter_context(Run(folder, python(row.torch)))
        injector = stack.enter_context(row.outside(run))
        run.start(row.kinds, injector, getattr(row, "ranks", 1), row.cpus)
        time.sleep(USUAL_S)
        began_ns = time.monotonic_ns()
        injector.begin()
        time.sleep(row.slow_s)
        injector.end()
        ended_ns = time.monotonic_ns()
        time.sleep(AFTER_S)
        run.end()
    if row.hang:
        return judge_hang(row, run, began_ns, ended_ns)
    if isinstance(row, (LongRow, PauseRow)):
        return judge_report(row, run, began_ns, ended_ns)
    log = run.log()
    return judge_slow(row, run, *truth_of(row, log, began_ns, ended_ns), evidence_wanted(row, log))


def tried(row, folder):
    try:
        return run_row(row, folder)
    except Skip as e:
        j = Judged(row)
        j.skipped = str(e)
    except (Failed, subprocess.SubprocessError, OSError) as e:
        j = Judged(row)
        j.failed = str(e)
    return j


# ---- the table -----------------------------------------------------------------------------------------

HEAD = ("injected", "first cause named", "right", "usual step", "injected loss", "share of the step", "explained",
        "difference", "wrong causes")


def cells_of(j):
    if j.skipped or j.failed:
        return [j.row.name, f"skipped: {j.skipped}" if j.skipped else f"failed: {j.failed}"] + ["-"] * 7
    loss = sum(injected for _, injected, _ in j.parts)
    label = (lambda c: f" {c}") if len(j.parts) > 1 else (lambda c: "")
    unit = "ms once" if j.row.hang or isinstance(j.row, LongRow) else "ms a pause" if isinstance(j.row, PauseRow) else "ms"

    def each(value):
        return ", ".join(value(*part) for part in j.parts)

    return [
        j.row.name, j.named, "yes" if j.right else "**no**", f"{j.usual:.1f} ms",
        each(lambda c, ms, _: f"{ms:.1f} {unit}{label(c)}"),
        each(lambda c, ms, _: f"{100 * ms / (ms if j.row.hang else j.usual + loss):.0f} %{label(c)}"),
        each(lambda c, ms, found: f"{100 * found / ms if ms > 0 else 0:.0f} %{label(c)}"),
        each(lambda c, ms, found: f"{100 * (found - ms) / loss if loss > 0 else 0:+.0f} %{label(c)}"),
        ", ".join(j.wrong) or "none"]


def line_of(cells):
    return f"| {' | '.join(cells)} |"


def sums_of(judged, quiets):
    """The last lines, and whether every bar holds."""
    ran = [j for j in judged if not j.skipped]
    right, within = sum(j.right for j in ran), [w for j in ran for w in j.within() or [False]]
    wrong = sum(len(j.wrong) for j in ran)
    named = sum(j.named not in ("nothing", "unknown") for j in ran) + wrong
    calm = [q for q in quiets if not q.skipped]
    loud = [q for q in calm if q.found]
    lines = []
    if ran:
        lines += [f"right first: {right} of {len(ran)} (bar: {100 * RIGHT_MIN:.0f} %)",
                  f"share within {100 * WITHIN:.0f} % of the injected loss: {sum(within)} of {len(within)}",
                  f"wrong causes: {wrong} (bar: {100 * WRONG_MAX:.0f} % of those named)"]
    if calm:
        lines += [f"quiet runs with a cause: {len(loud)} of {len(calm)} (bar: none)"]
    good = not loud and right >= RIGHT_MIN * len(ran) and sum(within) >= SHARE_MIN * len(within) and \
        wrong <= WRONG_MAX * named
    return lines, good


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")),
                     platform.machine())
    return f"{model}, {os.cpu_count()} CPUs, Linux {platform.release()}"


def write_part(path, text):
    """Replaces the part of a document between its marks."""
    document = pathlib.Path(path).read_text(encoding="utf-8")
    new, count = re.subn(r"(<!-- why -->\n).*?(<!-- /why -->)", lambda m: m[1] + "\n" + text + "\n" + m[2], document,
                         flags=re.S)
    if count != 1:
        raise SystemExit(f"{path} has no part between <!-- why --> and <!-- /why -->")
    pathlib.Path(path).write_text(new, encoding="utf-8")


def wanted(options):
    rows = [r for r in ROWS if not options.only or r.name in options.only]
    kinds = [k for k in quiet.KINDS if not options.only or f"quiet:{k}" in options.only]
    for name in options.only or []:
        if name not in [r.name for r in ROWS] and name not in [f"quiet:{k}" for k in quiet.KINDS]:
            raise SystemExit(f"no row {name}; rows: " + "; ".join(r.name for r in ROWS) + "; quiet:KIND of " +
                             " ".join(quiet.KINDS))
    return ([] if options.quiet_only else rows) * options.repeat, ([] if options.no_quiet else kinds) * options.repeat


def options_of(argv):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--only", action="append")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--write")
    parser.add_argument("--keep")
    parser.add_argument("--quiet-only", action="store_true")
    parser.add_argument("--no-quiet", action="store_true")
    return parser.parse_args(argv)


def main(argv):
    options = options_of(argv)
    rows, kinds = wanted(options)
    if os.geteuid() or not os.access(GP_BPF, os.X_OK):
        raise SystemExit("needs root and a built gp-bpf: make; sudo make why")
    keep = pathlib.Path(options.keep) if options.keep else None
    head = f"{machine()}; {os.getloadavg()[0]:.1f} programs ran when this began"
    print(head + "\n", flush=True)
    table, judged, quiets = [], [], []
    if rows:
        table = [line_of(HEAD), line_of(["---"] * len(HEAD))]
        print("\n".join(table), flush=True)
    with tempfile.TemporaryDirectory(prefix="why") as top:
        for number, row in enumerate(rows):
            folder = (keep or pathlib.Path(top)) / f"{number}-{re.sub(r'[^a-z0-9]+', '-', row.name.lower())}"
            judged.append(tried(row, folder))
            table.append(line_of(cells_of(judged[-1])))
            print(table[-1], flush=True)
            if judged[-1].text:
                print(f"  {judged[-1].text}", file=sys.stderr, flush=True)
        for number, kind in enumerate(kinds):
            folder = (keep or pathlib.Path(top)) / f"quiet-{number}-{kind}"
            quiets.append(Quiet(folder, kind))
            print(f"quiet run {kind}: {quiets[-1].text()}", flush=True)
    lines, good = sums_of(judged, quiets)
    lines = [f"- {line}" for line in lines]
    lines += [f"- quiet run {q.kind}: {q.text()}" for q in quiets if q.found or q.skipped]
    print("\n" + "\n".join(lines))
    if options.write:
        write_part(options.write, "\n".join([head, "", *table, "", *lines, ""]))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
