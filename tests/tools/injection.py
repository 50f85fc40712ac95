#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether hostile names stay names, in all ways out.

  injection.py watch|pod|log DIR  what a watch told, or the account of a log, in the files that FORMS names: each is read by the rules of
                              its form, and has a hostile name with its bytes taken out (TOLD) but no byte that drives a terminal,
                              breaks a line or ends a text early. A line for each fault; the status is 1 then.
  injection.py terminal KEYS CMD...
                              runs CMD on a terminal until such a name is there, gives it each of KEYS (0.3 s apart), and fails
                              when anything but gp-bpf's own sequences came through."""
import csv
import fcntl
import html.parser
import io
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

MARK = "pwned"
# How a name begins, and what is left of its first sequence; in folders' names "_" is in the place of much.
TOLD = re.compile(r"pwned(\\u001b|[?_\ufffd])(\]0;x|_0_x|\[31;7m)", re.I)
# What gp-bpf's own views write, and what the names have of it.
OWN = re.compile(r"\x1b\[(\?(25|1049|2026)[hl]|[0-9;]*m|[0-9]*(;[0-9]*)?H|2J|K)")
NAMES_OWN = "\x1b[31;7m"
faults = []


def fault(name, why):
    faults.append(f"{name}: {why}")


def harmless(name, data, breaks="\n"):
    """The text; what drives a terminal in it is a fault."""
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        fault(name, f"no UTF-8: {e}")
        return data.decode(errors="replace")
    for c in sorted(set(text)):
        if (ord(c) < 32 and c not in breaks) or 127 <= ord(c) < 160 or c in "\u061c\u2028\u2029\u202e":
            fault(name, f"has {c!r}")
    return text


def json_of(name, text):
    """A value; one that names a key twice is a fault."""
    def once(pairs):
        if len({k for k, _ in pairs}) != len(pairs):
            fault(name, f"a key twice: {[k for k, _ in pairs]}")
        return dict(pairs)
    try:
        return json.loads(text, object_pairs_hook=once)
    except ValueError as e:
        fault(name, f"no JSON: {e}: {text[:200]!r}")
        return None


def lines(name, text):
    return [json_of(name, line) for line in text.split("\n") if line]


SERIES = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_]\w*="([^"\\\n]|\\["\\n])*",?)*\})? [^ ]+( [0-9.]+)?( # .*)?')


def series(name, text):
    seen = set()
    for line in text.split("\n"):
        if line.startswith("#") or not line:
            continue
        if not SERIES.fullmatch(line):
            fault(name, f"no series: {line[:300]!r}")
        if line.rsplit(" ", 1)[0] in seen and name == "page":
            fault(name, f"twice: {line[:300]!r}")
        seen.add(line.rsplit(" ", 1)[0])
        if len(line) > 4096:
            fault(name, f"a line of {len(line)} bytes")


def table(name, text):
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    for row in rows:
        if len(row) != len(rows[0]):
            fault(name, f"{len(row)} cells, not {len(rows[0])}: {row}")
        for cell in row:
            if cell[:1] in "=+@\t\r" and cell:
                fault(name, f"a formula: {cell[:60]!r}")


class Page(html.parser.HTMLParser):
    """Tags and attributes that the page's own code writes, and no others."""
    def handle_starttag(self, tag, attrs):
        if tag in ("img", "iframe", "object", "embed", "base", "form", "meta") and dict(attrs).get("charset") is None and \
                dict(attrs).get("name") is None and dict(attrs).get("http-equiv") is None:
            fault("report.html", f"a tag {tag} {attrs}")
        for key, value in attrs:
            if key.startswith("on") or (key in ("href", "src") and not re.match(r"#|data:,", value or "")):
                fault("report.html", f"{tag} {key}={value!r}")
        self.open = tag

    open = ""

    def handle_data(self, data):
        if self.open in ("script", "style") and MARK in data:
            fault("report.html", f"a name inside {self.open}: {data[:100]!r}")

    def handle_endtag(self, tag):
        self.open = ""

    def handle_comment(self, data):
        if MARK in data:
            fault("report.html", "a name in a comment")


def journal(name, text):
    for record in lines(name, text):
        if record and (record.get("rule") or record.get("error") or record["status"] != 200):
            fault(name, f"refused: {json.dumps(record)[:400]}")


def page(_, text):
    Page().feed(text)


# A table of numbers alone.
NAMELESS = ("tables/minutes.csv",)
FORMS = {
    "watch": {
        "lines": lines, "page": series, "openmetrics": series, "state": json_of, "trace": json_of, "report": None,
        "report.html": page, "report.json": json_of, "top": None, "check": None, "gcm": journal, "otlp": journal, "board": lines,
        "diagnostics": None, "tables/steps.csv": table, "tables/checkpoints.csv": table,
        "tables/disruptions.csv": table,
    },
    "pod": {"lines": lines, "page": series, "state": json_of, "trace": json_of, "report": None, "top": None, "otlp": journal},
    "log": {
        "text": None, "diagnostics": None, "json": json_of, "gcm": lines, "jobs": None, "jobs.json": json_of, "report": None,
        "report.html": page, "report.json": json_of, "tables/minutes.csv": table,
    },
}


def files(kind, folder):
    for name, read in FORMS[kind].items():
        try:
            with open(f"{folder}/{name}", "rb") as f:
                data = f.read()
        except OSError as e:
            fault(name, e)
            continue
        text = harmless(name, data, "\r\n" if name.startswith("tables") else "\n")
        if not TOLD.search(text) and name not in NAMELESS:
            fault(name, f"has no hostile name: {text[:200]!r}")
        if read:
            read(name, text)
    for path, dirs, names in os.walk(f"{folder}/events"):
        for each in dirs + names:
            harmless("events", os.fsencode(os.path.join(path, each)), "")
    print(f"{len(FORMS[kind])} ways")


def terminal(keys, command):
    pid, fd = pty.fork()
    if not pid:
        os.execvp(command[0], command)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    seen, until, marked = b"", time.monotonic() + 30, False
    while True:
        if time.monotonic() > until:
            fault(command[0], "does not end")
            os.kill(pid, signal.SIGKILL)
            break
        if not select.select([fd], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        seen += data
        if not marked and TOLD.search(OWN.sub("", seen.decode(errors="replace"))):
            marked = True
            for key in keys.encode().decode("unicode_escape"):
                time.sleep(0.3)
                os.write(fd, key.encode())
    if not marked:
        fault(command[0], f"no hostile name: {seen[-500:]!r}")
    if NAMES_OWN.encode() in seen:
        fault(command[0], f"a sequence of the job's: {seen[max(seen.index(NAMES_OWN.encode()) - 80, 0):][:160]!r}")
    harmless(command[0], OWN.sub("", seen.decode(errors="surrogateescape")).encode(errors="surrogateescape"), "\r\n")
    if status := os.waitpid(pid, 0)[1]:
        fault(command[0], f"status {status}")


if __name__ == "__main__":
    if sys.argv[1] in FORMS:
        files(*sys.argv[1:])
    else:
        terminal(sys.argv[2], sys.argv[3:])
    print("\n".join(faults[:40]))
    sys.exit(bool(faults))
