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


@kind("launch_fork")
def launch_fork(log):
    """The parent has loaded torch and never trains; the child inherits its libraries without an exec."""
    from loops_basic import plain

    pid = os.fork()
    if pid:
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    plain(log)


@kind("launch_daemon")
def launch_daemon(log):
    """Forked twice: the process in the middle is gone before the training begins."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        os.waitpid(pid, 0)
        os.read(reader, 1)
        raise SystemExit(0)
    if os.fork():
        os._exit(0)
    from loops_basic import plain

    plain(log)


@kind("launch_exec")
def launch_exec(log):
    """One pid, five programs: python, sh, env, sh, python."""
    os.execvp("sh", ["sh", "-c", 'exec env LAUNCHED=1 sh -c \'exec "$@"\' sh "$@"', "sh", *command(log)])


def spawned(out, steps):
    from loops_basic import plain

    log = Log("launch_spawn", out, steps)
    plain(log)
    log.write()


@kind("launch_spawn")
def launch_spawn(log):
    child = multiprocessing.get_context("spawn").Process(target=spawned, args=(log.out, log.steps))
    child.start()
    child.join()
    raise SystemExit(child.exitcode)


@kind("launch_subprocess")
def launch_subprocess(log):
    raise SystemExit(subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *command(log)], check=False).returncode)
