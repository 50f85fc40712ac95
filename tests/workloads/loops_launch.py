# SPDX-License-Identifier: Apache-2.0
"""Trainers that someone else starts: by fork, exec, spawn, or as a child of a child. They train as "plain"."""
import multiprocessing
import os
import subprocess
import sys

from journal import Log, kind

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "loop.py")


def command(log):
    return [sys.executable, PROGRAM, "plain", "--out", log.out, "--steps", str(log.steps)]


@kind("launch_fork", steps=150)
def launch_fork(log):
    """The parent has loaded torch and never trains; the child inherits its libraries without an exec."""
    from loops_basic import plain

    pid = os.fork()
    if pid == 0:
        plain(log)
        os._exit(0)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


@kind("launch_exec", steps=150)
def launch_exec(log):
    """One pid, five programs: python, sh, env, sh, python."""
    os.execvp("sh", ["sh", "-c", 'exec env LAUNCHED=1 sh -c \'exec "$@"\' sh "$@"', "sh", *command(log)])


def spawned(out, steps):
    from loops_basic import plain

    plain(Log("launch_spawn", out, steps))


@kind("launch_spawn", steps=150)
def launch_spawn(log):
    child = multiprocessing.get_context("spawn").Process(target=spawned, args=(log.out, log.steps))
    child.start()
    child.join()
    raise SystemExit(child.exitcode)


@kind("launch_subprocess", steps=150)
def launch_subprocess(log):
    raise SystemExit(subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *command(log)], check=False).returncode)
