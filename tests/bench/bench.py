#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make bench: runs the benches and prints one table with the bars. --only=handlers,replay runs some.
Exit status 1 when a bench could not do its work; a missed bar is a finding, told in the table and at the end."""
import argparse
import importlib
import sys
import time

import benchlib

BENCHES = ["handlers", "launches", "forgotten", "attach", "first_step", "pjrt", "slowdown", "jax", "replay", "account",
           "memory", "metrics", "exporters", "trace", "store", "report", "node", "stream", "takeover"]
MODULES = {"jax": "slowdown_jax"}  # a file of that name would be taken for JAX by what is measured


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names, separated by commas: " + ", ".join(BENCHES))
    names = [n for n in parser.parse_args().only.split(",") if n] or BENCHES
    unknown = [n for n in names if n not in BENCHES]
    if unknown:
        parser.error(f"no bench is called {unknown[0]}; there are {', '.join(BENCHES)}")
    rows, notes, start = [], [], time.monotonic()
    for name in names:
        benchlib.progress(f"{name} ({time.monotonic() - start:.0f} s)")
        try:
            rows += list(importlib.import_module(MODULES.get(name, name)).bench())
        except benchlib.Skip as e:
            notes.append(f"{name}: skipped: {e}")
        except (RuntimeError, OSError, ValueError, KeyError) as e:
            notes.append(f"{name}: FAILED: {type(e).__name__}: {e}")
    benchlib.progress(f"done in {time.monotonic() - start:.0f} s")
    benchlib.print_rows(rows)
    for note in notes:
        print(f"  {note}")
    barred = [r for r in rows if r.bar]
    print(f"\n{len(barred)} bars, {sum(r.verdict() == 'MISSED' for r in barred)} missed")
    sys.exit(any(": FAILED:" in n for n in notes))


if __name__ == "__main__":
    main()
