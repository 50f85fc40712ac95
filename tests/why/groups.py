# SPDX-License-Identifier: Apache-2.0
"""Control groups of the runs."""
import os
import pathlib
import time

TOP = pathlib.Path("/sys/fs/cgroup")


class Skip(Exception):
    """This machine cannot run a row; the text says why."""


class Group:
    """A control group of a controller, of version 2 or 1."""

    count = 0

    def __init__(self, controller):
        self.version, top = (1, TOP / controller) if (TOP / controller).is_dir() else (2, TOP)
        if self.version == 2:
            if controller not in (top / "cgroup.controllers").read_text(encoding="utf-8").split():
                raise Skip(f"no control group has {controller}")
            (top / "cgroup.subtree_control").write_text(f"+{controller}", encoding="utf-8")
        Group.count += 1
        self.path = top / f"gp-bpf-why-{os.getpid()}-{Group.count}"
        try:
            self.path.mkdir()
        except OSError as e:
            raise Skip(f"no control group can be made: {e}") from e

    def set(self, name, value):
        try:
            (self.path / name).write_text(value, encoding="utf-8")
        except OSError as e:
            raise Skip(f"{name} cannot be set: {e}") from e

    def weigh(self):
        """Its share of a CPU is as large as can be: all other programs have little, another such group as much."""
        if self.version == 1:
            self.set("cpu.shares", "262144")
        else:
            self.set("cpu.weight", "10000")
        return self

    def prefix(self):
        return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.path)]

    def remove(self):
        end = time.monotonic() + 10
        while self.path.exists() and time.monotonic() < end:
            try:
                self.path.rmdir()
            except OSError:
                time.sleep(0.1)
