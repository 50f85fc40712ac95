#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the model keeps of a rank that trains, a share of its job included: after an hour, and after eight days,
when every window is full. As a program it also tells which parts of the model have it."""
import collections
import os
import subprocess
import sys

from benchlib import Row, print_rows, program

RANKS, STEP_NS = 8, 2000000000
SPANS = [("1 hour", 1), ("8 days", 192)]


def measure(hours, ranks=RANKS, kind="1"):
    """(bytes, {address: bytes}) of each rank"""
    done = subprocess.run([program("memory"), str(ranks), str(STEP_NS), str(hours), kind], check=True,
                          stdout=subprocess.PIPE, text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return int(lines[0][1]) / ranks, {at: int(size) / ranks for at, size in lines[1:]}


def parts(sites):
    """{"file function": bytes}; the caller of a helper that grows arrays is who wants it."""
    done = subprocess.run(["addr2line", "-a", "-f", "-i", "-e", program("memory"), *sites], check=True,
                          stdout=subprocess.PIPE, text=True)
    frames, at = collections.defaultdict(list), None
    for line in done.stdout.splitlines():
        if line.startswith("0x"):
            at = hex(int(line, 16))
        else:
            frames[at].append(line)
    sums = collections.Counter()
    for site, size in sites.items():
        pairs = list(zip(frames[site][::2], frames[site][1::2]))
        function, place = next((p for p in pairs if "/grow." not in p[1]), pairs[0])
        sums[f"{os.path.basename(place.split(':')[0])} {function}"] += size
    return sums


def bench():
    for name, hours in SPANS:
        yield Row(f"model, a rank of {RANKS}, {name}", [measure(hours)[0] / 1024], "KiB", (64, "max"))
    yield Row("model, a rank alone with its job, 1 hour", [measure(1, 1)[0] / 1024], "KiB")
    yield Row("model, compiled optimizers, 1 hour", [measure(1, kind="compiled")[0] / 1024], "KiB", (64, "max"))
    yield Row("model, four loops at once in a rank, 1 hour", [measure(1, kind="4")[0] / 1024], "KiB")


if __name__ == "__main__":
    rows = []
    for title, span in SPANS:
        size, where = measure(span)
        rows.append(Row(title, [size / 1024], "KiB", (64, "max")))
        rows += [Row(f"  {part}", [n / 1024], "KiB") for part, n in parts(where).most_common() if n >= 64]
    print_rows(rows)
    sys.exit(0)
