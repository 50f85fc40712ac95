#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symbols.py GP_BPF [LIBRARIES]: looks every row of probes/ up in the real libraries and compares with
tests/symbols/expected.tsv. LIBRARIES: a file as tests/tools/libraries.sh prints it; without one that is asked, and may
download. Prints a table, and TAP: one point for each library, one for rows that no library has."""
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXPECTED = os.path.join(TOP, "tests/symbols/expected.tsv")


def rows_of(lines):
    return [line.rstrip("\n").split("\t") for line in lines if line.strip() and not line.startswith("#")]


def number(version):
    return [int(part) for part in re.findall(r"\d+", version.split("-")[0])]


def version_fits(version, wanted):
    """wanted: "*", or bounds as "<2.28" and ">=2.23", all of which hold."""
    for bound in wanted.split():
        sign, limit = re.fullmatch(r"(\*|<|>=|=)(.*)", bound).groups()
        at, limit = number(version), number(limit)
        at, limit = (v + [0] * (8 - len(v)) for v in (at, limit))
        if sign != "*" and not {"<": at < limit, ">=": at >= limit, "=": at == limit}[sign]:
            return False
    return True


class Expected:
    """What is not simply resolved, from the table; which of its lines were of use."""

    def __init__(self):
        with open(EXPECTED, encoding="utf-8") as f:
            self.lines = rows_of(f)
        self.used = set()

    def state(self, probe, package, version):
        for i, (rows, packages, versions, state, _) in enumerate(self.lines):
            if (fnmatch.fnmatchcase(probe, rows) and fnmatch.fnmatchcase(package, packages)
                    and version_fits(version, versions)):
                self.used.add(i)
                return state
        return "resolved"

    def nowhere(self, probe):
        """Why no library at hand has it, or None."""
        for i, (rows, packages, _, _, why) in enumerate(self.lines):
            if packages == "-" and fnmatch.fnmatchcase(probe, rows):
                self.used.add(i)
                return why
        return None

    def unused(self):
        return [self.lines[i] for i in range(len(self.lines)) if i not in self.used]


def libraries_read(path):
    if path:
        with open(path, encoding="utf-8") as f:
            return rows_of(f)
    said = subprocess.run([os.path.join(TOP, "tests/tools/libraries.sh")], stdout=subprocess.PIPE, text=True, check=True)
    return rows_of(said.stdout.splitlines())


def check(gp_bpf, paths):
    """What gp-bpf says of each file: {path: {probe: state}}. Of a row with several functions the best counts."""
    order = ["resolved", "refused", "failed", "absent"]
    command = [gp_bpf, "check", "--json"]
    for path in paths:
        command += ["--library", path]
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    try:
        targets = json.loads(said.stdout)["targets"]
    except (ValueError, KeyError):
        sys.exit(f"symbols.py: gp-bpf check: status {said.returncode}: {said.stderr}")
    found = {}
    for target in targets:
        states = found.setdefault(target["target"], {})
        if target["error"]:
            sys.exit(f"symbols.py: {target['target']}: {target['error']}")
        for probe in target["probes"]:
            old = states.get(probe["probe"], probe["state"])
            states[probe["probe"]] = min(old, probe["state"], key=order.index)
    return found


SLOW = ("libtpu", "0.0.17")  # stripped: all of its code is read


def check_slow(gp_bpf, libraries, found):
    """The same library on a disk that needs longer than one search may take: a reason to skip, or what differs."""
    path = next((path for package, version, path, *_ in libraries if (package, version) == SLOW and path != "-"), None)
    if not path or not shutil.which("bindfs") or os.geteuid():
        return "it needs root, bindfs, and " + " ".join(SLOW), []
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["bindfs", "--read-rate=15M", os.path.dirname(path), folder], check=False).returncode:
            return "bindfs does not mount", []
        try:
            slow = os.path.join(folder, os.path.basename(path))
            states = check(gp_bpf, [slow])[slow]
        finally:
            subprocess.run(["umount", folder], check=False)
    return None, [f"{probe}: {state}, on a fast disk {found[path][probe]}" for probe, state in sorted(states.items())
                  if state != found[path][probe]]


def all_probes(gp_bpf):
    said = subprocess.run([gp_bpf, "probes"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^([a-z0-9_]+\.[a-z0-9_]+)\s", said, re.M)


def compare(states, expected, package, version):
    """Counts by runtime {runtime: [resolved, absent as expected, unexpected]}, and texts of what is unexpected."""
    counts, wrong = {}, []
    for probe, state in sorted(states.items()):
        count = counts.setdefault(probe.split(".")[0], [0, 0, 0])
        wanted = expected.state(probe, package, version)
        if state != wanted:
            count[2] += 1
            wrong.append(f"{probe}: expected {wanted}, found {state}")
        else:
            count[0 if state == "resolved" else 1] += 1
    return counts, wrong


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = False

    def point(self, good, text, *more):
        self.n += 1
        self.failed |= not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {text}", *(f"#   {line}" for line in more), sep="\n")


def main():
    gp_bpf = sys.argv[1]
    libraries = libraries_read(sys.argv[2] if len(sys.argv) > 2 else None)
    expected, tap, table, resolved = Expected(), Tap(), [], set()
    found = check(gp_bpf, [path for _, _, path, *_ in libraries if path != "-"])
    for package, version, path, *why in libraries:
        name = f"{package} {version}" + (f" {os.path.basename(path)}" if path != "-" else "")
        if path == "-":
            tap.point(True, f"{name} # skip {' '.join(why)}")
            continue
        states = found[path]
        counts, wrong = compare(states, expected, package, version)
        resolved |= {probe for probe, state in states.items() if state == "resolved"}
        table += [(runtime, name, *count) for runtime, count in counts.items()]
        tap.point(not wrong and states, name, *(wrong if states else ["no row is for it"]))
    skip, wrong = check_slow(gp_bpf, libraries, found)
    tap.point(not wrong, "a slow disk changes nothing" + (f" # skip {skip}" if skip else ""), *wrong)
    whole = all(path != "-" for _, _, path, *_ in libraries)
    lost, known = [], []
    for probe in all_probes(gp_bpf):
        why = expected.nowhere(probe) if probe not in resolved else None
        (known if why else lost if probe not in resolved else []).append((probe, why))
    if whole:
        tap.point(not lost, "every row is found somewhere, or is known not to be", *(probe for probe, _ in lost))
        tap.point(not expected.unused(), "the table has no line too many", *("\t".join(line) for line in expected.unused()))
    print(f"1..{tap.n}")
    print(f"# {'runtime':<11} {'library':<58} {'resolved':>8} {'absent, as expected':>20} {'UNEXPECTED':>10}")
    for runtime, name, *count in sorted(table, key=lambda row: row[0]):
        print(f"# {runtime:<11} {name:<58} {count[0]:>8} {count[1]:>20} {count[2]:>10}")
    reasons = {}
    for probe, why in known:
        reasons.setdefault(why, []).append(probe)
    for why, probes in reasons.items():
        print(f"# in no library here, {why}: {' '.join(probes)}")
    sys.exit(tap.failed)


if __name__ == "__main__":
    main()
