# SPDX-License-Identifier: Apache-2.0
"""One image in two containers: two overlayfs mounts of one lower folder, each in a mount namespace of its own, with a
process in each that maps the same library by another inode. Each call counts once and none is missed."""
import os
import shutil
import subprocess

from torturelib import BUILD, PROBES, Durable, Folder, Job, Skip, progress, row, steps_of

# The library is written to in the upper folder of nobody, so that both share the lower one's pages.
CONTAINER = ('mount -t tmpfs tmpfs "$1/top$2" && mkdir "$1/top$2/upper" "$1/top$2/work" "$1/top$2/root" && '
             'mount -t overlay overlay -o "lowerdir=$1/image,upperdir=$1/top$2/upper,workdir=$1/top$2/work" '
             '"$1/top$2/root" && exec "$1/top$2/root/torture/caller" 10000 10 0 1')


def image(folder):
    for part, name in (("torture", "caller"), ("bench", "libgpbench.so")):
        os.makedirs(folder.file(f"image/{part}"))
        shutil.copy(os.path.join(BUILD, "tests", part, name), folder.file(f"image/{part}"))


def container(folder, number):
    os.mkdir(folder.file(f"top{number}"))
    return Job(["unshare", "-m", "--propagation", "private", "sh", "-c", CONTAINER, "sh", folder.path, str(number)])


def truth_of(job):
    last, status = job.end()
    return dict(zip(last.split()[::2], map(int, last.split()[1::2]))), status


def two(what, options):
    progress(what)
    with Folder() as folder:
        image(folder)
        with container(folder, 1) as one, container(folder, 2) as other, \
                Durable(folder, [one.pid, other.pid], probes=PROBES, options=options) as watch:
            one.until("ready")
            other.until("ready")
            watch.start()
            one.say()
            other.say()
            watch.kill()
            watch.start()
            truths = {job.pid: truth_of(job) for job in (one, other)}
            watch.wait()
            lines = watch.lines()
            hits = {r["pid"]: r["hits"] for r in watch.report()["ranks"]}
            for number, (pid, (truth, status)) in enumerate(truths.items(), 1):
                called = truth["records"] + truth["counted"]
                yield row(f"{what} {number}: hits counted, of those called", f"{1:.6f}", f"{hits[pid] / called:.6f}",
                          f"{hits[pid]} of {called}")
                yield row(f"{what} {number}: steps lost or doubled", 0, len(steps_of(lines, pid)) - truth["steps"])
                yield row(f"{what} {number}: status of the job", 0, status)


def run(plan):
    with open("/proc/filesystems", encoding="ascii") as f:
        if "overlay" not in f.read() and subprocess.run(["modprobe", "overlay"], check=False).returncode:
            raise Skip("no overlayfs")
    yield from two("overlay", [])
    yield from two("overlay, perf links", ["--feature", "multi=off"])
