#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plain_words.py [--list]: comments, messages and documents that break the rules of plain English of docs/glossary.md.

Looks at the comments and string literals of all C files of the product, and at the documents and manual pages, without their code and
without tables that are made of the program's own. Prints each sentence that breaks a rule, unless
tests/tools/plain_words.list excuses it. That list has a line for each file, with the number of its sentences that are
excused; the number may only become smaller. --list prints the list as it should be."""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIST = "tests/tools/plain_words.list"
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/*.md", "man/*", "deploy/README.md", "probes/README.md", "tests/README.md")
# People are "who", questions begin with "What", and a user is called nobody.
ALLOWED = re.compile(r"\b(?:people|operators|developers|user|users|everyone|attacker|author|reader|readers|those) who\b|What [^.?]*\?|`nobody`")
MADE = re.compile(r"\.\\\" \w+ begin: .*?\.\\\" \w+ end\.\n|^\.It Li (?:job|rank)/\w+ Pq .*?^\.El\n", re.M | re.S)
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.S)
RULES = [
    ("begins with a pronoun whose noun is only in the code", re.compile(r"(?:^|[.:;] )(?:What|Who|Whoever|Whose) (?!is |are |if )")),
    ("says 'who' of code or a process", re.compile(r"\b(?:who|whoever|whom|somebody|nobody|anybody)\b", re.I)),
    ("says 'is no' for 'is not a'", re.compile(r"(?<!here )(?<!here)\b(?:is|are|was|were) no (?!longer|more|less|such|need|way|room|memory|limit)[a-z]")),
    ("says told, tells or tell", re.compile(r"\b(?:told|tells?)\b", re.I)),
    ("says 'goes on' for continues", re.compile(r"\b(?:goes?|went|going) on\b", re.I)),
    ("says 'for so long' for a duration", re.compile(r"\b(?:for|of|than) so long\b")),
    ("says 'left out' for excluded", re.compile(r"\b(?:left|leaves?) out\b")),
    ("says 'fell' or 'falls' for failed, exited", re.compile(r"\b(?:fell|(?:rank|job|process|ranks|jobs|processes) falls?)\b")),
    ("says 'behind' for after", re.compile(r"\bbehind it\b")),
    ("says 'takes for' for treats as", re.compile(r"\b(?:takes?|took|taken) for (?:a|an|the|one)\b")),
]


def texts(source):
    """Comments, and literals of at least two words, as single lines, with the line number of their first."""
    for match in TOKEN.finditer(source):
        token = match.group(0)
        line = source.count("\n", 0, match.start()) + 1
        if token[0] == "'" or token.startswith("// SPDX") or "SPDX" in token:
            continue
        if token[0] == '"':
            text = token[1:-1]
            if " " not in text:
                continue
        else:
            text = re.sub(r"\s*\n\s*\*? ?", " ", token.strip("/*").strip())
        yield line, text


def document_texts(source):
    """Lines of a document without code, as (line number, text)."""
    for pattern in (re.compile(r"^ *```.*?^ *```", re.M | re.S), MADE):
        source = pattern.sub(lambda block: "\n" * block[0].count("\n"), source)
    for number, line in enumerate(source.split("\n"), 1):
        yield number, ALLOWED.sub("", re.sub(r"(?<!`)`[^`]*`", "", line))


def faults(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        for line, text in (texts if path[-2:] in (".c", ".h") else document_texts)(f.read()):
            for why, pattern in RULES:
                match = pattern.search(text)
                if match:
                    yield line, why, text[max(0, match.start() - 30):match.end() + 40]


def excused():
    with open(os.path.join(TOP, LIST), encoding="utf-8") as f:
        rows = [line.split() for line in f if line.strip() and line[0] != "#"]
    return {path: int(count) for path, count in rows}


def main():
    files = subprocess.run(["git", "-C", TOP, "ls-files", "bpf/**.[ch]", "loader/**.[ch]", "userspace/**.[ch]", *DOCUMENTS],
                           stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    found = {path: list(faults(path)) for path in files if os.path.exists(os.path.join(TOP, path))}
    if "--list" in sys.argv:
        print("# Sentences that break the rules of plain words, by file (tests/tools/plain_words.py). Only smaller numbers.")
        print("\n".join(f"{path} {len(rows)}" for path, rows in sorted(found.items()) if rows))
        return 0
    allowed, bad = excused(), 0
    for path in sorted(set(found) | set(allowed)):
        rows, most = found.get(path, []), allowed.get(path, 0)
        if len(rows) > most:
            bad = 1
            for line, why, text in rows:
                print(f"{path}:{line}: {why}: {text}")
        elif len(rows) < most:
            bad = 1
            print(f"{LIST}: {path} has {len(rows)} such sentences, not {most}: make the number smaller")
    return bad


if __name__ == "__main__":
    sys.exit(main())
