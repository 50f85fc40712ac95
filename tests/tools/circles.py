#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""circles.py [--objects DIR] [--exceptions FILE] [--sources DIR]: fails if object files of the product need one another in a circle.

An object needs another if it uses a global symbol that the other one defines (nm). A circle is a largest set of objects
of which each needs each other one, directly or through others of the set. FILE has one line for each circle that is
allowed: its source files, separated by spaces. A line that is not exactly a circle of the tree fails too, so that the
list only gets shorter. Each circle is printed with the symbols that close it.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import defaultdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
Needs = dict[str, dict[str, set[str]]]  # user -> definer -> symbols


def sources(top: str) -> list[str]:
    """C files of the product, relative to top: an object whose source is gone is not looked at."""
    found = []
    for folder in ("loader", "userspace"):
        for where, _, names in os.walk(os.path.join(top, folder)):
            found += [os.path.relpath(os.path.join(where, name), top) for name in names if name.endswith(".c")]
    return sorted(found)


def symbols(objects: dict[str, str]) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Which source defines a symbol, and which symbols a source uses without defining them."""
    by_object = {path: source for source, path in objects.items()}
    nm = subprocess.run(["nm", "-A", "-g", "-P", *by_object], check=True, capture_output=True, text=True)
    defined: dict[str, str] = {}
    used: dict[str, set[str]] = defaultdict(set)
    for line in nm.stdout.splitlines():
        path, _, rest = line.partition(": ")
        name, kind = rest.split()[:2]
        if kind in "Uwv":
            used[by_object[path]].add(name)
        else:
            defined[name] = by_object[path]
    return defined, used


def needs_of(defined: dict[str, str], used: dict[str, set[str]]) -> Needs:
    needs: Needs = defaultdict(lambda: defaultdict(set))
    for user, names in used.items():
        for name in names:
            if name in defined:
                needs[user][defined[name]].add(name)
    return needs


def circles_of(needs: Needs) -> list[list[str]]:
    """Strongly connected components of more than one file (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found = []
    for start in sorted(needs):
        if start in index:
            continue
        work = [(start, iter(sorted(needs[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, rest = work[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(needs.get(target, {})))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = []
                    while not circle or circle[-1] != node:
                        circle.append(stack.pop())
                        on_stack.remove(circle[-1])
                    if len(circle) > 1:
                        found.append(sorted(circle))
    return sorted(found)


def show(circle: list[str], needs: Needs) -> None:
    print(f"circle of {len(circle)} files: {' '.join(circle)}")
    for user in circle:
        for definer in circle:
            if needs[user].get(definer):
                print(f"    {user} needs {definer}: {', '.join(sorted(needs[user][definer]))}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", default=os.path.join(ROOT, "build/plain"))
    parser.add_argument("--sources", default=ROOT)
    parser.add_argument("--exceptions", default=os.path.join(ROOT, "tests/tools/circles.list"))
    parser.add_argument("--all", action="store_true", help="print the allowed circles too")
    options = parser.parse_args()

    objects = {source: os.path.join(options.objects, source[:-2] + ".o") for source in sources(options.sources)}
    missing = [path for path in objects.values() if not os.path.exists(path)]
    if missing or not objects:
        print(f"no object files, build them first: {' '.join(missing[:5]) or options.sources}")
        return 1
    needs = needs_of(*symbols(objects))
    circles = circles_of(needs)
    with open(options.exceptions, encoding="utf-8") as file:
        allowed = [sorted(line.split()) for line in file if line.strip() and not line.startswith("#")]
    bad = 0
    for circle in circles:
        if circle not in allowed or options.all:
            show(circle, needs)
        bad += circle not in allowed
    for line in allowed:
        if line not in circles:
            bad += 1
            print(f"{os.path.relpath(options.exceptions)}: not a circle any more, remove or shorten: {' '.join(line)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
