# SPDX-License-Identifier: Apache-2.0
"""Every kernel feature switched off, one by one: as well as with it, or with what the table says is lost, or refused."""
import os
import re
import subprocess

from torturelib import FAKE, GP_BPF, Folder, lines_of, progress, row, steps_of

STEPS = 23
LACKING = 3  # exit status where a feature is needed


def without(folder, name):
    out = folder.file(name)
    done = subprocess.run([GP_BPF, "run", "--quiet", "--feature", f"{name}=off", "--export", f"json:{out}", "--",
                           os.path.join(FAKE, "train"), "load", "wait", f"steps={STEPS}"], capture_output=True, text=True,
                          check=False)
    if done.returncode == LACKING and name in done.stderr:
        return "refused"
    steps = len(steps_of(lines_of(out))) if not done.returncode else -1
    return "exact" if steps == STEPS else f"status {done.returncode}, {steps} steps"


def run(_plan):
    progress("features")
    table = subprocess.run([GP_BPF, "check"], capture_output=True, text=True, check=False).stdout
    names = re.findall(r"^  (\w+) +(?:yes|no|off) ", table.split("\n\n", 1)[0], re.M)
    with Folder() as folder:
        for name in names:
            found = without(folder, name)
            yield row(f"{name}=off", "exact or refused", "exact or refused" if found in ("exact", "refused") else found, found)
