#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tensorboard.py: the event files that `account --export tensorboard` writes of a log, beside what the goodput library
wrote of it at the same instant (golden/tensorboard): tags, steps, times, values (both are floats of 32 bits) and
names, all of them, each once. Framing and CRCs are checked by hand (../tools/tfevents.py)."""
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile

import ours

TFEVENTS = os.path.join(ours.HERE, "../tools/tfevents.py")


def written(log, now):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ours.GP_BPF, "account", log, "--semantics", "library", "--now", f"{now:.6f}",
                        "--export", f"tensorboard:{folder}"], check=True, stdout=subprocess.DEVNULL)
        lines = subprocess.run([TFEVENTS, folder], check=True, capture_output=True, text=True).stdout.splitlines()
    scalars = [json.loads(line) for line in lines]
    assert {s["run"] for s in scalars} == {"job/goodput"}, "in other folders"
    return [(s["tag"], s["step"], s["wall_time"], s["value"], s["display"]) for s in scalars]


def main():
    paths = sorted(glob.glob(os.path.join(ours.HERE, "golden/tensorboard/*.json")))
    failed = 0
    print(f"1..{len(paths)}")
    for n, path in enumerate(paths, 1):
        with open(path) as file:
            golden = json.load(file)
        theirs = collections.Counter(map(tuple, golden["scalars"]))
        log = os.path.join(ours.HERE, "vectors", golden["log"])
        mine = collections.Counter(written(log, golden["scalars"][0][2]))
        failed += mine != theirs
        print("ok" if mine == theirs else "not ok", n, f"{golden['log']}: {sum((mine & theirs).values())} scalars agree")
        for scalar in theirs - mine:
            print("# missing:", scalar)
        for scalar in mine - theirs:
            print("# not expected:", scalar)
    return failed > 0 or not paths


if __name__ == "__main__":
    sys.exit(main())
