#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vectors.py [NAME...]: every key of every vector, as `account --semantics library` answers it. Quirks and
errors too: there the library's answer is what is asked for, and where it raises there are numbers beside."""
import glob
import json
import os
import sys

import compare
import ours


def check(path):
    with open(path) as file:
        vector = json.load(file)
    log = os.path.join(os.path.dirname(path), vector["log"])
    if not os.path.exists(log):
        log += ".gz"
    answer, status, said = ours.answer(log, vector["args"])
    if answer is None or status:
        return vector, [f"exit status {status}: {said.strip()}"]
    wrong = compare.differences(vector["expected"], answer)
    if "error" in vector["tags"] and "warning" not in said:
        wrong.append("no warning")
    return vector, wrong


def main():
    here = os.path.join(ours.HERE, "vectors")
    paths = sorted(glob.glob(os.path.join(here, "*.expected.json")))
    if sys.argv[1:]:
        paths = [os.path.join(here, name + ".expected.json") for name in sys.argv[1:]]
    failed = 0
    print(f"1..{len(paths)}")
    for n, path in enumerate(paths, 1):
        vector, wrong = check(path)
        failed += bool(wrong)
        print("not ok" if wrong else "ok", n, f"{vector['name']} ({', '.join(vector['tags'])})")
        for line in wrong[:20]:
            print("#", line)
    return failed > 0 or not paths


if __name__ == "__main__":
    sys.exit(main())
