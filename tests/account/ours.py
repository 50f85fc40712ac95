# SPDX-License-Identifier: Apache-2.0
"""gp-bpf's answer in the form of vectors/: $GP_BPF, or the one that was built."""
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
GP_BPF = os.environ.get("GP_BPF", os.path.join(HERE, "../../build/plain/gp-bpf"))


def options(args):
    def spans(name):
        return [word for a, b in args.get(name, []) for word in
                ("--window" if name == "windows" else "--exclude", f"{a:.6f},{b:.6f}")]

    given = ["--job", "job", "--semantics", "library", "--now", f"{args['query_time']:.6f}"]
    given += spans("windows") + spans("exclude")
    given += [word for at in args.get("sequence", []) for word in ("--at", f"{at:.6f}")]
    if args.get("ideal"):
        given += ["--ideal", f"{round(args['ideal'] * 1e6)}us"]
    if args.get("calculator"):
        given += ["--calculator", args["calculator"]]
    return given


def answer(path, args, semantics=None):
    """(the answer or None, exit status, what was said beside it)"""
    command = [GP_BPF, "account", "--json", *options(args), path]
    if semantics:
        command[command.index("library")] = semantics
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    lines = run.stdout.splitlines()
    return (json.loads(lines[0]) if lines else None), run.returncode, run.stderr
