# SPDX-License-Identifier: Apache-2.0
"""Records of a tape, as bpf/gp_abi.h and userspace/ingest/tape.h say they lie there."""
import struct

TAPE_HEADER, FRAME_HEADER = 24, 32
RECORD = struct.Struct("<QIIHHI")  # struct gp_rec
HIT, RANGE_BEGIN, NAMED, CALL, EXIT, SIGNAL, PROBE, COUNTER, PROGRAM = 1, 2, 4, 5, 18, 19, 65, 69, 78


def records(path):
    """(kind, payload, probe, ts_ns, pid) of each, in the order of the tape."""
    with open(path, "rb") as f:
        tape = f.read()
    at = TAPE_HEADER
    while at + FRAME_HEADER <= len(tape):
        (length,) = struct.unpack_from("<I", tape, at)
        at += FRAME_HEADER
        end = at + length
        while at + RECORD.size <= end:
            ts_ns, pid, _, size, kind, probe = RECORD.unpack_from(tape, at)
            yield kind, tape[at + RECORD.size : at + size], probe, ts_ns, pid
            at += (size + 7) & ~7
        at = end


def text(b):
    return b.split(b"\0", 1)[0].decode(errors="replace")


def probe_id(payload):
    """Of a PROBE record: others bear its hash."""
    return text(payload[8:56])
