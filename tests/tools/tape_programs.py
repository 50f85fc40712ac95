#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tape_programs.py TAPE [TRUTH.jsonl]: what a tape tells of programs that ran through PJRT's table, as one JSON object:
how many were compiled, how many of these have a name, and by name how many executions there were and of how many the
completion was told. With the program's own log: how long after each marker (us, median) its steps were over."""
import bisect
import collections
import json
import statistics
import struct
import sys

from tape import CALL, HIT, PROBE, PROGRAM, probe_id, records, text


class Tape:
    def __init__(self, path):
        self.ids, self.begun, self.told, self.compiled = {}, 0, {}, 0
        self.names = {}  # executable -> name
        self.runs = []  # (begin, end, executable, event), by begin
        self.waits = collections.defaultdict(list)  # event -> (time, token) of who waits for it
        self.ready = collections.defaultdict(list)  # token -> times
        self.code = 0
        for kind, payload, probe, ts_ns, *_ in sorted(records(path), key=lambda r: (r[0] != PROBE, r[3])):
            self.record(kind, payload, probe, ts_ns)
        self.runs.sort()

    def record(self, kind, payload, probe, ts_ns):
        name = self.ids.get(probe)
        if kind == PROBE:
            self.ids[probe] = probe_id(payload)
        elif kind == PROGRAM:
            self.told[struct.unpack_from("<Q", payload)[0]] = text(payload[16:])
        elif kind == HIT and name == "pjrt.compile_begin":
            self.begun += 1
            self.code = struct.unpack_from("<Q", payload, 8)[0]
        elif kind == HIT and name == "pjrt.ready":
            self.ready[struct.unpack_from("<2Q", payload, 8)[1]].append(ts_ns)
        elif kind == HIT and name == "pjrt.on_ready":
            event, token = struct.unpack_from("<2Q", payload, 8)
            self.waits[event].append((ts_ns, token))
        elif kind == CALL:
            duration, _, *args = struct.unpack_from("<Qq6Q", payload)
            self.call(name, ts_ns - duration, ts_ns, args)

    def call(self, name, begin, end, args):
        if name == "pjrt.compile":
            self.compiled += 1
            self.names[args[0]] = self.told.pop(self.code, "")  # JAX compiles one after the other
        elif name == "pjrt.execute":
            self.runs.append((begin, end, args[0], args[3]))

    def completion(self, begin, event):
        """Events and tokens are addresses, used again: the next after the run began is its own."""
        tokens = [(t, token) for t, token in self.waits.get(event, []) if t >= begin]
        times = [t for t in self.ready.get(min(tokens)[1], []) if t >= begin] if tokens else []
        return min(times) if times else None


def main():
    tape = Tape(sys.argv[1])
    executions, completed, ends = collections.Counter(), collections.Counter(), []
    for begin, end, executable, event in tape.runs:
        name = tape.names.get(executable, "?")
        done = tape.completion(begin, event)
        executions[name] += 1
        completed[name] += done is not None
        if done is not None:
            ends.append((begin, end, done))
    out = {"begun": tape.begun, "compiled": tape.compiled, "named": sum(map(bool, tape.names.values())),
           "executions": dict(executions), "completed": dict(completed)}
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as f:
            steps = [e for e in map(json.loads, f) if e["type"] == "step"][10:]
        lags = collections.defaultdict(list)
        for step in steps:
            at = bisect.bisect_left(ends, (step["end"],)) - 1
            if at >= 0 and ends[at][0] >= step["start"]:
                for marker, t in zip(("execute", "return", "completion"), ends[at]):
                    lags[marker].append((step["end"] - t) / 1000)
        out["lag_us"] = {marker: round(statistics.median(v), 1) for marker, v in lags.items()}
    print(json.dumps(out))


if __name__ == "__main__":
    main()
