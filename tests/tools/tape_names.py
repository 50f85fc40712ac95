#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tape_names.py TAPE: the name of each range_begin record on a tape, one a line, in order of arrival (bpf/gp_abi.h and
userspace/ingest/tape.h say how they lie there)."""
import struct
import sys

TAPE_HEADER, FRAME_HEADER = 24, 32
RECORD = struct.Struct("<QIIHHI")  # struct gp_rec
RANGE_BEGIN = 2


def records(tape):
    at = TAPE_HEADER
    while at + FRAME_HEADER <= len(tape):
        (length,) = struct.unpack_from("<I", tape, at)
        at += FRAME_HEADER
        end = at + length
        while at + RECORD.size <= end:
            size, kind = RECORD.unpack_from(tape, at)[3:5]
            yield kind, tape[at + RECORD.size : at + size]
            at += (size + 7) & ~7
        at = end


def main():
    with open(sys.argv[1], "rb") as f:
        tape = f.read()
    for kind, payload in records(tape):
        if kind == RANGE_BEGIN:
            print(payload[8:].split(b"\0", 1)[0].decode(errors="replace"))


if __name__ == "__main__":
    main()
