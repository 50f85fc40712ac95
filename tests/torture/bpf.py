#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of bpf(2) the tests need without a library: pinned maps, and which ids a process holds or held.

bpf.py silence FOLDER    of these pins: as if nobody had read for a minute (their owner stands still)
bpf.py ids PID           kind and id of each map, program and link that PID holds
bpf.py gone              exits 1 while one of those (on standard input) is still there"""
import ctypes
import errno
import os
import re
import struct
import sys
import time

LOOKUP, UPDATE, OBJ_GET = 1, 2, 7
BY_ID = {"prog": 13, "map": 14, "link": 30}  # BPF_*_GET_FD_BY_ID
SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
META_BYTES = 1024  # struct gp_meta is smaller; its first word is the heartbeat
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attr):
    attr = ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128)
    result = libc.syscall(SYS_BPF, command, attr, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def pin_open(path):
    text = ctypes.create_string_buffer(path.encode())
    return bpf(OBJ_GET, struct.pack("QII", ctypes.addressof(text), 0, 0))


def only_value(fd, change=None):
    """The value of key 0; change(buffer) edits and stores it."""
    key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(META_BYTES)
    attr = struct.pack("IxxxxQQQ", fd, ctypes.addressof(key), ctypes.addressof(value), 0)
    bpf(LOOKUP, attr)
    if change:
        change(value)
        bpf(UPDATE, attr)
    return value.raw


def silence(folder, ago_s=60.05):
    def change(value):
        struct.pack_into("Q", value, 0, time.monotonic_ns() - int(ago_s * 1e9))

    fd = pin_open(os.path.join(folder, "map-gp_meta"))
    try:
        only_value(fd, change)
    finally:
        os.close(fd)


def ids(pid):
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
                found |= {(kind, int(n)) for kind, n in re.findall(r"^(map|prog|link)_id:\s*(\d+)$", f.read(), re.M)}
        except FileNotFoundError:
            pass
    return found


def left(wanted):
    """Those of the ids that the kernel still knows."""
    still = set()
    for kind, number in wanted:
        try:
            os.close(bpf(BY_ID[kind], struct.pack("I", number)))
            still.add((kind, number))
        except OSError as e:
            if e.errno != errno.ENOENT:
                raise
    return still


def main():
    if sys.argv[1:2] == ["silence"] and len(sys.argv) == 3:
        silence(sys.argv[2])
    elif sys.argv[1:2] == ["ids"] and len(sys.argv) == 3:
        print("\n".join(f"{kind} {number}" for kind, number in sorted(ids(sys.argv[2]))))
    elif sys.argv[1:] == ["gone"]:
        still = left({(kind, int(number)) for kind, number in (line.split() for line in sys.stdin)})
        print("\n".join(f"{kind} {number}" for kind, number in sorted(still)))
        sys.exit(bool(still))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
