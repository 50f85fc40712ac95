#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""loop.py KIND --out TRUTH.jsonl: one real training program, and the log it keeps of its own steps (journal.py).
With several ranks each writes TRUTH.jsonl.RANK. --go FILE --hold N: after step N it writes FILE.ready and waits
until FILE exists. With NO_RANGES in the environment torch names no ranges. kinds.tsv says what of each can be seen from outside; loop.py --list names them."""
import argparse
import importlib
import os
import sys

import journal

# Launchers come first: they start trainers without having loaded torch themselves.
MODULES = ["loops_launch", "loops_basic", "loops_optim", "loops_shape", "loops_rl", "loops_dist", "loops_hang", "loops_frameworks"]
# Each of another framework, which may be all that the Python has.
OTHERS = {"jax": "loops_jax", "keras": "loops_keras", "tf": "loops_tf", "xla": "loops_xla"}


def find(name):
    other = OTHERS.get(name.partition("_")[0])
    for module in [other] if other else MODULES:
        importlib.import_module(module)
        if name in journal.KINDS:
            return journal.KINDS[name]
    raise SystemExit(f"loop.py: no kind '{name}'; there are: {' '.join(journal.KINDS)}")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("kind", nargs="?")
    p.add_argument("--out")
    p.add_argument("--steps", type=int)
    p.add_argument("--go", metavar="FILE")
    p.add_argument("--hold", type=int, metavar="N")
    p.add_argument("--list", action="store_true")
    args = p.parse_args()
    if args.list:
        for module in MODULES:
            importlib.import_module(module)
        print("\n".join(journal.KINDS))
        return
    if not args.kind or not args.out:
        p.error("KIND and --out are needed")
    function, steps, hold = find(args.kind)
    if os.environ.get("NO_RANGES"):
        journal.forget_ranges()
    log = journal.Log(args.kind, args.out, args.steps or steps, args.go, args.hold or hold)
    function(log)
    log.write()
    if "RANK" in os.environ:
        # gloo of torch 2.15 now and then ends a process in std::terminate while it is torn down (2 of 16 runs of
        # local_sgd, with nobody watching): what is tested has happened by now.
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
