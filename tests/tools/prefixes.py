#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prefixes.py [TREE]: fails with one line for each file-local function without its module's prefix.

The first word of its name is a word of the file's name, the folder's name, or the first word of a function that the file
gives to others. A plural counts as its singular. One more line for each name that two files have.
"""
import pathlib
import re
import sys

FUNCTION = re.compile(r"^(static )?(?!else\b|return\b|typedef\b)\w[\w *]*?\b(\w+)\([^;{]*?\)\s*\{", re.M)


def singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def first(name: str) -> str:
    return singular(name.split("_")[0])


def main() -> int:
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    bad = 0
    owner: dict[str, pathlib.Path] = {}
    for path in sorted([*tree.glob("loader/**/*.c"), *tree.glob("userspace/**/*.c")]):
        text = path.read_text(encoding="utf-8")
        functions = [(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in FUNCTION.finditer(text)]
        words = {singular(word) for word in (*path.stem.split("_"), path.parent.name)}
        words |= {first(name) for static, name, _ in functions if not static and "_" in name}
        for static, name, line in functions:
            if not static:
                continue
            place = f"{path.relative_to(tree)}:{line}"
            if "_" not in name or first(name) not in words:
                print(f"{place}: {name}() has no prefix of its module, {path.stem}_ for example")
                bad = 1
            if name in owner:
                print(f"{place}: {name}() is a function of {owner[name].relative_to(tree)}, too")
                bad = 1
            owner[name] = path
    return bad


if __name__ == "__main__":
    sys.exit(main())
