#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""complete.py SHELL FOLDER TEXT: types TEXT at a terminal of an interactive shell, then TAB, then return, and prints the words
that gp-bpf was started with, one a line. In FOLDER are rc (what that shell loads) and bin/gp-bpf (writes its words to
FOLDER/typed). "^I" in TEXT is one more TAB."""
import os
import pty
import select
import sys
import time

LIMIT_S = 60
STARTS = {
    "bash": lambda rc: ["bash", "--noprofile", "--rcfile", rc, "-i"],
    "zsh": lambda rc: ["zsh", "-d", "-i"],
    "fish": lambda rc: ["fish", "--no-config", "-i", "-C", "source " + rc],
}


def main() -> int:
    shell, folder, text = sys.argv[1:]
    typed = os.path.join(folder, "typed")
    if os.path.exists(typed):
        os.remove(typed)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(os.path.join(folder, "here"))
        os.environ.update(
            HOME=folder, ZDOTDIR=folder, TERM="xterm", PATH=f"{folder}/bin:{os.environ['PATH']}", HISTFILE="",
            XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
        start = STARTS[shell](os.path.join(folder, "rc"))
        os.execvp(start[0], start)
    until = time.monotonic() + LIMIT_S
    said, sent = b"", False
    while time.monotonic() < until and not os.path.exists(typed):
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                said += os.read(terminal, 65536)
            except OSError:
                break
        if b"ready>" in said and not sent:
            os.write(terminal, text.replace("^I", "\t").encode() + b"\t\r")
            sent = True
    os.close(terminal)
    os.waitpid(pid, 0)
    if not os.path.exists(typed):
        print(f"{shell}: nothing was started: {said!r}", file=sys.stderr)
        return 1
    with open(typed, encoding="utf-8", errors="replace") as words:
        print(words.read(), end="")
    return 0


sys.exit(main())
