#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what build/plain/tests/fake/python_dump printed of a process.

python_stacks.py same DUMP PY_SPY     the threads and frames are those of `py-spy dump --json`
python_stacks.py exist DUMP PROGRAM   each stack that is not called torn is one that PROGRAM
                                      (tests/workloads/stack_busy.py) can have, by its comments "calls"
"""
import ast
import json
import re
import sys


def short(name):  # py-spy has no qualified names
    return name.rsplit(".", 1)[-1]


def dumps(path):
    with open(path, encoding="utf-8") as f:
        return [d for d in map(json.loads, f) if "threads" in d]


def same(dump, py_spy):
    ours = {
        t["tid"]: [(short(f["name"]), f["file"], f["line"]) for f in t["frames"]] for t in dumps(dump)[0]["threads"]
    }
    with open(py_spy, encoding="utf-8") as f:
        theirs = {
            t["os_thread_id"]: [(short(x["name"]), x["filename"], x["line"]) for x in t["frames"]] for t in json.load(f)
        }
    wrong = [f"threads {sorted(ours)}, but {sorted(theirs)}"] if set(ours) != set(theirs) else []
    for tid in set(ours) & set(theirs):
        if ours[tid] != theirs[tid]:
            wrong.append(f"thread {tid}: {ours[tid]}\n  but {theirs[tid]}")
    wrong += [f"thread {t['tid']} is torn" for t in dumps(dump)[0]["threads"] if t["torn"]]
    frames = sum(map(len, ours.values()))
    print("\n".join(wrong) or f"{len(ours)} threads, {frames} frames: the same")
    return bool(wrong) or not frames


def callers(program):
    """Of each function, the (caller, line) that it may have."""
    with open(program, encoding="utf-8") as f:
        text = f.read()
    inside = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            inside.update(dict.fromkeys(range(node.lineno, node.end_lineno + 1), node.name))
    ret = {}
    for number, line in enumerate(text.splitlines(), 1):
        called = re.search(r"# calls (.*)", line)
        chain = [inside.get(number, "<module>")] + (called[1].split() if called else [])
        for i, name in enumerate(chain[1:]):
            # A comprehension has a frame of its own before 3.12.
            ret.setdefault(name, set()).update((c, number) for c in chain[: i + 1])
    return ret


def exist(dump, program):
    allowed = callers(program)
    wrong, torn, gil, whole = [], 0, 0, set()
    for thread in (t for d in dumps(dump) for t in d["threads"]):
        stack = [(short(f["name"]), f["line"]) for f in thread["frames"]]
        gil += thread["gil"]
        if thread["torn"]:
            torn += 1
            continue
        ok = stack and stack[-1][0] == "<module>"
        ok = ok and all(stack[i + 1] in allowed.get(stack[i][0], ()) for i in range(len(stack) - 1))
        depth = [name for name, _ in stack].count("down")
        in_depth = depth and any(name == "middle_b" for name, _ in stack)
        if not ok or (in_depth and depth != 8) or any(f["file"] != thread["frames"][-1]["file"] for f in thread["frames"]):
            wrong.append(stack)
        else:
            whole.add(tuple(stack))
    for stack in wrong[:5]:
        print(f"cannot be: {stack}")
    print(f"{len(whole)} different stacks, {torn} torn, {len(wrong)} that cannot be; {gil} with the lock")
    return bool(wrong) or len(whole) < 10 or gil < len(dumps(dump)) / 2


if __name__ == "__main__":
    sys.exit({"same": same, "exist": exist}[sys.argv[1]](*sys.argv[2:]))
