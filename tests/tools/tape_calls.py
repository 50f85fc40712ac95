#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tape_calls.py TAPE [EXPECTED]: what the probes on a tape saw: a JSON line for each probe with its calls, hits that were
counted, and of each call process, return code and length (0 where there is none) and captured values. With EXPECTED (tests/workloads/
calls.py) it says instead where the two differ, of the rows of EXPECTED, and fails if they do."""
import json
import struct
import sys

from tape import CALL, COUNTER, HIT, PROBE, probe_id, records


def read(path):
    ids, of = {}, {}
    for kind, payload, probe, _, pid in records(path):
        if kind == PROBE:
            ids[probe] = probe_id(payload)
            continue
        if kind not in (HIT, CALL, COUNTER):
            continue
        row = of.setdefault(ids.get(probe, "?"), {"calls": 0, "counted": 0, "pid": [], "ret": [], "dur_ns": [], "arg": []})
        if kind == COUNTER:
            row["counted"] += struct.unpack_from("<Q", payload)[0]
            continue
        row["calls"] += 1
        row["pid"].append(pid)
        row["dur_ns"].append(struct.unpack_from("<Q", payload)[0] if kind == CALL else 0)
        # struct gp_call: dur_ns, ret, arg[]; struct gp_hit: sp, arg[2]
        row["ret"].append(struct.unpack_from("<i", payload, 8)[0] if kind == CALL else 0)
        row["arg"].append(list(struct.unpack_from("<6Q", payload, 16) if kind == CALL
                               else struct.unpack_from("<2Q", payload, 8)))
    return of


def differences(seen, wanted):
    for name, want in wanted.items():
        got = seen.get(name)
        if not got:
            yield f"{name}: not seen"
            continue
        for key in ("calls", "counted"):
            if got[key] != want[key]:
                yield f"{name}: {got[key]} {key}, called {want[key]}"
        if got["ret"] != want["ret"]:
            yield f"{name}: returned {got['ret'][:5]}, not {want['ret'][:5]}"
        for i, (g, w) in enumerate(zip(got["arg"], want["arg"])):
            if g[:len(w)] != w or any(g[len(w):]):
                yield f"{name}: call {i + 1}: captured {g}, not {w}"
                break


def main():
    seen = read(sys.argv[1])
    if len(sys.argv) == 2:
        for name, row in seen.items():
            print(json.dumps({"probe": name, **row}))
        return
    with open(sys.argv[2], encoding="utf-8") as f:
        found = list(differences(seen, json.load(f)))
    print(*found, sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
