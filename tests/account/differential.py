#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""differential.py [COUNT] [SEED] [NUMBER]: random logs and questions through the library and through gp-bpf.

The first difference ends it, with the log and the questions left in build/check/account/. NUMBER: that log of
the seed alone. Run by the Python that library.sh names."""
import json
import os
import random
import sys

import compare
import ours
import random_log
import reference

LEFT = os.path.join(ours.HERE, "../../build/check/account")


def write(path, made):
    with open(path, "w") as file:
        for record in made:
            file.write(json.dumps(record) + "\n")


def one(seed, number):
    """What differs, and how the library's answer ended."""
    made, args = random_log.log_and_questions(random.Random(f"{seed}.{number}"))
    expected = json.loads(json.dumps(reference.answer(made, args)))
    path = os.path.join(LEFT, f"log.{os.getpid()}.jsonl")
    write(path, made)
    answer, status, said = ours.answer(path, args)
    wrong = [f"exit status {status}: {said.strip()}"] if answer is None or status else []
    if not wrong:
        wrong = compare.differences(expected, answer)
    if wrong:
        kept = os.path.join(LEFT, f"{seed}.{number}")
        os.rename(path, kept + ".jsonl")
        with open(kept + ".expected.json", "w") as file:
            json.dump({"args": args, "expected": expected}, file, indent=1)
        wrong.append(f"kept: {kept}.jsonl, .expected.json")
    else:
        os.unlink(path)
    return wrong, "error" in expected["cumulative"]


def main():
    count, seed = int((sys.argv + ["200"])[1]) if sys.argv[1:] else 200, (sys.argv[2:] or ["1"])[0]
    numbers = [int(sys.argv[3])] if sys.argv[3:] else range(count)
    raised = 0
    os.makedirs(LEFT, exist_ok=True)
    print("1..1")
    for number in numbers:
        wrong, error = one(seed, number)
        raised += error
        if wrong:
            print(f"not ok 1 the library and gp-bpf answer log {number} of seed {seed} differently")
            for line in wrong[:20]:
                print("#", line)
            return 1
    print(f"ok 1 {len(numbers)} random logs, seed {seed}: one answer ({raised} of which the library refuses)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
