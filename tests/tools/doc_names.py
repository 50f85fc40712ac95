#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doc_names.py [--tree DIR]: fails with one line for each name in the documents that the tree does not have.

Checked are, in backquotes: paths (braces and * allowed), functions `name()`, `struct name`, `enum name` and names in
capitals; a function that is followed by a path in parentheses has to be in that file; links to files of the tree, and to
headings of documents. In comments of bpf/, loader/ and userspace/: *.c and *.h, also without their first folders
(base/helper.h), folder/file without them (time/ledger), and "design" or "recipe" with a number, which point outside the tree.
"""
from __future__ import annotations

import argparse
import functools
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENTS = ("README.md", "docs/*.md", "CONTRIBUTING.md", "deploy/README.md", "probes/README.md", "tests/README.md")
COMMENTED = ("bpf", "loader", "userspace")
# Files of other projects that comments name.
ELSEWHERE = re.compile(r"(?:arch|fs|include|kernel|linux|torch|xla)/.*|elf/dl-lookup\.c|(?:nccl|pjrt_c_api|pjrt_c_api_helpers|zlib)\.h")
OUTSIDE = re.compile(r"\b(?:design,?\s+(?:§|section\s+)?\d|recipe\s+[A-Z]\b)")
SOURCES = (".c", ".h", ".sh", ".bash", ".bats", ".py", ".md")


def braces(path: str) -> list[str]:
    """a{b,c} is ab and ac."""
    found = re.match(r"(.*?)\{([^}]*)\}(.*)", path)
    if not found:
        return [path]
    return [one for word in found[2].split(",") for one in braces(found[1] + word + found[3])]


class Tree:
    def __init__(self, top: str) -> None:
        self.top = top
        names = subprocess.run(["git", "-C", top, "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True)
        self.files = names.stdout.split("\n")[:-1]
        self.tops = {name.split("/")[0] for name in self.files}
        self.ends = {"/".join(parts[n:]) for parts in (name.split("/") for name in self.files) for n in range(len(parts))}
        self.stems = {end.rsplit(".", 1)[0] for end in self.ends} | {end.rsplit("/", 1)[0] for end in self.ends}
        folders = {name.split("/")[1] for name in self.files if name.split("/")[0] in COMMENTED[1:] and name.count("/") > 1}
        self.folder_file = re.compile(rf"(?<![\w./*<>\"-])(?:{'|'.join([*COMMENTED, *sorted(folders)])})/[a-z_/]+(?![\w.*/-])")
        self.words: dict[str, set[str]] = {}

    def words_of(self, path: str) -> set[str]:
        if path not in self.words:
            with open(os.path.join(self.top, path), encoding="utf-8") as file:
                self.words[path] = set(re.findall(r"\w+", file.read()))
        return self.words[path]

    def has_word(self, word: str) -> bool:
        return word in self.source_words

    @functools.cached_property
    def source_words(self) -> set[str]:
        """Every word of the sources; those of the documents prove nothing."""
        documents = set(self.documents)
        return set().union(*(self.words_of(path) for path in self.files
                             if (path.endswith(SOURCES) or path == "Makefile") and path not in documents and os.path.isfile(os.path.join(self.top, path))))

    @functools.cached_property
    def documents(self) -> list[str]:
        return [os.path.relpath(path, self.top) for name in DOCUMENTS for path in sorted(glob.glob(os.path.join(self.top, name)))]

    def has_path(self, path: str) -> bool:
        return all(glob.glob(os.path.join(self.top, one)) for one in braces(path))

    def is_path(self, text: str) -> bool:
        first = text.split("/")[0]
        return bool(re.fullmatch(r"[\w./{},*-]+", text)) and first in self.tops and "NAME" not in text


def wrong_in(tree: Tree, line: str) -> list[str]:
    """What is wrong with the names of a line."""
    found = []
    for text in re.findall(r"`([^`]+)`", line):
        function = re.fullmatch(r"(\w+)\(\)", text)
        word = function or re.fullmatch(r"(?:struct|enum) (\w+)", text) or re.fullmatch(r"([A-Z][A-Z0-9]*_[A-Z0-9_]+)=?", text)
        if tree.is_path(text) and not tree.has_path(text):
            found.append(f"no file {text}")
        elif word and not tree.has_word(word[1]):
            found.append(f"no {text}")
    for name, path in re.findall(r"`(\w+)\(\)` \(`([^`]+)`\)", line):
        if os.path.isfile(os.path.join(tree.top, path)) and name not in tree.words_of(path):
            found.append(f"{name}() is not in {path}")
    return found


def headings(path: str) -> set[str]:
    """What a link may name after #, as GitHub makes it of headings. Lines of code blocks are none."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^ *```.*?^ *```", "", file.read(), flags=re.M | re.S)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in re.findall(r"^#+ (.*)", text, flags=re.M)}


def links_in(tree: Tree, document: str, line: str) -> list[str]:
    found = []
    for target, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", line):
        path = os.path.join(tree.top, os.path.dirname(document), target) if target else os.path.join(tree.top, document)
        if not os.path.exists(path):
            found.append(f"no file {target}")
        elif heading and path.endswith(".md") and heading not in headings(path):
            found.append(f"no heading {target}#{heading}")
    return found


def comments(text: str) -> list[tuple[int, str]]:
    """Offset and text of each comment of C; what begins a line of it is left out."""
    tokens = re.finditer(r"//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"", text, flags=re.S)
    return [(token.start(), re.sub(r"(?m)^[ \t]*\*?", "", token[0])) for token in tokens if token[0][0] == "/"]


def wrong_in_comment(tree: Tree, comment: str) -> list[tuple[int, str]]:
    """Line within the comment, and what is wrong there."""
    found = [(name.start(), f"no file {name[0]}") for name in re.finditer(r"(?<![\w./*<>-])(?:[\w.-]+/)*[\w-]+(?:\.bpf)?\.[ch]\b(?![\w/-])", comment)
             if name[0] not in tree.ends and not ELSEWHERE.fullmatch(name[0])]
    found += [(name.start(), f"no file {name[0]}") for name in tree.folder_file.finditer(comment) if name[0].rstrip("/") not in tree.stems]
    found += [(name.start(), f"'{name[0]}' is not in the tree") for name in OUTSIDE.finditer(comment)]
    return [(comment.count("\n", 0, at), what) for at, what in found]


def check_comments(tree: Tree) -> int:
    bad = 0
    for path in tree.files:
        if path.split("/")[0] not in COMMENTED or not path.endswith((".c", ".h")) or not os.path.isfile(os.path.join(tree.top, path)):
            continue
        with open(os.path.join(tree.top, path), encoding="utf-8") as file:
            text = file.read()
        for at, comment in comments(text):
            for further, what in wrong_in_comment(tree, comment):
                line = text.count("\n", 0, at) + 1 + further
                print(f"{path}:{line}: {what}")
                bad = 1
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", default=ROOT)
    tree = Tree(parser.parse_args().tree)
    bad = check_comments(tree)
    for document in tree.documents:
        with open(os.path.join(tree.top, document), encoding="utf-8") as file:
            text = file.read()
        # A sentence may go on in the next line: the function at the end of one, its file at the beginning of the next.
        joined = re.sub(r"\(\)`\n +\(`", "()` (`", text)
        for line in joined.split("\n"):
            for what in wrong_in(tree, line) + links_in(tree, document, line):
                print(f"{document}: {what}")
                bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
