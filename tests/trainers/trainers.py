#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watch public trainers, written by others, with gp-bpf and compare its steps with each trainer's own count.

usage: trainers.py GP_BPF [GROUP...|all|NAME...]

Without a group it takes the group of today (the groups of trainers.tsv in turn), so that a check stays short. Prints TAP. A trainer
passes if every process that takes steps takes exactly as many as the trainer counted, and no disruption is reported: they all end cleanly.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 300


def rows():
    for line in (HERE / "trainers.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            name, group, _ = line.split("\t")
            yield name, group


def selected(words):
    groups = sorted({group for _, group in rows()})
    if not words:
        words = [groups[int(time.time() // 86400) % len(groups)]]
        print(f"# group {words[0]} of {', '.join(groups)}: its turn today")
    known = {"all", *groups, *(name for name, _ in rows())}
    for word in words:
        if word not in known:
            sys.exit(f"trainers.py: no group and no trainer is called {word}")
    return [(name, group) for name, group in rows() if {"all", name, group} & set(words)]


def python_of(group):
    done = subprocess.run([HERE / "python.sh", group], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def watched(gp_bpf, python, name, folder):
    """Run one trainer under gp-bpf. Returns its exit status, its own count (None where it gave none), gp-bpf's lines, and standard error."""
    lines = pathlib.Path(folder) / "lines"
    done = subprocess.run(
        [gp_bpf, "run", "--store", "none", "--export", f"json:{lines}", "--", python, str(HERE / f"{name}.py")],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, cwd=folder)
    truth = [int(line.split()[1]) for line in done.stderr.splitlines() if line.startswith("truth ")]
    found = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    return done.returncode, truth[-1] if truth else None, found, done.stderr


def faults(status, truth, lines):
    """What is wrong with gp-bpf's lines, or with the run itself; empty where all is right."""
    if status or truth is None:
        yield f"the trainer ended with status {status} and counted {truth} steps"
        return
    counts = collections.Counter((line["pid"], line.get("loop")) for line in lines if line["type"] == "step")
    if not counts:
        yield f"no steps; the trainer counted {truth}"
    for (pid, loop), count in counts.items():
        if count != truth:
            yield f"process {pid} loop {loop}: {count} steps; the trainer counted {truth}"
    for line in lines:
        if line["type"] == "disruption":
            yield f"a disruption ({line.get('cause')}) of a run that ended cleanly"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    gp_bpf = pathlib.Path(sys.argv[1]).resolve()
    chosen = selected(sys.argv[2:])
    print(f"1..{len(chosen)}")
    failed = 0
    pythons = {}
    for number, (name, group) in enumerate(chosen, 1):
        if group not in pythons:
            pythons[group] = python_of(group)
        with tempfile.TemporaryDirectory() as folder:
            try:
                status, truth, lines, said = watched(gp_bpf, pythons[group], name, folder)
                wrong = list(faults(status, truth, lines))
            except subprocess.TimeoutExpired:
                wrong, said = [f"does not end within {LIMIT_S} s"], ""
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} {name}", flush=True)
        for line in [*wrong, *(said.splitlines()[-15:] if wrong else [])]:
            print(f"#   {line}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
