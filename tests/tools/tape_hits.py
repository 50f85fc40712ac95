#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tape_hits.py [--args] TAPE: what was hit how often, one line each, sorted: count, probe, name if it has one (tabs
between). --args: by the captured values too, in hexadecimal. --each: one line a record, in order of arrival, with its
time."""
import argparse
import collections
import struct

from tape import CALL, HIT, NAMED, PROBE, probe_id, records, text


def parts(kind, payload):
    """(captured values, name) of a record of a probe, or None."""
    if kind == HIT:
        return struct.unpack_from("<2Q", payload, 8), ""
    if kind == NAMED:
        return struct.unpack_from("<2Q", payload), text(payload[16:])
    if kind == CALL:
        return struct.unpack_from("<6Q", payload, 16), ""
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--args", action="store_true")
    p.add_argument("--each", action="store_true")
    p.add_argument("tape")
    args = p.parse_args()
    ids, counts = {}, collections.Counter()
    for kind, payload, probe, ts_ns, _ in records(args.tape):
        if kind == PROBE:
            ids[probe] = probe_id(payload)
            continue
        found = parts(kind, payload)
        if not found:
            continue
        values = " ".join(f"{v:x}" for v in found[0]) if args.args or args.each else ""
        line = "\t".join(x for x in (ids.get(probe, f"{probe:08x}"), found[1], values) if x)
        if args.each:
            print(f"{ts_ns}\t{line}")
        counts[line] += 1
    if not args.each:
        for line, n in sorted(counts.items()):
            print(f"{n}\t{line}")


if __name__ == "__main__":
    main()
