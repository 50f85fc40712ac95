#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tape_told.py TAPE|-: how often each probe was hit with which values, as programs of tests/fake/told.h say it of
themselves: "call ID TIMES RET ARG...", of an entry alone RET is 0, and "count ID TIMES". With - such lines are read from
standard input and added up, so that both sides look alike."""
import collections
import sys

from tape_calls import read


def from_tape(path):
    counts = collections.Counter()
    for probe, row in read(path).items():
        for ret, args in zip(row["ret"], row["arg"]):
            counts["call", probe, ret, *args, *[0] * (6 - len(args))] += 1
        if row["counted"]:
            counts["count", probe] = row["counted"]
    return counts


def from_lines(lines):
    counts = collections.Counter()
    for word in (line.split() for line in lines):
        if word and word[0] in ("call", "count"):
            counts[word[0], word[1], *map(int, word[3:])] += int(word[2])
    return counts


def main():
    counts = from_lines(sys.stdin) if sys.argv[1] == "-" else from_tape(sys.argv[1])
    for (kind, probe, *values), times in sorted(counts.items()):
        print(kind, probe, times, *values)


if __name__ == "__main__":
    main()
