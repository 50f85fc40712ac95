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

LOOKUP, UPDATE, NEXT_KEY, OBJ_GET = 1, 2, 4, 7
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


def count_keys(path):
    """How many keys of a pinned hash map are in use."""
    fd, key, following, n = pin_open(path), None, ctypes.create_string_buffer(64), 0
    try:
        while True:
            bpf(NEXT_KEY, struct.pack("IxxxxQQ", fd, ctypes.addressof(key) if key else 0, ctypes.addressof(following)))
            key, n = ctypes.create_string_buffer(following.raw, 64), n + 1
    except OSError as e:
        if e.errno != errno.ENOENT:
            raise
    finally:
        os.close(fd)
    return n


def count_set(path, entries):
    """How many of the first values of a pinned array of words are not 0."""
    fd = pin_open(path)
    try:
        return sum(any(lookup(fd, struct.pack("I", i))[:8]) for i in range(entries))
    finally:
        os.close(fd)


def lookup(fd, key):
    key, value = ctypes.create_string_buffer(key), ctypes.create_string_buffer(META_BYTES)
    bpf(LOOKUP, struct.pack("IxxxxQQQ", fd, ctypes.addressof(key), ctypes.addressof(value), 0))
    return value.raw


def silence(folder, ago_s=60.05):
    fd, key = pin_open(os.path.join(folder, "map-gp_meta")), ctypes.create_string_buffer(4)
    try:
        value = ctypes.create_string_buffer(lookup(fd, bytes(4)), META_BYTES)
        struct.pack_into("Q", value, 0, time.monotonic_ns() - int(ago_s * 1e9))
        bpf(UPDATE, struct.pack("IxxxxQQQ", fd, ctypes.addressof(key), ctypes.addressof(value), 0))
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
