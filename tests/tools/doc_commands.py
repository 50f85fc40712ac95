#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doc_commands.py list | check [TEXT]: the commands in ```sh blocks of README.md and docs/.

list prints each as document, line and command, separated by tabs: continued lines joined, comments left out. check fails with one line for
each option of gp-bpf in them (or in TEXT, a command) that its command does not have. GP_BPF names the program.
"""
from __future__ import annotations

import functools
import glob
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GP_BPF = os.environ.get("GP_BPF", "build/plain/gp-bpf")
ENDS = {"|", ";", "&&", "||", ">", "<", "&"}


def without_comment(line: str) -> str:
    """A line of shell up to a # that begins a word outside of quotes."""
    quote = ""
    for at, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and (at == 0 or line[at - 1].isspace()):
            return line[:at].rstrip()
    return line.rstrip()


def commands() -> list[tuple[str, int, str]]:
    found = []
    for document in ["README.md", *sorted(glob.glob("docs/*.md", root_dir=ROOT))]:
        with open(os.path.join(ROOT, document), encoding="utf-8") as file:
            lines = file.read().split("\n")
        inside = False
        text, begin = "", 0
        for number, line in enumerate(lines, 1):
            if line.strip().startswith("```"):
                inside = not inside and line.strip() == "```sh"
                continue
            if not inside:
                continue
            line = without_comment(line)
            begin = begin if text else number
            text += line.strip()
            if text.endswith("\\"):
                text = text[:-1]
                continue
            if text:
                found.append((document, begin, text))
            text = ""
    return found


@functools.cache
def options_of(command: str) -> set[str]:
    words = [command, "1"] if command == "--pid" else [command]
    shown = subprocess.run([GP_BPF, *words, "--help=all"], capture_output=True, text=True, cwd=ROOT, check=False)
    if shown.returncode:
        return set()
    return set(re.findall(r"(?:^|[ ,])(--?[a-z][a-z-]*)", shown.stdout, flags=re.M))


def wrong_options(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    words = list(lexer)
    found = []
    for at, word in enumerate(words):
        if os.path.basename(word) != "gp-bpf" or at + 1 == len(words):
            continue
        command = words[at + 1] if not words[at + 1].startswith("-") else "--pid"
        known = options_of(command)
        if not known:
            found.append(f"gp-bpf has no command {command}")
        for one in words[at + 1:]:
            if one in ENDS or one == "--":
                break
            option = one.split("=")[0]
            if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in known:
                found.append(f"gp-bpf {command} has no option {option}")
    return found


def main() -> int:
    if sys.argv[1:] == ["list"]:
        for document, line, text in commands():
            print(document, line, text, sep="\t")
        return 0
    chosen = [("text", 1, text) for text in sys.argv[2:]] or commands()
    bad = 0
    for document, line, text in chosen:
        for what in wrong_options(text):
            print(f"{document}:{line}: {what}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
