#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torture.py [--short | --normal | --full] [PART...]: everything that may not harm a job or a number, done to gp-bpf over and
over. Prints TAP and one table. SEED= repeats a run's random choices, KEEP=1 keeps the folders."""
import argparse
import importlib
import os
import sys
import time
import traceback

from torturelib import Failure, Plan, Row, Skip

PARTS = ["kills", "restart", "swaps", "overlays", "victims", "flood", "births", "features"]


def table(rows):
    cells = [("what", "wanted", "measured", "ok")]
    cells += [(r.what, r.wanted, r.measured + (f" ({r.note})" if r.note else ""), "yes" if r.ok else "NO") for r in rows]
    width = [max(len(c[i]) for c in cells) for i in range(4)]
    return "\n".join("  ".join(c[i].ljust(width[i]) for i in range(4)).rstrip() for c in cells)


def run_part(name, plan, rows):
    """TAP of one part; its rows go to the table."""
    start, bad = time.monotonic(), 0
    try:
        for r in importlib.import_module(name).run(plan):
            rows.append(r)
            bad += not r.ok
            print(f"{'ok' if r.ok else 'not ok'} {len(rows)} {r.what}: {r.measured}"
                  f"{'' if r.ok else f', not {r.wanted}'}{f' ({r.note})' if r.note else ''}", flush=True)
    except Skip as e:
        rows.append(Row(name, "-", f"skipped: {e}", True))
        print(f"ok {len(rows)} {name} # skip {e}")
    except Exception as e:  # the other parts say something all the same
        rows.append(Row(name, "done", str(e) or type(e).__name__, False))
        print(f"not ok {len(rows)} {name}: {e}")
        if not isinstance(e, Failure):
            traceback.print_exc()
        bad += 1
    print(f"# {name}: {time.monotonic() - start:.0f} s", flush=True)
    return bad


def finish(rows, bad):
    """The table, and the exit status."""
    print(f"1..{len(rows)}\n#")
    print("\n".join("# " + line for line in table(rows).splitlines()))
    sys.exit(bad > 0)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--short", action="store_true")
    p.add_argument("--normal", action="store_true", help="what is done without any of these")
    p.add_argument("--full", action="store_true")
    p.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PARTS))
    args = p.parse_args()
    if os.geteuid():
        print("1..0 # skip probes need root")
        return
    rows, plan = [], Plan(args.short, args.full)
    finish(rows, sum(run_part(name, plan, rows) for name in args.parts or PARTS))


if __name__ == "__main__":
    main()
