#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the functions of a PJRT plugin take to find, in the real libraries of tests/symbols (of which
none is downloaded here): by symbol, by the text that they name themselves by, remembered; the file is in memory unless told."""
import os
import subprocess
import sys

from benchlib import RUNS, TOP, Folder, Row, Skip, main, program, progress

SYMBOL = "_ZN4pjrt29PJRT_LoadedExecutable_ExecuteEP34PJRT_LoadedExecutable_Execute_Args"
WAYS = {"symbol": (200, "by symbol"), "text": (2000, "by the text in it"), "cached": (5, "by text, remembered")}


def libraries():
    said = subprocess.run([os.path.join(TOP, "tests/tools/libraries.sh"), "--find"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    found = {(p, v): path for p, v, path, *_ in (line.split("\t") for line in said.splitlines()) if path != "-"}
    files = [(f"{p} {v}", path) for (p, v), path in found.items() if p in ("libtpu", "xla-cpu-pjrt")]
    if not files:
        raise Skip("no libtpu at hand (make check-symbols brings it)")
    return files


def ways(args):
    """{way: milliseconds} of one turn; a way that found nothing is not there."""
    said = subprocess.run([program("pjrt"), *args], stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = [line.split() for line in said.splitlines()]
    return {way: float(ms) for way, ms, _ in lines if ms != "-"}, lines


def rows_of(name, path):
    turns = {way: [] for way in WAYS}
    with Folder() as folder:
        ways([path, SYMBOL, folder.file("cache")])  # into the page cache
        for i in range(RUNS):
            progress(f"pjrt: {name}: turn {i + 1} of {RUNS}")
            for way, ms in ways([path, SYMBOL, folder.file("cache")])[0].items():
                turns[way].append(ms)
    for way, (bar, text) in WAYS.items():
        if turns[way]:
            yield Row(f"{name}: {text}", turns[way], "ms", (bar, "max"))
    _, lines = ways(["cold", path])
    tries = len(lines)
    if lines[-1][1] != "-":
        yield Row(f"{name}: by text, file on disk", [float(lines[-1][1]) + 5000 * (tries - 1)], "ms", None,
                  f"{os.path.getsize(path) >> 20} MiB; looks at the file: {tries}, each of 5 s at most", 0)


def bench():
    for name, path in libraries():
        yield from rows_of(name, os.path.realpath(path))


if __name__ == "__main__":
    main(bench)
